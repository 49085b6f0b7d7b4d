// `_core.operations_by_place` and what else bounds mappings before they are compiled.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <cyclotron/dataflow/operator_places.hpp>
#include <cyclotron/driver/least_time.hpp>
#include <cyclotron/driver/work.hpp>

#include "bindings.hpp"
#include "interruptible.hpp"
#include "typed.hpp"

namespace py = pybind11;
using namespace py::literals;
namespace cyclotron::bindings {
namespace {

Dicts to_dicts(const std::vector<driver::Count>& counts) {
  Dicts result;
  for (const auto& one : counts) {
    py::array_t<std::int64_t> values(one.counts.extents, one.counts.values.data());
    result.append(py::dict("name"_a = one.name, "cycles"_a = one.cycles, "dimensions"_a = one.dimensions,
                           "first"_a = one.counts.first, "counts"_a = std::move(values)));
  }
  return result;
}

Dicts kinds_of(const recurrence::OperationGraph& graph) {
  Dicts result;
  for (const auto& one : graph.kinds) {
    const std::vector<std::size_t> shape{one.nodes.size(), one.indices.size()};
    result.append(py::dict("indices"_a = one.indices,
                           "nodes"_a = py::array_t<std::size_t>(one.nodes.size(), one.nodes.data()),
                           "points"_a = py::array_t<std::int64_t>(shape, one.points.data())));
  }
  return result;
}

using Pes = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

std::int64_t least_time_of(const recurrence::OperationGraph& graph, const Pes& pes,
                           const std::string& distance, std::int64_t hop, std::int64_t at_most,
                           std::int64_t words_per_cycle, const std::optional<machine::Machine>& machine,
                           bool ordered, const std::vector<std::uint32_t>& onwards, bool passed_on) {
  if (pes.ndim() != 2 || static_cast<std::size_t>(pes.shape(0)) != graph.cycles.size())
    throw py::value_error("pes has a row for each node");
  using Kind = driver::Distance::Kind;
  const auto kind = distance == "manhattan" ? Kind::manhattan
                    : distance == "largest" ? Kind::largest
                                            : Kind::any;
  const std::vector<std::int64_t> values(pes.data(), pes.data() + pes.size());
  const auto dimensions = static_cast<std::size_t>(pes.shape(1));
  if (!onwards.empty() && onwards.size() != graph.cycles.size())
    throw py::value_error("onwards has a value for each node");
  const auto ports =
      machine ? driver::Ports{machine->memories, machine->grid, onwards, passed_on} : driver::Ports{};
  return interruptibly({}, [&](const auto&) {
    return driver::least_time(graph, values, dimensions, {kind, hop, at_most, words_per_cycle}, ports,
                              ordered);
  });
}

Dicts places_of(const recurrence::System& system, const recurrence::OperationGraph& graph,
                const std::vector<std::string>& space) {
  const auto found = interruptibly(
      {}, [&](const auto&) { return dataflow::operator_places(system, graph, space, driver::anywhere); });
  Dicts result;
  for (const auto& one : found) {
    const std::vector<std::size_t> shape{graph.cycles.size(), space.size()};
    result.append(py::dict("pes"_a = py::array_t<std::int64_t>(shape, one.coordinates.data()),
                           "first"_a = one.first, "last"_a = one.last));
  }
  return result;
}

}  // namespace

void bind_work(py::module_& module) {
  module.def(
      "operations_by_place",
      [](const recurrence::System& system, const machine::Machine& machine,
         const std::vector<std::string>& space) {
        return to_dicts(interruptibly(
            {}, [=](const auto&) { return driver::operations_by_place(system, machine, space); }));
      },
      py::arg("system"), py::arg("machine"), py::arg("space"),
      "The number of operations of a system at each place, and the cycles of each at least.");
  module.def(
      "values_along",
      [](const recurrence::System& system, const std::vector<std::string>& space) {
        std::vector<std::optional<std::tuple<std::int64_t, std::int64_t, bool>>> result;
        for (const auto& found : driver::values_along(system, space)) {
          auto& one = result.emplace_back();
          if (found) one.emplace(found->first, found->count, found->is_reduced);
        }
        return result;
      },
      py::arg("system"), py::arg("space"),
      "The first value of each form, how many there are, and if a reduction's result may lie beyond.");
  using Graph = recurrence::OperationGraph;
  py::class_<Graph>(module, "OperationGraph", "Operators point by point, with what each waits for.")
      .def("__len__", [](const Graph& graph) { return graph.cycles.size(); })
      .def_property_readonly("kinds", kinds_of, "Of those that no schedule moves, indices, points and nodes.")
      .def("least_time", least_time_of, py::arg("pes"), py::kw_only(), py::arg("distance"), py::arg("hop"),
           py::arg("at_most"), py::arg("words_per_cycle") = std::int64_t{1} << 62,
           py::arg("memories_of") = std::optional<machine::Machine>(), py::arg("ordered") = true,
           py::arg("onwards") = std::vector<std::uint32_t>(), py::arg("passed_on") = false,
           "Cycles that no program goes below whose operators run in these PEs.");
  module.def(
      "equations_to_lower",
      [](const recurrence::System& system, const recurrence::System& kernel) {
        return interruptibly({}, [=](const auto&) { return dataflow::equations_to_lower(system, kernel); });
      },
      py::arg("system"), py::arg("kernel"),
      "The equations that are compiled; None where that depends on the schedule.");
  module.def("operator_places", places_of, py::arg("system"), py::arg("graph"), py::arg("space"),
             "The coordinates of operators, in each way to place equations that lack an index.");
  module.attr("ANYWHERE") = driver::anywhere;
  module.def(
      "operation_graph",
      [](const recurrence::System& system, const machine::Machine& machine, std::int64_t most) {
        return interruptibly({}, [=](const auto&) { return driver::operation_graph(system, machine, most); });
      },
      py::arg("system"), py::arg("machine"), py::kw_only(), py::arg("most"),
      "The operators of a system point by point; None where there are more points than that.");
}

}  // namespace cyclotron::bindings
