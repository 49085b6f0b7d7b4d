// A machine from the plain data of `Machine.to_core`, which has checked it, and back.
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cyclotron/machine/machine.hpp>

#include "control.hpp"
#include "memories.hpp"

namespace cyclotron::bindings {

inline machine::Link to_link(const pybind11::dict& value) {
  return {value["latency_cycles"].cast<std::int64_t>(), value["response_latency_cycles"].cast<std::int64_t>(),
          value["words_per_cycle"].cast<std::int64_t>(), value["depth"].cast<std::int64_t>()};
}

inline std::optional<machine::Unit> to_unit(const pybind11::object& value) {
  if (value.is_none()) return std::nullopt;
  return machine::Unit{value["shape"].cast<std::vector<std::int64_t>>(),
                       value["cycles"].cast<std::int64_t>()};
}

inline machine::Machine to_machine(const pybind11::dict& value) {
  machine::Machine result;
  if (!value["grid"].is_none()) result.grid = value["grid"].cast<std::vector<std::int64_t>>();
  result.topology.clear();
  for (const auto& name : value["topology"].cast<std::vector<std::string>>())
    result.topology.push_back(machine::topology_from_name(name).value());
  result.link = to_link(value["link"]);
  result.broadcast = to_link(value["broadcast"]);
  const pybind11::dict pe = value["pe"];
  result.pe = {pe["memory_bytes"].cast<std::int64_t>(),
               pe["flops_per_cycle"].cast<std::int64_t>(),
               pe["cycles"].cast<std::map<std::string, std::int64_t>>(),
               to_unit(pe["matrix"]),
               to_unit(pe["vector"]),
               to_unit(pe["scalar"]),
               pe["registers"].cast<std::optional<std::int64_t>>(),
               pe["banks"].cast<std::optional<std::int64_t>>(),
               pe["channels"].cast<std::optional<std::int64_t>>()};
  for (const auto& item : value["links"]) {
    const auto [offset, link] = item.cast<std::pair<std::vector<std::int64_t>, pybind11::dict>>();
    result.links.emplace(offset, to_link(link));
  }
  for (const auto& [name, memory] : value["memories"].cast<std::map<std::string, pybind11::dict>>())
    result.memories.emplace(name, to_memory(memory));
  result.clock_hz = value["clock_hz"].cast<std::optional<double>>();
  for (const auto& item : value["broadcasts"]) {
    const auto [dimension, link] = item.cast<std::pair<std::size_t, pybind11::dict>>();
    result.broadcasts.emplace(dimension, to_link(link));
  }
  const auto spread = value["spread"].cast<std::string>();
  for (const auto one : {machine::Spread::distance, machine::Spread::tree}) {
    if (spread == machine::name(one)) result.spread = one;
  }
  for (const auto& item : value["link_maps"]) {
    const auto [text, link] = item.cast<std::pair<std::string, std::optional<pybind11::dict>>>();
    result.link_maps.push_back({text, link ? std::optional(to_link(*link)) : std::nullopt});
  }
  if (const pybind11::object chiplets = value["chiplets"]; !chiplets.is_none()) {
    result.chiplets = {chiplets["shape"].cast<std::vector<std::int64_t>>(),
                       to_link(chiplets["link"].cast<pybind11::dict>())};
  }
  result.control = to_control(value["control"]);
  return result;
}

inline pybind11::dict to_dict(const machine::Link& link) {
  pybind11::dict result;
  result["latency_cycles"] = link.latency_cycles;
  result["response_latency_cycles"] = link.response_latency_cycles;
  result["words_per_cycle"] = link.words_per_cycle;
  result["depth"] = link.depth;
  return result;
}

inline pybind11::object to_dict(const std::optional<machine::Unit>& unit) {
  if (!unit) return pybind11::none();
  pybind11::dict result;
  result["shape"] = unit->shape;
  result["cycles"] = unit->cycles;
  return result;
}

inline pybind11::dict to_dict(const machine::Pe& pe) {
  pybind11::dict result;
  result["memory_bytes"] = pe.memory_bytes;
  result["flops_per_cycle"] = pe.flops_per_cycle;
  result["cycles"] = pe.cycles;
  result["matrix"] = to_dict(pe.matrix);
  result["vector"] = to_dict(pe.vector);
  result["scalar"] = to_dict(pe.scalar);
  result["registers"] = pe.registers;
  result["banks"] = pe.banks;
  result["channels"] = pe.channels;
  return result;
}

inline pybind11::object to_dict(const std::optional<machine::Chiplets>& chiplets) {
  if (!chiplets) return pybind11::none();
  pybind11::dict result;
  result["shape"] = chiplets->shape;
  result["link"] = to_dict(chiplets->link);
  return result;
}

inline pybind11::dict to_dict(const machine::Machine& machine) {
  pybind11::dict result;
  result["grid"] = machine.grid;
  pybind11::list topology;
  for (const auto along : machine.topology) topology.append(machine::name(along));
  result["topology"] = topology;
  result["link"] = to_dict(machine.link);
  result["broadcast"] = to_dict(machine.broadcast);
  result["pe"] = to_dict(machine.pe);
  pybind11::list links;
  for (const auto& [offset, link] : machine.links) links.append(pybind11::make_tuple(offset, to_dict(link)));
  result["links"] = links;
  pybind11::dict memories;
  for (const auto& [name, memory] : machine.memories) memories[pybind11::str(name)] = to_dict(memory);
  result["memories"] = memories;
  result["clock_hz"] = machine.clock_hz;
  result["chiplets"] = to_dict(machine.chiplets);
  result["control"] = to_dict(machine.control);
  pybind11::list broadcasts;
  for (const auto& [dimension, link] : machine.broadcasts)
    broadcasts.append(pybind11::make_tuple(dimension, to_dict(link)));
  result["broadcasts"] = broadcasts;
  result["spread"] = machine::name(machine.spread);
  pybind11::list maps;
  for (const auto& [text, link] : machine.link_maps) {
    const pybind11::object own = link ? pybind11::object(to_dict(*link)) : pybind11::none();
    maps.append(pybind11::make_tuple(text, own));
  }
  result["link_maps"] = maps;
  return result;
}

}  // namespace cyclotron::bindings
