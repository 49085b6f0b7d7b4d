// `_core.Operator` and `_core.operators`: the registry.
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <cyclotron/operators/operators.hpp>

#include "bindings.hpp"
#include "from_python.hpp"

namespace cyclotron::bindings {
namespace {

namespace py = pybind11;
using operators::Info;
using operators::Op;
using Rows = std::pair<std::int64_t, std::int64_t>;  ///< And columns.

/// NumPy's names of the dtypes that an operator works on, each with that of its result.
py::typing::Dict<py::str, py::str> dtypes(const Info& info) {
  py::dict result;
  for (const auto dtype : operators::all_dtypes()) {
    if (!operators::is_defined(info.op, dtype)) continue;
    result[py::str(name(dtype))] = py::str(name(operators::result_dtype(info.op, dtype)));
  }
  return result;
}

Rows result_shape(const Info& info, const std::vector<Rows>& operands,
                  const std::vector<std::string>& flags) {
  std::vector<operators::Shape> shapes;
  for (const auto& [rows, columns] : operands) shapes.push_back({rows, columns});
  const auto result = operators::result_shape(info.op, to_flags(flags), shapes);
  return {result.rows, result.columns};
}

}  // namespace

void bind_operators(py::module_& module) {
  py::class_<Info>(module, "Operator", "An operator of scalars and tiles.")
      .def_readonly("name", &Info::name)
      .def_readonly("arity", &Info::arity)
      .def_readonly("symbol", &Info::symbol, "Infix symbol, or empty.")
      .def_readonly("numpy", &Info::numpy, "Its meaning in NumPy, over `a` and `b`.")
      .def_readonly("kinds", &Info::kinds, "NumPy's letters of the dtypes that have it.")
      .def_property_readonly(
          "typing", [](const Info& info) { return name(info.typing); },
          "The rule of the result's dtype: same, truth, select, part or cast.")
      .def_property_readonly(
          "family", [](const Info& info) { return name(info.family); },
          "Its shape rule: elementwise, product, solve, reduction and others.")
      .def_readonly("accumulating", &Info::accumulating, "The first operand is an accumulator.")
      .def_property_readonly("dtypes", &dtypes, "Dtypes that have it, each with the result's.")
      .def("result_shape", &result_shape, py::arg("operands"), py::arg("flags") = py::tuple(),
           "Rows and columns of the result, from those of the operands.");
  module.def(
      "operators",
      [] {
        std::vector<Info> result;
        for (std::size_t n = 0; n < operators::operator_count; ++n)
          result.push_back(operators::info(static_cast<Op>(n)));
        return result;
      },
      "The registry.");
  module.def(
      "dtypes",
      [] {
        std::vector<std::string> result;
        for (const auto dtype : operators::all_dtypes()) result.emplace_back(operators::name(dtype));
        return result;
      },
      "NumPy's names of the dtypes that elements have.");
}

}  // namespace cyclotron::bindings
