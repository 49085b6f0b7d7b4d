#include <cyclotron/recurrence/reduce_in_trees.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>

#include <cyclotron/recurrence/reduced_indices.hpp>

namespace cyclotron::recurrence {

namespace {

/// Terms, or results of the level before, are `stride` apart and joined by `count`; values go from one place to the
/// next, `hop` away.
struct Level {
  std::int64_t stride, count, hop;
};

std::int64_t least_root(std::int64_t n) {
  std::int64_t root = 1;
  while (root * root < n) ++root;
  return root;
}

/// Of the results of so many PEs, `apart` from each other.
std::vector<Level> levels_of(const Tree& tree, std::int64_t results, std::int64_t apart) {
  std::vector<Level> levels;
  const auto radix = std::clamp<std::int64_t>(tree.radix == 0 ? least_root(results) : tree.radix, 2,
                                              std::max<std::int64_t>(results, 2));
  for (std::int64_t stride = 1; stride < results; stride *= radix)
    levels.push_back({apart * stride, radix, apart});
  return levels;
}

/// The values of a tree's index in PEs: so many in each, from the first on.
struct Share {
  std::int64_t first = 0, values = 1;
  bool operator==(const Share&) const = default;
};

/// A reduction over a tree's index, of an equation.
struct Sum {
  ExprId id;
  Reduce reduce;
  const Tree* tree;
  std::int64_t low, high;  ///< Values of the index, everywhere.
  std::size_t group = 0;
  Region points = {};  ///< Of its terms, in the scope of the group.
};

/// Coordinates of the values of a tensor along indices that it lacks: those of trees that it is made from.
using Pins = std::map<std::string, std::int64_t>;

/// Reductions of one target that go the same way, of parts of its elements.
struct Group {
  TensorId target;
  std::vector<Affine> index;
  std::vector<std::string> names;  ///< The equation's indices, the tree's, and those of `pins`.
  std::size_t along;               ///< The tree's, among them.
  Pins pins;                       ///< Of the terms.
  Reduction kind;
  const Tree* tree;
  std::int64_t low, high;
  Share share;
  bool to_the_highest;  ///< The total is made there, else at the lowest.
  DType dtype;
  operators::Shape tile;
  bool operator==(const Group&) const = default;
};

/// The common parts of a group's equations once they are planted.
struct Planted {
  std::size_t members = 0;
  Region points;                      ///< Of the terms of all.
  std::vector<std::int64_t> origins;  ///< Of the subscripts.
  bool grown = false;
  TensorId terms;    ///< Of groups of several equations.
  TensorId results;  ///< Of the last level.
};

class Planter {
 public:
  Planter(const System& system, const std::vector<Tree>& trees) : system_(system), trees_(trees) {}

  System run() {
    for (const auto& tree : trees_)
      require_reduction(system_, tree.index,
                        fmt::format("the schedule reduces over `{}` in a tree", tree.index));
    for (const auto& tree : trees_) shares_.push_back(share_of(tree));
    const auto equations = std::exchange(system_.equations, {});
    std::vector<std::optional<Sum>> sums;
    for (const auto& equation : equations) {
      sums.push_back(sum_of(equation));
      if (sums.back()) enter(equation, *sums.back());
      pin(equation, sums.back());
    }
    for (std::size_t e = 0; e < equations.size(); ++e) {
      if (sums[e]) {
        plant(equations[e], *sums[e]);
      } else {
        system_.equations.push_back(equations[e]);
      }
    }
    return std::move(system_);
  }

 private:
  /// As folds cut all values that the index has anywhere.
  [[nodiscard]] Share share_of(const Tree& tree) const {
    if (tree.parts == 0) return {};
    std::optional<std::int64_t> low, high;
    const auto count = [&](const std::vector<std::string>& names, const poly::Set& points) {
      const auto found = std::ranges::find(names, tree.index);
      if (found == names.end() || points.is_empty()) return;
      const auto v = static_cast<std::size_t>(found - names.begin());
      const auto least = points.minimum(v).value(), most = points.maximum(v).value();
      low = std::min(low.value_or(least), least);
      high = std::max(high.value_or(most), most);
    };
    for (const auto& equation : system_.equations) {
      const auto domain = domain_of(context_, equation);
      count(equation.indices, domain);
      for_each_expr(system_, equation, domain,
                    [&](ExprId, const Scope& scope) { count(scope.names, scope.points); });
    }
    const auto first = low.value_or(0), values = high.value_or(0) - first + 1;
    return {first, (values + tree.parts - 1) / tree.parts};
  }

  [[nodiscard]] std::optional<ExprId> reduction_of(ExprId id) const {
    const auto& node = system_.at(id).node;
    if (std::holds_alternative<Reduce>(node)) return id;
    const auto* apply = std::get_if<Apply>(&node);
    if (apply == nullptr) return std::nullopt;
    for (const auto operand : apply->operands) {
      if (const auto found = reduction_of(operand)) return found;
    }
    return std::nullopt;
  }

  /// The reduction that becomes a tree, if the equation has one.
  [[nodiscard]] std::optional<Sum> sum_of(const Equation& equation) {
    const auto id = reduction_of(equation.expr);
    if (!id) return std::nullopt;
    const auto& reduce = std::get<Reduce>(system_.at(*id).node);
    const auto tree = std::ranges::find(trees_, reduce.index, &Tree::index);
    if (tree == trees_.end()) return std::nullopt;
    const auto outer = equation.indices.size();
    std::vector<poly::Affine> drop;
    for (std::size_t v = 0; v < outer; ++v) drop.push_back(poly::variable(outer + 1, v));
    const auto around = domain_of(context_, equation).preimage(drop, outer + 1);
    const auto terms = around.intersect(to_set(context_, reduce.domain, outer + 1));
    if (terms.is_empty()) return std::nullopt;
    Sum sum{*id, reduce, &*tree, terms.minimum(outer).value(), terms.maximum(outer).value()};
    if (sum.low == sum.high) return std::nullopt;
    const auto position = poly::variable(outer + 1, outer);
    const auto box = around.intersect({position - poly::constant(outer + 1, sum.low), false})
                         .intersect({poly::constant(outer + 1, sum.high) - position, false});
    if (!box.is_subset(terms)) refuse_range(sum, system_.at(*id).span);
    return sum;
  }

  void enter(const Equation& equation, Sum& sum) {
    const auto& target = system_.at(equation.target);
    Group group{equation.target,
                equation.index,
                equation.indices,
                equation.indices.size(),
                {},
                sum.reduce.kind,
                sum.tree,
                sum.low,
                sum.high,
                shares_[static_cast<std::size_t>(sum.tree - trees_.data())],
                !sum.reduce.descending,
                dtype_of(system_, sum.reduce.body, target.dtype),
                target.blocked ? tile_shape(system_, sum.reduce.body) : operators::Shape{}};
    group.names.push_back(sum.reduce.index);
    collect_pins(sum.reduce.body, group.names, group.pins);
    std::vector<Constraint> pinned;
    for (const auto& [name, value] : group.pins) {
      pinned.push_back({{std::vector<std::int64_t>(group.names.size() + 1, 0), -value}, true});
      pinned.back().form.coefficients.back() = 1;
      group.names.push_back(name);
    }
    sum.group = static_cast<std::size_t>(std::ranges::find(groups_, group) - groups_.begin());
    if (sum.group == groups_.size()) {
      groups_.push_back(std::move(group));
      planted_.emplace_back();
    }
    auto& planted = planted_[sum.group];
    ++planted.members;
    sum.points = intersection(intersection(equation.domain, sum.reduce.domain), {pinned});
    planted.points.insert(planted.points.end(), sum.points.begin(), sum.points.end());
  }

  /// Those of the tensors that an expression reads, but for indices in scope; of several the last place.
  void collect_pins(ExprId id, const std::vector<std::string>& scope, Pins& pins) const {
    const auto& node = system_.at(id).node;
    if (const auto* apply = std::get_if<Apply>(&node)) {
      for (const auto operand : apply->operands) collect_pins(operand, scope, pins);
    } else if (const auto* reduce = std::get_if<Reduce>(&node)) {
      auto inner = scope;
      inner.push_back(reduce->index);
      collect_pins(reduce->body, inner, pins);
    } else if (const auto* access = std::get_if<Access>(&node)) {
      const auto known = pins_.find(access->tensor);
      if (known == pins_.end()) return;
      for (const auto& [name, value] : known->second) {
        if (std::ranges::find(scope, name) != scope.end()) continue;
        auto& place = pins.try_emplace(name, value).first->second;
        place = std::max(place, value);
      }
    }
  }

  void pin(const Equation& equation, const std::optional<Sum>& sum) {
    Pins pins;
    collect_pins(equation.expr, equation.indices, pins);
    if (sum) {
      const auto& group = groups_[sum->group];
      auto& place = pins.try_emplace(sum->tree->index, root_of(group)).first->second;
      place = std::max(place, root_of(group));
      pins.insert(group.pins.begin(), group.pins.end());
    }
    for (const auto& [name, value] : pins) pins_[equation.target][name] = value;
  }

  /// The last value of a PE's share that has this one.
  [[nodiscard]] static std::int64_t end_of(const Share& share, std::int64_t value) {
    return share.first + ((value - share.first) / share.values + 1) * share.values - 1;
  }
  [[nodiscard]] static bool is_in_one_pe(const Group& group) {
    return end_of(group.share, group.low) == end_of(group.share, group.high);
  }

  [[nodiscard]] static std::int64_t root_of(const Group& group) {
    return is_in_one_pe(group) ? group.high
                               : end_of(group.share, group.to_the_highest ? group.high : group.low);
  }

  void plant(Equation equation, const Sum& sum) {
    const auto& group = groups_[sum.group];
    auto& planted = planted_[sum.group];
    const auto span = system_.at(sum.id).span;
    const bool as_they_are =
        planted.members == 1 && (group.share.values > 1 || is_joined_at_once(group.kind, sum.reduce.body)) &&
        dtype_of(system_, sum.reduce.body, system_.at(group.target).dtype) == group.dtype;
    if (!planted.grown) find_origins(group, planted);
    if (!planted.grown && !as_they_are) planted.terms = declare(group, planted, planted.points, span);
    if (!as_they_are) {
      system_.equations.push_back(
          {planted.terms, here(group, planted), group.names, sum.points, sum.reduce.body, span});
    }
    if (!std::exchange(planted.grown, true)) {
      const auto terms =
          as_they_are ? sum.reduce.body : add(Access{planted.terms, here(group, planted)}, span);
      planted.results = grow(group, planted, terms, span);
    }
    // In the equation's scope: its own indices, and for the others where the total is.
    auto root = here(group, planted);
    const auto fix = [&](std::size_t v, std::int64_t value) { root[v] = {{}, value - planted.origins[v]}; };
    fix(group.along, root_of(group));
    for (auto v = group.along + 1; v < group.names.size(); ++v) fix(v, group.pins.at(group.names[v]));
    const auto total = add(Access{planted.results, std::move(root)}, span);
    equation.expr = replace(equation.expr, sum.id, total);
    system_.equations.push_back(std::move(equation));
  }

  /// True where joining a term takes one operator. PEs that wait for others' results compute other terms before.
  [[nodiscard]] bool is_joined_at_once(Reduction kind, ExprId term) const {
    const auto& node = system_.at(term).node;
    if (std::holds_alternative<Access>(node)) return true;
    const auto* apply = std::get_if<Apply>(&node);
    return apply != nullptr && kind == Reduction::sum && operators::accumulating(apply->op) &&
           std::ranges::all_of(apply->operands, [&](ExprId operand) {
             return std::holds_alternative<Access>(system_.at(operand).node);
           });
  }

  /// The equations of all levels; returns the tensor of the last, which has the total at the root.
  TensorId grow(const Group& group, const Planted& planted, ExprId terms, const Span& span) {
    const auto [first, values] = group.share;
    TensorId result;
    if (values > 1) {
      const auto end = is_in_one_pe(group) ? group.high : end_of(group.share, group.high);
      result = declare(group, planted, along(group, planted, group.low, end), span);
      add_shares(group, planted, result, terms, span);
      terms = add(Access{result, here(group, planted)}, span);
    }
    if (is_in_one_pe(group)) return result;
    const auto last = end_of(group.share, group.high), least = end_of(group.share, group.low);
    const auto points = along(group, planted, least, last);
    for (const auto& level : levels_of(*group.tree, (last - least) / values + 1, values)) {
      result = declare(group, planted, points, span);
      add_level(group, planted, points, level, result, terms, span);
      terms = add(Access{result, here(group, planted)}, span);
    }
    return result;
  }

  /// The distance from the root, plus a constant.
  [[nodiscard]] static Affine distance(const Group& group, std::int64_t plus) {
    Affine form{std::vector<std::int64_t>(group.names.size(), 0), 0};
    form.coefficients[group.along] = group.to_the_highest ? -1 : 1;
    form.constant = (group.to_the_highest ? root_of(group) : -root_of(group)) + plus;
    return form;
  }
  /// Constraints: the distance from the root is less than `below` and, divided by `modulus`, leaves `first` to `last`.
  [[nodiscard]] static std::vector<Constraint> leaving(const Group& group, std::int64_t first,
                                                       std::int64_t last, std::int64_t modulus,
                                                       std::int64_t below) {
    std::vector<Constraint> result{{less(group, below)}};
    if (modulus > 1 && last - first + 1 < modulus)
      result.push_back({distance(group, -first), false, modulus, last - first});
    return result;
  }
  [[nodiscard]] static Constraint less(const Group& group, std::int64_t below) {
    auto form = distance(group, 1 - below);
    for (auto& coefficient : form.coefficients) coefficient = -coefficient;
    form.constant = -form.constant;
    return {std::move(form), false};
  }

  /// The values of the index from one on, and up to another.
  [[nodiscard]] static std::vector<Constraint> between(const Group& group, std::int64_t low,
                                                       std::int64_t high) {
    Affine above{std::vector<std::int64_t>(group.names.size(), 0), -low};
    Affine below{above.coefficients, high};
    above.coefficients[group.along] = 1;
    below.coefficients[group.along] = -1;
    return {{std::move(above), false}, {std::move(below), false}};
  }

  /// The points of a group's terms, with other values of the index.
  [[nodiscard]] static Region along(const Group& group, const Planted& planted, std::int64_t low,
                                    std::int64_t high) {
    Region result = planted.points;
    for (auto& part : result) {
      for (auto& constraint : part) {
        auto& form = constraint.form;
        form.coefficients.resize(group.names.size(), 0);
        form.constant += std::exchange(form.coefficients[group.along], 0) * group.high;
      }
    }
    return intersection(result, {between(group, low, high)});
  }

  /// Each PE joins its terms.
  void add_shares(const Group& group, const Planted& planted, TensorId tensor, ExprId terms,
                  const Span& span) {
    const auto [first, values] = group.share;
    const auto subscripts = here(group, planted);
    const auto define = [&](const Region& points, ExprId value) {
      system_.equations.push_back({tensor, subscripts, group.names, points, value, span});
    };
    // The values that leave `least` to `most`, counted from the first of a share.
    const auto leaving = [&](std::int64_t least, std::int64_t most) {
      Affine form{std::vector<std::int64_t>(group.names.size(), 0), -first - least};
      form.coefficients[group.along] = 1;
      return Constraint{std::move(form), false, values, most - least};
    };
    const auto others = between(group, group.low + 1, group.high);
    Region firsts{between(group, group.low, group.low)};
    if (!is_in_one_pe(group)) {
      firsts.push_back(others);
      firsts.back().push_back(leaving(0, 0));
    }
    define(intersection(planted.points, firsts), terms);
    auto before = subscripts;
    before[group.along].constant -= 1;
    const auto sum = accumulate(group.kind, add(Access{tensor, std::move(before)}, span), terms, span);
    Region further{others};
    if (!is_in_one_pe(group)) further.front().push_back(leaving(1, values - 1));
    define(intersection(planted.points, further), sum);
    const auto end = end_of(group.share, group.high);
    if (end == group.high || is_in_one_pe(group)) return;
    // The result of a PE is found at the last value of its share, if the reduction has that or not.
    auto last = subscripts;
    last[group.along].constant -= end - group.high;
    define(along(group, planted, end, end), add(Access{tensor, std::move(last)}, span));
  }

  /// The result so far and a term; a product is added as it is made.
  ExprId accumulate(Reduction kind, ExprId before, ExprId term, const Span& span) {
    const auto* apply = std::get_if<Apply>(&system_.at(term).node);
    const auto fused = apply == nullptr ? std::nullopt : operators::accumulating(apply->op);
    if (kind != Reduction::sum || !fused) return add(Apply{combining(kind), 0, {before, term}}, span);
    Apply step{fused->added, apply->flags, {before}};
    step.operands.insert(step.operands.end(), apply->operands.begin(), apply->operands.end());
    return add(std::move(step), span);
  }

  void add_level(const Group& group, const Planted& planted, const Region& points, const Level& level,
                 TensorId tensor, ExprId terms, const Span& span) {
    const auto [stride, count, hop] = level;
    const auto block = stride * count;
    const auto beyond = end_of(group.share, group.high) - end_of(group.share, group.low);  // the last place
    const auto end = stride * (beyond / stride);  // that with a result of the level before
    const auto subscripts = here(group, planted);
    const auto define = [&](const Region& where, ExprId value) {
      system_.equations.push_back(
          {tensor, subscripts, group.names, intersection(points, where), value, span});
    };
    // Blocks begin with the result that is farthest from the root; the last may be shorter.
    Region first{{{distance(group, -end), true}}};
    if (block - stride < end) first.push_back(leaving(group, block - stride, block - stride, block, end));
    // What goes on from there is used by nobody.
    if (beyond != end) first.push_back({{distance(group, -beyond), true}});
    define(first, terms);
    auto next = subscripts;
    next[group.along].constant += group.to_the_highest ? -hop : hop;
    const auto comes = add(Access{tensor, std::move(next)}, span);
    auto further = leaving(group, 0, 0, stride, end);
    for (const auto& constraint : leaving(group, 0, block - stride - 1, block, end))
      further.push_back(constraint);
    define({further}, accumulate(group.kind, comes, terms, span));
    if (stride == hop) return;
    auto passing = leaving(group, hop, stride - 1, stride, beyond);
    for (const auto& constraint : leaving(group, 0, 0, hop, beyond)) passing.push_back(constraint);
    define({passing}, comes);
  }

  void find_origins(const Group& group, Planted& planted) const {
    const auto points = to_set(context_, planted.points, group.names.size());
    for (std::size_t v = 0; v < group.names.size(); ++v)
      planted.origins.push_back(std::min<std::int64_t>(points.minimum(v).value_or(0), 0));
  }

  /// Subscripts of a tensor of the group at a point of its scope.
  [[nodiscard]] static std::vector<Affine> here(const Group& group, const Planted& planted) {
    std::vector<Affine> result;
    for (std::size_t v = 0; v < group.names.size(); ++v) {
      result.push_back({std::vector<std::int64_t>(v + 1, 0), -planted.origins[v]});
      result.back().coefficients.back() = 1;
    }
    if (group.tile != operators::Shape{}) result.resize(group.names.size() + 2);
    return result;
  }

  /// A local tensor whose subscripts are the scope's indices. Tiles get two axes of their own.
  TensorId declare(const Group& group, const Planted& planted, const Region& where, const Span& span) {
    const auto rank = group.names.size();
    const auto points = to_set(context_, where, rank);
    const bool blocked = group.tile != operators::Shape{};
    Tensor tensor{local_name(group),
                  group.dtype,
                  Role::local,
                  {},
                  std::vector<std::int64_t>(rank, 1),
                  blocked,
                  span,
                  system_.at(group.target).user_name()};
    for (std::size_t v = 0; v < rank; ++v)
      tensor.shape.push_back(points.maximum(v).value_or(-1) + 1 - planted.origins[v]);
    if (blocked) {
      for (const auto size : {group.tile.rows, group.tile.columns}) {
        tensor.shape.push_back(size);
        tensor.tile.push_back(size);
      }
    }
    system_.tensors.push_back(std::move(tensor));
    return TensorId(system_.tensors.size() - 1);
  }

  [[nodiscard]] std::string local_name(const Group& group) const {
    const auto base = fmt::format("{}_{}", system_.at(group.target).name, group.names[group.along]);
    auto name = base;
    const auto taken = [&](const Tensor& other) { return other.name == name; };
    for (int n = 2; std::ranges::any_of(system_.tensors, taken); ++n) name = fmt::format("{}{}", base, n);
    return name;
  }

  ExprId replace(ExprId id, ExprId old, ExprId by) {
    if (id == old) return by;
    const Expr expr = system_.at(id);
    const auto* apply = std::get_if<Apply>(&expr.node);
    if (apply == nullptr) return id;
    Apply result = *apply;
    for (auto& operand : result.operands) operand = replace(operand, old, by);
    return result == *apply ? id : add(std::move(result), expr.span);
  }

  [[noreturn]] static void refuse_range(const Sum& sum, const Span& span) {
    throw ScheduleError(
        {.code = "CYC318",
         .span = span,
         .message = fmt::format("the schedule reduces over `{}` in a tree, but this reduction is over values "
                                "of {} to {} that are not the same everywhere",
                                sum.reduce.index, sum.low, sum.high),
         .notes = {},
         .help = fmt::format("reduce over a range that is the same everywhere, with a term that does not "
                             "matter in the gaps, or leave reduce(\"{}\") out",
                             sum.reduce.index)});
  }

  ExprId add(decltype(Expr::node) node, const Span& span) {
    system_.exprs.push_back({std::move(node), span});
    return ExprId(system_.exprs.size() - 1);
  }

  System system_;
  const std::vector<Tree>& trees_;
  poly::Context context_;
  std::vector<Group> groups_;
  std::vector<Planted> planted_;  ///< By group.
  std::map<TensorId, Pins> pins_;
  std::vector<Share> shares_;  ///< Of each tree.
};

}  // namespace

std::string to_string(const Tree& tree) {
  return tree.radix == 0 ? "two phases" : fmt::format("a tree of radix {}", tree.radix);
}

System reduce_in_trees(const System& system, const std::vector<Tree>& trees) {
  return trees.empty() ? system : Planter(system, trees).run();
}

}  // namespace cyclotron::recurrence
