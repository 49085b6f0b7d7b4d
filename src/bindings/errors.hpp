// The core's errors as Python exceptions; shared by `_core` and `_mpi`.
#pragma once
#include <pybind11/pybind11.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::bindings {

inline pybind11::object to_python(const Span& span) {
  if (!span.known()) return pybind11::none();
  return pybind11::make_tuple(span.file, span.line, span.column, span.end_line, span.end_column);
}

/// Sets the Python error: an instance of the class of the same name in `cyclotron.support.errors`.
inline void set_python_error(const Error& error) {
  namespace py = pybind11;
  const Diagnostic& diagnostic = error.diagnostic();
  py::list notes;
  for (const auto& note : diagnostic.notes) notes.append(py::make_tuple(to_python(note.span), note.text));
  const py::object type = py::module_::import("cyclotron.support.errors").attr(error.python_name());
  const py::object value = type(py::arg("message") = diagnostic.message, py::arg("code") = diagnostic.code,
                                py::arg("span") = to_python(diagnostic.span), py::arg("notes") = notes,
                                py::arg("help") = diagnostic.help);
  PyErr_SetObject(type.ptr(), value.ptr());
}

}  // namespace cyclotron::bindings
