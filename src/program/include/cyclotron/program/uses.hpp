// The slots that an instruction reads and writes.
#pragma once
#include <cstddef>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

/// The slots of an instruction; what it reads it reads before it writes.
struct Uses {
  std::vector<std::size_t> read;
  std::vector<std::size_t> written;
};

[[nodiscard]] Uses uses_of(const Action& action);

}  // namespace cyclotron::program
