// Scalars on their way to a PE, side by side, so that loops read and write many of them where they stand.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace cyclotron::runtime::mpi {

/// A first-in-first-out queue of bytes, which grows as it has to.
class ScalarQueue {
 public:
  [[nodiscard]] bool empty() const { return first_ == last_; }
  [[nodiscard]] std::size_t size() const { return last_ - first_; }
  [[nodiscard]] std::byte* front() { return bytes_.data() + first_; }
  void pop(std::size_t bytes) { first_ += bytes; }
  /// Address to write the next ones to; valid until it is asked for again.
  [[nodiscard]] std::byte* room(std::size_t bytes) {
    if (bytes_.size() - last_ < bytes) make_room(bytes);
    return bytes_.data() + last_;
  }
  /// So many have been written there.
  void push(std::size_t bytes) { last_ += bytes; }
  void push(const std::byte* from, std::size_t bytes) {
    std::memcpy(room(bytes), from, bytes);
    push(bytes);
  }

 private:
  void make_room(std::size_t bytes) {
    const std::size_t used = size();
    // To the front where that at least halves what is there; it then pays for itself.
    if (used + bytes > bytes_.size() / 2) {
      std::vector<std::byte> larger(std::max<std::size_t>(64, 2 * (used + bytes)));
      std::copy_n(bytes_.data() + first_, used, larger.data());
      bytes_ = std::move(larger);
    } else {
      std::memmove(bytes_.data(), bytes_.data() + first_, used);
    }
    first_ = 0;
    last_ = used;
  }

  std::vector<std::byte> bytes_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
};

}  // namespace cyclotron::runtime::mpi
