#include "boxes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include <cyclotron/support/division.hpp>

#include "space.hpp"

namespace cyclotron::memory {
namespace {

using namespace program;

/// first, first + step, ..., up to last.
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t step = 1;
  [[nodiscard]] std::int64_t count() const { return last < first ? 0 : (last - first) / step + 1; }
};
/// The PE's coordinates, then the variables of loops.
using Environment = std::vector<Range>;

/// The values of a form, on a lattice: of several variables the common step.
Range values(const Affine& form, const Environment& environment) {
  Range result{form.constant, form.constant, 0};
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    const std::int64_t coefficient = form.coefficients[v];
    if (coefficient == 0) continue;
    const Range& variable = environment[v];
    result.first += coefficient * (coefficient > 0 ? variable.first : variable.last);
    result.last += coefficient * (coefficient > 0 ? variable.last : variable.first);
    if (variable.first != variable.last) result.step = std::gcd(result.step, coefficient * variable.step);
  }
  result.step = std::max<std::int64_t>(1, std::abs(result.step));
  return result;
}

Range join(const Range& a, const Range& b) {
  const std::int64_t apart = std::abs(a.first - b.first);
  std::int64_t step = std::gcd(a.count() > 1 ? a.step : 0, b.count() > 1 ? b.step : 0);
  step = std::max<std::int64_t>(1, std::gcd(step, apart));
  return {std::min(a.first, b.first), std::max(a.last, b.last), step};
}

std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  return a == 0 || b == 0 ? 0 : a > beyond / b ? beyond : a * b;
}

/// Requires of variables that the form is not negative.
void restrict_to(Environment& environment, const Affine& form) {
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    const std::int64_t coefficient = form.coefficients[v];
    if (coefficient == 0) continue;
    Affine others = form;
    others.coefficients[v] = 0;
    const std::int64_t most = values(others, environment).last;
    Range& own = environment[v];
    if (coefficient > 0) {
      const std::int64_t least = ceil_divide(-most, coefficient);
      if (least > own.first) own.first += ceil_divide(least - own.first, own.step) * own.step;
    } else {
      own.last = std::min(own.last, floor_divide(most, -coefficient));
      own.last -= floor_modulo(own.last - own.first, own.step);
    }
  }
}

Environment restricted(Environment environment, const Conjunction& conjunction) {
  for (const Condition& condition : conjunction) {
    if (condition.kind == Condition::Kind::divisible) continue;
    restrict_to(environment, condition.form);
    if (condition.kind != Condition::Kind::zero) continue;
    Affine negative = condition.form;
    negative.constant = -negative.constant;
    for (std::int64_t& coefficient : negative.coefficients) coefficient = -coefficient;
    restrict_to(environment, negative);
  }
  return environment;
}

bool is_empty(const Environment& environment) {
  return std::ranges::any_of(environment, [](const Range& range) { return range.first > range.last; });
}

/// With each variable in the ranges of all of its conjunctions that may hold; none where none may.
std::optional<Environment> restricted(const Environment& environment, const Disjunction& condition) {
  std::optional<Environment> result;
  for (const Conjunction& conjunction : condition) {
    const Environment one = restricted(environment, conjunction);
    if (is_empty(one)) continue;
    if (!result) {
      result = one;
      continue;
    }
    for (std::size_t v = 0; v < one.size(); ++v) (*result)[v] = join((*result)[v], one[v]);
  }
  return result;
}

Range iterations(const Loop& loop, const Environment& environment) {
  Range result{-beyond, beyond, loop.step};
  for (const Bound& bound : loop.lower)
    result.first =
        std::max(result.first, ceil_divide(values(bound.numerator, environment).first, bound.divisor));
  for (const Bound& bound : loop.upper)
    result.last =
        std::min(result.last, floor_divide(values(bound.numerator, environment).last, bound.divisor));
  if (result.last >= result.first) result.last -= (result.last - result.first) % result.step;
  return result;
}

using Coordinates = std::vector<std::int64_t>;

/// The nearest value of a coordinate that the conditions on it and those before allow.
std::optional<std::int64_t> allowed(const Conjunction& conjunction, const Environment& fixed, std::size_t d,
                                    std::int64_t at) {
  constexpr std::int64_t most_tried = 64;  // more than steps of classes are long
  Coordinates place;
  for (const Range& range : fixed) place.push_back(range.first);
  const auto is_allowed = [&](std::int64_t value) {
    place[d] = value;
    return std::ranges::all_of(conjunction, [&](const Condition& condition) {
      const auto later = condition.form.coefficients | std::views::drop(d + 1);
      const bool is_open = std::ranges::any_of(later, [](std::int64_t factor) { return factor != 0; });
      return is_open || holds(condition, place.data());
    });
  };
  for (std::int64_t away = 0; away < most_tried; ++away) {
    for (const std::int64_t value : {at + away, at - away}) {
      if (fixed[d].first <= value && value <= fixed[d].last && is_allowed(value)) return value;
    }
  }
  return std::nullopt;
}

/// Adds PEs whose coordinates, from one on, are so many parts of what they may be with those before.
void add_pes(const Conjunction& conjunction, Environment environment, std::size_t d, std::int64_t parts,
             std::set<Coordinates>& result) {
  environment = restricted(std::move(environment), conjunction);
  if (is_empty(environment)) return;
  if (d == environment.size()) {
    Coordinates place;
    for (const Range& range : environment) place.push_back(range.first);
    if (holds(Disjunction{conjunction}, place.data())) result.insert(std::move(place));
    return;
  }
  const Range range = environment[d];
  const std::int64_t count = std::min(parts, range.count());
  for (std::int64_t n = 0; n < count; ++n) {
    const auto at = count == 1 ? range.first : range.first + (range.last - range.first) * n / (count - 1);
    const auto value = allowed(conjunction, environment, d, at);
    if (!value) continue;
    Environment inside = environment;
    inside[d] = {*value, *value, 1};
    add_pes(conjunction, std::move(inside), d + 1, parts, result);
  }
}

/// By dimension.
using Box = std::vector<Range>;

bool contains(const Box& box, const Box& other) {
  return std::ranges::equal(box, other, [](const Range& own, const Range& its) {
    return own.first <= its.first && its.last <= own.last && (its.first - own.first) % own.step == 0 &&
           (its.count() == 1 || its.step % own.step == 0);
  });
}

/// Of one tensor.
struct Part {
  Box hull;  ///< Empty where nothing is used yet.
  struct Use {
    Box box;
    std::int64_t tiles;
  };
  std::vector<Use> uses;  ///< None is within another, of the first few.
};

class TilesUsed {
 public:
  TilesUsed(const Program& program, const std::vector<std::int64_t>& coordinates)
      : parts_(program.tensors.size()) {
    Environment& start = open_.emplace_back();
    for (const std::int64_t coordinate : coordinates) start.push_back({coordinate, coordinate, 1});
  }

  void take(const Action& action) {
    if (closed_ > 0) {
      const bool opens = std::holds_alternative<Loop>(action) || std::holds_alternative<If>(action);
      closed_ += opens ? 1 : std::holds_alternative<End>(action) ? -1 : 0;
      return;
    }
    if (const auto* loop = std::get_if<Loop>(&action)) {
      Environment inside = open_.back();
      inside.push_back(iterations(*loop, inside));
      enter(is_empty(inside) ? std::nullopt : std::optional(std::move(inside)));
    } else if (const auto* branch = std::get_if<If>(&action)) {
      enter(branch->condition.empty() ? std::nullopt : restricted(open_.back(), branch->condition));
    } else if (std::holds_alternative<End>(action)) {
      open_.pop_back();
    } else if (const auto* load = std::get_if<Load>(&action)) {
      use(load->tensor, load->index);
    } else if (const auto* store = std::get_if<Store>(&action)) {
      use(store->tensor, store->index);
    }
  }

  [[nodiscard]] std::vector<std::int64_t> counts(const Program& program) const {
    std::vector<std::int64_t> result;
    for (std::size_t t = 0; t < parts_.size(); ++t) {
      std::int64_t tiles = 0, all = 1;
      for (const auto& use : parts_[t].uses) tiles = std::min(tiles + use.tiles, beyond);
      for (const std::int64_t extent : program.tensors[t].extents()) all = bounded_product(all, extent);
      result.push_back(std::min({tiles, tiles_of(parts_[t].hull), all}));
    }
    return result;
  }

 private:
  void enter(std::optional<Environment> inside) {
    if (inside) {
      open_.push_back(std::move(*inside));
    } else {
      closed_ = 1;
    }
  }

  static std::int64_t tiles_of(const Box& box) {
    std::int64_t result = 1;
    for (const Range& range : box) result = bounded_product(result, range.count());
    return result;
  }

  void use(TensorId tensor, const std::vector<Affine>& index) {
    constexpr std::size_t most_compared = 64;
    const Environment& environment = open_.back();
    Part& part = parts_[tensor.index()];
    std::int64_t uses = 1;
    for (std::size_t v = 0; v < environment.size(); ++v) {
      const bool varies = std::ranges::any_of(index, [&](const Affine& form) {
        return v < form.coefficients.size() && form.coefficients[v] != 0;
      });
      if (varies) uses = bounded_product(uses, environment[v].count());
    }
    Box box;
    for (const Affine& form : index) box.push_back(values(form, environment));
    part.hull = part.hull.empty() ? box : joined(part.hull, box);
    if (part.uses.size() < most_compared) {
      if (std::ranges::any_of(part.uses, [&](const auto& other) { return contains(other.box, box); })) return;
      std::erase_if(part.uses, [&](const auto& other) { return contains(box, other.box); });
    }
    const std::int64_t tiles = std::min(uses, tiles_of(box));
    part.uses.push_back({std::move(box), tiles});
  }

  static Box joined(Box a, const Box& b) {
    for (std::size_t d = 0; d < a.size(); ++d) a[d] = join(a[d], b[d]);
    return a;
  }

  std::vector<Part> parts_;
  std::vector<Environment> open_;  // Of blocks.
  std::int64_t closed_ = 0;        // Blocks in one that never runs.
};

}  // namespace

std::vector<std::vector<std::int64_t>> some_pes(const Disjunction& region,
                                                const std::vector<std::int64_t>& grid) {
  constexpr double most = 256;  // of a conjunction
  const auto parts = std::int64_t(std::pow(most, 1 / static_cast<double>(grid.size())) + 1e-9);
  Environment whole;
  for (const std::int64_t extent : grid) whole.push_back({0, extent - 1, 1});
  std::set<Coordinates> result;
  for (const Conjunction& conjunction : region)
    add_pes(conjunction, whole, 0, std::max<std::int64_t>(parts, 2), result);
  return {result.begin(), result.end()};
}

std::vector<std::int64_t> tiles_used(const Program& program, const PeClass& pe_class,
                                     const std::vector<std::int64_t>& coordinates) {
  TilesUsed result(program, coordinates);
  for (const Instruction& instruction : pe_class.code) result.take(instruction.action);
  return result.counts(program);
}

}  // namespace cyclotron::memory
