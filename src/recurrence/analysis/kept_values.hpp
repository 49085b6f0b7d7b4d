// Private to this folder: tensors of a loop that keep their values in iterations that change nothing.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence::exits {

/// An equation of a loop in iterations in which it copies: an element of a tensor, of so many iterations before. Elements
/// are told apart by their subscripts but that of the loop's index.
struct ElementCopy {
  const Equation* equation;
  std::vector<Affine> to;
  TensorId of;
  std::int64_t lag;
  std::vector<Affine> from;
};

/// Tensors that no longer change, of those with the copies that make up all of their elements in each iteration after a
/// first one: with the iteration, counted from that, from which on they keep their values. A variable has many tensors in an
/// iteration, one after each statement and each iteration of loops inside, and each has some or all of its elements.
[[nodiscard]] std::map<TensorId, std::int64_t> kept_values(
    const std::map<TensorId, std::vector<ElementCopy>>& copies);

}  // namespace cyclotron::recurrence::exits
