#include <cyclotron/poly/count.hpp>

#include <algorithm>
#include <limits>

#include <cyclotron/poly/loops.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::poly {

namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/// Walks a nest; a loop whose variable nothing in it uses is walked once, and counts as often as it runs.
class Walk {
 public:
  Walk(Counts& counts, std::size_t kept, std::size_t times)
      : counts_(counts), kept_(kept), variables_(loop_variables(times), 0) {}

  void visit(const Node& node, std::size_t depth, std::int64_t times) {
    switch (node.kind) {
      case Node::Kind::block:
        for (const auto& child : node.children) visit(child, depth, times);
        return;
      case Node::Kind::guard:
        if (!holds(node)) return;
        for (const auto& child : node.children) visit(child, depth, times);
        return;
      case Node::Kind::loop: loop(node, depth, times); return;
      case Node::Kind::visit: add(node, times); return;
    }
  }

 private:
  void loop(const Node& node, std::size_t depth, std::int64_t times) {
    const auto low = bound(node.lower, true), high = bound(node.upper, false);
    if (low > high) return;
    const auto trips = (high - low) / node.step + 1;
    const bool used =
        std::ranges::any_of(node.children, [&](const Node& child) { return uses(child, depth); });
    for (auto value = low; value <= high; value += node.step) {
      variables_[depth] = value;
      for (const auto& child : node.children) visit(child, depth + 1, used ? times : times * trips);
      if (!used) return;
    }
  }

  void add(const Node& node, std::int64_t times) {
    std::size_t at = 0;
    for (std::size_t d = 0; d < kept_; ++d) {
      const auto value = evaluate(node.time[d], variables_) - counts_.first[d];
      at = at * static_cast<std::size_t>(counts_.extents[d]) + static_cast<std::size_t>(value);
    }
    counts_.values[at] += times;
  }

  [[nodiscard]] std::int64_t bound(const std::vector<Bound>& bounds, bool lower) const {
    auto result = lower ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
    for (const auto& one : bounds) {
      const auto value = evaluate(one.form, variables_);
      result = lower ? std::max(result, -floor_divide(-value, one.divisor))
                     : std::min(result, floor_divide(value, one.divisor));
    }
    return result;
  }

  [[nodiscard]] bool holds(const Node& node) const {
    return std::ranges::any_of(node.condition, [&](const Conjunction& all) {
      return std::ranges::all_of(all.constraints,
                                 [&](const Constraint& one) {
                                   const auto value = evaluate(one.form, variables_);
                                   return one.equality ? value == 0 : value >= 0;
                                 }) &&
             std::ranges::all_of(all.divisible, [&](const auto& one) {
               return evaluate(one.first, variables_) % one.second == 0;
             });
    });
  }

  [[nodiscard]] bool uses(const Node& node, std::size_t variable) const {
    const auto in = [&](const Affine& form) {
      return variable < form.coefficients.size() && form.coefficients[variable] != 0;
    };
    const auto in_bound = [&](const Bound& one) { return in(one.form); };
    const auto in_condition = [&](const Conjunction& all) {
      return std::ranges::any_of(all.constraints, [&](const auto& one) { return in(one.form); }) ||
             std::ranges::any_of(all.divisible, [&](const auto& one) { return in(one.first); });
    };
    const auto kept = static_cast<std::ptrdiff_t>(std::min(kept_, node.time.size()));
    return std::ranges::any_of(node.lower, in_bound) || std::ranges::any_of(node.upper, in_bound) ||
           std::ranges::any_of(node.condition, in_condition) ||
           std::any_of(node.time.begin(), node.time.begin() + kept, in) ||
           std::ranges::any_of(node.children, [&](const Node& child) { return uses(child, variable); });
  }

  Counts& counts_;
  std::size_t kept_;
  std::vector<std::int64_t> variables_;
};

}  // namespace

std::optional<Counts> count_points(const Set& set, std::size_t kept, std::int64_t most) {
  Counts result;
  std::int64_t cells = 1;
  if (set.is_empty())
    return Counts{std::vector<std::int64_t>(kept, 0), std::vector<std::int64_t>(kept, 0), {}};
  for (std::size_t d = 0; d < kept; ++d) {
    const auto low = set.minimum(d), high = set.maximum(d);
    if (!low || !high) return std::nullopt;
    result.first.push_back(*low);
    result.extents.push_back(*high - *low + 1);
    if (__builtin_mul_overflow(cells, result.extents.back(), &cells) || cells > most) return std::nullopt;
  }
  result.values.assign(static_cast<std::size_t>(cells), 0);
  const auto times = set.dimensions();
  try {
    const auto nests = generate_loops({{Set::universe(set.context(), 0), {set}}}, times);
    for (const auto& nest : nests) Walk(result, kept, times).visit(nest, 0, 1);
  } catch (const LegalityError&) {  // no loops with affine bounds, or too many operations
    return std::nullopt;
  }
  return result;
}

}  // namespace cyclotron::poly
