// Private to this folder: reads flows at points, and the expressions of compute rules.
#pragma once
#include <cyclotron/dataflow/graph.hpp>

#include "text_reader.hpp"

namespace cyclotron::dataflow::detail {

/// `(i, j-1, k)_A^mul`
struct FlowAt {
  FlowId flow;
  std::vector<poly::Affine> point;
};

/// The point, subscript and space of a flow's text, before the flow is known.
struct FlowText {
  std::vector<poly::Affine> point;
  std::string name;
  std::string space;
};

[[nodiscard]] FlowText read_flow_text(TextReader& reader, const std::vector<std::string>& dims);
/// A flow that the graph has.
[[nodiscard]] FlowAt read_flow(TextReader& reader, const Graph& graph);
/// An expression, its operands before it. Accumulating forms are `x + a · b` and `x + a @ b` without
/// parentheses.
[[nodiscard]] std::vector<Term> read_terms(TextReader& reader, const Graph& graph);

}  // namespace cyclotron::dataflow::detail
