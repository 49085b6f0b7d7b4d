// A machine's controller from plain data, and back.
#pragma once
#include <optional>

#include <pybind11/pybind11.h>

#include <cyclotron/machine/machine.hpp>

namespace cyclotron::bindings {

/// {"latency_cycles": ..., "hop_cycles": ..., "setup_cycles": ...}, or None.
inline std::optional<machine::Control> to_control(const pybind11::object& value) {
  if (value.is_none()) return std::nullopt;
  return machine::Control{.latency_cycles = value["latency_cycles"].cast<std::int64_t>(),
                          .hop_cycles = value["hop_cycles"].cast<std::int64_t>(),
                          .setup_cycles = value["setup_cycles"].cast<std::int64_t>()};
}

inline pybind11::object to_dict(const std::optional<machine::Control>& control) {
  if (!control) return pybind11::none();
  pybind11::dict result;
  result["latency_cycles"] = control->latency_cycles;
  result["hop_cycles"] = control->hop_cycles;
  result["setup_cycles"] = control->setup_cycles;
  return result;
}

}  // namespace cyclotron::bindings
