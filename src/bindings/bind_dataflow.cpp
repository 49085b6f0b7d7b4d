// `_core.Dataflow`: its spaces, flows and rules as plain data.
#include <pybind11/stl.h>

#include <cyclotron/dataflow/describe.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "bindings.hpp"
#include "typed.hpp"

namespace py = pybind11;
namespace cyclotron::bindings {
namespace {

Dicts from_spaces(const dataflow::Graph& graph) {
  using namespace py::literals;
  Dicts result;
  for (const auto& space : graph.spaces) {
    std::vector<std::string> tuple;
    for (const auto& form : space.tuple) tuple.push_back(poly::to_string(form, graph.dims));
    result.append(py::dict("name"_a = space.name, "own"_a = space.own, "tuple"_a = tuple,
                           "domain"_a = domain_text(graph, space),
                           "is_relay"_a = space.kind == dataflow::SpaceKind::relay));
  }
  return result;
}

Dicts from_flows(const dataflow::Graph& graph) {
  using namespace py::literals;
  Dicts result;
  for (std::size_t f = 0; f < graph.flows.size(); ++f) {
    const auto& flow = graph.flows[f];
    std::vector<std::string> element;
    for (const auto& form : flow.element) element.push_back(poly::to_string(form, graph.dims));
    result.append(py::dict("name"_a = flow.name, "text"_a = flow_text(graph, dataflow::FlowId(f)),
                           "space"_a = flow.space.index(), "tensor"_a = graph.at(flow.tensor).name,
                           "variable"_a = graph.at(flow.tensor).user_name(), "line"_a = flow.span.line,
                           "element"_a = element, "prefetched"_a = flow.prefetched,
                           "computed"_a = flow.computed));
  }
  return result;
}

/// Kind, and what the rule reads: pairs of a flow and the constant offset of its point, None where it varies.
py::dict from_action(const dataflow::Graph& graph, const dataflow::Rule& rule) {
  using namespace py::literals;
  const auto& space = graph.at(graph.at(rule.flow).space);
  return std::visit(
      Overloaded{
          [](const dataflow::Inject&) { return py::dict("kind"_a = "inject", "reads"_a = py::list()); },
          [&](const dataflow::Transfer& transfer) {
            py::list reads;
            reads.append(py::make_tuple(transfer.source.index(), constant_offset(space, transfer.from)));
            return py::dict("kind"_a = transfer.broadcast ? "broadcast" : "transfer", "reads"_a = reads);
          },
          [](const dataflow::Compute& compute) {
            py::list reads;
            for (const auto& term : compute.terms) {
              if (const auto* flow = std::get_if<dataflow::FlowRef>(&term))
                reads.append(py::make_tuple(flow->flow.index(), flow->offset));
            }
            return py::dict("kind"_a = "compute", "reads"_a = reads);
          },
          [](const dataflow::Export&) { return py::dict("kind"_a = "export", "reads"_a = py::list()); }},
      rule.action);
}

Dicts from_rules(const dataflow::Graph& graph) {
  Dicts result;
  for (const auto& rule : graph.rules) {
    auto item = from_action(graph, rule);
    const auto text = text_of(graph, rule);
    item["statement"] = text.statement;
    item["domain"] = text.domain;
    item["action"] = text.action;
    item["origin"] = name(rule.origin);
    item["flow"] = rule.flow.index();
    const auto& span = rule.span;
    item["span"] = py::make_tuple(span.file, span.line, span.column, span.end_line, span.end_column);
    result.append(item);
  }
  return result;
}

std::pair<dataflow::Point, dataflow::Point> from_box(const dataflow::Box& box) {
  return {box.least, box.greatest};
}

}  // namespace

void bind_dataflow(py::module_& module) {
  py::class_<dataflow::Graph>(module, "Dataflow", "Dataflow recurrences.")
      .def_static("parse", &dataflow::parse, py::arg("text"), "Read what str() wrote.")
      .def_readonly("kernel", &dataflow::Graph::kernel)
      .def_readonly("dims", &dataflow::Graph::dims)
      .def_property_readonly("spaces", &from_spaces)
      .def_property_readonly("flows", &from_flows)
      .def_property_readonly("rules", &from_rules)
      .def_property_readonly("bounds", [](const dataflow::Graph& g) { return from_box(bounds(g)); })
      .def(
          "space_points",
          [](const dataflow::Graph& g, std::size_t space, dataflow::Point least, dataflow::Point greatest) {
            return dataflow::points_in(g.spaces.at(space).domain, {std::move(least), std::move(greatest)});
          },
          py::arg("space"), py::arg("least"), py::arg("greatest"), "Points of a space in a box.")
      .def(
          "rule_points",
          [](const dataflow::Graph& g, std::size_t rule, dataflow::Point least, dataflow::Point greatest) {
            return dataflow::points_in(g.rules.at(rule).domain, {std::move(least), std::move(greatest)});
          },
          py::arg("rule"), py::arg("least"), py::arg("greatest"), "Points of a rule in a box.")
      .def(
          "rule_arrows",
          [](const dataflow::Graph& g, std::size_t rule, dataflow::Point least, dataflow::Point greatest) {
            std::vector<std::pair<dataflow::Point, dataflow::Point>> result;
            for (auto& [from, to] : arrows_in(g.rules.at(rule), {std::move(least), std::move(greatest)}))
              result.emplace_back(std::move(from), std::move(to));
            return result;
          },
          py::arg("rule"), py::arg("least"), py::arg("greatest"), "Moves of a rule into a box.")
      .def("__str__", [](const dataflow::Graph& g) { return to_string(g); })
      .def("__eq__", [](const dataflow::Graph& a, const dataflow::Graph& b) { return equal(a, b); });
}

}  // namespace cyclotron::bindings
