// Large tables of zeros, in memory that the system provides where it is first touched.
#pragma once
#include <cstddef>
#include <memory>
#include <new>

namespace cyclotron::runtime {

/// So many bytes of zeros, aligned to a line of the cache, in large pages where the system has them: touching small ones
/// for the first time takes longer than writing them. What is never touched takes no memory; what a thread touches
/// first lies near it. Throws std::bad_alloc.
class ZeroPages {
 public:
  ZeroPages() = default;
  explicit ZeroPages(std::size_t bytes);
  [[nodiscard]] std::byte* data() const { return memory_.get(); }

 private:
  struct Free {
    std::size_t mapped;  ///< Bytes; 0: allocated.
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
};

/// A table of values of which zeros are one. Nothing is constructed, and nothing destroyed.
template <class T>
class ZeroTable {
 public:
  ZeroTable() = default;
  explicit ZeroTable(std::size_t size);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(bytes_.data()); }
  [[nodiscard]] T* begin() const { return data(); }
  [[nodiscard]] T* end() const { return data() + size_; }
  [[nodiscard]] T& operator[](std::size_t n) const { return data()[n]; }

 private:
  ZeroPages bytes_;
  std::size_t size_ = 0;
};

template <class T>
ZeroTable<T>::ZeroTable(std::size_t size) : size_(size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(size, sizeof(T), &bytes)) throw std::bad_alloc();
  bytes_ = ZeroPages(bytes);
}

}  // namespace cyclotron::runtime
