// `_core.compile`: recurrences, schedule and machine in, a Compiled out.
#include <pybind11/stl.h>

#include <cyclotron/machine/link_map.hpp>
#include <cyclotron/mapping/links.hpp>
#include <cyclotron/driver/compile.hpp>
#include <cyclotron/poly/set.hpp>

#include "bindings.hpp"
#include "machines.hpp"

namespace py = pybind11;
namespace cyclotron::bindings {
namespace {

using PyMove = std::tuple<std::string, std::string, std::vector<std::string>>;
using PyFold = std::tuple<std::string, std::int64_t, bool>;
using PyRotation = std::pair<std::string, std::vector<std::string>>;
using PyReassociation = std::tuple<std::string, std::int64_t, std::string>;
using PyPanels = std::pair<std::string, std::int64_t>;
using PyTree = std::pair<std::string, std::int64_t>;
using PyResidence = std::pair<std::string, std::vector<std::string>>;
using PySchedule = std::tuple<std::vector<std::string>, std::vector<std::string>, std::vector<PyMove>,
                              std::vector<PyFold>, std::vector<PyRotation>, std::vector<PyReassociation>,
                              std::vector<PyResidence>, std::vector<PyPanels>, std::vector<std::string>,
                              std::vector<std::string>, std::vector<PyTree>>;

schedule::Schedule to_schedule(const PySchedule& value) {
  schedule::Schedule result{std::get<0>(value), std::get<1>(value), {}};
  for (const auto& [tensor, kind, along] : std::get<2>(value)) {
    result.moves.push_back({tensor,
                            kind == "stream"      ? schedule::Movement::stream
                            : kind == "broadcast" ? schedule::Movement::broadcast
                                                  : schedule::Movement::prefetch,
                            along});
  }
  for (const auto& [dimension, parts, cyclic] : std::get<3>(value))
    result.folds.push_back({dimension, parts, cyclic});
  for (const auto& [index, by] : std::get<4>(value)) result.rotations.push_back({index, by});
  for (const auto& [tensor, at] : std::get<6>(value)) result.residences.push_back({tensor, at});
  for (const auto& [index, count] : std::get<7>(value)) result.panels.push_back({index, count});
  for (const auto& [index, parts, into] : std::get<5>(value))
    result.reassociations.push_back({index, parts, into});
  result.inwards = std::get<8>(value);
  result.stages = std::get<9>(value);
  for (const auto& [index, radix] : std::get<10>(value))
    result.trees.push_back({.index = index, .radix = radix});
  return result;
}

PySchedule from_schedule(const schedule::Schedule& value) {
  static constexpr const char* kinds[] = {"stream", "broadcast", "prefetch"};
  std::vector<PyMove> moves;
  for (const auto& move : value.moves)
    moves.emplace_back(move.tensor, kinds[static_cast<std::size_t>(move.kind)], move.along);
  std::vector<PyFold> folds;
  for (const auto& fold : value.folds) folds.emplace_back(fold.dimension, fold.parts, fold.cyclic);
  std::vector<PyRotation> rotations;
  for (const auto& rotation : value.rotations) rotations.emplace_back(rotation.index, rotation.by);
  std::vector<PyResidence> residences;
  for (const auto& residence : value.residences) residences.emplace_back(residence.tensor, residence.at);
  std::vector<PyPanels> panels;
  for (const auto& each : value.panels) panels.emplace_back(each.index, each.count);
  std::vector<PyReassociation> reassociations;
  for (const auto& [index, parts, into] : value.reassociations)
    reassociations.emplace_back(index, parts, into);
  std::vector<PyTree> trees;
  for (const auto& tree : value.trees) trees.emplace_back(tree.index, tree.radix);
  return {value.space, value.time, moves,         folds,        rotations, reassociations,
          residences,  panels,     value.inwards, value.stages, trees};
}

}  // namespace

void bind_driver(py::module_& module) {
  using driver::Compiled;
  py::class_<Compiled>(module, "Compiled", "All stages of one compilation.")
      .def_property_readonly("schedule", [](const Compiled& c) { return from_schedule(c.schedule); })
      .def_readonly("schedule_chosen", &Compiled::schedule_chosen)
      .def_readonly("system", &Compiled::system)
      .def_readonly("dataflow", &Compiled::graph)
      .def_readonly("placed", &Compiled::placed)
      .def_readonly("program", &Compiled::program)
      .def_readonly("proofs", &Compiled::proofs)
      .def_property_readonly("stages", [](const Compiled& c) {
        std::vector<std::pair<std::string, double>> result;
        for (const auto& stage : c.stages) result.emplace_back(stage.name, stage.milliseconds);
        return result;
      });
  module.def(
      "compile",
      [](const recurrence::System& system, const std::optional<PySchedule>& schedule,
         const py::dict& machine) {
        const auto target = to_machine(machine);
        std::optional<schedule::Schedule> wanted;
        if (schedule) wanted = to_schedule(*schedule);
        const py::gil_scoped_release release;
        return driver::compile(system, wanted, target);
      },
      py::arg("system"), py::arg("schedule"), py::arg("machine"),
      "Compile recurrences to a verified program.");
  module.def(
      "verify_machine",
      [](const py::dict& data) {
        const auto machine = to_machine(data);
        machine::verify_target(machine);
        mapping::verify_link_maps(machine);
      },
      py::arg("machine"), "Raise ShapeError where programs cannot be compiled for the machine.");
  module.def(
      "rank_of_link_map", [](const std::string& text) { return machine::parse_link_map(text).names.size(); },
      py::arg("text"), "Dimensions of the grid that a link map is for.");
  module.def("index_names", &schedule::index_names, py::arg("system"),
             "Every index of the kernel, outermost first.");
  module.def("isl_version", &poly::isl_version, "Version of isl.");
}

}  // namespace cyclotron::bindings
