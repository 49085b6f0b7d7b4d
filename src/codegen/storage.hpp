// Private to this folder: where the values of a flow lie within one PE.
#pragma once
#include <vector>

#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::codegen::detail {

/// The time dims that index each flow's slot, outermost first; none for a single place that is overwritten
/// step by step. Proven by exact last-writer analysis: every read finds the value it wants.
struct Storage {
  std::vector<std::vector<std::size_t>> index_dims;  ///< By flow.
};

[[nodiscard]] Storage choose_storage(const mapping::Mapping& mapping);

}  // namespace cyclotron::codegen::detail
