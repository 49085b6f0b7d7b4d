#include <cyclotron/dataflow/receive_at_first_use.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "../shifts.hpp"

namespace cyclotron::dataflow {

namespace {

/// The points of a PE that receive one operand, and its rules from there.
class FirstUses {
 public:
  FirstUses(const Placed& placed, FlowId flow)
      : graph_(placed.graph), flow_(flow), rank_(graph_.dims.size()), all_(empty()) {
    for (auto t = placed.time.size() - placed.within; t < placed.time.size(); ++t) {
      const auto place = std::ranges::find(graph_.dims, placed.time[t]);
      const auto dim = static_cast<std::size_t>(place - graph_.dims.begin());
      if (is_shared_along(dim)) shared_.push_back(dim);
    }
    for (std::size_t d = 0; d < rank_; ++d) {
      if (!is_shared(d)) key_.push_back(poly::variable(rank_, d));
    }
    for (const auto& rule : graph_.rules) {
      if (rule.flow != flow || std::holds_alternative<Export>(rule.action)) continue;
      all_ = all_.unite(rule.domain);
      if (stays_within(rule)) {
        late_ = late_ || comes_late(rule);
      } else {
        outside_.push_back(&rule);
      }
    }
    late_ = late_ || std::ranges::any_of(outside_, [&](const Rule* rule) { return leaves_late(*rule); });
  }

  /// The operand's new rules; none where it comes and leaves in order, or no affine rules tell where its values enter.
  [[nodiscard]] std::optional<std::vector<Rule>> rules() {
    if (!late_) return std::nullopt;
    std::vector<Rule> passing;
    auto entries = all_.coalesce();
    for (auto dim = shared_.rbegin(); dim != shared_.rend(); ++dim) {
      const auto kept = entries.intersect(all_.translate(detail::unit(rank_, *dim, 1))).coalesce();
      if (kept.is_empty()) continue;
      entries = entries.subtract(kept).coalesce();
      const auto back = detail::shifted(rank_, detail::unit(rank_, *dim, -1));
      add(passing, Transfer{flow_, in_free(back), false}, kept, Origin::propagate);
    }
    // { a point : the first that has the same value in the same PE and step of the outer loops }
    const auto first = same_value(all_, entries);
    std::vector<Rule> result;
    for (const bool own : {true, false}) {
      for (const auto* rule : outside_) {
        const auto taking = own ? entries.intersect(rule->domain) : entries;
        if (taking.is_empty()) continue;
        const auto itself = detail::shifted(rank_, std::vector<std::int64_t>(rank_, 0));
        const auto taken = own ? poly::Map::function(taking, itself) : same_value(taking, rule->domain);
        if (!enter(*rule, taken, first, result)) return std::nullopt;
        entries = entries.subtract(taken.domain()).coalesce();
      }
    }
    if (!entries.is_empty()) return std::nullopt;
    result.insert(result.end(), passing.begin(), passing.end());
    return result;
  }

 private:
  [[nodiscard]] poly::Set empty() const { return poly::Set::empty(graph_.context, rank_); }
  [[nodiscard]] const Space& space() const { return graph_.at(graph_.at(flow_).space); }
  [[nodiscard]] bool is_shared(std::size_t dim) const {
    return std::ranges::find(shared_, dim) != shared_.end();
  }
  [[nodiscard]] std::vector<poly::Affine> in_free(std::vector<poly::Affine> forms) const {
    for (auto& form : forms) form = poly::substitute(form, space().tuple, rank_);
    return forms;
  }

  /// True where the rule hands a value on from one point of a PE to another, in one step of the outer loops.
  [[nodiscard]] bool stays_within(const Rule& rule) const {
    const auto* transfer = std::get_if<Transfer>(&rule.action);
    if (transfer == nullptr || transfer->source != flow_) return false;
    for (std::size_t d = 0; d < rank_; ++d) {
      if (is_shared(d)) continue;
      if (!rule.domain.satisfies({transfer->from[d] - poly::variable(rank_, d), true})) return false;
    }
    return true;
  }

  /// True where it does so backwards, somewhere.
  [[nodiscard]] bool comes_late(const Rule& rule) const {
    const auto& from = std::get<Transfer>(rule.action).from;
    auto points = rule.domain;
    for (const auto d : shared_) {
      const auto later = from[d] - poly::variable(rank_, d);
      if (!points.intersect({later - poly::constant(rank_, 1), false}).is_empty()) return true;
      points = points.intersect({later, true});
    }
    return false;
  }

  /// True where it brings values from points of another PE that are not the first there.
  [[nodiscard]] bool leaves_late(const Rule& rule) const {
    const auto* transfer = std::get_if<Transfer>(&rule.action);
    if (transfer == nullptr || transfer->source != flow_) return false;
    const auto sources = rule.domain.image(transfer->from);
    return std::ranges::any_of(shared_, [&](std::size_t dim) {
      return !sources.intersect(all_.translate(detail::unit(rank_, dim, 1))).is_empty();
    });
  }

  /// True where a step along a coordinate leads to a point of the space with the same value.
  [[nodiscard]] bool is_shared_along(std::size_t dim) const {
    const auto varies = [dim](const poly::Affine& form) { return form.coefficients[dim] != 0; };
    if (std::ranges::find(space().own, dim) == space().own.end()) return false;
    if (std::ranges::any_of(graph_.at(flow_).element, varies)) return false;
    return std::ranges::count_if(space().tuple, varies) == 1;
  }

  /// { p -> the first q of `to` : one PE and step of the outer loops, and one element }
  [[nodiscard]] poly::Map same_value(const poly::Set& points, const poly::Set& to) const {
    return poly::Map::function(points, key_).then(poly::Map::function(to, key_).reverse()).lexmin();
  }

  /// The points p of { p -> q } take what the rule brings to q; false where that is not affine.
  bool enter(const Rule& rule, const poly::Map& taken, const poly::Map& first,
             std::vector<Rule>& result) const {
    const auto* transfer = std::get_if<Transfer>(&rule.action);
    if (transfer == nullptr) {
      add(result, rule.action, taken.domain(), rule.origin);
      return true;
    }
    auto sources = taken.then(poly::Map::function(rule.domain, transfer->from));
    if (transfer->source == flow_) sources = sources.then(first);
    auto pieces = sources.pieces();
    if (!pieces) return false;
    for (auto& piece : *pieces) {
      auto from = in_free(detail::as_shifts(piece.domain, std::move(piece.forms)));
      add(result, Transfer{transfer->source, std::move(from), transfer->broadcast}, piece.domain,
          rule.origin);
    }
    return true;
  }

  void add(std::vector<Rule>& rules, decltype(Rule::action) action, const poly::Set& domain,
           Origin origin) const {
    if (domain.is_empty()) return;
    rules.push_back({std::move(action), flow_, domain.coalesce(), origin, graph_.at(flow_).span});
  }

  const Graph& graph_;
  FlowId flow_;
  std::size_t rank_;
  std::vector<std::size_t>
      shared_;  ///< Dims that tell points of a PE apart which have one value, outermost first.
  std::vector<poly::Affine> key_;  ///< The other dims.
  poly::Set all_;                  ///< The points that have a value.
  std::vector<const Rule*> outside_;
  bool late_ = false;
};

}  // namespace

Placed receive_at_first_use(Placed placed) {
  if (placed.within == 0) return placed;
  std::vector<std::optional<std::vector<Rule>>> changed;
  for (std::size_t f = 0; f < placed.graph.flows.size(); ++f) {
    const bool operand = !placed.graph.flows[f].computed;
    changed.push_back(operand ? FirstUses(placed, FlowId(f)).rules() : std::nullopt);
  }
  // In place of each operand's first rule, so that the order of spaces and flows stays.
  std::vector<Rule> rules;
  for (auto& rule : placed.graph.rules) {
    auto& instead = changed[rule.flow.index()];
    if (!instead || std::holds_alternative<Export>(rule.action)) {
      rules.push_back(std::move(rule));
    } else {
      std::ranges::move(*instead, std::back_inserter(rules));
      instead->clear();
    }
  }
  placed.graph.rules = std::move(rules);
  return placed;
}

}  // namespace cyclotron::dataflow
