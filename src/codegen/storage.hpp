// Private to this folder: where the values of a flow lie within one PE.
#pragma once
#include <vector>

#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::codegen::detail {

/// How the slot of a flow is indexed: by time dims, outermost first; by none where a single place is overwritten step
/// by step. The outermost one may go round a circular buffer of `modulus` places, if that is not 0: of values that live
/// for a step or two of a long loop, only those are kept (Lefebvre and Feautrier's modular storage).
struct Storage {
  std::vector<std::size_t> dims;
  std::int64_t modulus = 0;
};

/// By flow. Proven by exact last-writer analysis: every read finds the value it wants.
[[nodiscard]] std::vector<Storage> choose_storage(const mapping::Mapping& mapping);

}  // namespace cyclotron::codegen::detail
