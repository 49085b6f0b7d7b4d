#include "zero_pages.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace cyclotron::runtime {

namespace {

constexpr std::size_t line = 64, large_page = std::size_t{1} << 21;

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  if (bytes > static_cast<std::size_t>(-1) / 2) throw std::bad_alloc();
  return (bytes + unit - 1) / unit * unit;
}

/// None where the system cannot map memory.
std::byte* map([[maybe_unused]] std::size_t bytes) {
#ifdef MAP_ANONYMOUS
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  (void)madvise(mapped, bytes, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(mapped);
#else
  return nullptr;
#endif
}

}  // namespace

ZeroPages::ZeroPages(std::size_t bytes) {
  if (bytes >= 2 * large_page) {
    const std::size_t mapped = rounded(bytes, large_page);
    if (std::byte* const memory = map(mapped)) {
      memory_ = {memory, Free{mapped}};
      return;
    }
  }
  const std::size_t allocated = rounded(bytes + 1, line);
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(line, allocated));
  if (memory == nullptr) throw std::bad_alloc();
  memory_ = {memory, Free{}};
  std::memset(memory, 0, allocated);
}

void ZeroPages::Free::operator()(std::byte* memory) const {
#ifdef MAP_ANONYMOUS
  if (mapped > 0) {
    (void)munmap(memory, mapped);
    return;
  }
#endif
  std::free(memory);
}

}  // namespace cyclotron::runtime
