// Memory for messages under way: blocks that one thread gives back are the next ones it takes, from its own cache.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace cyclotron::runtime::local {

/// Free blocks of one size, a list through themselves.
struct BlockList {
  struct Node {
    Node* next = nullptr;
  };
  Node* first = nullptr;
  std::size_t count = 0;
  void push(void* block) {
    first = new (block) Node{first};
    ++count;
  }
  void* pop() {
    Node* const block = first;
    first = block->next;
    --count;
    return block;
  }
};

/// Sizes of blocks: powers of two, from a line of the cache on, so that no two threads write the same line.
class BlockSizes {
 public:
  static constexpr std::size_t least = 64, most = 1024, count = 5;
  /// Of one that holds so many bytes, at most `most`: the number of its size, from 0.
  [[nodiscard]] static std::size_t number(std::size_t bytes);
  [[nodiscard]] static std::size_t bytes(std::size_t number) { return least << number; }
};

/// The memory of all blocks, and what threads that take more than they give have from those that give more.
class BlockDepot {
 public:
  static constexpr std::size_t slab_bytes = 64 * 1024;

  /// New memory, aligned to a line of the cache, until the depot ends.
  [[nodiscard]] std::byte* slab();
  void put(std::size_t size, const BlockList& list);
  /// Empty where there is none.
  [[nodiscard]] BlockList take(std::size_t size);

 private:
  struct Delete {
    void operator()(std::byte* slab) const;
  };
  std::mutex mutex_;
  std::array<std::vector<BlockList>, BlockSizes::count> lists_;
  std::vector<std::unique_ptr<std::byte, Delete>> slabs_;
};

/// The blocks of one thread.
class BlockPool {
 public:
  explicit BlockPool(BlockDepot& depot) : depot_(&depot) {}

  /// Aligned to a line of the cache. Those of more than `BlockSizes::most` bytes are the system's, and to be given back.
  [[nodiscard]] void* take(std::size_t bytes);
  void give(void* block, std::size_t bytes);

 private:
  /// In use, and a full one or none: so a thread that gives and takes in turn does not go to the depot each time.
  struct Lists {
    BlockList current, spare;
  };
  [[nodiscard]] void* take_elsewhere(std::size_t size);

  BlockDepot* depot_;
  std::array<Lists, BlockSizes::count> lists_;
  std::byte* slab_ = nullptr;  ///< The rest of the last slab.
  std::size_t left_ = 0;       ///< Bytes.
};

}  // namespace cyclotron::runtime::local
