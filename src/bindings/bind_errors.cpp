// The one translator of errors.
#include <new>
#include <string>

#include <cyclotron/support/interrupt.hpp>

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
    } catch (const Interrupted&) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    } catch (const pybind11::builtin_exception&) {  // these and the next two are pybind11's to translate
      throw;
    } catch (const pybind11::error_already_set&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      set_python_error(InternalError({.code = "CYC900",
                                      .span = {},
                                      .message = std::string("the core failed: ") + error.what(),
                                      .notes = {},
                                      .help = "this is a bug in Cyclotron; please report it with the kernel "
                                              "and the schedule"}));
    }
  });
}

}  // namespace cyclotron::bindings
