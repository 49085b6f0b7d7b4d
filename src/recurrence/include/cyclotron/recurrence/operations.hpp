// The operators that every program of a system runs at least, whatever its schedule.
#pragma once
#include <string>
#include <vector>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// An operator on tiles of these shapes.
struct Application {
  Op op = Op::add;
  Flags flags = 0;
  std::vector<operators::Shape> operands;
};

/// An operation that each of its points runs once, in one of a few ways: `a * b` where it starts a sum, `c + a * b` in it.
struct Operation {
  std::vector<Application> ways;
  std::vector<std::string> indices;  ///< Of its points, in nesting order: those that it varies with.
  poly::Set points;
  bool accumulates = false;  ///< The terms of a sum: each point waits for the one before in the last index.
};

/// The operations of a system. Those that a compiler may fuse, share or move out of a loop are left out, or counted once
/// for the indices that they vary with; those that only move data are free. Tiles at the ends of tensors are
/// smaller: shapes are those of the smallest tiles, so that costs are at least these.
/// Requires: a verified system.
[[nodiscard]] std::vector<Operation> operations(const System& system);

}  // namespace cyclotron::recurrence
