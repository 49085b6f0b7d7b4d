#include <cyclotron/mapping/dependences.hpp>

#include <utility>

namespace cyclotron::mapping {

using dataflow::Compute;
using dataflow::FlowRef;
using dataflow::Transfer;

std::vector<Dependence> dependences(const dataflow::Graph& graph) {
  std::vector<Dependence> result;
  for (const auto& rule : graph.rules) {
    if (const auto* transfer = std::get_if<Transfer>(&rule.action)) {
      result.push_back({&rule, transfer->source, transfer->from});
    } else if (const auto* compute = std::get_if<Compute>(&rule.action)) {
      for (const auto& term : compute->terms) {
        const auto* ref = std::get_if<FlowRef>(&term);
        if (ref == nullptr || ref->flow != rule.flow) continue;
        auto from = graph.at(graph.at(rule.flow).space).tuple;
        for (std::size_t d = 0; d < from.size(); ++d) from[d].constant += ref->offset[d];
        result.push_back({&rule, ref->flow, std::move(from)});
      }
    }
  }
  return result;
}

}  // namespace cyclotron::mapping
