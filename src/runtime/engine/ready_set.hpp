// The PEs whose turn it is, taken in the order of the grid to its end and back again: messages go to PEs nearby, which
// then find all that the one before them could send, whichever way that is, and memory is read in order.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cyclotron::runtime {

class ReadySet {
 public:
  explicit ReadySet(std::uint32_t count)
      : members_(count / bits + 1), groups_(count / bits / bits + 1), count_(count) {}

  void insert(std::uint32_t member) {
    members_[member / bits] |= bit(member);
    groups_[member / bits / bits] |= bit(member / bits);
  }

  /// Takes the next member the way it went before; where there is none, the first one the other way. False where there is
  /// none at all.
  bool take(std::uint32_t& member) {
    if (upwards_ ? take_from(next_, member) : take_below(next_, member)) {
      next_ = upwards_ ? member + 1 : member;
      return true;
    }
    upwards_ = !upwards_;
    if (!(upwards_ ? take_from(next_, member) : take_below(next_, member))) return false;
    next_ = upwards_ ? member + 1 : member;
    return true;
  }
  /// Goes upwards from the first member on.
  void restart() {
    next_ = 0;
    upwards_ = true;
  }
  /// Takes the member at the end from which it goes away; false where there is none.
  bool take_behind(std::uint32_t& member) {
    return upwards_ ? take_from(0, member) : take_below(count_, member);
  }

 private:
  static constexpr std::uint32_t bits = 64;
  static std::uint64_t bit(std::uint32_t n) { return std::uint64_t{1} << (n % bits); }
  static std::uint64_t from(std::uint32_t n) { return ~std::uint64_t{0} << (n % bits); }
  static std::uint32_t first_of(std::uint64_t word) {
    return static_cast<std::uint32_t>(std::countr_zero(word));
  }
  static std::uint32_t last_of(std::uint64_t word) {
    return bits - 1 - static_cast<std::uint32_t>(std::countl_zero(word));
  }

  /// The first member from `first` on.
  bool take_from(std::uint32_t first, std::uint32_t& member) {
    std::uint32_t word = first / bits;
    std::uint64_t found = members_[word] & from(first);
    if (found == 0) {
      std::uint32_t group = word / bits;
      std::uint64_t words = groups_[group] & from(word) & ~bit(word);
      while (words == 0) {
        if (++group == groups_.size()) return false;
        words = groups_[group];
      }
      word = group * bits + first_of(words);
      found = members_[word];
    }
    return remove(member = word * bits + first_of(found));
  }

  /// The last member below `end`.
  bool take_below(std::uint32_t end, std::uint32_t& member) {
    std::uint32_t word = end / bits;
    std::uint64_t found = members_[word] & ~from(end);
    if (found == 0) {
      std::uint32_t group = word / bits;
      std::uint64_t words = groups_[group] & ~from(word);
      while (words == 0) {
        if (group-- == 0) return false;
        words = groups_[group];
      }
      word = group * bits + last_of(words);
      found = members_[word];
    }
    return remove(member = word * bits + last_of(found));
  }

  bool remove(std::uint32_t member) {
    members_[member / bits] &= ~bit(member);
    if (members_[member / bits] == 0) groups_[member / bits / bits] &= ~bit(member / bits);
    return true;
  }

  std::vector<std::uint64_t> members_;  // A bit each.
  std::vector<std::uint64_t> groups_;   // A bit for each word of `members_` that is not 0.
  std::uint32_t count_;
  std::uint32_t next_ = 0;  // From it on upwards, below it downwards.
  bool upwards_ = true;
};

}  // namespace cyclotron::runtime
