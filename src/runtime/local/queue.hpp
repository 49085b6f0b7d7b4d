// A bounded queue between two PEs, without locks: one thread sends, one receives, and each may be another one from
// turn to turn.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "../engine/body.hpp"
#include "../engine/code.hpp"
#include "../engine/pe_array.hpp"
#include "block_pool.hpp"

namespace cyclotron::runtime::local {

/// The form of a message, the same for all messages of a channel.
struct MessageShape {
  std::size_t bytes = 0;  ///< Of the numbers of the largest.
  bool scalar = false;    ///< Messages are 1x1 tiles, whose size is not kept.
};

/// The set-up of a queue.
struct QueueShape {
  std::int64_t depth = 0;
  std::uint32_t sender = PeArray::none;  ///< Ordinals.
  std::uint32_t receiver = PeArray::none;
  bool received = true;  ///< The receiver leaves some time.
  MessageShape message{};
};

/// Messages stand in a chain of blocks that grow up to a limit: a queue that is used little takes little memory, and a
/// place that the sender saw free, or a message that the receiver saw, stays so.
/// Its bytes are zeros until it is used: the sender sets it up, and until then the receiver finds it empty. It is one
/// line of the cache: many are used by one thread alone, and for a short time.
class alignas(64) Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  [[nodiscard]] std::uint32_t sender() const { return sender_; }
  [[nodiscard]] std::uint32_t receiver() const { return receiver_; }

  /// Once nobody else uses the queue.
  void free_blocks(BlockPool& pool);

  // For the sender.

  /// Once, before the rest.
  void set_up(const QueueShape& shape);
  /// True of a queue with a place; else the receiver is to wake the sender.
  bool has_place() { return sees_place() || (ask(sender_waits), sees_place()); }
  /// Requires: has_place(). `fill(place)` writes the numbers.
  template <class Fill>
  void put(BlockPool& pool, TileSize size, const Fill& fill);
  /// Free places side by side, of scalars; perhaps fewer than there are.
  [[nodiscard]] Scalars room(BlockPool& pool);
  /// As `put`, with so many scalars as were written there.
  void put_written(std::int64_t count) {
    last_at_ = static_cast<std::uint16_t>(last_at_ + count);
    sent_.store(sent() + count, std::memory_order_release);
  }
  /// After messages were put: whether the receiver waits for one. It does no longer.
  [[nodiscard]] bool take_receiver_waits(bool alone) { return answer(receiver_waits, alone); }
  /// The sender is done: whether the receiver waits for a message.
  [[nodiscard]] bool sender_leaves(BlockPool& pool, bool alone) {
    return (leave(pool, alone) & receiver_waits) != 0;
  }

  // For the receiver.

  /// True of a queue with a message; else the sender is to wake the receiver.
  bool has_message() { return sees_message() || (ask(receiver_waits), sees_message()); }
  /// Requires: has_message(). `use(size, numbers)` reads the first message, which then leaves.
  template <class Use>
  void take(BlockPool& pool, const Use& use);
  /// Messages side by side, of scalars; perhaps fewer than there are.
  [[nodiscard]] Scalars arrived(BlockPool& pool);
  /// As `take`, of so many scalars as were read there.
  void take_read(std::int64_t count) {
    first_at_ = static_cast<std::uint16_t>(first_at_ + count);
    received_.store(received() + count, std::memory_order_release);
  }
  /// After messages were taken: whether the sender waits for a place. It does no longer.
  [[nodiscard]] bool take_sender_waits(bool alone) { return answer(sender_waits, alone); }
  /// The receiver is done: whether the sender waits for a place.
  [[nodiscard]] bool receiver_leaves(BlockPool& pool, bool alone) {
    return (leave(pool, alone) & sender_waits) != 0;
  }

 private:
  /// Followed by the messages.
  struct alignas(16) Block {
    Block* next = nullptr;
    std::uint16_t places = 0;
    std::byte* at(std::size_t offset) { return reinterpret_cast<std::byte*>(this + 1) + offset; }
  };
  enum Flag : std::uint8_t { receiver_waits = 1, sender_waits = 2, one_left = 4 };

  [[nodiscard]] std::int64_t sent() const { return sent_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t received() const { return received_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool sees_place() const {
    return sent() - received_.load(std::memory_order_acquire) < depth_;
  }
  [[nodiscard]] bool sees_message() const { return sent_.load(std::memory_order_acquire) != received(); }
  // Both sides read and write at once: either the one that waits sees what the other has done, or the other sees that it
  // waits.
  void ask(Flag waits) { flags_.fetch_or(waits, std::memory_order_acq_rel); }
  bool answer(Flag waits, bool alone) {
    if (alone && (flags_.load(std::memory_order_relaxed) & waits) == 0) return false;
    return (flags_.fetch_and(static_cast<std::uint8_t>(~waits), std::memory_order_acq_rel) & waits) != 0;
  }
  /// Returns the flags. The second one that leaves frees the blocks.
  std::uint8_t leave(BlockPool& pool, bool alone) {
    std::uint8_t flags = flags_.load(std::memory_order_relaxed);
    if (alone) {
      flags_.store(flags | one_left, std::memory_order_relaxed);
    } else {
      flags = flags_.fetch_or(one_left, std::memory_order_acq_rel);
    }
    if ((flags & one_left) != 0) free_blocks(pool);
    return flags;
  }
  [[nodiscard]] std::size_t bytes(std::uint16_t places) const { return sizeof(Block) + places * stride_; }
  void append_block(BlockPool& pool);
  void drop_block(BlockPool& pool);

  // Read by both sides.
  std::int64_t depth_ = 0;
  std::size_t stride_ = 0;
  std::uint32_t sender_ = 0;  ///< Ordinals.
  std::uint32_t receiver_ = 0;
  // Written by the sender.
  std::atomic<std::int64_t> sent_ = 0;
  Block* last_ = nullptr;
  // Written by the receiver.
  std::atomic<std::int64_t> received_ = 0;
  Block* first_ = nullptr;
  std::uint16_t last_at_ = 0;   ///< The sender's: the next place in the last block.
  std::uint16_t first_at_ = 0;  ///< The receiver's.
  bool scalar_ = false;
  std::atomic<std::uint8_t> flags_ = 0;
};
static_assert(sizeof(Queue) == 64);

template <class Fill>
[[gnu::always_inline]] inline void Queue::put(BlockPool& pool, TileSize size, const Fill& fill) {
  if (last_ == nullptr || last_at_ == last_->places) append_block(pool);
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
[[gnu::always_inline]] inline void Queue::take(BlockPool& pool, const Use& use) {
  if (first_at_ == first_->places) drop_block(pool);
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
