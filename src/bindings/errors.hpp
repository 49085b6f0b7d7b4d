// The core's errors as Python exceptions; shared by `_core` and `_mpi`.
#pragma once
#include <pybind11/pybind11.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::bindings {

inline pybind11::object to_python(const Span& span) {
  if (!span.known()) return pybind11::none();
  return pybind11::make_tuple(span.file, span.line, span.column, span.end_line, span.end_column);
}

/// An instance of the class of that name in `cyclotron.support.errors`.
inline pybind11::object to_python(const char* name, const Diagnostic& diagnostic) {
  namespace py = pybind11;
  py::list notes;
  for (const auto& note : diagnostic.notes) notes.append(py::make_tuple(to_python(note.span), note.text));
  return py::module_::import("cyclotron.support.errors")
      .attr(name)(py::arg("message") = diagnostic.message, py::arg("code") = diagnostic.code,
                  py::arg("span") = to_python(diagnostic.span), py::arg("notes") = notes,
                  py::arg("help") = diagnostic.help);
}

/// Sets the Python error.
inline void set_python_error(const Error& error) {
  const auto value = to_python(error.python_name(), error.diagnostic());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())), value.ptr());
}

}  // namespace cyclotron::bindings
