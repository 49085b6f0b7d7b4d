// The accounts of all ranks of a run, brought together.
#pragma once
#include <mpi.h>

#include <vector>

#include "profile.hpp"

namespace cyclotron::runtime::mpi {

/// Collective: the account of every rank, by rank. All have as many channels and tensors. Times of events are from
/// the start of the run, which this rank saw at `begun`: where ranks share a clock, from when the first of them saw it.
[[nodiscard]] std::vector<Account> gather(Account own, double begun, MPI_Comm communicator, bool one_clock);

}  // namespace cyclotron::runtime::mpi
