// The work of the PEs of a run: instructions, floating-point operations, and words to and from memory and channels.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <cyclotron/operators/operators.hpp>

namespace cyclotron::runtime {

/// The instructions that are counted: all but control.
enum class InstructionKind : std::uint8_t { load, store, move, send, receive, broadcast, compute };
inline constexpr std::array<std::string_view, 7> instruction_names{"load",    "store",     "move",   "send",
                                                                   "receive", "broadcast", "compute"};

/// A use of energy, of the instructions of a class that do the same to the same slot or tensor.
struct Amount {
  enum class Kind : std::uint8_t {
    operations,  ///< Floating-point operations, or as many on whole numbers, whose result a slot holds.
    read,        ///< Words of a slot, by an instruction.
    written,     ///< The same.
    loaded,      ///< Words of a tensor that is not resident.
    stored,      ///< The same.
  };
  Kind kind = Kind::operations;
  std::uint16_t by = 0;  ///< The operator, or that number of operators and the kind of instruction.
  operators::DType dtype = operators::DType::float64;  ///< On which an operator works.
  std::uint32_t pe_class = 0;
  std::uint32_t of = 0;  ///< Slot of the class, or tensor.
  bool operator==(const Amount&) const = default;

  [[nodiscard]] static std::uint16_t by_instruction(InstructionKind kind) {
    return static_cast<std::uint16_t>(operators::operator_count + static_cast<std::size_t>(kind));
  }
  [[nodiscard]] std::string_view by_name() const;
};
inline constexpr std::array<std::string_view, 5> amount_names{"operations", "read", "written", "loaded",
                                                              "stored"};

/// Sums over some instructions of one PE. A word is one element of whatever dtype.
struct Work {
  /// On one channel.
  struct Traffic {
    std::uint32_t channel = 0;
    std::int64_t sent = 0;      ///< Words; of a broadcast those of one message, however many receive it.
    std::int64_t received = 0;  ///< Words.
    bool operator==(const Traffic&) const = default;
  };
  std::array<std::int64_t, instruction_names.size()> instructions{};
  std::int64_t flops = 0;  ///< As the operator registry counts, on every dtype.
  std::int64_t words_loaded = 0;
  std::int64_t words_stored = 0;
  std::int64_t bytes_loaded = 0;
  std::int64_t bytes_stored = 0;
  std::int64_t words_resident = 0;  ///< Of LOADs and STOREs of resident tensors, which the others leave out.
  std::vector<Traffic> traffic;     ///< Each channel once.
  std::vector<std::pair<Amount, std::int64_t>> amounts;  ///< Each key once.
  bool operator==(const Work&) const = default;

  [[nodiscard]] std::int64_t& count(InstructionKind kind) {
    return instructions[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::int64_t count(InstructionKind kind) const {
    return instructions[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] Traffic& on(std::uint32_t channel);
  [[nodiscard]] std::int64_t& of(const Amount& amount);
};

/// The work of every PE, compactly: PEs that run the same program do the same blocks of instructions, each its own
/// number of times.
struct Counters {
  static constexpr std::uint32_t none = 0xffffffffU;
  struct Group {
    Work once;                   ///< The work of each of its PEs that is done once.
    std::vector<Work> repeated;  ///< And so many times as `times` says.
  };
  std::vector<Group> groups;
  std::vector<std::uint32_t> group_of;  ///< By PE of the grid, or `none`.
  std::vector<std::int64_t> times;      ///< By PE, and by what its group repeated.

  /// One number a PE. Each throws ExecutionError CYC708 where a number does not fit 63 bits.
  [[nodiscard]] std::vector<std::int64_t> instructions(InstructionKind kind) const;
  [[nodiscard]] std::vector<std::int64_t> total(std::int64_t Work::* member) const;
  [[nodiscard]] std::vector<std::int64_t> words_sent(std::uint32_t channel) const;
  [[nodiscard]] std::vector<std::int64_t> words_received(std::uint32_t channel) const;
  [[nodiscard]] std::vector<std::int64_t> of(const Amount& amount) const;

  /// Each that some PE has, once.
  [[nodiscard]] std::vector<Amount> amounts() const;
};

}  // namespace cyclotron::runtime
