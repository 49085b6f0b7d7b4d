// The error of one rank, thrown on all.
#pragma once
#include <exception>

#include "transport.hpp"

namespace cyclotron::runtime::mpi {

/// Collective: throws the error of the lowest rank whose `failure` is set, as it was thrown there, with that
/// rank's number.
/// Requires: some rank's is set.
[[noreturn]] void rethrow_everywhere(Transport& transport, const std::exception_ptr& failure);

}  // namespace cyclotron::runtime::mpi
