// The work of the PEs of a run: instructions, floating-point operations, and words to and from memory and channels.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cyclotron::runtime {

/// The instructions that are counted: all but control.
enum class InstructionKind : std::uint8_t { load, store, move, send, receive, broadcast, compute };
inline constexpr std::array<std::string_view, 7> instruction_names{"load",    "store",     "move",   "send",
                                                                   "receive", "broadcast", "compute"};

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
  bool operator==(const Work&) const = default;

  [[nodiscard]] std::int64_t& count(InstructionKind kind) {
    return instructions[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::int64_t count(InstructionKind kind) const {
    return instructions[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] Traffic& on(std::uint32_t channel);
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
};

}  // namespace cyclotron::runtime
