// The dependences between the points of a graph.
#pragma once
#include <vector>

#include <cyclotron/dataflow/graph.hpp>

namespace cyclotron::mapping {

/// The value of `source` at from(p) is used for `rule.flow` at p.
struct Dependence {
  const dataflow::Rule* rule;
  dataflow::FlowId source;
  std::vector<poly::Affine> from;
};

/// All of a graph, which they point into.
[[nodiscard]] std::vector<Dependence> dependences(const dataflow::Graph& graph);

}  // namespace cyclotron::mapping
