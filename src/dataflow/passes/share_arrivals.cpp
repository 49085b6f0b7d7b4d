#include <cyclotron/dataflow/share_arrivals.hpp>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "arrivals.hpp"

namespace cyclotron::dataflow {

namespace {

using detail::Arrival;
using detail::Offset;

/// Values of a source in the PEs at an offset from their makers'.
struct Holder {
  FlowId flow;
  Offset offset, steps;  ///< As an arrival's.
  poly::Set places;
};

bool is_positive(const Offset& steps) { return steps > Offset(steps.size(), 0); }

class ArrivalSharing {
 public:
  ArrivalSharing(const Placed& placed, bool later)
      : result_(placed), graph_(result_.graph), coordinates_(placed), later_(later) {}

  std::optional<Placed> run() {
    std::map<std::size_t, std::vector<Arrival>> arrivals;  // By source.
    for (std::size_t r = 0; r < graph_.rules.size(); ++r) {
      if (auto arrival = detail::arrival_of(graph_, coordinates_, r))
        arrivals[arrival->source.index()].push_back(std::move(*arrival));
    }
    for (auto& [source, of_one] : arrivals) share(of_one);
    if (!shares_) return std::nullopt;
    return std::move(result_);
  }

 private:
  /// The earliest first; those whose time varies can only take.
  void share(std::vector<Arrival>& arrivals) {
    const auto key = [](const Arrival& one) {
      return std::tuple(!one.steps.has_value(), one.steps.value_or(Offset()), one.offset);
    };
    std::ranges::stable_sort(arrivals, {}, key);
    holders_.clear();
    for (auto first = arrivals.begin(); first != arrivals.end();) {
      const auto last = std::find_if(first, arrivals.end(),
                                     [&](const Arrival& other) { return key(other) != key(*first); });
      bring({first, last});
      first = last;
    }
  }

  /// Uses in the same step and PE.
  void bring(std::span<Arrival> uses) {
    for (auto& use : uses) take_held(use);
    const auto& [offset, steps] = std::tie(uses.front().offset, uses.front().steps);
    if (!steps || (is_positive(*steps) && !later_)) return;
    auto all = poly::Set::empty(graph_.context, coordinates_.rank);
    bool meet = false;
    for (const auto& use : uses) {
      meet = meet || !all.intersect(use.places).is_empty();
      all = all.unite(use.places).coalesce();
    }
    if (!meet) {
      for (const auto& use : uses)
        holders_.push_back({graph_.rules[use.rule].flow, offset, *steps, use.places});
      return;
    }
    const auto source = uses.front().source;
    const auto relay = detail::add_relay(graph_, coordinates_, source, offset, *steps, all);
    auto from = graph_.at(graph_.at(relay).space).tuple;
    const auto away = coordinates_.together(offset, *steps);
    for (std::size_t d = 0; d < from.size(); ++d) from[d].constant -= away[d];
    const auto domain = graph_.at(graph_.at(relay).space).domain;
    graph_.rules.push_back(
        {Transfer{source, std::move(from), false}, relay, domain, Origin::relay, graph_.at(source).span});
    for (const auto& use : uses) {
      if (!use.places.is_empty())
        detail::take_here(graph_, coordinates_, graph_.rules[use.rule], relay, *steps);
    }
    holders_.push_back({relay, offset, *steps, std::move(all)});
    shares_ = true;
  }

  /// Lets the arrival's rule take what it can from holders before it, and keeps the rest.
  void take_held(Arrival& use) {
    for (const auto& holder : holders_) {
      if (holder.offset != use.offset || !is_before(holder, use)) continue;
      if (use.places.intersect(holder.places).is_empty()) continue;
      shares_ = true;
      auto taking = graph_.rules[use.rule];
      const auto held = holder.places.preimage(use.place, coordinates_.rank);
      auto others = taking.domain.subtract(held).coalesce();
      taking.domain = taking.domain.intersect(held).coalesce();
      detail::take_here(graph_, coordinates_, taking, holder.flow, holder.steps);
      use.places = use.places.subtract(holder.places).coalesce();
      if (use.places.is_empty()) {
        graph_.rules[use.rule] = std::move(taking);
        return;
      }
      graph_.rules[use.rule].domain = std::move(others);
      graph_.rules.push_back(std::move(taking));
    }
  }

  [[nodiscard]] bool is_before(const Holder& holder, const Arrival& use) const {
    if (use.steps) return holder.steps < *use.steps;
    return !is_positive(holder.steps) &&
           detail::is_later_than(graph_, coordinates_, graph_.rules[use.rule], {});
  }

  Placed result_;
  Graph& graph_;
  detail::Coordinates coordinates_;
  bool later_;
  std::vector<Holder> holders_;  ///< Of the source in hand.
  bool shares_ = false;
};

}  // namespace

std::optional<Placed> share_arrivals(const Placed& placed, bool later) {
  return ArrivalSharing(placed, later).run();
}

}  // namespace cyclotron::dataflow
