// `cyclotron._mpi.Halo`: outputs that stay on ranks, in Python.
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "../engine/pe_array.hpp"

namespace cyclotron {

/// For each dimension of the PEs' grid how many ranks and how large blocks.
using Deal = std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>>;

[[nodiscard]] std::optional<runtime::BlockCyclic> to_block_cyclic(const Deal& deal);

void bind_halo(pybind11::module_& module);

}  // namespace cyclotron
