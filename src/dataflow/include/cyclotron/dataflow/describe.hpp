// A graph in parts, for tables and pictures: the columns of each printed line, and points of small boxes.
#pragma once
#include <cyclotron/dataflow/graph.hpp>

namespace cyclotron::dataflow {

/// The columns of a rule as to_string prints it.
struct RuleText {
  std::string statement;  ///< `(i, j, k)_A^mul ← (i, j-1, k)_A^mul`
  std::string domain;     ///< `j ≥ 1`
  std::string action;     ///< `receive A along j`
};
[[nodiscard]] RuleText text_of(const Graph& graph, const Rule& rule);
/// The points of a space as to_string prints them: `0 ≤ i ≤ 3, j < i`.
[[nodiscard]] std::string domain_text(const Graph& graph, const Space& space);

using Point = std::vector<std::int64_t>;

/// Points p with least <= p <= greatest, over all dims, both ends included.
struct Box {
  Point least, greatest;
};
/// The smallest box that holds every space; empty vectors where no space has a point.
[[nodiscard]] Box bounds(const Graph& graph);
/// The points of a set of the graph's that lie in the box, in lexicographic order. Work grows with the box.
[[nodiscard]] std::vector<Point> points_in(const poly::Set& domain, const Box& box);
/// A value's way from one point to another.
struct Arrow {
  Point from, to;
};
/// The values that a transfer moves to the points of the box; nothing for other rules.
[[nodiscard]] std::vector<Arrow> arrows_in(const Rule& rule, const Box& box);

}  // namespace cyclotron::dataflow
