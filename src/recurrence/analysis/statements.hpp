// Private to this folder: a system as statements with sets and forms, before they become text.
#pragma once
#include <optional>

#include <cyclotron/recurrence/dependences.hpp>
#include <cyclotron/recurrence/sets.hpp>

namespace cyclotron::recurrence::detail {

/// An element that a statement touches. A read of a reduction's total says which reduction.
struct Touch {
  std::string cell;
  std::vector<poly::Affine> index;  ///< Over the statement's indices.
  std::optional<TensorId> tensor;   ///< None for a reduction without a tensor of its own.
  std::optional<std::size_t> total;
  Span span;
};

struct Instance {
  StatementKind kind = StatementKind::assign;
  std::vector<std::string> names;
  poly::Set domain;
  Touch write;
  std::vector<Touch> reads;  ///< Without an accumulator's own cell.
  Span span;
};

/// A reduction: which instances start, grow and end it.
struct Chain {
  std::size_t start = 0, accumulate = 0;
  std::optional<std::size_t> assign;  ///< Overwrites the cell by the outer expression.
  std::size_t outer = 0;              ///< Number of indices around it.
  bool descending = false;
};

/// Writes of complete elements of a tensor.
struct Writer {
  std::size_t statement = 0;
  poly::Set domain;
};

struct Statements {
  std::vector<Instance> instances;
  std::vector<Chain> chains;
};

[[nodiscard]] Statements statements(const System& system, const poly::Context& context);
/// { p -> q : q the same outer point as p, with the next value of the reduction's index, in its order }
[[nodiscard]] poly::Map next_term(const Statements& statements, const Chain& chain);
/// The instances that hold a reduction's total: its last terms, and its start where there is no term.
[[nodiscard]] std::vector<Writer> totals(const Statements& statements, const Chain& chain);
/// The first `count` of a point's coordinates.
[[nodiscard]] std::vector<poly::Affine> leading(std::size_t rank, std::size_t count);

}  // namespace cyclotron::recurrence::detail
