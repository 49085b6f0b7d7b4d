// Memory of tiles. The ranks of one computer map each other's, so that a tile is handed over, not copied.
#pragma once
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace cyclotron::runtime::mpi {

/// Precedes the bytes of a block, in memory that other processes may have mapped.
struct alignas(64) Block {
  std::atomic<std::int32_t> users;  ///< Handles, in all processes.
  std::int32_t segment;             ///< The owner's file descriptor, or -1 where it cannot be shared.
  pid_t owner;
  bool lent;  ///< Was given to another process; only the owner reads and writes this.
  std::uint64_t offset;
  std::uint64_t capacity;

  [[nodiscard]] std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(std::atomic<std::int32_t>::is_always_lock_free, "it is shared by processes");

/// A handle on bytes in a block, which lives as long as its last handle.
class Tile {
 public:
  Tile() = default;
  /// Takes over one use of the block.
  Tile(Block* block, std::byte* data) : block_(block), data_(data) {}
  Tile(const Tile& other) : block_(other.block_), data_(other.data_) {
    if (block_ != nullptr) block_->users.fetch_add(1, std::memory_order_relaxed);
  }
  Tile(Tile&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), data_(std::exchange(other.data_, nullptr)) {}
  Tile& operator=(Tile other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Tile();

  explicit operator bool() const { return block_ != nullptr; }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Block* block() const { return block_; }
  /// Other bytes of the same block.
  [[nodiscard]] Tile at(std::byte* data) const {
    Tile result = *this;
    result.data_ = data;
    return result;
  }
  /// Tells whether `bytes` may be written here: nobody else reads them and they fit.
  [[nodiscard]] bool writable(std::size_t bytes) const {
    return block_ != nullptr && block_->users.load(std::memory_order_acquire) == 1 &&
           data_ + bytes <= block_->bytes() + block_->capacity;
  }

 private:
  Block* block_ = nullptr;
  std::byte* data_ = nullptr;
};

/// Owner of a block's mapping: this process, which has it in large pages where there are some (a product goes through
/// many pages in a moment, and finding a small one takes longer), or all of this computer.
enum class Reach : std::uint8_t { process, computer };

/// The blocks of this process. They are used again, so that a steady run asks the system for nothing.
class Arena {
 public:
  /// The process's only one: tiles outlive runs, and other processes keep what they have mapped.
  static Arena& instance();

  /// A block of at least `bytes`, 64-byte aligned, with one use. Throws std::bad_alloc.
  [[nodiscard]] Tile take(std::size_t bytes, Reach reach);
  /// One more use of the tile's block, which another process takes over. Requires: all of this computer reach it.
  static void lend(const Tile& tile);
  /// The last use of one of this process's blocks ended here.
  void give(Block* block);
  /// Gives the pages of free blocks back to the system where they are more than `keep` bytes.
  void trim(std::size_t keep);
  /// The block at `offset` of a segment of another process, or null where its memory cannot be mapped.
  [[nodiscard]] Block* find(pid_t owner, std::int32_t segment, std::uint64_t offset);

 private:
  Arena() = default;
  struct Segment {
    std::byte* bytes = nullptr;
    std::size_t size = 0;
    std::size_t used = 0;
    int file = -1;
  };
  struct Pool {
    std::vector<Segment> segments;
    std::map<std::size_t, std::vector<Block*>> free;  // By capacity.
  };
  Pool& pool(Reach reach) { return pools_[shares_ ? static_cast<std::size_t>(reach) : 0]; }
  Pool& pool_of(const Block& block) { return pools_[block.segment < 0 ? 0 : 1]; }
  Block* carve(std::size_t capacity, Reach reach);
  void add_segment(std::size_t at_least, Reach reach);
  void reclaim();
  static Segment map_own(std::size_t size);
  static Segment map_shared(std::size_t size);
  static Segment map_foreign(pid_t owner, std::int32_t segment);

  std::mutex mutex_;
  std::array<Pool, 2> pools_;  // By reach.
  bool shares_ = true;         // Until memory cannot be shared; then all is this process's.
  std::vector<Block*> lent_;
  std::map<std::pair<pid_t, std::int32_t>, Segment> foreign_;  // By owner and file.
};

}  // namespace cyclotron::runtime::mpi
