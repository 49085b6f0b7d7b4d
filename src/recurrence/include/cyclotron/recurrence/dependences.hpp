// Dependences: a system as the statements of a loop nest, and the dependences between their instances.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/poly/schedule_tree.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

enum class StatementKind : std::uint8_t { start, accumulate, assign };
[[nodiscard]] std::string_view name(StatementKind kind);

/// A read or write of one element by every instance of a statement.
struct Reference {
  std::string cell;  ///< A tensor, or the name of a reduction that has no tensor of its own.
  bool write = false;
  std::string text;      ///< `A[i, k]`
  std::string relation;  ///< isl's notation: `{ S1[i, j, k] -> A[i, k] : ... }`
  Span span;
};

/// A statement of the nest that spells a system: an equation without a reduction is one that assigns. A reduction
/// is two: `start` sets its cell to the neutral element, `accumulate` adds one term. The cell is the equation's
/// target where the equation has one reduction, which its outer expression, if any, then overwrites (`assign`).
struct Statement {
  std::string name;  ///< `S0`, `S1`, ... in the order of the text.
  StatementKind kind = StatementKind::assign;
  std::vector<std::string> indices;  ///< Outermost first.
  std::string domain;                ///< isl's notation: `{ S1[i, j, k] : 0 <= i <= 2 and ... }`
  std::string schedule;              ///< isl's notation: the order of its own instances.
  std::vector<Reference> references;
  Span span;
};

enum class DependenceKind : std::uint8_t { flow, anti, output, read };
[[nodiscard]] std::string_view name(DependenceKind kind);

/// Distance of the two ends of a dependence in one index.
struct Distance {
  std::string index;
  std::int64_t least = 0;
  std::int64_t greatest = 0;
  [[nodiscard]] bool uniform() const { return least == greatest; }
};

/// Pairs of statement instances that touch one element. Nothing that follows from others is listed: a flow goes
/// from a write to the first instance that reads, and `read` leads from there along each direction that the
/// subscripts ignore, as values travel through an array. Within a reduction, flow, anti and output go from a term to
/// the next.
struct Dependence {
  DependenceKind kind = DependenceKind::flow;
  std::string cell;
  std::size_t source = 0, target = 0;  ///< Statements.
  std::string relation;                ///< isl's notation.
  std::vector<Distance> distances;     ///< One for each index that both statements have.
  Span span;                           ///< The access that makes the dependence.
};

struct Dependences {
  std::vector<Statement> statements;
  std::vector<Dependence> dependences;  ///< flow, then read, anti and output.
};

/// Requires: verify(system). Exact for the given shapes; independent of their size.
[[nodiscard]] Dependences dependences(const System& system);

/// Requires: verify(system). The statements in an order that keeps their dependences, reads of inputs aside.
[[nodiscard]] poly::ScheduleTree schedule_tree(const System& system);

}  // namespace cyclotron::recurrence
