// `_core.Counters`: what each PE of a run did, as arrays over the grid, summed when they are asked for.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <cyclotron/runtime/counters.hpp>

#include "bindings.hpp"

namespace py = pybind11;
namespace cyclotron::bindings {
namespace {

using runtime::Counters;
using runtime::Work;

/// Without a copy.
py::array_t<std::int64_t> to_array(std::vector<std::int64_t>&& values) {
  auto* const owned = new std::vector<std::int64_t>(std::move(values));
  const py::capsule owner(owned, [](void* p) { delete static_cast<std::vector<std::int64_t>*>(p); });
  return py::array_t<std::int64_t>(static_cast<py::ssize_t>(owned->size()), owned->data(), owner);
}

template <std::int64_t Work::* member>
py::array_t<std::int64_t> total(const Counters& counters) {
  return to_array(counters.total(member));
}

py::typing::Dict<py::str, py::array_t<std::int64_t>> instructions(const Counters& counters) {
  py::dict result;
  for (std::size_t n = 0; n < runtime::instruction_names.size(); ++n) {
    result[py::str(std::string(runtime::instruction_names[n]))] =
        to_array(counters.instructions(static_cast<runtime::InstructionKind>(n)));
  }
  return result;
}

/// One entry for each use of a slot or a tensor, with a number a PE.
py::list amounts(const Counters& counters) {
  py::list result;
  for (const runtime::Amount& amount : counters.amounts()) {
    py::dict entry;
    entry["kind"] = std::string(runtime::amount_names[static_cast<std::size_t>(amount.kind)]);
    entry["by"] = std::string(amount.by_name());
    entry["dtype"] = std::string(operators::name(amount.dtype));
    entry["class"] = amount.pe_class;
    entry["of"] = amount.of;
    entry["amount"] = to_array(counters.of(amount));
    result.append(entry);
  }
  return result;
}

}  // namespace

void bind_counters(py::module_& module) {
  py::class_<Counters>(module, "Counters",
                       "Activity of each PE; arrays over the grid, last dimension fastest.")
      .def("instructions", &instructions, "Executed, by kind.")
      .def("flops", &total<&Work::flops>, "Floating-point operations.")
      .def("words_loaded", &total<&Work::words_loaded>, "Elements that LOADs read.")
      .def("words_stored", &total<&Work::words_stored>, "Elements that STOREs wrote.")
      .def("bytes_loaded", &total<&Work::bytes_loaded>, "Their bytes.")
      .def("bytes_stored", &total<&Work::bytes_stored>, "Their bytes.")
      .def("words_resident", &total<&Work::words_resident>,
           "Elements that LOADs and STOREs moved within PEs.")
      .def("amounts", &amounts,
           "Uses of energy: operations, and words read, written, loaded and stored, by slot or tensor.")
      .def(
          "words_sent",
          [](const Counters& c, std::uint32_t channel) { return to_array(c.words_sent(channel)); },
          py::arg("channel"), "Elements sent on a channel; of a broadcast those of one message.")
      .def(
          "words_received",
          [](const Counters& c, std::uint32_t channel) { return to_array(c.words_received(channel)); },
          py::arg("channel"), "Elements received from a channel.");
}

}  // namespace cyclotron::bindings
