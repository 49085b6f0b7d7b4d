// The accounts of ranks as `cyclotron._mpi.run` returns them.
#pragma once
#include <pybind11/pybind11.h>

#include "profile.hpp"

namespace cyclotron {

/// Lets `to_dict` make arrays of events; once.
void describe_events();

/// By name what an account tells; channels and tensors in the program's order, events as a record array.
[[nodiscard]] pybind11::dict to_dict(const runtime::mpi::Account& account);

}  // namespace cyclotron
