// Tensors of which each rank holds some tiles, before and after runs.
#pragma once
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "../engine/pe_array.hpp"
#include "transport.hpp"

namespace cyclotron::runtime::mpi {

/// Tiles are numbered row-major over the tensor's extents.
struct Distributed {
  program::Tensor tensor;
  std::vector<int> owners;  ///< The rank of each tile, the same on all ranks; -1 where nobody has it.
  std::vector<Tile> tiles;  ///< Row-major and compact; empty where another rank has it.
};

/// This rank's tiles of an array that has all of them.
[[nodiscard]] Distributed distribute(const program::Tensor& tensor, std::vector<int> owners,
                                     const ArrayView& array, int rank);

/// Collective: writes all tiles into the array of every rank.
void gather(const Distributed& tensor, const ArrayView& array, MPI_Comm communicator);

/// For each tensor of the program its distributed form, or null where an array holds all of it. Those of
/// outputs are made by the run.
using DistributedTensors = std::vector<Distributed*>;

}  // namespace cyclotron::runtime::mpi
