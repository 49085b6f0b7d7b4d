// Other tiles, on other ranks, of the same numbers.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <vector>

#include "distributed.hpp"

namespace cyclotron::runtime::mpi {

/// Collective: the tensor in tiles of `tile` scalars, of which `owners` has the rank of each, row-major; -1
/// where nobody is to have it. What no rank had is zero. Every rank sends each other one at most one message.
/// Requires: the same arguments on every rank, as many entries of `tile` as the tensor has dimensions, an
/// owner for each tile. Throws ExecutionError CYC730 where a message has more than 128 GiB.
[[nodiscard]] Distributed redistribute(const Distributed& from, std::vector<std::int64_t> tile,
                                       std::vector<int> owners, MPI_Comm communicator);

}  // namespace cyclotron::runtime::mpi
