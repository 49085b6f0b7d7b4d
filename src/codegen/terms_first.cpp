#include <cyclotron/codegen/terms_first.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <cyclotron/operators/operators.hpp>
#include <cyclotron/support/division.hpp>

#include "code_tree.hpp"

namespace cyclotron::codegen {

namespace {

using program::Compute;
using program::If;
using program::Instruction;
using program::Load;
using program::Loop;
using program::Move;
using program::Receive;
using program::SlotRef;

/// A loop around a term, and the values of its variable.
struct LoopAround {
  std::size_t variable = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// A range that holds all values of a loop's variable; none where its bounds, of step 1, do not tell.
std::optional<std::pair<std::int64_t, std::int64_t>> range_of(const Loop& loop) {
  std::optional<std::int64_t> first, last;
  for (const auto& bound : loop.lower) {
    const auto value = ceil_divide(bound.numerator.constant, bound.divisor);
    if (bound.numerator.coefficients.empty()) first = std::max(first.value_or(value), value);
  }
  for (const auto& bound : loop.upper) {
    const auto value = floor_divide(bound.numerator.constant, bound.divisor);
    if (bound.numerator.coefficients.empty()) last = std::min(last.value_or(value), value);
  }
  if (loop.step != 1 || !first || !last || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

/// The term that an instruction combines with a sum, in place; null where it does something else.
const SlotRef* term_of(const Node& node, const SlotRef& sum) {
  const auto* compute = std::get_if<Compute>(&node.instruction.action);
  if (compute == nullptr || compute->indexed || compute->operands.size() != 2 || compute->destination != sum)
    return nullptr;
  const auto is_sum = [&](std::size_t n) { return compute->operands[n] == program::Operand(sum); };
  if (is_sum(0) == is_sum(1)) return nullptr;
  const auto* term = std::get_if<SlotRef>(&compute->operands[is_sum(0) ? 1 : 0]);
  return term != nullptr && term->slot != sum.slot ? term : nullptr;
}

/// True where a node does with a sum nothing but combine terms with it, and nothing comes from or goes to other PEs.
bool may_be_split(const Node& node, const SlotRef& sum) {
  const auto& action = node.instruction.action;
  if (node.is_control()) {
    const auto* branch = std::get_if<If>(&action);
    return (branch == nullptr || branch->within.empty()) &&
           std::ranges::all_of(node.held, [&](const Node& held) { return may_be_split(held, sum); });
  }
  const bool stays = std::holds_alternative<Load>(action) || std::holds_alternative<Move>(action) ||
                     std::holds_alternative<Compute>(action);
  return stays && (!touches(node, sum.slot) || term_of(node, sum) != nullptr);
}

SlotRef* destination_of(Instruction& instruction) {
  if (auto* load = std::get_if<Load>(&instruction.action)) return &load->destination;
  if (auto* move = std::get_if<Move>(&instruction.action)) return &move->destination;
  if (auto* compute = std::get_if<Compute>(&instruction.action)) return &compute->destination;
  return nullptr;
}

/// With the loop that a node is, if it is one whose range is known.
std::optional<std::vector<LoopAround>> inside_of(const Node& node, std::size_t variable,
                                                 std::vector<LoopAround> around) {
  const auto* loop = std::get_if<Loop>(&node.instruction.action);
  if (loop == nullptr) return around;
  const auto range = range_of(*loop);
  if (!range) return std::nullopt;
  around.push_back({variable, range->first, range->second});
  return around;
}

class TermMover {
 public:
  TermMover(const program::Program& program, const program::PeClass& pe_class)
      : memory_bytes_(program.machine.pe.memory_bytes),
        slots_(pe_class.slots),
        code_(tree_of(pe_class.code)),
        local_(local_slots(code_, slots_)) {
    visit(code_, program.grid.size());
  }

  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] const std::vector<program::Slot>& slots() const { return slots_; }
  [[nodiscard]] std::vector<Instruction> code() const { return code_of(code_); }

 private:
  void visit(Nodes& nodes, std::size_t variable) {
    for (auto& node : nodes) {
      const bool is_loop = std::holds_alternative<Loop>(node.instruction.action);
      visit(node.held, variable + (is_loop ? 1 : 0));
    }
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      if (std::holds_alternative<Receive>(nodes[at].instruction.action)) split(nodes, at, variable);
    }
  }

  /// Splits what follows a receive, if that ends with loops that add to it.
  void split(Nodes& nodes, std::size_t at, std::size_t variable) {
    const SlotRef sum = std::get<Receive>(nodes[at].instruction.action).destination;
    std::size_t past = at + 1;
    bool has_loop = false;
    for (auto n = past; n < nodes.size() && may_be_split(nodes[n], sum); ++n) {
      if (!touches(nodes[n], sum.slot)) continue;
      past = n + 1;
      has_loop = has_loop || std::holds_alternative<Loop>(nodes[n].instruction.action);
    }
    if (!has_loop) return;
    const auto begin = static_cast<std::ptrdiff_t>(at), end = static_cast<std::ptrdiff_t>(past);
    // On copies, since a term may turn out not to be one.
    Nodes kept = nodes, sums(nodes.begin() + begin + 1, nodes.begin() + end);
    auto slots = slots_;
    computes_ = false;
    if (!keep_terms(kept, {at + 1, past}, sum, variable, {}, slots) || !computes_ || !has_room(slots)) return;
    auto next = slots_.size();
    add_terms(sums, sum, variable, {}, next);
    Nodes terms(kept.begin() + begin + 1, kept.begin() + end);
    drop_sums(terms, sum);
    nodes.assign(kept.begin(), kept.begin() + begin);
    std::ranges::move(terms, std::back_inserter(nodes));
    nodes.push_back(kept[at]);
    std::ranges::move(sums, std::back_inserter(nodes));
    nodes.insert(nodes.end(), kept.begin() + end, kept.end());
    slots_ = std::move(slots);
    changed_ = true;
  }

  /// Has the terms of a part of a block put into slots of their own, one for each instruction that adds. False where one
  /// is no number that its block makes for that alone.
  bool keep_terms(Nodes& nodes, std::pair<std::size_t, std::size_t> part, const SlotRef& sum,
                  std::size_t variable, const std::vector<LoopAround>& around,
                  std::vector<program::Slot>& slots) {
    for (auto at = part.first; at < part.second; ++at) {
      Node& node = nodes[at];
      if (!touches(node, sum.slot)) continue;
      if (node.is_control()) {
        const auto inside = inside_of(node, variable, around);
        if (!inside) return false;
        const auto held = variable + (inside->size() - around.size());
        if (!keep_terms(node.held, {0, node.held.size()}, sum, held, *inside, slots)) return false;
        continue;
      }
      const SlotRef term = *term_of(node, sum);
      SlotRef* made = maker_of(nodes, at, term);
      if (made == nullptr) return false;
      slots.push_back(slots[term.slot.index()]);
      slots.back().name = "terms";
      slots.back().count = count_of(around);
      if (slots.back().count > memory_bytes_) return false;
      *made = place_of(slots.size() - 1, around);
    }
    return true;
  }

  /// The destination of what makes a term, if nothing else reads it. Blocks inside have their own values in its slot.
  SlotRef* maker_of(Nodes& nodes, std::size_t use, const SlotRef& term) {
    if (!local_.contains(term.slot.index()) || slots_[term.slot.index()].tile != operators::Shape{})
      return nullptr;
    for (auto n = use + 1; n < nodes.size() && !writes(nodes[n].instruction, term.slot); ++n) {
      if (reads(nodes[n].instruction, term.slot)) return nullptr;
    }
    for (auto n = use; n-- > 0;) {
      SlotRef* made = destination_of(nodes[n].instruction);
      if (made != nullptr && *made == term && !reads(nodes[n].instruction, term.slot)) {
        computes_ = computes_ || std::holds_alternative<Compute>(nodes[n].instruction.action);
        return made;
      }
      if (reads(nodes[n].instruction, term.slot) || writes(nodes[n].instruction, term.slot)) return nullptr;
    }
    return nullptr;
  }

  /// Leaves of the nodes what adds the terms, taken from their slots, and the loops and ifs around.
  void add_terms(Nodes& nodes, const SlotRef& sum, std::size_t variable,
                 const std::vector<LoopAround>& around, std::size_t& next) {
    std::erase_if(nodes, [&](const Node& node) { return !touches(node, sum.slot); });
    for (Node& node : nodes) {
      if (!node.is_control()) {
        auto& operands = std::get<Compute>(node.instruction.action).operands;
        operands[operands[0] == program::Operand(sum) ? 1 : 0] = place_of(next++, around);
        continue;
      }
      const auto inside = *inside_of(node, variable, around);
      add_terms(node.held, sum, variable + (inside.size() - around.size()), inside, next);
    }
  }

  static void drop_sums(Nodes& nodes, const SlotRef& sum) {
    std::erase_if(nodes, [&](const Node& node) { return term_of(node, sum) != nullptr; });
    for (Node& node : nodes) drop_sums(node.held, sum);
  }

  static std::int64_t count_of(const std::vector<LoopAround>& around) {
    std::int64_t result = 1;
    for (const auto& loop : around) {
      if (__builtin_mul_overflow(result, loop.last - loop.first + 1, &result)) return INT64_MAX;
    }
    return result;
  }

  static SlotRef place_of(std::size_t slot, const std::vector<LoopAround>& around) {
    SlotRef result{program::SlotId(slot), {}, {}};
    std::int64_t stride = count_of(around);
    for (const auto& loop : around) {
      stride /= loop.last - loop.first + 1;
      result.index.coefficients.resize(loop.variable, 0);
      result.index.coefficients.push_back(stride);
      result.index.constant -= stride * loop.first;
    }
    return result;
  }

  [[nodiscard]] bool has_room(const std::vector<program::Slot>& slots) const {
    std::int64_t bytes = 0;
    for (const auto& slot : slots)
      bytes += slot.words() * static_cast<std::int64_t>(operators::size_bytes(slot.dtype));
    return bytes <= memory_bytes_;
  }

  std::int64_t memory_bytes_;
  std::vector<program::Slot> slots_;
  Nodes code_;
  std::set<std::size_t> local_;
  bool computes_ = false;
  bool changed_ = false;
};

}  // namespace

program::Program terms_first(const program::Program& program) {
  if (machine::has_banks(program.machine.pe)) return program;
  auto result = program;
  for (auto& pe_class : result.classes) {
    const TermMover mover(program, pe_class);
    if (!mover.changed()) continue;
    pe_class.slots = mover.slots();
    pe_class.code = mover.code();
  }
  return result;
}

}  // namespace cyclotron::codegen
