#include "queue.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace cyclotron::runtime::local {

void Queue::set_up(const QueueShape& shape) {
  depth_ = shape.depth;
  sender_ = shape.sender;
  receiver_ = shape.receiver;
  const auto [bytes, scalar] = shape.message;
  scalar_ = scalar;
  constexpr std::size_t unit = alignof(Block);
  stride_ = scalar ? bytes : unit + (bytes + unit - 1) / unit * unit;
  if (!shape.received) flags_.store(one_left, std::memory_order_relaxed);
}

void Queue::free_blocks(BlockPool& pool) {
  while (first_ != nullptr) {
    Block* const block = std::exchange(first_, first_->next);
    pool.give(block, bytes(block->places));
  }
}

Scalars Queue::room(BlockPool& pool) {
  const std::int64_t free = depth_ - (sent() - received_.load(std::memory_order_acquire));
  if (free <= 0) return {};
  if (last_ == nullptr || last_at_ == last_->places) append_block(pool);
  return {last_->at(last_at_ * stride_), std::min<std::int64_t>(free, last_->places - last_at_)};
}

Scalars Queue::arrived(BlockPool& pool) {
  const std::int64_t count = sent_.load(std::memory_order_acquire) - received();
  if (count == 0) return {};
  if (first_at_ == first_->places) drop_block(pool);
  return {first_->at(first_at_ * stride_), std::min<std::int64_t>(count, first_->places - first_at_)};
}

/// Requires: the last block is full, or there is none. What is written here, the receiver reads after `sent_`.
void Queue::append_block(BlockPool& pool) {
  constexpr std::size_t growth = 4;  // Loops run over what stands side by side: few blocks are few runs.
  const std::size_t wanted = last_ == nullptr
                                 ? BlockSizes::least
                                 : std::min(BlockSizes::most, growth * std::bit_ceil(bytes(last_->places)));
  const auto places =
      static_cast<std::uint16_t>(std::max<std::size_t>(1, (wanted - sizeof(Block)) / stride_));
  Block* const block = new (pool.take(bytes(places))) Block{.next = nullptr, .places = places};
  if (last_ == nullptr) {
    first_ = block;
  } else {
    last_->next = block;
  }
  last_ = block;
  last_at_ = 0;
}

/// Requires: the first block is read, and there is a message in the next one.
void Queue::drop_block(BlockPool& pool) {
  Block* const block = std::exchange(first_, first_->next);
  pool.give(block, bytes(block->places));
  first_at_ = 0;
}

}  // namespace cyclotron::runtime::local
