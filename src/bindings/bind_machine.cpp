// `_core.Machine` and its parts: the target, as records.
#include <utility>

#include <cyclotron/machine/link_map.hpp>
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/machine/network.hpp>
#include <cyclotron/mapping/links.hpp>

#include "bindings.hpp"
#include "records.hpp"

namespace py = pybind11;
namespace cyclotron::bindings {
namespace {

using Offset = std::vector<std::int64_t>;
using Links = std::map<Offset, machine::Link>;

}  // namespace
}  // namespace cyclotron::bindings

namespace pybind11::detail {

using cyclotron::machine::DimensionOrder;
using cyclotron::machine::Spread;
using cyclotron::machine::Switching;
using cyclotron::machine::Topology;

template <>
struct type_caster<Topology> : cyclotron::bindings::NameCaster<Topology, Topology::custom> {};
template <>
struct type_caster<Spread> : cyclotron::bindings::NameCaster<Spread, Spread::tree> {};
template <>
struct type_caster<DimensionOrder> : cyclotron::bindings::NameCaster<DimensionOrder, DimensionOrder::yx> {};
template <>
struct type_caster<Switching> : cyclotron::bindings::NameCaster<Switching, Switching::store_and_forward> {};

/// Keys are tuples in Python, where lists do not hash.
template <>
struct type_caster<cyclotron::bindings::Links>
    : map_caster<cyclotron::bindings::Links, cyclotron::bindings::Offset, cyclotron::machine::Link> {
  static constexpr auto name = const_name("dict[tuple[int, ...], Link]");
  static handle cast(const cyclotron::bindings::Links& links, return_value_policy, handle) {
    dict result;
    for (const auto& [offset, link] : links) result[tuple(pybind11::cast(offset))] = pybind11::cast(link);
    return result.release();
  }
};

}  // namespace pybind11::detail

namespace cyclotron::bindings {

void bind_machine(py::module_& module) {
  using namespace machine;
  bind_record(module, "Link", "One hop between neighbouring PEs.",
              Field("latency_cycles", &Link::latency_cycles),
              Field("response_latency_cycles", &Link::response_latency_cycles),
              Field("words_per_cycle", &Link::words_per_cycle), Field("depth", &Link::depth));
  bind_record(module, "LinkMap", "Links from each PE to the one that a map names.",
              Field("map", &LinkMap::map), Field("link", &LinkMap::link));
  bind_record(module, "Chiplets", "Chips of equal blocks of PEs.", Field("shape", &Chiplets::shape),
              Field("link", &Chiplets::link));
  bind_record(module, "Unit", "A functional unit of a PE.", Field("shape", &Unit::shape),
              Field("cycles", &Unit::cycles), Field("latency_cycles", &Unit::latency_cycles),
              Field("dtypes", &Unit::dtypes), Field("accumulator", &Unit::accumulator));
  bind_record(module, "PE", "A processing element.", Field("memory_bytes", &Pe::memory_bytes),
              Field("flops_per_cycle", &Pe::flops_per_cycle), Field("cycles", &Pe::cycles),
              Field("matrix", &Pe::matrix), Field("vector", &Pe::vector), Field("scalar", &Pe::scalar),
              Field("registers", &Pe::registers), Field("banks", &Pe::banks),
              Field("channels", &Pe::channels), Field("ports", &Pe::ports), Field("overlap", &Pe::overlap),
              Field("holds", &Pe::holds));
  bind_record(module, "Slice", "Coordinates as of a Python slice.", Field("first", &Slice::first),
              Field("last", &Slice::last), Field("step", &Slice::step));
  bind_record(
      module, "Dram", "Banks of DRAM.", Field("banks", &Dram::banks), Field("row_bytes", &Dram::row_bytes),
      Field("activate_cycles", &Dram::activate_cycles), Field("precharge_cycles", &Dram::precharge_cycles),
      Field("open_cycles", &Dram::open_cycles), Field("recovery_cycles", &Dram::recovery_cycles),
      Field("turnaround_cycles", &Dram::turnaround_cycles), Field("interval_cycles", &Dram::interval_cycles),
      Field("refresh_cycles", &Dram::refresh_cycles));
  bind_record(module, "Memory", "A memory outside the PEs.",
              Field("bandwidth_words_per_cycle", &Memory::bandwidth_words_per_cycle),
              Field("latency_cycles", &Memory::latency_cycles), Field("depth", &Memory::depth),
              Field("serves", &Memory::serves), Field("shared_by", &Memory::shared_by),
              Field("size_bytes", &Memory::size_bytes), Field("dram", &Memory::dram));
  bind_record(module, "Control", "The controller of loops whose ends depend on data.",
              Field("latency_cycles", &Control::latency_cycles), Field("hop_cycles", &Control::hop_cycles),
              Field("setup_cycles", &Control::setup_cycles), Field("pes", &Control::pes),
              Field("global_data", &Control::global_data));
  bind_record(module, "Machine", "The target; an empty grid is as large as the program needs.",
              Field("grid", &Machine::grid), Field("topology", &Machine::topology),
              Field("link_maps", &Machine::link_maps), Field("link", &Machine::link),
              Field("broadcast", &Machine::broadcast), Field("pe", &Machine::pe),
              Field("links", &Machine::links), Field("memories", &Machine::memories),
              Field("clock_hz", &Machine::clock_hz), Field("broadcasts", &Machine::broadcasts),
              Field("spread", &Machine::spread), Field("chiplets", &Machine::chiplets),
              Field("control", &Machine::control), Field("shared_links", &Machine::shared_links));
  bind_record(module, "Network", "Routers between the nodes of a grid.",
              Field("topology", &Network::topology), Field("shape", &Network::shape),
              Field("routing", &Network::routing), Field("switching", &Network::switching),
              Field("router_latency_cycles", &Network::router_latency_cycles),
              Field("link_latency_cycles", &Network::link_latency_cycles),
              Field("credit_latency_cycles", &Network::credit_latency_cycles),
              Field("virtual_channels", &Network::virtual_channels), Field("depth", &Network::depth));
  module.def("verify_network", py::overload_cast<const Network&>(&verify), py::arg("network"),
             "Raise ShapeError where there cannot be such a network.");
  module.def(
      "verify_machine",
      [](const Machine& machine) {
        verify_target(machine);
        mapping::verify_link_maps(machine);
      },
      py::arg("machine"), "Raise ShapeError where programs cannot be compiled for the machine.");
  module.def(
      "machine_text", [](const Machine& machine) { return to_string(machine); }, py::arg("machine"),
      "The machine in one line.");
  module.def(
      "rank_of_link_map", [](const std::string& text) { return parse_link_map(text).names.size(); },
      py::arg("text"), "Dimensions of the grid that a link map is for.");
}

}  // namespace cyclotron::bindings
