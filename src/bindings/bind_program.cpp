// `_core.Program` and `_core.PeClass`: compiled programs, read-only.
#include <pybind11/stl.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <cyclotron/memory/channels.hpp>
#include <cyclotron/memory/control.hpp>
#include <cyclotron/memory/layout.hpp>
#include <cyclotron/program/constants.hpp>
#include <cyclotron/program/file.hpp>
#include <cyclotron/program/program.hpp>
#include <cyclotron/program/roles.hpp>
#include <cyclotron/program/units.hpp>
#include <cyclotron/program/wires.hpp>

#include "bindings.hpp"
#include "constants.hpp"
#include "interruptible.hpp"
#include "pe_classes.hpp"
#include "sections.hpp"
#include "typed.hpp"

namespace py = pybind11;
using namespace py::literals;
namespace cyclotron::bindings {
namespace {

py::dict to_dict(const program::Tensor& tensor) {
  return py::dict("name"_a = tensor.name, "dtype"_a = operators::name(tensor.dtype),
                  "role"_a = tensor.role == program::Role::input    ? "input"
                             : tensor.role == program::Role::output ? "output"
                                                                    : "constant",
                  "shape"_a = tensor.shape, "tile"_a = tensor.tile, "blocked"_a = tensor.blocked);
}
py::dict to_dict(const program::Channel& channel) {
  const bool link = channel.kind == program::Channel::Kind::link;
  return py::dict(
      "name"_a = channel.name, "kind"_a = link ? "link" : "network",
      "dtype"_a = operators::name(channel.dtype),
      "tile"_a = py::make_tuple(channel.tile.rows, channel.tile.columns), "offset"_a = channel.offset,
      "scale"_a = channel.scale.empty() ? std::vector<std::int64_t>(channel.offset.size(), 1) : channel.scale,
      "axis"_a = channel.axis, "depth"_a = channel.depth);
}
py::dict to_dict(const program::ExitPlan& plan) {
  return py::dict("loop"_a = plan.loop, "steps"_a = plan.steps, "first"_a = plan.first, "last"_a = plan.last,
                  "period"_a = plan.period, "runs"_a = plan.runs, "per_pe"_a = plan.per_pe);
}
template <class T>
Dicts to_dicts(const std::vector<T>& values) {
  Dicts result;
  for (const auto& value : values) result.append(to_dict(value));
  return result;
}

program::Program from_bytes(const py::bytes& bytes) {
  const std::string_view view = bytes;
  return interruptibly({bytes}, [view](const runtime::Progress&) {
    program::Program program = program::deserialize(view);
    memory::verify_layout(program);
    memory::require_channels(program);
    return program;
  });
}

program::Program with_machine(program::Program program, machine::Machine machine) {
  if (machine.grid == program::worker_field(program)) machine.grid = program.grid;
  machine::Machine target = machine::on_part(std::move(machine), program.grid);
  const py::gil_scoped_release release;
  machine::verify(target);  // so that the machine is to blame, not the program
  program = memory::with_machine(std::move(program), std::move(target));
  program::verify_units(program);
  program::verify(program);
  memory::verify_layout(program);
  memory::require_control(program);
  return program;
}

program::Program with_depths(program::Program program, const std::vector<std::int64_t>& depths) {
  if (depths.size() != program.channels.size()) throw py::index_error();
  for (std::size_t c = 0; c < depths.size(); ++c) program.channels[c].depth = depths[c];
  const py::gil_scoped_release release;
  program::verify(program);
  machine::Machine machine = program.machine;
  return memory::with_machine(std::move(program), std::move(machine));
}

machine::Link link(const program::Program& program, std::size_t channel, std::size_t sender) {
  const program::Wires wires(program);
  if (channel >= program.channels.size() || sender >= program.class_map().size()) throw py::index_error();
  const auto at = wires.coordinates(sender);
  machine::Link result = wires.link(channel, at);
  result.depth = wires.depth(channel, at);
  return result;
}

}  // namespace

void bind_program(py::module_& module) {
  bind_pe_classes(module);
  py::class_<program::Program>(module, "Program", "A compiled program: PE classes, channels and tensors.")
      .def_readonly("kernel", &program::Program::kernel)
      .def_readonly("grid", &program::Program::grid)
      .def_readonly("grid_names", &program::Program::grid_names)
      .def_readonly("notes", &program::Program::notes)
      .def_readonly("machine", &program::Program::machine)
      .def_property_readonly("tensors", [](const program::Program& p) { return to_dicts(p.tensors); })
      .def_property_readonly("channels", [](const program::Program& p) { return to_dicts(p.channels); })
      .def_property_readonly("endings", [](const program::Program& p) { return to_dicts(p.exit_plans); })
      .def_property_readonly("is_bounded_by_numbers", &program::is_bounded_by_numbers)
      .def_property_readonly("sections", &sections)
      .def_property_readonly("control_place", &program::control_place)
      .def_property_readonly("control_distance", &control_distance)
      .def("control_system", &control_system,
           "The program of the control system; ValueError where no PE waits for a controller.")
      .def_property_readonly("classes", &classes)
      .def("pe_counts", &program::Program::pe_counts, "PEs in each class.")
      .def_property_readonly("class_map", &class_map,
                             "Index of each PE's class; 2^32 - 1 of those without one.")
      .def("class_of", &class_of, py::arg("coordinates"),
           "Index of the class of the PE at these coordinates, or None.")
      .def("link", &link, py::arg("channel"), py::arg("sender"),
           "A channel's link from the PE of that linear index; its depth is that of the queue.")
      .def(
          "to_bytes", [](const program::Program& p) { return py::bytes(serialize(p)); },
          "The bytes of the program file.")
      .def("with_machine", &with_machine, py::arg("machine"),
           "The same program where operators, links and memories are another machine's.")
      .def("with_depths", &with_depths, py::arg("depths"),
           "The same program where the channels have these depths; 0: the machine's.")
      .def("with_constants", &with_constants, py::arg("values"),
           "The same program where inputs of these names are constants, of these bytes.")
      .def("without_constants", &program::without_constants,
           "The same program where the constants are inputs.")
      .def_property_readonly("constants", &constants, "The bytes of the constants, by name.")
      .def_static("from_bytes", &from_bytes, py::arg("data"),
                  "Read, check and return a program from file bytes.")
      .def(
          "__eq__", [](const program::Program& a, const program::Program& b) { return a == b; },
          py::is_operator())
      .def("__str__", [](const program::Program& p) { return to_string(p); });
}

}  // namespace cyclotron::bindings
