// `System.dependences`: statements and dependences as plain data.
#include <pybind11/stl.h>

#include <cyclotron/recurrence/dependences.hpp>
#include <cyclotron/recurrence/pass_edge.hpp>
#include <cyclotron/schedule/vector_order.hpp>

#include "bindings.hpp"
#include "interruptible.hpp"
#include "typed.hpp"

namespace py = pybind11;
namespace cyclotron::bindings {
namespace {

using namespace recurrence;

py::tuple from_span(const Span& span) {
  return py::make_tuple(span.file, span.line, span.column, span.end_line, span.end_column);
}

py::dict from_reference(const Reference& reference) {
  using namespace py::literals;
  return py::dict("cell"_a = reference.cell, "write"_a = reference.write, "text"_a = reference.text,
                  "relation"_a = reference.relation, "span"_a = from_span(reference.span));
}

py::dict from_statement(const Statement& statement) {
  using namespace py::literals;
  py::list references;
  for (const auto& reference : statement.references) references.append(from_reference(reference));
  return py::dict("name"_a = statement.name, "kind"_a = name(statement.kind), "indices"_a = statement.indices,
                  "domain"_a = statement.domain, "schedule"_a = statement.schedule,
                  "references"_a = references, "span"_a = from_span(statement.span));
}

py::dict from_dependence(const Dependence& dependence) {
  using namespace py::literals;
  py::list distances;
  for (const auto& [index, least, greatest] : dependence.distances)
    distances.append(py::make_tuple(index, least, greatest));
  return py::dict("kind"_a = name(dependence.kind), "cell"_a = dependence.cell,
                  "source"_a = dependence.source, "target"_a = dependence.target,
                  "relation"_a = dependence.relation, "distances"_a = distances,
                  "span"_a = from_span(dependence.span));
}

}  // namespace

void bind_dependences(py::module_& module) {
  module.def(
      "dependences",
      [](const System& system) -> py::typing::Tuple<Dicts, Dicts> {
        const auto found = interruptibly({}, [system](const auto&) {
          const poly::Analysis analysis(system.kernel);
          return dependences(system);
        });
        Dicts statements, between;
        for (const auto& statement : found.statements) statements.append(from_statement(statement));
        for (const auto& dependence : found.dependences) between.append(from_dependence(dependence));
        return py::make_tuple(statements, between);
      },
      py::arg("system"), "The statements of the loop nest that spells a system, and their dependences.");
  module.def(
      "vector_order",
      [](const System& system, const std::set<std::string>& sums) {
        return interruptibly({}, [system, sums](const auto&) {
          const poly::Analysis analysis(system.kernel);
          return schedule::vector_order(system, sums);
        });
      },
      py::arg("system"), py::arg("sums"),
      "The order of loops whose innermost one runs in vectors; empty where the text's is as good.");
  module.def(
      "pass_edge",
      [](const System& system, const std::set<std::string>& tensors, std::string index, bool last) {
        return interruptibly({}, [system, tensors, edge = Edge{std::move(index), last}](const auto&) {
          const poly::Analysis analysis(system.kernel);
          return pass_edge(system, tensors, edge);
        });
      },
      py::arg("system"), py::arg("tensors"), py::arg("index"), py::arg("last"),
      "The system with copies of inputs and outputs at an edge of the grid, or None.");
  module.def(
      "schedule_tree",
      [](const System& system) {
        const auto found = interruptibly({}, [system](const auto&) {
          const poly::Analysis analysis(system.kernel);
          return schedule_tree(system);
        });
        return std::pair(found.tree, found.code);
      },
      py::arg("system"), "isl's schedule tree of the statements, and the C code of its nest.");
}

}  // namespace cyclotron::bindings
