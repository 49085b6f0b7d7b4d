// Flags by which loops may end early.
#pragma once
#include <cstdint>
#include <string>

#include <cyclotron/dataflow/graph.hpp>

namespace cyclotron::codegen {

/// A flag after which the iterations of an outermost loop change nothing that is seen (`recurrence::EarlyExit`).
struct ExitFlag {
  dataflow::TensorId tensor;
  std::string loop;
  std::int64_t offset = 0;
  std::int64_t steps = 0;
  std::int64_t settle = 0;
};

}  // namespace cyclotron::codegen
