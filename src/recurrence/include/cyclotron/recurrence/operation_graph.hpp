// The operators of a system, point by point, with what each waits for.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/recurrence/operations.hpp>

namespace cyclotron::recurrence {

/// The cycles of the cheapest of some ways to apply an operator.
using LeastCycles = std::function<std::int64_t(const std::vector<Application>&)>;

/// An operator at some of its points.
struct OperationKind {
  std::vector<std::string> indices;  ///< Of its points, in nesting order.
  std::vector<std::int64_t> points;  ///< As many numbers a node as indices.
  std::vector<std::size_t> nodes;    ///< In the order of `points`.
  std::size_t equation = 0;          ///< Of the system, by its number.
  bool is_term = false;              ///< Of a reduction's terms.
};

/// An element of an input, with the operators that read it.
struct InputElement {
  TensorId tensor;
  std::int64_t words = 1;
  std::vector<std::size_t> readers;  ///< Nodes.
  bool is_copied = false;  ///< To an element that is read in its place: by others than the readers, too.
};

/// An element of an output that an operator computes.
struct OutputElement {
  std::size_t node = 0;
  std::int64_t words = 1;
};

/// Each node waits for nodes before it.
struct OperationGraph {
  std::vector<std::int64_t> cycles;   ///< Of each node, at least.
  std::vector<std::int64_t> words;    ///< Of its value, where that is an element or part of its sum; else 1.
  std::vector<std::size_t> first{0};  ///< Of each node, where what it waits for begins; at last, the end.
  std::vector<std::size_t> waits_for;
  /// Those that every schedule runs at their points, each once: operators and terms of sums that vary with all indices
  /// around them, where no other point has the same value. The compiler may share or move the others.
  std::vector<OperationKind> kinds;
  std::vector<InputElement> inputs;
  std::vector<OutputElement> outputs;
};

/// The graph of a system, terms of reductions in their order. Each point has a node, `most` at most: none where there are
/// more, or chains that are too long to follow.
/// Requires: a verified system.
[[nodiscard]] std::optional<OperationGraph> operation_graph(const System& system, const LeastCycles& cycles,
                                                            std::int64_t most);

}  // namespace cyclotron::recurrence
