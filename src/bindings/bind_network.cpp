// `_core.network_traffic` and others: networks of routers on their own.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cyclotron/runtime/network.hpp>

#include "bindings.hpp"
#include "interruptible.hpp"
#include "records.hpp"
#include "typed.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace pybind11::detail {

template <>
struct type_caster<cyclotron::runtime::Pattern>
    : cyclotron::bindings::NameCaster<cyclotron::runtime::Pattern, cyclotron::runtime::Pattern::hotspot> {};

}  // namespace pybind11::detail

namespace cyclotron::bindings {
namespace {

using Numbers = py::array_t<std::int64_t, py::array::c_style>;

/// The cycle from which on each packet is there; a row of `packets` is its cycle, source, destination and flits.
Numbers deliver(const machine::Network& network, const Numbers& packets) {
  std::vector<runtime::RoutedPacket> given;
  const auto rows = packets.unchecked<2>();
  for (py::ssize_t n = 0; n < rows.shape(0); ++n)
    given.push_back({rows(n, 0), rows(n, 1), rows(n, 2), rows(n, 3)});
  const auto times = interruptibly(
      {}, [network, given](const auto& progress) { return runtime::deliver(network, given, progress); });
  Numbers result(static_cast<py::ssize_t>(times.size()));
  for (std::size_t n = 0; n < times.size(); ++n)
    result.mutable_at(static_cast<py::ssize_t>(n)) = times[n].arrived;
  return result;
}

std::vector<Dict> measure(const machine::Network& network, const runtime::Traffic& traffic,
                          const std::vector<double>& rates) {
  const auto found = interruptibly({}, [network, traffic, rates](const auto& progress) {
    return runtime::measure(network, traffic, rates, progress);
  });
  std::vector<Dict> result;
  for (const auto& at : found)
    result.push_back(py::dict("rate"_a = at.rate, "offered"_a = at.offered, "throughput"_a = at.throughput,
                              "packets"_a = at.packets, "latency"_a = at.latency,
                              "latency_99"_a = at.latency_99, "zero_load"_a = at.zero_load,
                              "hops"_a = at.hops, "busiest_link"_a = at.busiest_link,
                              "saturated"_a = at.saturated));
  return result;
}

double saturation(const machine::Network& network, const runtime::Traffic& traffic) {
  return interruptibly({}, [network, traffic](const auto& progress) {
    return runtime::saturation(network, traffic, progress);
  });
}

}  // namespace

void bind_network(py::module_& module) {
  using runtime::Traffic;
  bind_record(module, "Traffic", "Packets of one size that nodes send at random.",
              Field("pattern", &Traffic::pattern), Field("packet_flits", &Traffic::packet_flits),
              Field("hotspot", &Traffic::hotspot), Field("seed", &Traffic::seed),
              Field("warmup_cycles", &Traffic::warmup_cycles),
              Field("measured_cycles", &Traffic::measured_cycles));
  module.def("network_deliver", &deliver, py::arg("network"), py::arg("packets"),
             "Cycles from which on packets are there: rows of cycle, source, destination, flits.");
  module.def("network_traffic", &measure, py::arg("network"), py::arg("traffic"), py::arg("rates"),
             "Measures of a network under traffic at each rate.");
  module.def("network_saturation", &saturation, py::arg("network"), py::arg("traffic"),
             "The highest rate at which latencies are at most three times those without load.");
}

}  // namespace cyclotron::bindings
