// Checks that the verifiers of the tables and of the code share. Each throws ProgramError with the fault's
// path.
#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <cyclotron/program/program.hpp>
#include <cyclotron/support/error.hpp>

#include "path.hpp"

namespace cyclotron::program {

/// A bound that no index or size reaches.
inline constexpr std::int64_t huge = std::int64_t{1} << 62;
/// The most of a step, count, depth or offset.
inline constexpr std::int64_t number_limit = std::int64_t{1} << 40;

[[noreturn]] inline void fail(const char* code, const Path& path, const std::string& what, std::string help,
                              const Span& span = {}) {
  throw ProgramError({.code = code,
                      .span = span,
                      .message = fmt::format("`{}` {}", path.text(), what),
                      .notes = {},
                      .help = std::move(help)});
}

inline void require_range(std::int64_t value, std::int64_t least, std::int64_t most, const Path& path,
                          const Span& span = {}) {
  if (value >= least && value <= most) return;
  fail("CYC606", path, fmt::format("is {}, outside {} .. {}", value, least, most),
       "compile the program again", span);
}

inline void require_length(std::size_t length, std::size_t expected, const char* why, const Path& path,
                           const Span& span = {}) {
  if (length == expected) return;
  fail("CYC608", path, fmt::format("has {} entries, expected {}", length, expected), why, span);
}

template <class Tag, class T>
const T& lookup(Id<Tag> id, const std::vector<T>& table, const char* what, const Path& path,
                const Span& span) {
  if (id.index() < table.size()) return table[id.index()];
  const std::string shown = id.valid() ? fmt::format("{} {}", what, id.index()) : fmt::format("no {}", what);
  fail("CYC607", path, fmt::format("names {}, but the table has {} entries", shown, table.size()),
       fmt::format("{} ids count from 0", what), span);
}

/// Largest magnitude of each variable of the environment: the grid's, then the open loops'.
using Environment = std::vector<std::int64_t>;

/// The largest magnitude of the form and of its partial sums.
inline std::int64_t check_affine(const Affine& form, const Environment& environment, const Path& path,
                                 const Span& span) {
  if (form.coefficients.size() > environment.size()) {
    fail("CYC608", path,
         fmt::format("has {} coefficients, but {} variables are known here", form.coefficients.size(),
                     environment.size()),
         "the variables are the grid coordinates and the loops around the instruction", span);
  }
  const auto overflow = [&] {
    fail("CYC612", path, fmt::format("can reach {} or more", huge), "make bounds and coefficients smaller",
         span);
  };
  const auto magnitude = [&](std::int64_t value) {
    if (value <= -huge || value >= huge) overflow();
    return value < 0 ? -value : value;
  };
  std::int64_t most = magnitude(form.constant);
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    std::int64_t term = 0;
    if (__builtin_mul_overflow(magnitude(form.coefficients[v]), environment[v], &term) ||
        __builtin_add_overflow(most, term, &most) || most >= huge) {
      overflow();
    }
  }
  return most;
}

inline std::int64_t check_bounds(const std::vector<Bound>& bounds, const Environment& environment,
                                 const Path& path, const Span& span) {
  if (bounds.empty()) fail("CYC608", path, "has 0 bounds, expected at least 1", "give one bound", span);
  std::int64_t most = 0;
  for (std::size_t b = 0; b < bounds.size(); ++b) {
    const Path here(path, b);
    require_range(bounds[b].divisor, 1, number_limit, Path(here, "divisor"), span);
    most = std::max(most, check_affine(bounds[b].numerator, environment, here, span));
  }
  return most;
}

inline void check_condition(const Disjunction& condition, const Environment& environment, const Path& path,
                            const Span& span) {
  for (std::size_t any = 0; any < condition.size(); ++any) {
    const Path outer(path, any);
    for (std::size_t all = 0; all < condition[any].size(); ++all) {
      const Path here(outer, all);
      const Condition& one = condition[any][all];
      require_range(static_cast<std::int64_t>(one.kind), 0,
                    static_cast<std::int64_t>(Condition::Kind::divisible), here, span);
      const bool divisible = one.kind == Condition::Kind::divisible;
      require_range(one.modulus, divisible ? 2 : 0, divisible ? number_limit : 0, Path(here, "modulus"),
                    span);
      check_affine(one.form, environment, here, span);
    }
  }
}

/// Checks the code of a class: blocks, ids, indices, element types. `grid` is the environment outside loops.
void check_code(const Program& program, const PeClass& pe_class, const Environment& grid, const Path& path);

}  // namespace cyclotron::program
