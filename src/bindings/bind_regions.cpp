// Questions about regions: of index space, that are asked while a kernel is traced, and of PEs.
#include <pybind11/stl.h>

#include <cyclotron/codegen/first_pe.hpp>
#include <cyclotron/recurrence/regions.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/refusal.hpp>

#include "bindings.hpp"
#include "from_python.hpp"
#include "interruptible.hpp"

namespace py = pybind11;
namespace cyclotron::bindings {
namespace {

using recurrence::to_set;

constexpr unsigned long most_operations = 1'000'000;

bool is_empty(std::size_t variables, const PyRegion& region) {
  const poly::Context context(most_operations);
  const auto found = attempt([&] { return to_set(context, to_region(region), variables).is_empty(); });
  return found && *found;
}

std::optional<std::pair<std::int64_t, std::int64_t>> bounds(std::size_t variables, const PyRegion& region,
                                                            std::size_t variable) {
  const poly::Context context;
  const auto points = to_set(context, to_region(region), variables);
  const auto low = points.minimum(variable), high = points.maximum(variable);
  return low && high ? std::optional(std::pair(*low, *high)) : std::nullopt;
}

bool has_gap(std::size_t variables, const PyRegion& region, std::size_t variable) {
  const poly::Context context(most_operations);
  const auto found =
      attempt([&] { return recurrence::has_gap(to_set(context, to_region(region), variables), variable); });
  return !found || *found;
}

std::optional<PyRegion> project(std::size_t variables, const PyRegion& region,
                                const std::vector<std::size_t>& keep) {
  const poly::Context context;
  return to_python(
      recurrence::to_region(to_set(context, to_region(region), variables).project(keep).coalesce()));
}

std::optional<PyRegion> unassigned(
    const std::vector<std::int64_t>& extents,
    const std::vector<std::tuple<std::vector<PyAffine>, PyRegion, std::size_t>>& assignments) {
  const poly::Context context;
  recurrence::Tensor tensor;
  tensor.shape = extents;
  tensor.tile.assign(extents.size(), 1);
  std::vector<recurrence::Equation> equations;
  for (const auto& [index, region, loops] : assignments) {
    auto& equation = equations.emplace_back();
    equation.index = to_affines(index);
    equation.indices.resize(loops);
    equation.domain = to_region(region);
  }
  return to_python(recurrence::to_region(recurrence::unassigned(context, tensor, equations)));
}

/// For questions that have no answer but the exact one, however long that takes.
template <class Result, class... Arguments>
auto until_interrupted(Result (*ask)(Arguments...)) {
  return [ask](const std::decay_t<Arguments>&... arguments) {
    return interruptibly({}, [=](const auto&) { return ask(arguments...); });
  };
}

}  // namespace

void bind_regions(py::module_& module) {
  module.def("is_empty", &is_empty, py::arg("variables"), py::arg("region"),
             "Return whether a region has no point; False, too, where that takes long to tell.");
  module.def("bounds", until_interrupted(&bounds), py::arg("variables"), py::arg("region"),
             py::arg("variable"),
             "Return the least and the largest value of a variable; None where there is none.");
  module.def(
      "has_gap", &has_gap, py::arg("variables"), py::arg("region"), py::arg("variable"),
      "Return whether a variable skips values between others; True, too, where that takes long to tell.");
  module.def("project", until_interrupted(&project), py::arg("variables"), py::arg("region"), py::arg("keep"),
             "Return the region of the variables to keep; None where it is no union of conjunctions.");
  module.def("unassigned", until_interrupted(&unassigned), py::arg("extents"), py::arg("assignments"),
             "Return the elements that no assignment (subscripts, domain, count of loops) reaches, or None.");
  module.def(
      "first_pe", &codegen::first_pe, py::arg("program"), py::kw_only(), py::arg("pe_class"),
      py::arg("inside"), py::arg("outside"), py::call_guard<py::gil_scoped_release>(),
      "Return the first PE of a class, or of all if it is None, in one of some boxes and in none of others.");
}

}  // namespace cyclotron::bindings
