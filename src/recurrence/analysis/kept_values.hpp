// Private to this folder: tensors of a loop that keep their values in iterations that change nothing.
#pragma once
#include <cstdint>
#include <map>
#include <string>
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

/// The elements of variables, by name, that tensors hold: forms of their subscripts but that of the loop's index.
using HeldElements = std::map<std::string, std::map<TensorId, std::vector<Affine>>>;

/// Tensors that no longer change, of those with the copies that make up all of their elements in each iteration after a
/// first one: with the iteration, counted from that, from which on they keep their values. A variable has many tensors in an
/// iteration, one after each statement and each iteration of loops inside, and each has some or all of its elements. `held`
/// tells which, as far as that is known: it is a hint, and what does not follow from the copies is dropped.
[[nodiscard]] std::map<TensorId, std::int64_t> kept_values(
    const std::map<TensorId, std::vector<ElementCopy>>& copies, const HeldElements& held = {});

}  // namespace cyclotron::recurrence::exits
