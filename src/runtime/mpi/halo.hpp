// Outputs that stay on the ranks which computed them, and are inputs of the next run.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "../engine/pe_array.hpp"

namespace cyclotron::runtime::mpi {

/// All ranks together.
struct Sent {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

/// The tiles, by number, that other ranks' PEs store as an output and this rank's load as an input, and the other way
/// round; both by the other rank, in order.
struct Halo {
  program::Tensor tensor;  ///< The output.
  std::vector<std::vector<std::uint32_t>> taken;
  std::vector<std::vector<std::uint32_t>> given;
  Sent sent{};  ///< In an exchange.
};

/// Collective. Requires: tensors of equal shapes, tiles and dtypes; PEs dealt out as in the run (`Options::dealt`).
[[nodiscard]] Halo find_halo(const program::Program& program, std::size_t output, std::size_t input,
                             const std::optional<BlockCyclic>& dealt, MPI_Comm communicator);

/// Collective: sends the tiles out of and into each rank's array. At most a message from each rank to each other.
void exchange(const Halo& halo, const ArrayView& array, MPI_Comm communicator);

/// Collective: makes every rank's array the bits of all, or'ed; what a rank has not stored is zero.
void combine(std::byte* bytes, std::size_t count, MPI_Comm communicator);

}  // namespace cyclotron::runtime::mpi
