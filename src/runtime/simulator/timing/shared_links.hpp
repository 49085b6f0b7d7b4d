// The links of a machine whose channels share them: when each end is free again, and whose turn a bus is. The rules are
// told by `simulate`.
//
// A hop has one sender and one receiver, so their programs' order is the order of its messages. A bus has many
// senders: a request may only be served when no earlier one can still come, which is so for the earliest of all once no
// PE can go on.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include <cyclotron/program/wires.hpp>

#include "../../engine/code.hpp"

namespace cyclotron::runtime::simulator {

class SharedLinks {
 public:
  static constexpr std::int64_t never = std::int64_t{1} << 62;  ///< After all times.

  /// A PE of the run.
  struct User {
    std::uint32_t grid_index = 0;
    const Code* code = nullptr;
  };
  /// The words of a message on a link: which of its first cycle's come before it, and the cycle of its last.
  struct Passage {
    std::int64_t cycle = 0;
    std::int64_t place = 0;
    std::int64_t last = 0;
  };
  /// The first word that is free at an end of a link, by its cycle and its place among those of the cycle.
  struct End {
    std::int64_t cycle = 0;
    std::int64_t place = 0;
    /// A message takes the next free words, none before that word of a cycle.
    Passage take(std::int64_t from, std::int64_t from_place, std::int64_t words,
                 std::int64_t words_per_cycle) {
      const auto [first, used] = std::max(std::pair(cycle, place), std::pair(from, from_place));
      const std::int64_t all = used + words;
      cycle = first + all / words_per_cycle;
      place = all % words_per_cycle;
      return {first, used, first + (all - 1) / words_per_cycle};
    }
  };

  /// `users`: by ordinal, in the order of the grid. Refers to both others.
  SharedLinks(const program::Program& program, const program::Wires& wires, const std::vector<User>& users);

  /// Tells whether the machine's links are shared.
  [[nodiscard]] bool on() const { return on_; }

  /// The number of the hop that a link's channel takes from a PE.
  [[nodiscard]] std::uint32_t hop_number(std::uint32_t channel, std::uint32_t sender_index);
  /// Its sender's end. Messages come to the other one as far apart.
  [[nodiscard]] End& hop(std::uint32_t number) { return hops_[number]; }

  /// A PE's end of the bus along an axis. Requires: a channel broadcasts along it.
  [[nodiscard]] End& bus_end(std::uint32_t axis, std::uint32_t grid_index) {
    return ends_[place(axis, grid_index)];
  }
  /// Gives a PE the bus of its line for so many words, `asked` or later; tells when, and nullopt where that is not known
  /// yet: the PE then waits until `grant` wakes it, and tries again.
  [[nodiscard]] std::optional<Passage> take_bus(std::uint32_t ordinal, std::uint32_t axis, std::int64_t asked,
                                                std::int64_t words, std::int64_t words_per_cycle);
  /// The cycle at which the first of the PEs that wait for a bus asked for it; `never` where none waits.
  [[nodiscard]] std::int64_t next_asked() const { return requests_.empty() ? never : requests_.top().asked; }
  /// Gives the bus to the PE that asked first, whose ordinal it returns. Requires: some PE waits for one, and none can
  /// go on.
  std::uint32_t grant();

 private:
  struct Bus {
    End end;
    std::uint32_t senders = 0;
  };
  struct Request {
    std::int64_t asked = 0;
    std::uint32_t ordinal = 0;
    std::size_t bus = 0;
    std::int64_t words = 0;
    std::int64_t words_per_cycle = 1;
    bool operator>(const Request& other) const {
      return std::pair(asked, ordinal) > std::pair(other.asked, other.ordinal);
    }
  };
  struct Turn {
    bool waits = false;
    std::optional<Passage> given{};
  };

  void count_senders();
  [[nodiscard]] std::size_t place(std::uint32_t axis, std::uint32_t grid_index) const {
    return first_of_axis_[axis] + grid_index;
  }
  /// Buses are known by the place of the first PE of their line.
  [[nodiscard]] std::size_t bus_of(std::uint32_t axis, std::uint32_t grid_index) const {
    const auto stride = stride_[axis];
    return place(axis, static_cast<std::uint32_t>(grid_index - grid_index / stride % extent_[axis] * stride));
  }

  const program::Program* program_;
  const program::Wires* wires_;
  std::vector<User> users_;
  bool on_;
  std::vector<std::int64_t> extent_, stride_;  // Of the grid.
  std::map<std::pair<std::uint32_t, std::vector<std::int64_t>>, std::uint32_t> numbers_;
  std::vector<End> hops_;
  std::vector<std::size_t>
      first_of_axis_;        // Of a place for each PE; only where a channel broadcasts along it.
  std::vector<Bus> buses_;   // By place.
  std::vector<End> ends_;    // The same.
  std::vector<Turn> turns_;  // By ordinal.
  std::priority_queue<Request, std::vector<Request>, std::greater<>> requests_;
};

}  // namespace cyclotron::runtime::simulator
