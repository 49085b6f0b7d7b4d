// Private to this folder: loops whose iterations run one after the other.
#pragma once
#include <set>
#include <string>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::schedule {

struct SequentialIndices {
  std::set<std::string> exits;    ///< Of loops that may end early.
  std::set<std::string> rows;     ///< Around these loops: each iteration of them has another end.
  std::set<std::string> carried;  ///< Of loops whose iterations compute values from those of others.
  std::set<std::string> whole;    ///< Of these, loops that reduce all which the iteration before computes.
};

[[nodiscard]] SequentialIndices sequential_indices(const recurrence::System& system);

}  // namespace cyclotron::schedule
