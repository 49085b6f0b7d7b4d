#include <cyclotron/recurrence/longest_chain.hpp>

#include <algorithm>
#include <list>
#include <map>
#include <numeric>
#include <utility>

#include <cyclotron/poly/count.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "applications.hpp"

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

/// The earliest time of each element, on a machine of any size that moves values in no time.
class Chains {
 public:
  Chains(const System& system, const LeastCycles& cycles)
      : system_(system), applications_(system), cycles_(cycles), elements_(system.tensors.size()) {}

  std::optional<std::int64_t> run(std::int64_t most) {
    if (!collect(most)) return std::nullopt;
    // From the first points on, few elements wait for others that are not done.
    std::vector<std::size_t> order(order_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t n) { return *order_[n].point; });
    std::int64_t result = 0;
    for (const auto n : order) {
      const auto time = finish(order_[n]);
      if (!time) return std::nullopt;
      result = std::max(result, *time);
    }
    return result;
  }

 private:
  struct Definition {
    const Equation* equation;
    const Point* point;
    std::int64_t* time;
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
      points_.push_back(domain.points());
      for (const auto& point : points_.back()) {
        auto& time =
            elements_[equation.target.index()].try_emplace(element(equation.index, point)).first->second;
        time = {unknown, order_.size()};
        order_.push_back({&equation, &point, &time.first});
      }
    }
    return true;
  }

  /// The values of a reduction's index, over all points.
  bool bound(ExprId id, const Reduce& reduce, const Scope& outer) {
    const auto count = outer.names.size();
    std::vector<poly::Affine> drop;
    for (std::size_t v = 0; v < count; ++v) drop.push_back(poly::variable(count + 1, v));
    const auto terms = outer.points.preimage(drop, count + 1)
                           .intersect(to_set(outer.points.context(), reduce.domain, count + 1));
    if (terms.is_empty()) {
      ranges_[id.index()] = {0, -1};
      return true;
    }
    const auto low = terms.minimum(count), high = terms.maximum(count);
    if (low && high) ranges_[id.index()] = {*low, *high};
    return low && high;
  }

  static Point element(const std::vector<Affine>& index, const Point& point) {
    Point result;
    for (const auto& form : index) result.push_back(value_of(form, point));
    return result;
  }

  std::optional<std::int64_t> finish(const Definition& one) {
    if (*one.time != unknown) return *one.time;
    if (++depth_ > most_depth) return std::nullopt;
    auto point = *one.point;
    const auto time = finish(one.equation->expr, point);
    --depth_;
    if (time) *one.time = *time;
    return time;
  }

  std::optional<std::int64_t> finish(ExprId id, Point& point) {
    return std::visit(Overloaded{[](const Constant&) { return std::optional<std::int64_t>(0); },
                                 [](const Index&) { return std::optional<std::int64_t>(0); },
                                 [&](const Access& access) { return finish(access, point); },
                                 [&](const Apply& apply) {
                                   const auto start = finish(apply.operands, point);
                                   return start ? std::optional(*start + cost(id)) : std::nullopt;
                                 },
                                 [&](const Reduce& reduce) { return finish(id, reduce, point); }},
                      system_.at(id).node);
  }

  std::optional<std::int64_t> finish(const Access& access, const Point& point) {
    const auto& elements = elements_[access.tensor.index()];
    const auto found = elements.find(element(access.index, point));
    return found == elements.end() ? std::optional<std::int64_t>(0) : finish(order_[found->second.second]);
  }

  std::optional<std::int64_t> finish(const std::vector<ExprId>& operands, Point& point) {
    std::int64_t result = 0;
    for (const auto operand : operands) {
      const auto time = finish(operand, point);
      if (!time) return std::nullopt;
      result = std::max(result, *time);
    }
    return result;
  }

  std::optional<std::int64_t> finish(ExprId id, const Reduce& reduce, Point& point) {
    const auto [low, high] = ranges_.at(id.index());
    const auto [step, fused] = cost_of_terms(id, reduce);
    std::int64_t result = 0;
    bool first = true;
    point.push_back(0);
    for (auto n = low; n <= high; ++n) {
      point.back() = reduce.descending ? high - (n - low) : n;
      if (!contains(reduce.domain, point)) continue;
      const auto term = fused ? finish(std::get<Apply>(system_.at(reduce.body).node).operands, point)
                              : finish(reduce.body, point);
      if (!term) return std::nullopt;
      result = std::max(result, *term) + (first && !fused ? 0 : step);
      first = false;
    }
    point.pop_back();
    return result;
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
      elements_;  ///< Time, and place in `order_`.
  std::vector<Definition> order_;
  std::list<std::vector<Point>> points_;
  std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> ranges_;
  std::map<std::size_t, std::pair<std::int64_t, bool>> costs_;
  std::size_t depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> longest_chain(const System& system, const LeastCycles& cycles,
                                          std::int64_t most) {
  return Chains(system, cycles).run(most);
}

}  // namespace cyclotron::recurrence
