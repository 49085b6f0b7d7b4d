// The code of PE classes.
#pragma once
#include <cstddef>
#include <vector>

#include <cyclotron/codegen/exit_flag.hpp>
#include <cyclotron/codegen/storage.hpp>
#include <cyclotron/mapping/mapping.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// An instruction of a class that puts an element of a flag into a slot.
struct FlagValue {
  std::size_t flag;
  std::size_t instruction;
  program::SlotRef slot;
  program::Affine element;             ///< Its last dimension's: the iteration, but for the flag's offset.
  bool of_this_run = true;             ///< The loops around its loop are in the iterations of which it is.
  std::vector<program::Affine> run{};  ///< Its other dimensions.
};

/// A program whose loops run to their ends, and where it has their flags.
struct Code {
  program::Program program;
  std::vector<std::vector<FlagValue>> flag_values;  ///< By class, in the order of the code.
};

/// Writes isl's loop nests over time, with the PE coordinates as parameters, one instruction a statement (several for
/// an expression).
/// Requires: mapping from map_to_grid; `storage` from choose_storage. Throws LegalityError CYC225 where no affine
/// conditions tell the PEs of a class apart (some cyclic folds), CYC224 where the receivers of a broadcast are not one
/// interval.
[[nodiscard]] Code write_code(const mapping::Mapping& mapping, const machine::Machine& machine,
                              const std::vector<Storage>& storage, const std::vector<ExitFlag>& flags);

}  // namespace cyclotron::codegen
