// A machine from the plain data of `Machine.to_core`, which has checked it.
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cyclotron/machine/machine.hpp>

namespace cyclotron::bindings {

inline machine::Link to_link(const pybind11::dict& value) {
  return {value["latency_cycles"].cast<std::int64_t>(), value["response_latency_cycles"].cast<std::int64_t>(),
          value["words_per_cycle"].cast<std::int64_t>(), value["depth"].cast<std::int64_t>()};
}

inline machine::Machine to_machine(const pybind11::dict& value) {
  machine::Machine result;
  if (!value["grid"].is_none()) result.grid = value["grid"].cast<std::vector<std::int64_t>>();
  result.topology = machine::topology_from_name(value["topology"].cast<std::string>()).value();
  result.link = to_link(value["link"]);
  result.broadcast = to_link(value["broadcast"]);
  const pybind11::dict pe = value["pe"];
  result.pe = {pe["memory_bytes"].cast<std::int64_t>(), pe["flops_per_cycle"].cast<std::int64_t>(),
               pe["cycles"].cast<std::map<std::string, std::int64_t>>()};
  return result;
}

}  // namespace cyclotron::bindings
