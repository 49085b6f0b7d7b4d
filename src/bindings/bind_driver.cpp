// `_core.compile`: recurrences, schedule and machine in, a Compiled out.
#include <pybind11/stl.h>

#include <cyclotron/driver/compile.hpp>
#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/reduce_inwards.hpp>

#include "bindings.hpp"
#include "errors.hpp"
#include "interruptible.hpp"

namespace py = pybind11;
using namespace py::literals;
namespace cyclotron::bindings {

void bind_driver(py::module_& module) {
  using driver::Compiled;
  py::class_<Compiled>(module, "Compiled", "All stages of one compilation.")
      .def_readonly("schedule", &Compiled::schedule)
      .def_readonly("schedule_chosen", &Compiled::schedule_chosen)
      .def_readonly("system", &Compiled::system)
      .def_readonly("dataflow", &Compiled::graph)
      .def_readonly("placed", &Compiled::placed)
      .def_readonly("program", &Compiled::program)
      .def_readonly("channel_flows", &Compiled::channel_flows)
      .def_readonly("proofs", &Compiled::proofs)
      .def_property_readonly(
          "lost_loops",
          [](const Compiled& c) {
            py::list result;
            for (const auto& loop : c.lost_loops)
              result.append(py::dict("flag"_a = loop.flag, "because"_a = loop.because,
                                     "bounded_by"_a = loop.bounded_by, "steps"_a = loop.steps,
                                     "span"_a = to_python(loop.span)));
            return result;
          })
      .def_property_readonly("warning",
                             [](const Compiled& c) -> std::optional<py::object> {
                               if (!c.warning) return std::nullopt;
                               return to_python("PerformanceWarning", *c.warning);
                             })
      .def_property_readonly("stages", [](const Compiled& c) {
        std::vector<std::pair<std::string, double>> result;
        for (const auto& stage : c.stages) result.emplace_back(stage.name, stage.milliseconds);
        return result;
      });
  module.def(
      "compile",
      [](const recurrence::System& system, const std::optional<schedule::Schedule>& schedule,
         const machine::Machine& machine, unsigned long most_operations) {
        return interruptibly({}, [=](const auto&) {
          const poly::Analysis analysis(system.kernel, most_operations);
          return driver::compile(system, schedule, machine);
        });
      },
      py::arg("system"), py::arg("schedule"), py::arg("machine"), py::arg("most_operations") = 40'000'000,
      "Compile recurrences to a verified program, in so many operations of integer sets.");
  module.def("reorder_reductions", &driver::reorder_reductions, py::arg("system"), py::arg("schedule"),
             py::arg("machine"), "The recurrences that a program of this schedule computes.");
  module.def("indices_in_any_order", &recurrence::indices_in_any_order, py::arg("system"),
             "The indices whose reductions do not mind the order of their terms.");
  module.def("isl_version", &poly::isl_version, "Version of isl.");
}

}  // namespace cyclotron::bindings
