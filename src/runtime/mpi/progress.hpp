// A Python callback as the runtime's Progress, which also lets Ctrl-C through: MPI is called by the thread that started it.
#pragma once
#include <pybind11/pybind11.h>

#include <optional>
#include <utility>

#include <cyclotron/runtime/runtime.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime::mpi {

/// Runs `run(progress)` without the GIL. What the callback raises, Ctrl-C included, stops the run and is
/// raised again.
template <class Run>
void run_interruptibly(const pybind11::object& callback, Run run) {
  namespace py = pybind11;
  std::optional<py::error_already_set> raised;
  const runtime::Progress progress = [&](double fraction) {
    const py::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      return callback.is_none() || py::bool_(callback(fraction));
    } catch (py::error_already_set& error) {
      raised.emplace(std::move(error));
      return false;
    }
  };
  try {
    const py::gil_scoped_release release;
    run(progress);
  } catch (const Error&) {
    if (raised) throw std::move(*raised);
    throw;
  }
}

}  // namespace cyclotron::runtime::mpi
