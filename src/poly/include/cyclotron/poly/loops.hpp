// Loop nests that visit integer sets in order: isl's AST generator, as plain values.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cyclotron/poly/set.hpp>

namespace cyclotron::poly {

/// Loop variables in the forms of a nest: one a time coordinate, and some for quotients, each a loop of one
/// step.
[[nodiscard]] constexpr std::size_t loop_variables(std::size_t times) { return times + 9; }

/// ceil(form / divisor) as a lower, floor as an upper bound. Variables: parameters, then loop variables by
/// depth.
struct Bound {
  Affine form;
  std::int64_t divisor = 1;
};

/// A node of the loop nest; a tagged tree, children in order.
struct Node {
  enum class Kind { block, loop, guard, visit };
  Kind kind = Kind::block;
  std::vector<Node> children;          ///< block, loop, guard
  std::vector<Bound> lower, upper;     ///< loop: max of lower .. min of upper, inclusive
  std::int64_t step = 1;               ///< loop
  std::vector<Conjunction> condition;  ///< guard: any of, over parameters and loop variables
  std::size_t statement = 0;           ///< visit: index into the statements
  std::vector<Affine> time;            ///< visit: the time vector, over parameters and loop variables
};

/// The statements that run where `parameters` hold: for fixed parameter values every time vector in each statement's domain,
/// in lexicographic order; statements at the same time in their order here. A domain's first coordinates are
/// the parameters, of which it may say less than the region. Copies of one set that says nothing of them are told apart
/// from others without isl.
struct Region {
  Set parameters;
  std::vector<Set> statements;
};

/// A nest for each region. Regions whose statements are one group share a nest: what runs for k < j where
/// j >= 2 also runs so on the diagonal i = j, and in the last row.
///
/// Requires: every domain has its region's dimensions plus `times` coordinates and is bounded. The result does
/// not depend on the number of points (isl_ast_build with parameters; design section 1).
[[nodiscard]] std::vector<Node> generate_loops(const std::vector<Region>& regions, std::size_t times);

}  // namespace cyclotron::poly
