// Waits of a PE's instructions besides those for messages and memory: results that a unit has not delivered, units that
// are not ready, and ports. The rules are told by `simulate`.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cyclotron/program/program.hpp>

#include "../../engine/code.hpp"

namespace cyclotron::runtime::simulator {

/// The times from which elements of the PEs' slots may be read and overwritten.
class Scoreboard {
 public:
  /// Elements of one slot.
  struct Elements {
    std::uint32_t slot = 0;
    std::int64_t first = 0;
    std::int64_t count = 1;
  };

  /// `codes`: by ordinal. Where no unit is pipelined and none overlap, no time is ever late.
  Scoreboard(const program::Program& program, const std::vector<const Code*>& codes);
  [[nodiscard]] bool on() const { return on_; }

  /// Cycle from which the elements are there.
  [[nodiscard]] std::int64_t readable(std::uint32_t ordinal, const Elements& elements) const;
  /// Cycle from which they may be overwritten.
  [[nodiscard]] std::int64_t writable(std::uint32_t ordinal, const Elements& elements) const;
  /// A unit reads the elements until a cycle.
  void read(std::uint32_t ordinal, const Elements& elements, std::int64_t until);
  /// A unit delivers them at a cycle.
  void write(std::uint32_t ordinal, const Elements& elements, std::int64_t at);
  /// Cycle from which all results are there.
  [[nodiscard]] std::int64_t all_written(std::uint32_t ordinal) const { return on_ ? last_[ordinal] : 0; }

 private:
  struct Times {
    std::int64_t written = 0;
    std::int64_t read = 0;
  };
  struct Class {
    std::vector<std::size_t> first;                   // Of each slot, the place of its first element.
    std::vector<std::vector<std::uint32_t>> aliases;  // Other slots that share its memory or its registers.
    std::size_t elements = 0;
  };
  [[nodiscard]] static Class layout(const program::PeClass& pe_class);
  [[nodiscard]] std::size_t place(std::uint32_t ordinal, const Elements& elements) const;
  /// Of a slot as a whole.
  [[nodiscard]] std::size_t whole(std::uint32_t ordinal, std::uint32_t slot) const;

  bool on_;
  std::vector<Class> classes_;
  std::vector<const Code*> codes_;    // By ordinal.
  std::vector<std::size_t> first_;    // By ordinal: the place of its first element.
  std::vector<std::size_t> slots_;    // The same, of its first slot.
  std::vector<Times> times_;          // By place.
  std::vector<std::int64_t> in_use_;  // By slot of a PE: until its last element is read or written.
  std::vector<std::int64_t> last_;    // By ordinal.
};

/// Limits of how many instructions of a kind begin in one cycle.
class PortLimits {
 public:
  enum class Kind : std::uint8_t { load, store, send, receive, issue };

  PortLimits(const machine::Pe& pe, std::size_t pes);
  [[nodiscard]] bool on() const { return on_; }

  /// Cycle from which the PE's next instruction of the kind may begin; `issue`: of any other.
  [[nodiscard]] std::int64_t free_at(std::uint32_t ordinal, Kind kind) const;
  void begin(std::uint32_t ordinal, Kind kind, std::int64_t time);

 private:
  /// Of one kind: as many of the last times of each PE as there are ports.
  struct Ports {
    std::int64_t count = 0;  // 0: no limit.
    std::vector<std::int64_t> times{};
    std::vector<std::int64_t> next{};  // By ordinal: the place of the oldest, which is used again.
    [[nodiscard]] std::int64_t free_at(std::uint32_t ordinal) const;
    void begin(std::uint32_t ordinal, std::int64_t time);
  };
  bool on_;
  std::array<Ports, 5> kinds_;
};

}  // namespace cyclotron::runtime::simulator
