// Accesses of loops: those that follow each other, and orders of iterations that leave the same numbers.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "../code.hpp"
#include "../tensors.hpp"

namespace cyclotron::runtime {

/// Tells whether a step does more than say which step is next.
[[nodiscard]] bool is_work(const Step& step);

/// A circular buffer's place that is as far ahead of another one in all iterations, but where one of them has gone round.
struct Neighbour {
  std::uint32_t wrap = 0;
  std::int64_t ahead = 0;
};

/// By wrap, the first of `wraps` that it is a neighbour of.
[[nodiscard]] std::map<std::uint32_t, Neighbour> neighbours_of(const Code& code,
                                                               std::span<const std::uint32_t> wraps);

/// Loops in each other at most, the outermost counted.
[[nodiscard]] std::uint32_t depth_of(const Code& code, std::uint32_t opener);

/// Tells whether an access is to the element that another one was to an iteration of the loop before.
[[nodiscard]] bool follows(const Code& code, std::uint32_t read, std::uint32_t written, const Step& loop);

/// Tells whether a loop that holds another one and nothing else goes through memory line by line where the inner loop is cut
/// into blocks, each of which all iterations of the outer loop run first, and each number is what it is without. The inner
/// loop has the same limits in all iterations then, and its steps cannot fail. Requires: they are on scalars, and no other tensor
/// has numbers of those that are stored.
[[nodiscard]] bool gains_from_blocks(const Code& code, const std::vector<TensorAccess>& tensors,
                                     std::uint32_t opener);

}  // namespace cyclotron::runtime
