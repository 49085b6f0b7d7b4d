#include "arena.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <string>

namespace cyclotron::runtime::mpi {
namespace {

constexpr std::size_t segment_bytes = std::size_t{1} << 26;
constexpr std::size_t large_page = std::size_t{1} << 21;
constexpr std::size_t smallest = 512;

/// Capacities are powers of two and three quarters of them, so that blocks of about one size are used for each
/// other.
std::size_t capacity_for(std::size_t bytes) {
  const std::size_t power = std::bit_ceil(std::max(bytes, smallest));
  return bytes <= power / 4 * 3 ? power / 4 * 3 : power;
}

/// This process; 0 in a child that it forked, which has no say in memory that the two share.
pid_t process_id() {
  static pid_t own = [] {
    pthread_atfork(nullptr, nullptr, [] { own = 0; });
    return getpid();
  }();
  return own;
}

}  // namespace

Tile::~Tile() {
  if (block_ == nullptr || process_id() == 0) return;
  const bool own = block_->owner == process_id();
  if (block_->users.fetch_sub(1, std::memory_order_acq_rel) == 1 && own) Arena::instance().give(block_);
}

Arena& Arena::instance() {
  static Arena& arena = *new Arena;  // never destroyed: Python may hold tiles to the end
  return arena;
}

Tile Arena::take(std::size_t bytes, Reach reach) {
  const std::size_t capacity = capacity_for(bytes);
  const std::lock_guard lock(mutex_);
  auto& found = pool(reach).free[capacity];
  if (found.empty()) reclaim();
  Block* block = nullptr;
  if (found.empty()) {
    block = carve(capacity, reach);
  } else {
    block = found.back();
    found.pop_back();
  }
  block->users.store(1, std::memory_order_relaxed);
  return {block, block->bytes()};
}

void Arena::lend(const Tile& tile) {
  Block& block = *tile.block();
  block.users.fetch_add(1, std::memory_order_relaxed);
  if (block.owner != process_id() || block.lent) return;
  Arena& arena = instance();
  const std::lock_guard lock(arena.mutex_);
  block.lent = true;
  arena.lent_.push_back(&block);
}

void Arena::give(Block* block) {
  const std::lock_guard lock(mutex_);
  if (!block->lent) pool_of(*block).free[block->capacity].push_back(block);
}

/// Finds the blocks that other processes no longer use.
void Arena::reclaim() {
  std::erase_if(lent_, [this](Block* block) {
    if (block->users.load(std::memory_order_acquire) != 0) return false;
    block->lent = false;
    pool_of(*block).free[block->capacity].push_back(block);
    return true;
  });
}

void Arena::trim(std::size_t keep) {
  constexpr std::size_t page = 4096;
  const std::lock_guard lock(mutex_);
  reclaim();
  std::size_t kept = 0;
  for (const auto& pool : pools_) {
    for (const auto& [capacity, blocks] : pool.free) {
      for (Block* block : blocks) {
        kept += capacity;
        if (kept <= keep) continue;
        void* first = block->bytes();
        std::size_t bytes = capacity;
        if (std::align(page, page, first, bytes) == nullptr) continue;
        const int advice = block->segment >= 0 ? MADV_REMOVE : MADV_DONTNEED;
        (void)madvise(first, bytes / page * page, advice);  // a hint
      }
    }
  }
}

Block* Arena::carve(std::size_t capacity, Reach reach) {
  const std::size_t needed = sizeof(Block) + (capacity + 63) / 64 * 64;
  const auto full = [needed](const std::vector<Segment>& segments) {
    return segments.empty() || segments.back().size - segments.back().used < needed;
  };
  if (full(pool(reach).segments)) add_segment(needed, reach);
  Segment& segment = pool(reach).segments.back();
  auto* block = new (segment.bytes + segment.used) Block{.users = 0,
                                                         .segment = segment.file,
                                                         .owner = process_id(),
                                                         .lent = false,
                                                         .offset = segment.used,
                                                         .capacity = capacity};
  segment.used += needed;
  return block;
}

/// Pages cost nothing until they are touched.
void Arena::add_segment(std::size_t at_least, Reach reach) {
  const std::size_t size = (std::max(at_least, segment_bytes) + large_page - 1) / large_page * large_page;
  if (reach == Reach::computer && shares_) {
    const Segment shared = map_shared(size);
    shares_ = shared.bytes != nullptr;
    if (shares_) return pool(reach).segments.push_back(shared);
  }
  const Segment own = map_own(size);
  if (own.bytes == nullptr) throw std::bad_alloc();
  pool(Reach::process).segments.push_back(own);
}

Arena::Segment Arena::map_own(std::size_t size) {
  void* mapped = mmap(nullptr, size + large_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return {};
  std::size_t left = size + large_page;
  void* const first = std::align(large_page, size, mapped, left);
#ifdef MADV_HUGEPAGE
  (void)madvise(first, size, MADV_HUGEPAGE);  // a hint
#endif
  return {.bytes = static_cast<std::byte*>(first), .size = size};
}

Arena::Segment Arena::map_shared(std::size_t size) {
  const int file = memfd_create("cyclotron", MFD_CLOEXEC);
  if (file < 0) return {};
  void* mapped = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(size)) == 0)
    mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) {
    close(file);
    return {};
  }
  return {.bytes = static_cast<std::byte*>(mapped), .size = size, .file = file};
}

Block* Arena::find(pid_t owner, std::int32_t segment, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = foreign_.try_emplace({owner, segment});
  Segment& mapped = found->second;
  if (fresh) mapped = map_foreign(owner, segment);
  if (mapped.bytes == nullptr || offset + sizeof(Block) > mapped.size) return nullptr;
  return reinterpret_cast<Block*>(mapped.bytes + offset);
}

Arena::Segment Arena::map_foreign(pid_t owner, std::int32_t segment) {
  const std::string path = "/proc/" + std::to_string(owner) + "/fd/" + std::to_string(segment);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return {};
  Segment result;
  struct stat status{};
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    result.size = static_cast<std::size_t>(status.st_size);
    void* bytes = mmap(nullptr, result.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes != MAP_FAILED) result.bytes = static_cast<std::byte*>(bytes);
  }
  close(file);
  return result;
}

}  // namespace cyclotron::runtime::mpi
