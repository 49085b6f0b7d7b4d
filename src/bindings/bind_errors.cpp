// The one translator of errors.
#include "bindings.hpp"
#include "errors.hpp"

namespace cyclotron::bindings {

void bind_errors(pybind11::module_&) {
  // NOLINTNEXTLINE(performance-unnecessary-value-param): the signature is pybind11's
  pybind11::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      set_python_error(error);
    }
  });
}

}  // namespace cyclotron::bindings
