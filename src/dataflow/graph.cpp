#include <cyclotron/dataflow/graph.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cyclotron::dataflow {

std::string_view name(Origin origin) {
  switch (origin) {
    case Origin::inject: return "Inject";
    case Origin::propagate: return "Propagate";
    case Origin::lower_sum: return "LowerSum";
    case Origin::outer_send: return "OuterSend";
    case Origin::outer: return "Outer";
    case Origin::inner_send: return "InnerSend";
    case Origin::turn: return "Turn";
    case Origin::relay: return "Relay";
    case Origin::publish: return "Export";
  }
  return "";
}

bool operator==(const Tensor& a, const Tensor& b) {
  return a.listed_name() == b.listed_name() && a.dtype == b.dtype && a.role == b.role && a.shape == b.shape &&
         a.tile == b.tile && a.blocked == b.blocked;
}

bool equal(const Graph& a, const Graph& b) {
  // Sets of two contexts do not compare: bring b's into a's through their text, with names that isl has no
  // other use for.
  std::vector<std::string> names;
  for (std::size_t d = 0; d < b.dims.size(); ++d) names.push_back(fmt::format("x{}", d));
  const auto same_set = [&](const poly::Set& x, const poly::Set& y) {
    const auto copy = poly::Set::parse(x.context(), names, y.constraints_text(names));
    return copy && x == *copy;
  };
  if (a.kernel != b.kernel || a.dims != b.dims || a.tensors != b.tensors ||
      a.spaces.size() != b.spaces.size() || a.flows.size() != b.flows.size() ||
      a.rules.size() != b.rules.size()) {
    return false;
  }
  for (std::size_t s = 0; s < a.spaces.size(); ++s) {
    const auto &x = a.spaces[s], &y = b.spaces[s];
    if (x.name != y.name || x.own != y.own || x.tuple != y.tuple || !same_set(x.domain, y.domain))
      return false;
  }
  for (std::size_t f = 0; f < a.flows.size(); ++f) {
    const auto &x = a.flows[f], &y = b.flows[f];
    if (listed_name(a, x) != listed_name(b, y) || x.space != y.space || x.tensor != y.tensor ||
        !(x.tile == y.tile) || x.element != y.element || x.prefetched != y.prefetched ||
        x.computed != y.computed || x.dtype != y.dtype) {
      return false;
    }
  }
  for (std::size_t r = 0; r < a.rules.size(); ++r) {
    const auto &x = a.rules[r], &y = b.rules[r];
    if (x.action != y.action || x.flow != y.flow || x.origin != y.origin || !same_set(x.domain, y.domain))
      return false;
  }
  return true;
}

std::optional<std::vector<std::int64_t>> constant_offset(const Space& space,
                                                         const std::vector<poly::Affine>& from) {
  std::vector<std::int64_t> offset;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const auto difference = from[d] - space.tuple[d];
    if (!poly::is_constant(difference)) return std::nullopt;
    offset.push_back(difference.constant);
  }
  return offset;
}

bool crosses_spaces(const Graph& graph, const Rule& rule) {
  const auto* transfer = std::get_if<Transfer>(&rule.action);
  return transfer != nullptr && graph.at(transfer->source).space != graph.at(rule.flow).space;
}

std::string listed_name(const Graph& graph, const Flow& flow, std::string_view separator) {
  const auto& tensor = graph.at(flow.tensor);
  if (tensor.listed.empty() || !flow.name.starts_with(tensor.name)) return flow.name;
  const auto letter = flow.name.substr(tensor.name.size());
  return letter.empty() ? tensor.listed : fmt::format("{}{}{}", tensor.listed, separator, letter);
}

std::string flow_text(const Graph& graph, FlowId id, const std::vector<poly::Affine>& point) {
  const auto& flow = graph.at(id);
  std::vector<std::string> parts;
  for (const auto& form : point) parts.push_back(poly::to_string(form, graph.dims));
  return fmt::format("({})_{}^{}", fmt::join(parts, ", "), listed_name(graph, flow),
                     graph.at(flow.space).name);
}

std::string flow_text(const Graph& graph, FlowId id) {
  return flow_text(graph, id, graph.at(graph.at(id).space).tuple);
}

}  // namespace cyclotron::dataflow
