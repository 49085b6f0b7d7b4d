// Loops of which many iterations can run at once.
#pragma once
#include <cstddef>
#include <vector>

#include "../code.hpp"

namespace cyclotron::runtime {

/// The body of the loop from step `opener` to step `end` of the code, if it has no control and works on scalars and
/// links alone; none of another. Two where numbers bound what is done in some iterations: of the others, and of these.
[[nodiscard]] std::vector<Body> bodies_between(const program::Program& program, const Code& code,
                                               std::size_t opener, std::size_t end);

}  // namespace cyclotron::runtime
