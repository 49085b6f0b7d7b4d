// A bounded queue between two PEs, without locks: one thread sends, one receives, and each may be another one from
// turn to turn.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "../body.hpp"
#include "../code.hpp"
#include "../pe_array.hpp"

namespace cyclotron::runtime::local {

/// What a message is, the same for all messages of a channel.
struct MessageShape {
  std::size_t bytes = 0;  ///< Of the numbers of the largest.
  bool scalar = false;    ///< Messages are 1x1 tiles, whose size is not kept.
};

/// Messages stand in a chain of blocks that grow up to a limit: a queue that is used little takes little memory, and a
/// place that the sender saw free, or a message that the receiver saw, stays so.
class alignas(64) Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue();

  void set_up(std::int64_t depth, std::uint32_t sender, std::uint32_t receiver, MessageShape shape);
  [[nodiscard]] std::uint32_t sender() const { return sender_; }
  [[nodiscard]] std::uint32_t receiver() const { return receiver_; }

  /// The sender's PE is done, or the receiver's. The second one frees the blocks, which then are the next ones to be
  /// allocated: they are in its cache.
  void leave() {
    if (left_.exchange(true, std::memory_order_acq_rel)) free_blocks();
  }

  // For the sender.

  /// Where there is no place, the receiver is to wake the sender.
  bool has_place() {
    return sent() - seen_received_ < depth_ || look_for_place() || (ask(sender_waits_), look_for_place());
  }
  /// Requires: has_place(). `fill(place)` writes the numbers.
  template <class Fill>
  void put(TileSize size, const Fill& fill);
  /// Free places side by side, of scalars; perhaps fewer than there are.
  [[nodiscard]] Scalars room();
  /// As `put`, with so many scalars as were written there.
  void put_written(std::int64_t count) {
    last_at_ += static_cast<std::uint32_t>(count);
    sent_.store(sent() + count, std::memory_order_release);
  }
  /// After messages were put: whether the receiver waits for one. It does no longer.
  [[nodiscard]] bool take_receiver_waits(bool alone) { return answer(receiver_waits_, alone); }

  // For the receiver.

  /// Where there is no message, the sender is to wake the receiver.
  bool has_message() {
    return seen_sent_ != received() || look_for_message() || (ask(receiver_waits_), look_for_message());
  }
  /// Requires: has_message(). `use(size, numbers)` reads the first message, which then leaves.
  template <class Use>
  void take(const Use& use);
  /// Messages side by side, of scalars; perhaps fewer than there are.
  [[nodiscard]] Scalars arrived();
  /// As `take`, of so many scalars as were read there.
  void take_read(std::int64_t count) {
    first_at_ += static_cast<std::uint32_t>(count);
    received_.store(received() + count, std::memory_order_release);
  }
  /// After messages were taken: whether the sender waits for a place. It does no longer.
  [[nodiscard]] bool take_sender_waits(bool alone) { return answer(sender_waits_, alone); }

 private:
  /// Followed by the messages.
  struct alignas(16) Block {
    Block* next = nullptr;
    std::uint32_t places = 0;
    std::byte* at(std::size_t offset) { return reinterpret_cast<std::byte*>(this + 1) + offset; }
  };

  [[nodiscard]] std::int64_t sent() const { return sent_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t received() const { return received_.load(std::memory_order_relaxed); }
  bool look_for_place() {
    seen_received_ = received_.load(std::memory_order_acquire);
    return sent() - seen_received_ < depth_;
  }
  bool look_for_message() {
    seen_sent_ = sent_.load(std::memory_order_acquire);
    return seen_sent_ != received();
  }
  // Both sides exchange: either the one that waits sees what the other has done, or the other sees that it waits.
  static void ask(std::atomic<bool>& waits) { waits.exchange(true, std::memory_order_acq_rel); }
  static bool answer(std::atomic<bool>& waits, bool alone) {
    if (alone && !waits.load(std::memory_order_relaxed)) return false;
    return waits.exchange(false, std::memory_order_acq_rel);
  }
  [[nodiscard]] Block* new_block(std::uint32_t places) const;
  static void delete_block(Block* block);
  void append_block();
  void drop_block();
  void free_blocks();

  // What both sides read.
  std::int64_t depth_ = 1;
  std::size_t stride_ = 0;
  std::uint32_t sender_ = PeArray::none;  ///< Ordinals.
  std::uint32_t receiver_ = PeArray::none;
  bool scalar_ = false;
  std::atomic<bool> receiver_waits_ = false;
  std::atomic<bool> sender_waits_ = false;
  std::atomic<bool> left_ = false;
  // What the sender writes.
  std::uint32_t last_at_ = 0;  ///< The next place in the last block.
  std::atomic<std::int64_t> sent_ = 0;
  std::int64_t seen_received_ = 0;
  Block* last_ = nullptr;
  // What the receiver writes.
  std::uint32_t first_at_ = 0;
  std::atomic<std::int64_t> received_ = 0;
  std::int64_t seen_sent_ = 0;
  Block* first_ = nullptr;
};

template <class Fill>
[[gnu::always_inline]] inline void Queue::put(TileSize size, const Fill& fill) {
  if (last_ == nullptr || last_at_ == last_->places) append_block();
  std::byte* place = last_->at(last_at_ * stride_);
  if (!scalar_) {
    new (place) TileSize(size);
    place += alignof(Block);
  }
  fill(place);
  ++last_at_;
  sent_.store(sent() + 1, std::memory_order_release);
}

template <class Use>
[[gnu::always_inline]] inline void Queue::take(const Use& use) {
  if (first_at_ == first_->places) drop_block();
  const std::byte* place = first_->at(first_at_ * stride_);
  if (scalar_) {
    use(TileSize{1, 1}, place);
  } else {
    use(*reinterpret_cast<const TileSize*>(place), place + alignof(Block));
  }
  ++first_at_;
  received_.store(received() + 1, std::memory_order_release);
}

}  // namespace cyclotron::runtime::local
