// A machine's memories from plain data, and back.
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cyclotron/machine/machine.hpp>

namespace cyclotron::bindings {

/// {"words_per_cycle": ..., "latency_cycles": ..., "depth": ..., "serves": [[(first, last, step), ...], ...],
/// "shared_by": ..., "size_bytes": ...}
inline machine::Memory to_memory(const pybind11::dict& value) {
  machine::Memory result{.words_per_cycle = value["words_per_cycle"].cast<std::int64_t>(),
                         .latency_cycles = value["latency_cycles"].cast<std::int64_t>(),
                         .depth = value["depth"].cast<std::int64_t>(),
                         .shared_by = value["shared_by"].cast<std::vector<std::int64_t>>(),
                         .size_bytes = value["size_bytes"].cast<std::optional<std::int64_t>>()};
  using Numbers = std::tuple<std::int64_t, std::optional<std::int64_t>, std::int64_t>;
  for (const auto& box : value["serves"].cast<std::vector<std::vector<Numbers>>>()) {
    auto& slices = result.serves.emplace_back();
    for (const auto& [first, last, step] : box) slices.push_back({first, last, step});
  }
  return result;
}

inline pybind11::dict to_dict(const machine::Memory& memory) {
  pybind11::list serves;
  for (const auto& box : memory.serves) {
    pybind11::list slices;
    for (const auto& slice : box) slices.append(pybind11::make_tuple(slice.first, slice.last, slice.step));
    serves.append(slices);
  }
  pybind11::dict result;
  result["words_per_cycle"] = memory.words_per_cycle;
  result["latency_cycles"] = memory.latency_cycles;
  result["depth"] = memory.depth;
  result["serves"] = serves;
  result["shared_by"] = memory.shared_by;
  result["size_bytes"] = memory.size_bytes;
  return result;
}

}  // namespace cyclotron::bindings
