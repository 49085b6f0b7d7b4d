#include <pybind11/stl.h>

#include <cyclotron/operators/operators.hpp>

#include "bindings.hpp"

namespace cyclotron::bindings {

namespace py = pybind11;
using operators::DType;
using operators::Op;

/// Name, number of operands, kinds of dtypes, and the result's dtype for each dtype in the order of NumPy's
/// names.
using PyOperator =
    std::tuple<std::string, int, std::string, std::vector<std::pair<std::string, std::string>>>;

void bind_operators(py::module_& module) {
  module.def(
      "operators",
      [] {
        std::vector<PyOperator> result;
        for (std::size_t n = 0; n < operators::operator_count; ++n) {
          const auto& info = operators::info(static_cast<Op>(n));
          std::vector<std::pair<std::string, std::string>> dtypes;
          for (std::size_t d = 0; d <= static_cast<std::size_t>(DType::complex128); ++d) {
            const auto dtype = static_cast<DType>(d);
            if (!operators::is_defined(info.op, dtype)) continue;
            dtypes.emplace_back(operators::name(dtype),
                                operators::name(operators::result_dtype(info.op, dtype)));
          }
          result.emplace_back(info.name, info.arity, info.kinds, std::move(dtypes));
        }
        return result;
      },
      "The registry: name, number of operands, kinds of dtypes, dtypes with the result's.");
}

}  // namespace cyclotron::bindings
