// Small containers of the channels: a queue that grows, and buffers that are used again.
#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "code.hpp"

namespace cyclotron::runtime {

/// A first-in-first-out queue in one array, which doubles when it is full and never shrinks.
template <class T>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] T& front() { return places_[first_]; }
  [[nodiscard]] T& operator[](std::size_t i) { return places_[(first_ + i) & (places_.size() - 1)]; }
  void push(T value) {
    if (count_ == places_.size()) grow();
    places_[(first_ + count_++) & (places_.size() - 1)] = std::move(value);
  }
  void pop() {
    first_ = (first_ + 1) & (places_.size() - 1);
    --count_;
  }

 private:
  void grow() {
    std::vector<T> larger(places_.empty() ? 2 : places_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move((*this)[i]);
    places_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> places_;  // A power of two of them.
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

using Buffer = std::unique_ptr<std::byte[]>;

/// Buffers of one size for tiles in flight.
class BufferPool {
 public:
  explicit BufferPool(std::size_t bytes = 0) : bytes_(bytes) {}
  [[nodiscard]] Buffer take() {
    if (free_.empty()) return std::make_unique_for_overwrite<std::byte[]>(bytes_);
    Buffer result = std::move(free_.back());
    free_.pop_back();
    return result;
  }
  void give(Buffer buffer) { free_.push_back(std::move(buffer)); }

 private:
  std::size_t bytes_;
  std::vector<Buffer> free_;
};

/// A tile's numbers in flight: in place where they are few, else in a buffer.
struct Payload {
  TileSize size;
  alignas(16) std::array<std::byte, 16> few{};
  Buffer many;

  [[nodiscard]] static bool fits(std::size_t bytes) { return bytes <= 16; }
  [[nodiscard]] const std::byte* data() const { return many ? many.get() : few.data(); }
};

/// The queues that enter one PE from one network, found by the sender's coordinate. Few, and mostly asked for
/// in order.
template <class Queue>
class QueueRow {
 public:
  /// The queue from `sender`, made by `make()` where it is new.
  template <class Make>
  Queue& find(std::int64_t sender, Make make) {
    const std::size_t count = entries_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = hint_ + i < count ? hint_ + i : hint_ + i - count;
      if (entries_[at].first != sender) continue;
      hint_ = at;
      return *entries_[at].second;
    }
    entries_.emplace_back(sender, make());
    hint_ = count;
    return *entries_[count].second;
  }

 private:
  std::vector<std::pair<std::int64_t, Queue*>> entries_;
  std::size_t hint_ = 0;
};

}  // namespace cyclotron::runtime
