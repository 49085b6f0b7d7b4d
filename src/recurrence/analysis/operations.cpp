#include <cyclotron/recurrence/operations.hpp>

#include <map>
#include <utility>

#include <cyclotron/recurrence/sets.hpp>

#include "applications.hpp"
#include "values.hpp"

namespace cyclotron::recurrence {

namespace {

class Collector {
 public:
  explicit Collector(const System& system) : system_(system), applications_(system) {}

  std::vector<Operation> run() {
    const poly::Context context;
    for (const auto& equation : system_.equations) {
      const auto points = domain_of(context, equation);
      if (!points.is_empty()) visit(equation.expr, {equation.indices, points});
    }
    std::vector<Operation> result;
    for (const auto& key : order_) result.push_back(std::move(found_.at(key)));
    return result;
  }

 private:
  void add(const std::string& key, const Scope& scope, const Used& used, std::vector<Application> ways,
           bool accumulates) {
    const std::vector<std::size_t> keep(used.begin(), used.end());
    Operation operation{std::move(ways), {}, scope.points.project(keep), accumulates};
    std::string name = key;
    for (const auto v : keep) {
      operation.indices.push_back(scope.names[v]);
      name += " " + scope.names[v];
    }
    const auto found = found_.find(name);
    if (found != found_.end()) {
      found->second.points = found->second.points.unite(operation.points);
      return;
    }
    order_.push_back(name);
    found_.emplace(std::move(name), std::move(operation));
  }

  void visit(ExprId id, const Scope& scope) {
    if (const auto* apply = std::get_if<Apply>(&system_.at(id).node)) {
      if (auto ways = applications_.ways(id); !ways.empty()) {
        Used used;
        use(system_, id, scope.names.size(), used);
        add(text_of(system_, id), scope, used, std::move(ways), false);
      }
      for (const auto operand : apply->operands) visit(operand, scope);
    } else if (const auto* reduce = std::get_if<Reduce>(&system_.at(id).node)) {
      visit_reduction(id, *reduce, scope);
    }
  }

  void visit_reduction(ExprId id, const Reduce& reduce, const Scope& outer) {
    const auto count = outer.names.size();
    std::vector<poly::Affine> drop;
    for (std::size_t v = 0; v < count; ++v) drop.push_back(poly::variable(count + 1, v));
    Scope scope{outer.names, outer.points.preimage(drop, count + 1)
                                 .intersect(to_set(outer.points.context(), reduce.domain, count + 1))};
    scope.names.push_back(reduce.index);
    if (scope.points.is_empty()) return;
    Used used;
    use(system_, id, count, used);
    used.insert(count);
    if (auto ways = applications_.ways_of_terms(reduce); !ways.empty()) {
      add(text_of(system_, id), scope, used, std::move(ways), true);
      for (const auto operand : std::get<Apply>(system_.at(reduce.body).node).operands) visit(operand, scope);
      return;
    }
    const Scope joined{scope.names, without_first(scope.points, reduce.descending)};
    if (!joined.points.is_empty())
      add(text_of(system_, id), joined, used, {applications_.joining(reduce)}, true);
    visit(reduce.body, scope);
  }

  /// The terms that follow another one.
  static poly::Set without_first(const poly::Set& points, bool descending) {
    const auto count = points.dimensions();
    std::vector<poly::Affine> own, other;
    std::vector<std::size_t> keep;
    for (std::size_t v = 0; v < count; ++v) {
      own.push_back(poly::variable(count + 1, v));
      other.push_back(poly::variable(count + 1, v + 1 == count ? count : v));
      keep.push_back(v);
    }
    auto later = own.back() - other.back();
    if (descending) later = -1 * later;
    return points.preimage(own, count + 1)
        .intersect(points.preimage(other, count + 1))
        .intersect(poly::Constraint{later - poly::constant(count + 1, 1), false})
        .project(keep);
  }

  const System& system_;
  Applications applications_;
  std::map<std::string, Operation> found_;
  std::vector<std::string> order_;
};

}  // namespace

std::vector<Operation> operations(const System& system) { return Collector(system).run(); }

}  // namespace cyclotron::recurrence
