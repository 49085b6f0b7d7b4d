#include <cyclotron/recurrence/operation_graph.hpp>

#include <algorithm>
#include <limits>
#include <list>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include <cyclotron/poly/count.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "applications.hpp"
#include "values.hpp"

namespace cyclotron::recurrence {

namespace {

using Point = std::vector<std::int64_t>;

/// Elements that wait for each other at most; a chain of more is left alone.
constexpr std::size_t most_depth = 2000;
constexpr std::int64_t unknown = -1;

std::int64_t value_of(const Affine& form, const Point& point) {
  auto result = form.constant;
  for (std::size_t v = 0; v < std::min(form.coefficients.size(), point.size()); ++v)
    result += form.coefficients[v] * point[v];
  return result;
}

bool contains(const Region& region, const Point& point) {
  return std::ranges::any_of(region, [&](const std::vector<Constraint>& all) {
    return std::ranges::all_of(all, [&](const Constraint& one) {
      const auto value = value_of(one.form, point);
      if (one.modulus != 0) return (value % one.modulus + one.modulus) % one.modulus <= one.most;
      return one.equality ? value == 0 : value >= 0;
    });
  });
}

/// In place of the node that a value waits for, where it waits for none.
constexpr std::int64_t nothing = -2;
/// And where it is an element of an input: below that, by its number.
constexpr std::int64_t first_input = -3;

std::int64_t words_of(const Tensor& tensor, const Point& element) {
  std::int64_t result = 1;
  for (std::size_t d = 0; d < element.size(); ++d)
    result *=
        std::max<std::int64_t>(1, std::min(tensor.tile[d], tensor.shape[d] - element[d] * tensor.tile[d]));
  return result;
}

class Builder {
 public:
  Builder(const System& system, const LeastCycles& cycles)
      : system_(system),
        applications_(system),
        cycles_(cycles),
        elements_(system.tensors.size()),
        inputs_(system.tensors.size()) {}

  std::optional<OperationGraph> run(std::int64_t most) {
    if (!collect(most)) return std::nullopt;
    // From the first points on, few elements wait for others that are not done.
    std::vector<std::size_t> order(order_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t n) { return *order_[n].point; });
    for (const auto n : order) {
      if (!finish(order_[n])) return std::nullopt;
    }
    return std::move(graph_);
  }

 private:
  struct Definition {
    const Equation* equation;
    const Point* point;
    std::int64_t* node;
  };

  bool collect(std::int64_t most) {
    const poly::Context context;
    std::int64_t points = 0;
    for (const auto& equation : system_.equations) {
      const auto domain = domain_of(context, equation);
      if (domain.is_empty()) continue;
      bool fits = true;
      for_each_expr(system_, equation, domain, [&](ExprId id, const Scope& scope) {
        if (const auto* reduce = std::get_if<Reduce>(&system_.at(id).node))
          fits = fits && bound(id, *reduce, scope);
        const auto counts = poly::count_points(scope.points, 0, 1);
        points += counts && !counts->values.empty() ? counts->values[0] : 0;
        fits = fits && counts && points <= most;
      });
      if (!fits) return false;
      place(equation);
      points_.push_back(domain.points());
      for (const auto& point : points_.back()) {
        auto& last =
            elements_[equation.target.index()].try_emplace(element(equation.index, point)).first->second;
        last = {unknown, order_.size()};
        order_.push_back({&equation, &point, &last.first});
      }
    }
    return true;
  }

  /// The values of a reduction's index, over all points: of several expressions that it is in, too.
  bool bound(ExprId id, const Reduce& reduce, const Scope& outer) {
    const auto count = outer.names.size();
    std::vector<poly::Affine> drop;
    for (std::size_t v = 0; v < count; ++v) drop.push_back(poly::variable(count + 1, v));
    const auto terms = outer.points.preimage(drop, count + 1)
                           .intersect(to_set(outer.points.context(), reduce.domain, count + 1));
    auto& [first, last] = ranges_
                              .try_emplace(id.index(), std::numeric_limits<std::int64_t>::max(),
                                           std::numeric_limits<std::int64_t>::min())
                              .first->second;
    if (terms.is_empty()) return true;
    const auto low = terms.minimum(count), high = terms.maximum(count);
    if (!low || !high) return false;
    first = std::min(first, *low);
    last = std::max(last, *high);
    return true;
  }

  static Point element(const std::vector<Affine>& index, const Point& point) {
    Point result;
    for (const auto& form : index) result.push_back(value_of(form, point));
    return result;
  }

  /// Finds the operators of an element that no schedule moves from their points.
  void place(const Equation& equation) {
    placing_ = &equation;
    place(equation.expr, equation.indices);
  }

  /// Of an operator and those inside, terms of reductions too; `indices` are those around it.
  void place(ExprId id, std::vector<std::string> indices) {
    if (const auto* apply = std::get_if<Apply>(&system_.at(id).node)) {
      if (has_place(id, indices)) begin_kind(id, indices);
      for (const auto operand : apply->operands) place(operand, indices);
    }
    const auto* reduce = std::get_if<Reduce>(&system_.at(id).node);
    if (reduce == nullptr) return;
    const bool placed = has_place(id, indices);
    indices.push_back(reduce->index);
    if (placed) begin_kind(id, indices);
    place(reduce->body, std::move(indices));
  }

  /// Tells whether a value varies with all indices around it, and none before has the same one: those of equations of one
  /// tensor are at other points.
  bool has_place(ExprId id, const std::vector<std::string>& indices) {
    Used used;
    use(system_, id, indices.size(), used);
    auto key = text_of(system_, id);
    for (const auto& name : indices) key += " " + name;
    if (used.size() != indices.size()) return false;
    const auto [found, added] = placed_.try_emplace(std::move(key), placing_);
    const auto* other = std::exchange(found->second, placing_);
    return added || (other != placing_ && other->target == placing_->target);
  }

  void begin_kind(ExprId id, std::vector<std::string> indices) {
    kinds_.emplace(id.index(), graph_.kinds.size());
    const auto number = static_cast<std::size_t>(placing_ - system_.equations.data());
    const bool is_term = indices.size() > placing_->indices.size();
    graph_.kinds.push_back({std::move(indices), {}, {}, number, is_term});
  }

  using Node = std::optional<std::int64_t>;

  std::int64_t add(ExprId id, std::int64_t cycles, std::vector<std::int64_t> before, const Point& point,
                   bool runs) {
    std::ranges::sort(before);
    const auto end = std::ranges::unique(before).begin();
    const auto node = graph_.cycles.size();
    for (auto at = before.begin(); at != end; ++at) {
      if (*at >= 0) graph_.waits_for.push_back(static_cast<std::size_t>(*at));
      if (*at <= first_input)
        graph_.inputs[static_cast<std::size_t>(first_input - *at)].readers.push_back(node);
    }
    graph_.cycles.push_back(cycles);
    graph_.words.push_back(1);
    graph_.first.push_back(graph_.waits_for.size());
    if (const auto kind = kinds_.find(id.index()); runs && kind != kinds_.end()) {
      auto& own = graph_.kinds[kind->second];
      own.points.insert(own.points.end(), point.begin(), point.end());
      own.nodes.push_back(node);
    }
    return static_cast<std::int64_t>(node);
  }

  Node finish(const Definition& one) {
    if (*one.node != unknown) return *one.node;
    if (++depth_ > most_depth) return std::nullopt;
    auto point = *one.point;
    const auto first = graph_.cycles.size();
    const auto node = finish(one.equation->expr, point);
    --depth_;
    if (!node) return node;
    *one.node = *node;
    if (*node <= first_input) graph_.inputs[static_cast<std::size_t>(first_input - *node)].is_copied = true;
    if (*node >= 0 && static_cast<std::size_t>(*node) >= first)
      tell_words(one, static_cast<std::size_t>(*node));
    return node;
  }

  std::int64_t words_of(const Definition& one) const {
    return recurrence::words_of(system_.at(one.equation->target), element(one.equation->index, *one.point));
  }

  /// Of an element, and of the sums on the way where it is one.
  void tell_words(const Definition& one, std::size_t node) {
    const auto words = words_of(one);
    graph_.words[node] = words;
    if (system_.at(one.equation->target).role == Role::output) graph_.outputs.push_back({node, words});
    if (!std::holds_alternative<Reduce>(system_.at(one.equation->expr).node)) return;
    for (const auto part : sums_) graph_.words[part] = words;
  }

  Node finish(ExprId id, Point& point) {
    return std::visit(
        Overloaded{[](const Constant&) { return Node(nothing); }, [](const Index&) { return Node(nothing); },
                   [&](const Access& access) { return finish(access, point); },
                   [&](const Apply& apply) {
                     auto before = finish(apply.operands, point);
                     return before ? Node(add(id, cost(id), std::move(*before), point, true)) : std::nullopt;
                   },
                   [&](const Reduce& reduce) { return finish(id, reduce, point); }},
        system_.at(id).node);
  }

  Node finish(const Access& access, const Point& point) {
    const auto& elements = elements_[access.tensor.index()];
    auto at = element(access.index, point);
    if (const auto found = elements.find(at); found != elements.end())
      return finish(order_[found->second.second]);
    const auto& tensor = system_.at(access.tensor);
    if (tensor.role != Role::input) return nothing;
    const auto [found, added] =
        inputs_[access.tensor.index()].try_emplace(std::move(at), graph_.inputs.size());
    if (added)
      graph_.inputs.push_back({access.tensor, recurrence::words_of(tensor, found->first), {}, false});
    return first_input - static_cast<std::int64_t>(found->second);
  }

  std::optional<std::vector<std::int64_t>> finish(const std::vector<ExprId>& operands, Point& point) {
    std::vector<std::int64_t> result;
    for (const auto operand : operands) {
      const auto node = finish(operand, point);
      if (!node) return std::nullopt;
      result.push_back(*node);
    }
    return result;
  }

  Node finish(ExprId id, const Reduce& reduce, Point& point) {
    const auto [low, high] = ranges_.at(id.index());
    const auto [step, fused] = cost_of_terms(id, reduce);
    std::int64_t last = nothing;
    bool first = true;
    std::vector<std::size_t> terms;
    point.push_back(0);
    for (auto n = low; n <= high; ++n) {
      point.back() = reduce.descending ? high - (n - low) : n;
      if (!contains(reduce.domain, point)) continue;
      auto before = finish(
          fused ? std::get<Apply>(system_.at(reduce.body).node).operands : std::vector{reduce.body}, point);
      if (!before) return std::nullopt;
      before->push_back(last);
      const auto runs = fused || !first;
      last = add(id, runs ? step : 0, std::move(*before), point, runs);
      terms.push_back(static_cast<std::size_t>(last));
      first = false;
    }
    point.pop_back();
    sums_ = std::move(terms);
    return last;
  }

  std::int64_t cost(ExprId id) {
    const auto [found, added] = costs_.try_emplace(id.index(), 0, false);
    if (added) {
      const auto ways = applications_.ways(id);
      if (!ways.empty()) found->second.first = cycles_(ways);
    }
    return found->second.first;
  }

  /// And whether a term is one operator with the sum.
  std::pair<std::int64_t, bool> cost_of_terms(ExprId id, const Reduce& reduce) {
    const auto [found, added] = costs_.try_emplace(id.index(), 0, false);
    if (added) {
      const auto ways = applications_.ways_of_terms(reduce);
      found->second = {cycles_(ways.empty() ? std::vector{applications_.joining(reduce)} : ways),
                       !ways.empty()};
    }
    return found->second;
  }

  const System& system_;
  Applications applications_;
  const LeastCycles& cycles_;
  std::vector<std::map<Point, std::pair<std::int64_t, std::size_t>>>
      elements_;  ///< Last node, and place in `order_`.
  std::vector<std::map<Point, std::size_t>> inputs_;
  std::vector<std::size_t> sums_;  ///< The terms of the reduction that was finished last.
  std::vector<Definition> order_;
  std::list<std::vector<Point>> points_;
  std::map<std::size_t, std::size_t> kinds_;  ///< By expression.
  std::map<std::string, const Equation*>
      placed_;  ///< Operators that have a place, and the last equation of each.
  const Equation* placing_ = nullptr;
  OperationGraph graph_;
  std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> ranges_;
  std::map<std::size_t, std::pair<std::int64_t, bool>> costs_;
  std::size_t depth_ = 0;
};

}  // namespace

std::optional<OperationGraph> operation_graph(const System& system, const LeastCycles& cycles,
                                              std::int64_t most) {
  return Builder(system, cycles).run(most);
}

}  // namespace cyclotron::recurrence
