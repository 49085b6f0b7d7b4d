#include "queue.hpp"

#include <algorithm>

namespace cyclotron::runtime::local {

namespace {
constexpr std::size_t block_bytes = 1024;  // Larger blocks are slower to allocate and gain nothing.
constexpr std::uint32_t first_places = 4;
constexpr std::uint32_t growth = 8;  // Loops run over what stands side by side: few blocks are few runs.
}  // namespace

void Queue::set_up(std::int64_t depth, std::uint32_t sender, std::uint32_t receiver, MessageShape shape) {
  depth_ = depth;
  sender_ = sender;
  receiver_ = receiver;
  scalar_ = shape.scalar;
  constexpr std::size_t unit = alignof(Block);
  stride_ = shape.scalar ? shape.bytes : unit + (shape.bytes + unit - 1) / unit * unit;
}

Queue::~Queue() { free_blocks(); }

void Queue::free_blocks() {
  while (first_ != nullptr) {
    Block* const next = first_->next;
    delete_block(first_);
    first_ = next;
  }
}

Scalars Queue::room() {
  if (!look_for_place()) return {};
  if (last_ == nullptr || last_at_ == last_->places) append_block();
  return {last_->at(last_at_ * stride_),
          std::min<std::int64_t>(depth_ - (sent() - seen_received_), last_->places - last_at_)};
}

Scalars Queue::arrived() {
  if (!look_for_message()) return {};
  if (first_at_ == first_->places) drop_block();
  return {first_->at(first_at_ * stride_),
          std::min<std::int64_t>(seen_sent_ - received(), first_->places - first_at_)};
}

/// Requires: the last block is full, or there is none. What is written here, the receiver reads after `sent_`.
void Queue::append_block() {
  const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(1, block_bytes / stride_));
  const std::uint32_t places = std::min(most, last_ == nullptr ? first_places : growth * last_->places);
  Block* const block = new_block(places);
  if (last_ == nullptr) {
    first_ = block;
  } else {
    last_->next = block;
  }
  last_ = block;
  last_at_ = 0;
}

/// Requires: the first block is read, and there is a message in the next one.
void Queue::drop_block() {
  Block* const next = first_->next;
  delete_block(first_);
  first_ = next;
  first_at_ = 0;
}

Queue::Block* Queue::new_block(std::uint32_t places) const {
  void* const memory = ::operator new(sizeof(Block) + places * stride_);
  return new (memory) Block{.next = nullptr, .places = places};
}

void Queue::delete_block(Block* block) {
  block->~Block();
  ::operator delete(block);
}

}  // namespace cyclotron::runtime::local
