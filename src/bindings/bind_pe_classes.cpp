// `_core.PeClass`: the program of all PEs in one region of the grid.
#include <pybind11/stl.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <cyclotron/memory/footprint.hpp>
#include <cyclotron/memory/layout.hpp>
#include <cyclotron/memory/lifetimes.hpp>
#include <cyclotron/program/program.hpp>
#include <cyclotron/program/roles.hpp>
#include <cyclotron/program/storage.hpp>
#include <cyclotron/program/timing.hpp>

#include "pe_classes.hpp"
#include "typed.hpp"

namespace cyclotron::bindings {
namespace {

namespace py = pybind11;
using namespace py::literals;

py::dict slot_dict(const program::Slot& slot) {
  return py::dict("name"_a = slot.name, "dtype"_a = operators::name(slot.dtype),
                  "tile"_a = py::make_tuple(slot.tile.rows, slot.tile.columns), "count"_a = slot.count,
                  "bytes"_a = memory::size_bytes(slot), "address"_a = slot.address,
                  "first_register"_a = slot.first_register, "persistent"_a = slot.persistent);
}
const std::vector<memory::TensorBlock>& blocks(const ClassView& view) {
  if (!*view.blocks) *view.blocks = memory::place_tensors(*view.program);
  return **view.blocks;
}
std::size_t number(const ClassView& view) {
  return static_cast<std::size_t>(view.pe_class - view.program->classes.data());
}
/// Of the slots and of the tensors that its PEs hold, with their lifetimes.
memory::Layout layout(const ClassView& view) {
  return memory::layout(*view.program, number(view), blocks(view));
}
Dicts slots(const ClassView& view) {
  Dicts result;
  for (const auto& slot : layout(view).slots) result.append(slot_dict(slot));
  return result;
}

std::pair<std::size_t, std::size_t> pair(const memory::Interval& interval) {
  return {interval.first, interval.last};
}

/// Of each slot, the first and last instruction of each time that it lives.
std::vector<std::vector<std::pair<std::size_t, std::size_t>>> lifetimes(const ClassView& view) {
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> result;
  for (const auto& lifetime : layout(view).live)
    std::ranges::transform(lifetime, std::back_inserter(result.emplace_back()), pair);
  return result;
}

/// Name, first and last instruction of each loop.
std::vector<std::tuple<std::string, std::size_t, std::size_t>> loops(const ClassView& view) {
  std::vector<std::tuple<std::string, std::size_t, std::size_t>> result;
  for (const auto& [name, code] : memory::loop_spans(*view.pe_class))
    result.emplace_back(name, code.first, code.last);
  return result;
}

py::typing::Dict<py::str, py::typing::Optional<py::int_>> footprint(const ClassView& view) {
  const auto bytes = memory::footprint(*view.program, number(view), blocks(view));
  return py::dict("data"_a = bytes.data, "queues"_a = bytes.queues, "code"_a = bytes.code,
                  "held"_a = bytes.held);
}

/// File and line of the Python text of each instruction; line 0 where there is none.
std::vector<std::pair<std::string, int>> lines(const ClassView& view) {
  std::vector<std::pair<std::string, int>> result;
  for (const auto& instruction : view.pe_class->code)
    result.emplace_back(instruction.span.file, instruction.span.line);
  return result;
}

/// Names of those that it loads or stores, each once, in the program's order.
std::vector<std::string> tensors(const ClassView& view) {
  std::set<program::TensorId> found;
  for (const auto& instruction : view.pe_class->code) {
    if (const auto* load = std::get_if<program::Load>(&instruction.action)) found.insert(load->tensor);
    if (const auto* store = std::get_if<program::Store>(&instruction.action)) found.insert(store->tensor);
  }
  std::vector<std::string> result;
  for (const auto tensor : found) result.push_back(view.program->tensors[tensor.index()].name);
  return result;
}

}  // namespace

py::typing::List<ClassView> classes(const py::object& self) {
  const auto& program = self.cast<const program::Program&>();
  py::typing::List<ClassView> result;
  const auto blocks = std::make_shared<std::optional<std::vector<memory::TensorBlock>>>();
  for (const auto& pe_class : program.classes) result.append(ClassView{self, &program, &pe_class, blocks});
  return result;
}

std::optional<std::size_t> class_of(const program::Program& program,
                                    const std::vector<std::int64_t>& coordinates) {
  const std::size_t found = program.class_of(coordinates);
  return found == program::Program::no_class ? std::nullopt : std::optional(found);
}

py::array_t<std::uint32_t> class_map(const program::Program& program) {
  const auto numbers = program.class_map();
  return py::array_t<std::uint32_t>(program.grid, numbers.data());
}

void bind_pe_classes(py::module_& module) {
  py::class_<ClassView>(module, "PeClass", "The program of all PEs in one region of the grid.")
      .def_property_readonly("name", [](const ClassView& c) { return c.pe_class->name; })
      .def_property_readonly("region", [](const ClassView& c) { return c.pe_class->region_text; })
      .def_property_readonly("text", [](const ClassView& c) { return to_string(*c.program, *c.pe_class); })
      .def_property_readonly("slots", &slots)
      .def_property_readonly("memory_bytes",
                             [](const ClassView& c) { return program::Storage(*c.pe_class).memory_bytes; })
      .def_property_readonly("registers",
                             [](const ClassView& c) { return program::Storage(*c.pe_class).registers; })
      .def_property_readonly(
          "memory_map",
          [](const ClassView& c) { return memory::memory_map(*c.program, number(c), blocks(c)); })
      .def_property_readonly("lifetimes", &lifetimes)
      .def_property_readonly("loops", &loops)
      .def_property_readonly("footprint", &footprint)
      .def_property_readonly("lines", &lines)
      .def_property_readonly("peak_flops_per_cycle",
                             [](const ClassView& c) {
                               return program::peak_flops_per_cycle(c.program->machine.pe, *c.pe_class);
                             })
      .def_property_readonly("role", [](const ClassView& c) { return name(duty_of(*c.pe_class)); })
      .def_property_readonly("tensors", &tensors)
      .def_property_readonly("instructions", [](const ClassView& c) { return c.pe_class->code.size(); })
      .def("__str__", [](const ClassView& c) { return to_string(*c.program, *c.pe_class); });
}

}  // namespace cyclotron::bindings
