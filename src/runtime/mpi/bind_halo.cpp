#include "bind_halo.hpp"

#include <pybind11/numpy.h>

#include <string_view>

#include <cyclotron/program/file.hpp>

#include "halo.hpp"

namespace py = pybind11;
namespace cyclotron {
namespace {

using runtime::mpi::Halo;

Halo find(const py::bytes& program, std::size_t output, std::size_t input, const Deal& deal, int handle) {
  const auto read = program::deserialize(std::string_view(program));
  const py::gil_scoped_release release;
  return runtime::mpi::find_halo(read, output, input, to_block_cyclic(deal), MPI_Comm_f2c(handle));
}

void exchange(const Halo& halo, py::array& array, int handle) {
  const runtime::ArrayView view{array.mutable_data(), {array.strides(), array.strides() + array.ndim()}};
  const py::gil_scoped_release release;
  runtime::mpi::exchange(halo, view, MPI_Comm_f2c(handle));
}

void combine(py::array& array, int handle) {
  if ((array.flags() & py::array::c_style) == 0) throw py::value_error("the array is not contiguous");
  auto* const bytes = static_cast<std::byte*>(array.mutable_data());
  const auto count = static_cast<std::size_t>(array.nbytes());
  const py::gil_scoped_release release;
  runtime::mpi::combine(bytes, count, MPI_Comm_f2c(handle));
}

}  // namespace

std::optional<runtime::BlockCyclic> to_block_cyclic(const Deal& deal) {
  if (!deal) return std::nullopt;
  runtime::BlockCyclic result;
  for (const auto& [ranks, block] : *deal) {
    result.count.push_back(ranks);
    result.block.push_back(block);
  }
  return result;
}

void bind_halo(py::module_& module) {
  py::class_<Halo>(module, "Halo",
                   "The tiles of an output that other ranks load as an input of the next run.")
      .def(py::init(&find), py::arg("program"), py::arg("output"), py::arg("input"), py::arg("deal"),
           py::arg("communicator"), "Collective.")
      .def("exchange", &exchange, py::arg("array"), py::arg("communicator"),
           "Collective: into each rank's array.")
      .def_property_readonly(
          "messages", [](const Halo& halo) { return halo.sent.messages; }, "Of all ranks, in an exchange.")
      .def_property_readonly(
          "bytes", [](const Halo& halo) { return halo.sent.bytes; }, "Of all ranks, in an exchange.");
  module.def("combine", &combine, py::arg("array"), py::arg("communicator"),
             "Collective: the bits of all ranks' arrays, or'ed, on every rank.");
}

}  // namespace cyclotron
