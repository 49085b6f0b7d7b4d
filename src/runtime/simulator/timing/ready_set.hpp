// The PEs whose turn it is, taken in the order of the grid, around and around: messages mostly go to later PEs, which
// then find all that an earlier one could send, and memory is read in order.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cyclotron::runtime::simulator {

class ReadySet {
 public:
  explicit ReadySet(std::uint32_t count) : members_(count / bits + 1), groups_(count / bits / bits + 1) {}

  void insert(std::uint32_t member) {
    members_[member / bits] |= bit(member);
    groups_[member / bits / bits] |= bit(member / bits);
  }

  /// Takes the next member after the last one taken, or the first one; false where there is none.
  bool take(std::uint32_t& member) {
    if (take_from(next_, member)) return true;
    return next_ > 0 && take_from(0, member);
  }

 private:
  static constexpr std::uint32_t bits = 64;
  static std::uint64_t bit(std::uint32_t n) { return std::uint64_t{1} << (n % bits); }
  static std::uint64_t from(std::uint32_t n) { return ~std::uint64_t{0} << (n % bits); }

  bool take_from(std::uint32_t first, std::uint32_t& member) {
    std::uint32_t word = first / bits;
    std::uint64_t found = word < members_.size() ? members_[word] & from(first) : 0;
    if (found == 0) {
      ++word;
      std::uint32_t group = word / bits;
      std::uint64_t words = group < groups_.size() ? groups_[group] & from(word) : 0;
      while (words == 0) {
        if (++group >= groups_.size()) return false;
        words = groups_[group];
      }
      word = group * bits + static_cast<std::uint32_t>(std::countr_zero(words));
      found = members_[word];
    }
    member = word * bits + static_cast<std::uint32_t>(std::countr_zero(found));
    members_[word] &= ~bit(member);
    if (members_[word] == 0) groups_[word / bits] &= ~bit(word);
    next_ = member + 1;
    return true;
  }

  std::vector<std::uint64_t> members_;  // A bit each.
  std::vector<std::uint64_t> groups_;   // A bit for each word of `members_` that is not 0.
  std::uint32_t next_ = 0;
};

}  // namespace cyclotron::runtime::simulator
