#include <cyclotron/mapping/find_skew.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace cyclotron::mapping {

namespace {

/// A dependence between PEs, as long as the loops so far do not tell the steps of its ends apart.
struct Tie {
  poly::Set points;
  std::vector<poly::Affine> later;   ///< By loop of time.
  std::vector<std::int64_t> offset;  ///< The user's PE minus the maker's, by grid dimension.
};

/// The only grid dimension along which it goes, if there is one.
std::optional<std::size_t> direction(const Tie& tie) {
  const auto moves = [](std::int64_t step) { return step != 0; };
  if (std::ranges::count_if(tie.offset, moves) != 1) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::find_if(tie.offset, moves) - tie.offset.begin());
}

/// Those that do not stay in their PE; none where one leads to a distance that varies.
std::optional<std::vector<Tie>> ties_of(const Mapping& mapping, const std::vector<Dependence>& all) {
  const auto& graph = mapping.graph;
  std::vector<Tie> result;
  for (const auto& dependence : all) {
    const auto& tuple = graph.at(graph.at(dependence.rule->flow).space).tuple;
    Tie tie{dependence.rule->domain, {}, {}};
    for (const auto d : mapping.grid.space) {
      const auto step = tuple[d] - dependence.from[d];
      if (!poly::is_constant(step)) return std::nullopt;
      tie.offset.push_back(step.constant);
    }
    if (std::ranges::all_of(tie.offset, [](std::int64_t step) { return step == 0; })) continue;
    for (const auto d : mapping.grid.time) tie.later.push_back(tuple[d] - dependence.from[d]);
    result.push_back(std::move(tie));
  }
  return result;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// Of one loop: the least steps along each grid dimension with which no tie's use comes before its making. Along one
/// dimension that is complete: where there is a choice, all ties one way are undone.
std::optional<std::vector<std::int64_t>> least_steps(const std::vector<Tie>& ties, std::size_t loop,
                                                     std::size_t dimensions) {
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> low(dimensions, -none), high(dimensions, none);
  for (const auto& tie : ties) {
    const auto g = direction(tie);
    if (!g) continue;
    const auto least = tie.points.image({tie.later[loop]}).minimum(0);
    if (!least) return std::nullopt;
    const auto hops = tie.offset[*g];
    // steps * hops >= -least
    if (hops > 0) low[*g] = std::max(low[*g], -floor_quotient(*least, hops));
    if (hops < 0) high[*g] = std::min(high[*g], floor_quotient(*least, -hops));
  }
  std::vector<std::int64_t> result;
  for (std::size_t g = 0; g < dimensions; ++g) {
    if (low[g] > high[g]) return std::nullopt;
    result.push_back(std::clamp<std::int64_t>(0, low[g], high[g]));
  }
  return result;
}

/// The ties that the loop leaves; none where a use comes before its making.
std::optional<std::vector<Tie>> left(std::vector<Tie> ties, std::size_t loop,
                                     const std::vector<std::int64_t>& steps) {
  std::vector<Tie> result;
  for (auto& tie : ties) {
    auto form = tie.later[loop];
    for (std::size_t g = 0; g < steps.size(); ++g) form.constant += steps[g] * tie.offset[g];
    if (poly::is_constant(form)) {
      if (form.constant < 0) return std::nullopt;
      if (form.constant > 0) continue;
    } else {
      const auto one = poly::constant(form.coefficients.size(), 1);
      if (!tie.points.intersect({-1 * form - one, false}).is_empty()) return std::nullopt;
      tie.points = tie.points.intersect({form, true});
      if (tie.points.is_empty()) continue;
    }
    result.push_back(std::move(tie));
  }
  return result;
}

}  // namespace

std::optional<Skew> find_skew(const Mapping& mapping, const std::vector<Dependence>& dependences,
                              std::size_t first) {
  const auto dimensions = mapping.grid.space.size(), loops = mapping.grid.time.size();
  Skew result(dimensions, std::vector<std::int64_t>(loops, 0));
  auto ties = ties_of(mapping, dependences);
  for (std::size_t loop = 0; ties && loop < loops; ++loop) {
    auto steps = std::optional(std::vector<std::int64_t>(dimensions, 0));
    if (loop >= first) steps = least_steps(*ties, loop, dimensions);
    if (!steps) return std::nullopt;
    for (std::size_t g = 0; g < dimensions; ++g) result[g][loop] = (*steps)[g];
    ties = left(std::move(*ties), loop, *steps);
  }
  return ties ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace cyclotron::mapping
