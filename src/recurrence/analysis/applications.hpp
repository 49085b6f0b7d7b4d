// Private to this folder: the operators that an expression may become.
#pragma once
#include <vector>

#include <cyclotron/recurrence/operations.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// The operators of expressions, on the smallest tiles of the system.
class Applications {
 public:
  explicit Applications(const System& system);

  /// Of an expression of its own; empty where it has none, or may be one operator with its operand.
  [[nodiscard]] std::vector<Application> ways(ExprId id) const;
  /// Of each term of a reduction that is one operator with it: a product in a sum. Else empty.
  [[nodiscard]] std::vector<Application> ways_of_terms(const Reduce& reduce) const;
  /// That joins two results of a reduction.
  [[nodiscard]] Application joining(const Reduce& reduce) const;

 private:
  [[nodiscard]] operators::Shape shape(ExprId id) const;
  [[nodiscard]] std::vector<operators::Shape> shapes(const std::vector<ExprId>& operands) const;
  [[nodiscard]] const Apply* product(ExprId id) const;
  [[nodiscard]] std::vector<Application> product_ways(ExprId id, const Apply& product) const;
  [[nodiscard]] bool may_fuse(const Apply& apply) const;

  System small_;
};

}  // namespace cyclotron::recurrence
