// Flags by which loops may end early.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/dataflow/graph.hpp>

namespace cyclotron::codegen {

/// A flag after which the iterations of a loop change nothing that is seen (`recurrence::EarlyExit`).
struct ExitFlag {
  dataflow::TensorId tensor;
  std::string loop;
  std::int64_t offset = 0;
  std::int64_t steps = 0;
  std::int64_t settle = 0;
  /// The loops around, whose iterations its first dimensions count: that of iteration i is i plus the number.
  std::vector<std::pair<std::string, std::int64_t>> around{};
  std::int64_t runs = 1;  ///< Of the loop, one for each of these.
};

}  // namespace cyclotron::codegen
