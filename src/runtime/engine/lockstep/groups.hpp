// PEs that can run in lockstep: those of a class that take the same way through its steps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "../code.hpp"

namespace cyclotron::runtime {

using LockstepGroups = std::vector<std::vector<std::uint32_t>>;  ///< Ordinals, in order.

/// True where values that PEs send over channels may come back to the PE that they started from: a PE on its own then waits again
/// and again.
[[nodiscard]] bool exchanges(const machine::Machine& machine,
                             std::span<const program::Channel* const> channels);

/// Values of forms of the grid's coordinates that tell lines of PEs apart: none first, then those of single coordinates, then of
/// diagonals.
[[nodiscard]] std::vector<std::vector<std::int64_t>> lockstep_lines(std::size_t dimensions);

class LockstepGrouping {
 public:
  /// Of PEs alike in loops and branches, in the elements of slots too where `slots` says so, and in the value of a form. PEs come
  /// in order; `most` a group.
  LockstepGrouping(std::span<const Code> codes, bool slots, std::vector<std::int64_t> line);

  void add(std::uint32_t ordinal, std::uint32_t pe_class, const std::int64_t* coordinates, std::size_t most);
  [[nodiscard]] const LockstepGroups& groups() const { return groups_; }

 private:
  using Coefficients = std::vector<std::int64_t>;
  /// Values, and truths of tests, that the PEs of a group share.
  struct Alike {
    std::vector<Coefficients> values;
    std::vector<std::uint32_t> tests;
  };
  [[nodiscard]] static Alike alike(const Code& code, bool slots);

  std::span<const Code> codes_;
  Coefficients line_;
  std::vector<Alike> alike_;  ///< By class.
  LockstepGroups groups_;
  std::map<std::vector<std::int64_t>, std::size_t> group_of_;
  std::vector<std::int64_t> key_;
};

}  // namespace cyclotron::runtime
