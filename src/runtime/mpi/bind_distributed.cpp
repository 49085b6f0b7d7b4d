#include "bind_distributed.hpp"

#include <mpi.h>
#include <pybind11/stl.h>

#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../../bindings/arrays.hpp"
#include "redistribute.hpp"

namespace py = pybind11;
namespace cyclotron {
namespace {

using runtime::mpi::Distributed;

/// Throws ShapeError CYC208 where the tiles are not those of the program's tensor.
void require_fits(const program::Tensor& tensor, const Distributed& given) {
  const auto words =
      std::accumulate(tensor.tile.begin(), tensor.tile.end(), std::int64_t{1}, std::multiplies{});
  const bool output = tensor.role == program::Role::output;
  const bool same = given.tensor.shape == tensor.shape && given.tensor.tile == tensor.tile &&
                    given.tensor.dtype == tensor.dtype;
  if (words > 1 && (output || same)) return;
  throw ShapeError(
      {.code = "CYC208",
       .span = {},
       .message = fmt::format("`{}` is of {} {} in tiles of {}, its distributed tensor of {} {} in "
                              "tiles of {}",
                              tensor.name, fmt::join(tensor.shape, "x"), operators::name(tensor.dtype),
                              fmt::join(tensor.tile, "x"), fmt::join(given.tensor.shape, "x"),
                              operators::name(given.tensor.dtype), fmt::join(given.tensor.tile, "x")),
       .notes = {},
       .help = "distribute the array in the tiles that the program was compiled for"});
}

program::Tensor describe(const py::array& array, const std::vector<std::int64_t>& tile) {
  const auto dtype = operators::dtype_from_name(py::str(array.dtype().attr("name")).cast<std::string>());
  if (!dtype || tile.size() != static_cast<std::size_t>(array.ndim())) throw py::value_error("dtype or tile");
  program::Tensor result;
  result.dtype = *dtype;
  result.shape.assign(array.shape(), array.shape() + array.ndim());
  result.tile = tile;
  result.blocked = true;
  return result;
}

/// The tile's own memory, which the array keeps.
py::array read(const Distributed& self, std::size_t number, const std::vector<std::int64_t>& shape) {
  const runtime::mpi::Tile& tile = self.tiles.at(number);
  if (!tile) throw py::value_error("another rank has the tile");
  const py::capsule keeper(new runtime::mpi::Tile(tile),
                           [](void* kept) { delete static_cast<runtime::mpi::Tile*>(kept); });
  py::array result(py::dtype{std::string(operators::name(self.tensor.dtype))}, shape, {}, tile.data(),
                   keeper);
  result.attr("flags").attr("writeable") = false;
  return result;
}

runtime::ArrayView view(const py::array& array) {
  return {const_cast<void*>(array.data()), {array.strides(), array.strides() + array.ndim()}};
}

}  // namespace

runtime::mpi::Tensors to_tensors(const program::Program& program, const py::list& given) {
  runtime::mpi::Tensors result;
  std::vector<py::array> arrays;
  for (std::size_t t = 0; t < given.size(); ++t) {
    const py::object tensor = given[t];
    result.distributed.push_back(py::isinstance<Distributed>(tensor) ? tensor.cast<Distributed*>() : nullptr);
    if (result.distributed.back() == nullptr || t >= program.tensors.size()) {
      arrays.push_back(tensor.cast<py::array>());
    } else {  // any array of the shape, which costs no memory
      const auto& described = program.tensors[t];
      require_fits(described, *result.distributed.back());
      const py::dtype dtype{std::string(operators::name(described.dtype))};
      static std::array<std::byte, 16> nothing{};
      arrays.emplace_back(dtype, described.shape, std::vector<std::int64_t>(described.shape.size(), 0),
                          nothing.data(), py::capsule(nothing.data(), [](void*) {}));
    }
  }
  result.arrays = bindings::to_views(program, arrays);
  return result;
}

void bind_distributed(py::module_& module) {
  py::class_<Distributed>(module, "Distributed", "A tensor of which each rank holds some tiles.")
      .def(py::init<>(), "An output, before the run.")
      .def(py::init([](const py::array& array, const std::vector<std::int64_t>& tile, std::vector<int> owners,
                       int own_rank) {
             return runtime::mpi::distribute(describe(array, tile), std::move(owners), view(array), own_rank);
           }),
           py::arg("array"), py::arg("tile"), py::arg("owners"), py::arg("rank"),
           "This rank's tiles; `owners` is the rank of each, row-major.")
      .def_property_readonly(
          "tile", [](const Distributed& self) { return self.tensor.tile; },
          "Scalars of a tile along each dimension.")
      .def_readonly("owners", &Distributed::owners, "The rank of each tile, row-major; -1: none.")
      .def(
          "gather",
          [](const Distributed& self, const py::array& array, int handle) {
            runtime::mpi::gather(self, view(array), MPI_Comm_f2c(handle));
          },
          py::arg("array"), py::arg("communicator"), "Collective: all tiles into the array of every rank.")
      .def(
          "redistribute",
          [](const Distributed& self, std::vector<std::int64_t> tile, std::vector<int> owners, int handle) {
            return runtime::mpi::redistribute(self, std::move(tile), std::move(owners), MPI_Comm_f2c(handle));
          },
          py::arg("tile"), py::arg("owners"), py::arg("communicator"),
          "Collective: the same numbers in other tiles, on other ranks.")
      .def("read", &read, py::arg("number"), py::arg("shape"),
           "A tile of this rank, without a copy and not to be written.");
}

}  // namespace cyclotron
