// Messages between the ranks of a communicator other than tiles.
#pragma once
#include <mpi.h>

#include <string>
#include <string_view>

namespace cyclotron::runtime::mpi {

/// Collective: whether all ranks pass the same bytes. All get the same answer.
[[nodiscard]] bool agree(std::string_view bytes, MPI_Comm communicator);

/// Collective: the root's bytes.
[[nodiscard]] std::string broadcast(std::string_view bytes, int root, MPI_Comm communicator);

}  // namespace cyclotron::runtime::mpi
