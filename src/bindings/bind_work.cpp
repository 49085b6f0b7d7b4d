// `_core.operations_by_place` and what else bounds mappings before they are compiled.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

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
      "How many operations of a system there are at each place, and the cycles of each at least.");
  module.def(
      "elements_by_place",
      [](const recurrence::System& system, const std::vector<std::string>& space) {
        return to_dicts(
            interruptibly({}, [=](const auto&) { return driver::elements_by_place(system, space); }));
      },
      py::arg("system"), py::arg("space"), "How many elements of each input are used at each place.");
  module.def(
      "longest_chain",
      [](const recurrence::System& system, const machine::Machine& machine, std::int64_t most) {
        return interruptibly({}, [=](const auto&) { return driver::longest_chain(system, machine, most); });
      },
      py::arg("system"), py::arg("machine"), py::kw_only(), py::arg("most"),
      "Cycles of the longest chain of operators; None where there are more points than that.");
}

}  // namespace cyclotron::bindings
