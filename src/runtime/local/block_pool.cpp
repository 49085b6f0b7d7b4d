#include "block_pool.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace cyclotron::runtime::local {

namespace {

constexpr std::align_val_t line{BlockSizes::least};

}  // namespace

std::size_t BlockSizes::number(std::size_t bytes) {
  return static_cast<std::size_t>(std::bit_width((std::max<std::size_t>(bytes, 1) - 1) / least));
}

std::byte* BlockDepot::slab() {
  const std::lock_guard lock(mutex_);
  return slabs_.emplace_back(static_cast<std::byte*>(::operator new(slab_bytes, line))).get();
}

void BlockDepot::Delete::operator()(std::byte* slab) const { ::operator delete(slab, line); }

void BlockDepot::put(std::size_t size, const BlockList& list) {
  const std::lock_guard lock(mutex_);
  lists_[size].push_back(list);
}

BlockList BlockDepot::take(std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (lists_[size].empty()) return {};
  const BlockList result = lists_[size].back();
  lists_[size].pop_back();
  return result;
}

void* BlockPool::take(std::size_t bytes) {
  if (bytes > BlockSizes::most) return ::operator new(bytes, line);
  const std::size_t size = BlockSizes::number(bytes);
  BlockList& current = lists_[size].current;
  return current.first != nullptr ? current.pop() : take_elsewhere(size);
}

void* BlockPool::take_elsewhere(std::size_t size) {
  Lists& lists = lists_[size];
  lists.current = lists.spare.first != nullptr ? std::exchange(lists.spare, {}) : depot_->take(size);
  if (lists.current.first != nullptr) return lists.current.pop();
  const std::size_t bytes = BlockSizes::bytes(size);
  if (left_ < bytes) {
    slab_ = depot_->slab();
    left_ = BlockDepot::slab_bytes;
  }
  left_ -= bytes;
  return std::exchange(slab_, slab_ + bytes);
}

void BlockPool::give(void* block, std::size_t bytes) {
  if (bytes > BlockSizes::most) {
    ::operator delete(block, line);
    return;
  }
  const std::size_t size = BlockSizes::number(bytes);
  auto& [current, spare] = lists_[size];
  current.push(block);
  if (current.count < BlockDepot::slab_bytes / BlockSizes::bytes(size)) return;
  if (spare.first != nullptr) depot_->put(size, spare);
  spare = std::exchange(current, {});
}

}  // namespace cyclotron::runtime::local
