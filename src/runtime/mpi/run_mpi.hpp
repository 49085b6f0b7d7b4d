// Runs a program on the ranks of a communicator.
#pragma once
#include <mpi.h>

#include <string_view>

#include <cyclotron/runtime/runtime.hpp>

namespace cyclotron::runtime::mpi {

/// Collective over `communicator`: every rank passes the same program and inputs of the same values, and gets
/// all outputs. `shared_outputs`: the output arrays are one memory that all ranks have mapped, so nothing is
/// combined. Same bits as `simulate`; channels are not bounded. What a rank throws, every rank throws, with
/// the rank's number. Where no rank can go on, all throw DeadlockError. `make_arrays` reads the program and
/// may throw as well.
void run_mpi(std::string_view program_bytes, MPI_Comm communicator,
             const std::function<Arrays(const program::Program&)>& make_arrays, bool shared_outputs,
             const Progress& progress);

}  // namespace cyclotron::runtime::mpi
