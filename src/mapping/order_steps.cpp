#include <cyclotron/mapping/order_steps.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include <cyclotron/mapping/dependences.hpp>
#include <cyclotron/mapping/find_skew.hpp>
#include <cyclotron/mapping/live_range.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::mapping {

namespace {

/// A total order of all steps of all PEs that agrees with each PE's own order: by the outer loops of time, then
/// along the grid in some direction, then by the inner loops. Where loops come after the grid, PEs run apart, and
/// channels may have to be deep.
struct Order {
  std::vector<std::int64_t> signs;  ///< Of each grid dimension.
  std::size_t outer = 0;            ///< Loops of time that come before the grid.
  bool by_round = false;            ///< Within a step all PEs' points of one round before those of the next.
  Skew skew{};                      ///< Of the PEs; empty: none.
};

/// Distance from the making to the use, in that order.
std::vector<poly::Affine> advance(const Mapping& mapping, const Dependence& dependence, const Order& order) {
  const auto& graph = mapping.graph;
  const auto& tuple = graph.at(graph.at(dependence.rule->flow).space).tuple;
  std::vector<poly::Affine> result;
  const auto add_time = [&](std::size_t begin, std::size_t end) {
    for (auto t = begin; t < end; ++t) {
      const auto d = mapping.grid.time[t];
      result.push_back(tuple[d] - dependence.from[d]);
      for (std::size_t g = 0; g < order.skew.size(); ++g) {
        const auto x = mapping.grid.space[g];
        result.back() = result.back() + order.skew[g][t] * (tuple[x] - dependence.from[x]);
      }
    }
  };
  add_time(0, order.outer);
  const auto user = graph.at(dependence.rule->flow).space.index();
  const auto maker = graph.at(dependence.source).space.index();
  const auto later = poly::constant(tuple.size(), mapping.ranks[user] - mapping.ranks[maker]);
  if (order.by_round && mapping.rounds[user] != mapping.rounds[maker]) result.push_back(later);
  for (std::size_t g = 0; g < mapping.grid.space.size(); ++g) {
    const auto d = mapping.grid.space[g];
    result.push_back(order.signs[g] * (tuple[d] - dependence.from[d]));
  }
  add_time(order.outer, mapping.grid.time.size());
  if (order.by_round && mapping.rounds[user] == mapping.rounds[maker]) result.push_back(later);
  return result;
}

bool is_negative_constant(const std::vector<poly::Affine>& forms, bool& constant) {
  constant = std::ranges::all_of(forms, poly::is_constant);
  if (!constant) return false;
  for (const auto& form : forms) {
    if (form.constant != 0) return form.constant < 0;
  }
  return false;
}

/// A point at which the dependence does not advance, if any.
std::optional<std::vector<std::int64_t>> violation(const Mapping& mapping, const Dependence& dependence,
                                                   const Order& order) {
  auto forms = advance(mapping, dependence, order);
  bool constant = false;
  const bool negative = is_negative_constant(forms, constant);
  if (constant) return negative ? dependence.rule->domain.lexmin_point() : std::nullopt;
  for (auto& form : forms) form = -1 * form;
  return lex_positive(dependence.rule->domain, forms).lexmin_point();
}

[[noreturn]] void report(const Mapping& mapping, const Dependence& dependence,
                         const std::vector<std::int64_t>& point) {
  const auto& graph = mapping.graph;
  std::vector<std::int64_t> source;
  for (const auto& form : dependence.from) source.push_back(poly::evaluate(form, point));
  const auto when = [&](const std::vector<std::int64_t>& p) {
    std::vector<std::string> parts;
    for (const auto d : mapping.grid.time) parts.push_back(fmt::format("{} = {}", graph.dims[d], p[d]));
    return parts.empty() ? std::string("the only step") : fmt::format("step {}", fmt::join(parts, ", "));
  };
  const auto where = [&](const std::vector<std::int64_t>& p) {
    std::vector<std::int64_t> pe;
    for (const auto& form : mapping.pe_forms()) pe.push_back(poly::evaluate(form, p));
    return fmt::format("PE ({})", fmt::join(pe, ", "));
  };
  const auto& tensor = graph.at(graph.at(dependence.source).tensor).user_name();
  auto there = poly::Set::universe(graph.context, source.size());
  for (std::size_t d = 0; d < source.size(); ++d)
    there =
        there.intersect({poly::variable(source.size(), d) - poly::constant(source.size(), source[d]), true});
  const bool passes = std::ranges::any_of(graph.rules, [&](const dataflow::Rule& rule) {
    return rule.flow == dependence.source && std::holds_alternative<dataflow::Transfer>(rule.action) &&
           !rule.domain.intersect(there).is_empty();
  });
  std::vector<std::string> time_names;
  for (const auto d : mapping.grid.time) time_names.push_back(graph.dims[d]);
  throw LegalityError(
      {.code = "CYC221",
       .obstacle = Obstacle::late_value,
       .span = dependence.rule->span,
       .message =
           fmt::format("`{}` is needed at point ({}), {} of {}, but {} point ({}), {} of {}, "
                       "which does not come before",
                       tensor, fmt::join(point, ", "), when(point), where(point),
                       passes ? "passes" : "made at", fmt::join(source, ", "), when(source), where(source)),
       .notes = {{graph.at(dependence.source).span,
                  fmt::format("`{}` is made here; points are ({}), time order is ({})", tensor,
                              fmt::join(graph.dims, ", "), fmt::join(time_names, ", "))}},
       .help = "change the order of `time`, or which indices are space"});
}

/// The time at which a point runs, if it is a single form of its coordinates; empty if not.
std::string time_function(const Mapping& mapping, const std::vector<Dependence>& all) {
  // Unit costs: a hop takes one cycle, and so does an operator; every dependence is a step along one
  // coordinate.
  const auto& graph = mapping.graph;
  std::vector<std::int64_t> rate(graph.dims.size(), 0);
  for (const auto d : mapping.grid.time) rate[d] = 1;
  for (const auto& dependence : all) {
    const auto offset =
        dataflow::constant_offset(graph.at(graph.at(dependence.rule->flow).space), dependence.from);
    if (!offset || graph.at(dependence.source).space != graph.at(dependence.rule->flow).space) return {};
    std::int64_t length = 0;
    for (const auto step : *offset) length += std::abs(step);
    if (length != 1) return {};
    for (std::size_t d = 0; d < offset->size(); ++d) {
      if ((*offset)[d] > 0) return {};
      const bool hop = std::ranges::find(mapping.grid.space, d) != mapping.grid.space.end();
      const std::int64_t cost = (hop ? 1 : 0) + (graph.at(dependence.source).computed ? 1 : 0);
      if ((*offset)[d] < 0) rate[d] = std::max(rate[d], cost);
    }
  }
  if (graph.spaces.size() != 1) return {};
  poly::Affine form = poly::constant(graph.dims.size(), 0);
  form.coefficients = std::move(rate);
  return poly::to_string(form, graph.dims);
}

Order order_of(const Mapping& mapping, std::size_t choice, std::size_t outer) {
  Order order{{}, outer};
  for (std::size_t g = 0; g < mapping.grid.space.size(); ++g)
    order.signs.push_back(((choice >> g) & 1U) != 0 ? -1 : 1);
  return order;
}

/// By time alone, then along the grid.
Order order_of_time(const Mapping& mapping) { return order_of(mapping, 0, mapping.grid.time.size()); }

bool advances(const Mapping& mapping, const std::vector<Dependence>& all, const Order& order) {
  return std::ranges::all_of(all, [&](const Dependence& d) { return !violation(mapping, d, order); });
}

/// True where all dependences advance by time, then round by round, each along the grid in a direction of its
/// own (a stencil's values go both ways in one step).
bool advances_by_round(const Mapping& mapping, const std::vector<Dependence>& all, const Skew& skew) {
  const auto& graph = mapping.graph;
  std::vector<std::vector<Dependence>> rounds(graph.spaces.size());
  for (const auto& dependence : all)
    rounds[mapping.rounds[graph.at(dependence.rule->flow).space.index()]].push_back(dependence);
  return std::ranges::all_of(rounds, [&](const std::vector<Dependence>& of_round) {
    for (std::size_t choice = 0; choice < (std::size_t{1} << mapping.grid.space.size()); ++choice) {
      auto order = order_of(mapping, choice, mapping.grid.time.size());
      order.by_round = true;
      order.skew = skew;
      if (advances(mapping, of_round, order)) return true;
    }
    return false;
  });
}

/// An order of all steps in words, empty for none; the skew with which all of time comes before the grid in it.
struct Advance {
  std::string words;
  std::optional<Skew> skew;
};

std::string words_of(const Mapping& mapping, const Skew& skew) {
  const auto apart = skew_text(mapping, skew);
  return apart.empty() ? "time" : "time, each PE " + apart;
}

/// All of time before the grid, if the dependences advance so.
std::optional<Advance> advance_by_time(const Mapping& mapping, const std::vector<Dependence>& all,
                                       const Skew& skew) {
  const auto choices = std::size_t{1} << mapping.grid.space.size();
  for (std::size_t choice = 0; choice < choices; ++choice) {
    auto order = order_of(mapping, choice, mapping.grid.time.size());
    order.skew = skew;
    if (advances(mapping, all, order))
      return Advance{words_of(mapping, skew) + ", then along the grid", skew};
  }
  if (!advances_by_round(mapping, all, skew)) return std::nullopt;
  return Advance{words_of(mapping, skew) + ", then round by round of spaces, each along the grid", skew};
}

/// In which order of all steps every dependence advances. The first `parts` loops of time come before the grid in any.
Advance advancing_order(const Mapping& mapping, const std::vector<Dependence>& all, std::size_t parts) {
  const auto loops = mapping.grid.time.size();
  const Skew together(mapping.grid.space.size(), std::vector<std::int64_t>(loops, 0));
  if (auto found = advance_by_time(mapping, all, together)) return *found;
  if (const auto skew = find_skew(mapping, all, parts)) {
    if (auto found = advance_by_time(mapping, all, *skew)) return *found;
  }
  for (auto outer = loops; outer-- > parts;) {
    for (std::size_t choice = 0; choice < std::size_t{1} << mapping.grid.space.size(); ++choice) {
      if (!advances(mapping, all, order_of(mapping, choice, outer))) continue;
      if (outer == 0) return {"along the grid, then time", {}};
      std::vector<std::string> names;
      for (const auto d : mapping.grid.time) names.push_back(mapping.graph.dims[d]);
      names.insert(names.begin() + static_cast<std::ptrdiff_t>(outer), "then along the grid, then");
      return {fmt::format("{}", fmt::join(names, " ")), {}};
    }
  }
  return {};
}

/// The only value that a space's tuple has along a dim, if there is one.
std::optional<std::int64_t> only_value(const dataflow::Space& space, std::size_t dim) {
  const auto& form = space.tuple[dim];
  if (poly::is_constant(form)) return form.constant;
  const auto values = space.domain.image({form});
  const auto low = values.minimum(0), high = values.maximum(0);
  return low && low == high ? low : std::nullopt;
}

/// The parts of a step, which run one after the other on every PE.
struct Parts {
  std::size_t loops = 0;         ///< Of time, that tell them apart, the innermost of which numbers them.
  std::vector<std::int64_t> of;  ///< By space.
};

/// Told apart by the innermost loop in which each space has one step: one that its tuple names, or any.
Parts parts_of_step(const Mapping& mapping, bool any) {
  const auto& spaces = mapping.graph.spaces;
  for (auto loops = mapping.grid.time.size(); loops > 0; --loops) {
    const auto dim = mapping.grid.time[loops - 1];
    const bool named = std::ranges::all_of(
        spaces, [&](const dataflow::Space& space) { return poly::is_constant(space.tuple[dim]); });
    if (!named && !any) continue;
    Parts parts{loops, {}};
    for (const auto& space : spaces) {
      const auto part = only_value(space, dim);
      if (!part) break;
      parts.of.push_back(*part);
    }
    if (parts.of.size() < spaces.size()) continue;
    // A loop that has one step by chance tells nothing apart.
    if (named || std::ranges::adjacent_find(parts.of, std::ranges::not_equal_to{}) != parts.of.end())
      return parts;
  }
  return {0, std::vector<std::int64_t>(spaces.size())};
}

/// The dependences within each part of a step, and those between them.
std::map<std::optional<std::int64_t>, std::vector<Dependence>> by_part(const Mapping& mapping,
                                                                       const std::vector<Dependence>& all,
                                                                       const Parts& parts) {
  const auto part_of = [&](FlowId flow) { return parts.of[mapping.graph.at(flow).space.index()]; };
  std::map<std::optional<std::int64_t>, std::vector<Dependence>> result;
  for (const auto& dependence : all) {
    const auto part = part_of(dependence.rule->flow);
    result[part == part_of(dependence.source) ? std::optional(part) : std::nullopt].push_back(dependence);
  }
  return result;
}

[[noreturn]] void report_one_of(const Mapping& mapping, const std::vector<Dependence>& dependences) {
  for (const auto& dependence : dependences) {
    if (const auto point = violation(mapping, dependence, order_of_time(mapping)))
      report(mapping, dependence, *point);
  }
  check_failed("an illegal schedule has a witness", __FILE__, __LINE__, {});
}

/// In which order the parts of a step run.
struct Orders {
  std::vector<std::string> words;          ///< Different ones.
  std::vector<std::optional<Skew>> skews;  ///< By space: as `Mapping::skews`.
  std::vector<Dependence> refused;         ///< Those of a part that has no order; none: all have one.
};

Orders orders_of(const Mapping& mapping, const std::vector<Dependence>& all, const Parts& parts) {
  const Skew together(mapping.grid.space.size(), std::vector<std::int64_t>(mapping.grid.time.size(), 0));
  Orders result{{}, std::vector<std::optional<Skew>>(mapping.graph.spaces.size(), together), {}};
  for (auto& [part, dependences] : by_part(mapping, all, parts)) {
    auto order = part ? advancing_order(mapping, dependences, parts.loops)
                 : advances(mapping, dependences, order_of_time(mapping)) ? Advance{"time", together}
                                                                          : Advance{};
    if (order.words.empty()) {
      result.refused = dependences;
      return result;
    }
    for (std::size_t s = 0; s < parts.of.size(); ++s) {
      if (parts.of[s] == part) result.skews[s] = order.skew;
    }
    if (part && std::ranges::find(result.words, order.words) == result.words.end())
      result.words.push_back(std::move(order.words));
  }
  if (result.words.empty()) result.words.emplace_back("time, then along the grid");
  return result;
}

}  // namespace

Mapping order_steps(const Mapping& mapping) {
  const auto all = dependences(mapping.graph);
  auto orders = orders_of(mapping, all, parts_of_step(mapping, true));
  if (!orders.refused.empty()) orders = orders_of(mapping, all, parts_of_step(mapping, false));
  if (!orders.refused.empty()) report_one_of(mapping, orders.refused);
  Mapping result = mapping;
  result.skews = std::move(orders.skews);
  result.proofs.push_back(fmt::format("all {} dependences advance in one order of all steps ({})", all.size(),
                                      fmt::join(orders.words, "; in other parts of a step by ")));
  result.proofs.emplace_back("no two points of a space share a PE and a step");
  result.time_function = time_function(mapping, all);
  return result;
}

}  // namespace cyclotron::mapping
