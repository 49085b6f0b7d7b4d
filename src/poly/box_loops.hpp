// Private to this folder: loops through boxes, without isl.
#pragma once
#include <optional>
#include <vector>

#include <cyclotron/poly/loops.hpp>

namespace cyclotron::poly::detail {

/// The nest of statements whose times lie in a few boxes each: they run between constants, whatever the
/// parameters, in every coordinate by itself. Nothing where those of one do not. Each coordinate is cut where a
/// statement begins or ends, so that no guard is left: what isl does with its option `separate`, at a fraction of the
/// effort.
[[nodiscard]] std::optional<Node> box_nest(const std::vector<Set>& statements, std::size_t parameters,
                                           std::size_t times);

}  // namespace cyclotron::poly::detail
