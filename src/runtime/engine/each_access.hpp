// The elements of tensors that PEs load and store, without running them.
#pragma once
#include <cstdint>
#include <functional>

#include "pe_array.hpp"

namespace cyclotron::runtime {

using VisitAccess = std::function<void(const Step&, const std::int64_t*)>;

/// Calls visit(step, index) for each tile that a PE loads, or stores, in the order of its program and as if no loop ended
/// early. Requires: `kind` is load or store.
void each_access(Pe& pe, Step::Kind kind, const VisitAccess& visit);

}  // namespace cyclotron::runtime
