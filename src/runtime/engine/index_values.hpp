#pragma once

#include <cstddef>
#include <cstdint>

#include <cyclotron/operators/operators.hpp>

namespace cyclotron::runtime {

/// The numbers first, first + step, … of a dtype, side by side. Of integers that are too large for it the lower bits.
void write_indices(operators::DType dtype, std::int64_t first, std::int64_t step, std::int64_t count,
                   std::byte* to);

}  // namespace cyclotron::runtime
