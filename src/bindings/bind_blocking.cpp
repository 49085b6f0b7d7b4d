// `_core.block`: recurrences on scalars as recurrences over tiles.
#include <pybind11/stl.h>

#include <cyclotron/blocking/block.hpp>
#include <cyclotron/poly/set.hpp>

#include "bindings.hpp"
#include "interruptible.hpp"

namespace py = pybind11;
namespace cyclotron::bindings {

void bind_blocking(py::module_& module) {
  using blocking::Blocking;
  using blocking::IndexClass;
  using blocking::MaskInput;
  using blocking::TileClass;
  py::class_<TileClass>(module, "TileClass", "Tiles of a tensor that the same operators compute.")
      .def_readonly("tensor", &TileClass::tensor)
      .def_readonly("tiles", &TileClass::tiles)
      .def_readonly("names", &TileClass::names)
      .def_readonly("operators", &TileClass::operators)
      .def_readonly("equation", &TileClass::equation)
      .def_readonly("reason", &TileClass::reason);
  py::class_<IndexClass>(module, "IndexClass", "Indices whose tiles have one length.")
      .def_readonly("indices", &IndexClass::indices)
      .def_readonly("tile", &IndexClass::tile)
      .def_readonly("extent", &IndexClass::extent)
      .def_readonly("reason", &IndexClass::reason);
  py::class_<MaskInput>(module, "MaskInput", "A constant input that keeps a triangle of tiles.")
      .def_readonly("name", &MaskInput::name)
      .def_readonly("kind", &MaskInput::kind)
      .def_readonly("shape", &MaskInput::shape);
  py::class_<Blocking>(module, "Blocking", "A kernel in tiles.")
      .def_readonly("indices", &Blocking::indices)
      .def_readonly("classes", &Blocking::classes)
      .def_readonly("masks", &Blocking::masks)
      .def_readonly("system", &Blocking::system)
      .def_readonly("complete", &Blocking::complete);
  module.def(
      "block",
      [](const recurrence::System& system, std::int64_t all, std::map<std::string, std::int64_t> by_index) {
        return interruptibly({},
                             [system, sizes = blocking::TileSizes{all, std::move(by_index)}](const auto&) {
                               const poly::Analysis analysis(system.kernel);
                               return blocking::block(system, sizes);
                             });
      },
      py::arg("system"), py::arg("all"), py::arg("by_index"), "Block recurrences on scalars.");
}

}  // namespace cyclotron::bindings
