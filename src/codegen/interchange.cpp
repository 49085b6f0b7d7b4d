#include "interchange.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <variant>
#include <vector>

#include "visit_forms.hpp"

namespace cyclotron::codegen {

namespace {

using program::Affine;
using program::Compute;
using program::Loop;
using program::Move;
using program::SlotRef;

/// A loop and those inside it: their variables have these many values.
struct Nest {
  std::vector<std::int64_t> extents;
  Nodes body;
};

/// The number among bounds that none of the variables from `first` on changes; none where these do, or are all others.
std::optional<std::int64_t> number_among(const std::vector<program::Bound>& bounds, std::size_t first) {
  std::optional<std::int64_t> result;
  for (const auto& [form, divisor] : bounds) {
    const auto& factors = form.coefficients;
    if (divisor != 1 ||
        std::any_of(factors.begin() + static_cast<std::ptrdiff_t>(std::min(first, factors.size())),
                    factors.end(), [](std::int64_t one) { return one != 0; }))
      return std::nullopt;
    if (std::ranges::all_of(factors, [](std::int64_t one) { return one == 0; })) result = form.constant;
  }
  return result;
}

/// The nest of loops, each alone in the one around, with steps of 1 and, inside, bounds that are numbers, or also depend on
/// the PE; none of others. Its variables begin at `first`; the extent of that is 0.
std::optional<Nest> nest_of(const Node& node, std::size_t first) {
  Nest result;
  for (const Node* inner = &node;; inner = &inner->held.front()) {
    const auto* loop = std::get_if<Loop>(&inner->instruction.action);
    if (loop == nullptr || loop->step != 1) return std::nullopt;
    const auto low = number_among(loop->lower, first), high = number_among(loop->upper, first);
    std::int64_t extent = 0;
    if (inner != &node && (!low || !high || __builtin_sub_overflow(*high, *low, &extent)))
      return std::nullopt;
    result.extents.push_back(extent);
    if (inner->held.size() == 1 && std::holds_alternative<Loop>(inner->held[0].instruction.action)) continue;
    if (std::ranges::any_of(inner->held, &Node::is_control)) return std::nullopt;
    result.body = inner->held;
    return result;
  }
}

/// Tells whether an element is another one in each iteration of loops whose variables begin at `first`, of values that end
/// `extents` behind their beginning.
bool is_another(const SlotRef& reference, std::size_t first, const std::vector<std::int64_t>& extents) {
  if (reference.wrap.modulus != 0) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (std::size_t n = 0; n < extents.size(); ++n) {
    const auto step = coefficient(reference.index, first + n);
    if (step <= 0 && extents[n] > 0) return false;
    if (extents[n] > 0) steps.emplace_back(step, extents[n]);
  }
  std::ranges::sort(steps);
  std::int64_t reach = 0;
  for (const auto& [step, extent] : steps) {
    std::int64_t farther = 0;
    if (step <= reach || __builtin_mul_overflow(step, extent, &farther) ||
        __builtin_add_overflow(reach, farther, &reach))
      return false;
  }
  return true;
}

void exchange(Affine& form, std::size_t variable) {
  const auto one = coefficient(form, variable), other = coefficient(form, variable + 1);
  if (one == other) return;
  if (form.coefficients.size() < variable + 2) form.coefficients.resize(variable + 2, 0);
  form.coefficients[variable] = other;
  form.coefficients[variable + 1] = one;
  trim(form);
}

/// In all that a nest holds, the two variables with each other.
void exchange(Nodes& nodes, std::size_t variable) {
  for (auto& node : nodes) {
    exchange(node.held, variable);
    visit_forms(node.instruction.action, [variable](Affine& form) { exchange(form, variable); });
  }
}

/// Tells whether a node reads of the slot of an element, which nothing in it writes, that element alone.
bool reads_alone(const Node& node, const SlotRef& element) {
  bool alone = true;
  const auto uses = [&](const SlotRef& one) {
    alone = alone && (one.slot != element.slot || one == element);
  };
  each_reference(node.instruction, uses, uses);
  const auto* compute = std::get_if<Compute>(&node.instruction.action);
  if (compute != nullptr && compute->indexed) alone = alone && !reads(node.instruction, element.slot);
  return alone &&
         std::ranges::all_of(node.held, [&](const Node& held) { return reads_alone(held, element); });
}

}  // namespace

std::optional<std::pair<Node, Node>> distributed(const Node& loop, std::size_t variable,
                                                 const std::set<std::size_t>& local) {
  if (loop.held.size() < 2 || !std::holds_alternative<Loop>(loop.held.back().instruction.action) ||
      !std::holds_alternative<Loop>(loop.instruction.action) || !stays_inside(loop.held.back()))
    return std::nullopt;
  const Node& inner = loop.held.back();
  Node first = loop, second = loop;
  first.held.pop_back();
  second.held = {inner};
  for (const auto& node : first.held) {
    if (node.is_control() || std::holds_alternative<program::Exit>(node.instruction.action))
      return std::nullopt;
    bool keeps = true;
    const auto is_kept = [&](const SlotRef& one) {
      return local.contains(one.slot.index()) || !writes_inside(inner, one.slot);
    };
    each_reference(
        node.instruction, [&](const SlotRef& from) { keeps = keeps && is_kept(from); },
        [&](const SlotRef& to) {
          keeps = keeps && is_kept(to) &&
                  (local.contains(to.slot.index()) || !reads_inside(inner, to.slot) ||
                   (is_another(to, variable, {1}) && reads_alone(inner, to)));
        });
    if (!keeps) return std::nullopt;
  }
  return std::pair(std::move(first), std::move(second));
}

std::optional<Node> interchanged(const Node& loop, std::size_t variable, const std::set<std::size_t>& local) {
  if (loop.held.size() != 1) return std::nullopt;
  const auto nest = nest_of(loop, variable);
  if (!nest || nest->extents.size() < 2) return std::nullopt;
  const std::vector inner(nest->extents.begin() + 1, nest->extents.end());
  for (const auto& node : nest->body) {
    const auto* compute = std::get_if<Compute>(&node.instruction.action);
    if ((compute == nullptr && !std::holds_alternative<Move>(node.instruction.action)) ||
        (compute != nullptr && compute->indexed))
      return std::nullopt;
    bool keeps = true;
    each_reference(
        node.instruction, [](const SlotRef&) {},
        [&](const SlotRef& to) {
          if (local.contains(to.slot.index())) return;
          keeps = is_another(to, variable + 1, inner) && !depends_on(to, variable);
          for (const auto& other : nest->body) {  // which names no other element of it
            const auto uses = [&](const SlotRef& one) {
              keeps = keeps && (one.slot != to.slot || one == to);
            };
            each_reference(other.instruction, uses, uses);
          }
        });
    if (!keeps) return std::nullopt;
  }
  Node result = loop.held[0], moved = loop;
  moved.held = std::move(result.held);
  exchange(moved.held, variable);
  result.held = {std::move(moved)};
  return result;
}

}  // namespace cyclotron::codegen
