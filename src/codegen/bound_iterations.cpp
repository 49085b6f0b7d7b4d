#include <cyclotron/codegen/bound_iterations.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "code_tree.hpp"

namespace cyclotron::codegen {

namespace {

using program::Compute;
using program::Constant;
using program::DataBound;
using program::Instruction;
using program::Loop;
using program::Move;
using program::Op;
using program::Operand;
using program::SlotId;
using program::SlotRef;

/// The loops of one class.
class ClassBounder {
 public:
  ClassBounder(program::PeClass& pe_class, std::size_t dimensions, bool may_end)
      : class_(pe_class),
        dimensions_(dimensions),
        may_end_(may_end),
        code_(tree_of(pe_class.code)),
        given_slots_(pe_class.slots.size()) {
    local_ = local_slots(code_, class_.slots);
  }

  void run() {
    bound(code_, dimensions_);
    if (changed_) class_.code = code_of(code_);
  }

 private:
  /// `variables`: how many a form may name in the block.
  void bound(Nodes& nodes, std::size_t variables) {
    const auto known = written_;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const auto* loop = std::get_if<Loop>(&nodes[at].instruction.action);
      each_reference(
          nodes[at].instruction, [](const SlotRef&) {},
          [&](const SlotRef& one) { written_.insert(one.slot.index()); });
      bound(nodes[at].held, variables + (loop != nullptr ? 1 : 0));
      if (loop == nullptr) continue;
      before_.clear();
      loop_ = &nodes[at];
      variable_ = variables;
      lift(nodes[at].held);
      if (loop->step == 1 && bound_loop(nodes[at].held)) changed_ = true;
      nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(at), before_.begin(), before_.end());
      at += before_.size();
    }
    written_ = known;
  }

  /// Takes what loops inside need out of the loop, whose block this is, where that is the same in all iterations.
  void lift(Nodes& nodes) {
    for (std::size_t at = 0; at < nodes.size();) {
      const auto& instruction = nodes[at].instruction;
      bool moves = !nodes[at].is_control();
      each_reference(
          instruction,
          [&](const SlotRef& one) {
            moves = moves && !depends_on(one, variable_) && !writes_inside(*loop_, one.slot) &&
                    (written_.contains(one.slot.index()) || one.slot.index() >= given_slots_);
          },
          [&](const SlotRef& one) { moves = moves && one.slot.index() >= given_slots_; });
      const auto* move = std::get_if<Move>(&instruction.action);
      const auto* form = move != nullptr ? std::get_if<program::Affine>(&move->source) : nullptr;
      if (!moves || (form != nullptr && coefficient(*form, variable_) != 0) ||
          std::holds_alternative<program::Exit>(instruction.action)) {
        ++at;
        continue;
      }
      before_.push_back(std::move(nodes[at]));
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  /// Returns whether the loop, whose block this is, has choices that it can bound; does so.
  bool bound_loop(Nodes& nodes) {
    const bool ends = std::ranges::any_of(nodes, [](const Node& node) {
      return std::holds_alternative<program::Exit>(node.instruction.action);
    });
    if (ends) return false;
    bool found = false;
    for (std::size_t at = nodes.size(); at-- > 0;) {  // the last first, which may need others
      if (const auto place = bound_choice(nodes, at)) {
        found = true;
        at = *place;
      }
    }
    if (found) remove_unused(nodes, nodes.size());
    return found;
  }

  /// The last node before `at` that writes the slot; none where it may be another's, or the loop's.
  static std::optional<std::size_t> writer(const Nodes& nodes, const SlotRef& reference, std::size_t at) {
    while (at-- > 0) {
      if (!writes_inside(nodes[at], reference.slot)) continue;
      return nodes[at].is_control() ? std::nullopt : std::optional(at);
    }
    return std::nullopt;
  }

  template <class Action>
  static const Action* action_at(const Nodes& nodes, std::optional<std::size_t> at) {
    return at ? std::get_if<Action>(&nodes[*at].instruction.action) : nullptr;
  }

  /// The bounds that a condition read at `at` is, which may be two; none of other conditions.
  std::optional<std::vector<DataBound>> bounds_of(const Nodes& nodes, const Operand& condition,
                                                  std::size_t at) {
    const auto* reference = std::get_if<SlotRef>(&condition);
    if (reference == nullptr || !is_local(*reference)) return std::nullopt;
    const auto here = writer(nodes, *reference, at);
    const auto* test = action_at<Compute>(nodes, here);
    if (test == nullptr || test->indexed) return std::nullopt;
    if (test->op == Op::logical_and) {
      auto bounds = bounds_of(nodes, test->operands[0], *here);
      const auto more = bounds ? bounds_of(nodes, test->operands[1], *here) : std::nullopt;
      if (!more || more->size() != 1) return std::nullopt;
      bounds->push_back(more->front());
      return bounds;
    }
    const auto* const move = place_of(nodes, test->operands[0], *here);
    if (move != nullptr)
      return bounds_by(nodes, *here, test->op, test->operands[0], *move, test->operands[1]);
    const auto* const right = place_of(nodes, test->operands[1], *here);
    if (right == nullptr) return std::nullopt;
    return bounds_by(nodes, *here, mirrored(test->op), test->operands[1], *right, test->operands[0]);
  }

  /// `number > place` as `place < number`.
  static Op mirrored(Op op) {
    switch (op) {
      case Op::greater: return Op::less;
      case Op::less_equal: return Op::greater_equal;
      default: return Op::equal;  // of which there is no bound
    }
  }

  /// The form of indices that an operand read at `at` is; null for others.
  const program::Affine* place_of(const Nodes& nodes, const Operand& operand, std::size_t at) const {
    const auto* place = std::get_if<SlotRef>(&operand);
    if (place == nullptr || !is_local(*place) || !is_number(*place)) return nullptr;
    const auto* move = action_at<Move>(nodes, writer(nodes, *place, at));
    return move != nullptr ? std::get_if<program::Affine>(&move->source) : nullptr;
  }

  /// The bound that a comparison at `at` of a place, in that order, with a number is.
  std::optional<std::vector<DataBound>> bounds_by(const Nodes& nodes, std::size_t at, Op op,
                                                  const Operand& place, program::Affine form,
                                                  const Operand& with) {
    if (op != Op::less && op != Op::greater_equal) return std::nullopt;
    const auto* number = std::get_if<SlotRef>(&with);
    if ((number != nullptr && !is_number(*number)) || coefficient(form, variable_) < 0 ||
        coefficient(form, variable_) > 1 || depends_on_ends(form))
      return std::nullopt;
    const bool last = op == Op::less;
    if (number != nullptr && !depends_on(*number, variable_) && !writes_inside(*loop_, number->slot))
      return std::vector{DataBound{*number, std::move(form), last}};
    auto limit = number != nullptr ? before_loop(nodes, *number, at)
                                   : known_before(std::get<Constant>(with), std::get<SlotRef>(place));
    if (!limit) return std::nullopt;
    return std::vector{DataBound{std::move(*limit), std::move(form), last}};
  }

  /// Of loops that may end early, no iteration may differ from others.
  [[nodiscard]] bool depends_on_ends(const program::Affine& form) const {
    if (!may_end_) return false;
    for (std::size_t v = dimensions_; v < variable_; ++v) {
      if (coefficient(form, v) != 0) return true;
    }
    return false;
  }

  /// A value that is read at `at` and the same in all iterations, as it is known before the loop, in PEs that never run it
  /// too; computed there if need be.
  std::optional<SlotRef> before_loop(const Nodes& nodes, const SlotRef& reference, std::size_t at) {
    if (depends_on(reference, variable_)) return std::nullopt;
    if (!writes_inside(*loop_, reference.slot))
      return written_.contains(reference.slot.index()) ? std::optional(reference) : std::nullopt;
    const auto here = writer(nodes, reference, at);
    if (!here || !is_local(reference)) return std::nullopt;
    Instruction instruction = nodes[*here].instruction;
    const auto is_known = [&](auto& source) {
      auto* one = std::get_if<SlotRef>(&source);
      const auto known = one != nullptr ? before_loop(nodes, *one, *here) : std::nullopt;
      if (known) *one = *known;
      return one == nullptr || known;
    };
    if (auto* move = std::get_if<Move>(&instruction.action)) {
      const auto* form = std::get_if<program::Affine>(&move->source);
      const bool stays = form == nullptr || coefficient(*form, variable_) == 0;
      if (!stays || !is_known(move->source)) return std::nullopt;
      return computed_before(instruction, move->destination);
    }
    auto* compute = std::get_if<Compute>(&instruction.action);
    if (compute == nullptr || compute->indexed || !std::ranges::all_of(compute->operands, is_known))
      return std::nullopt;
    return computed_before(instruction, compute->destination);
  }

  /// A slot like another that holds a number before the loop.
  SlotRef known_before(const Constant& number, const SlotRef& like) {
    Instruction instruction{Move{like, number}, {}};
    return computed_before(instruction, std::get<Move>(instruction.action).destination);
  }

  /// The slot that holds what an instruction before the loop makes; one of its own. `destination` is the instruction's.
  SlotRef computed_before(const Instruction& instruction, SlotRef& destination) {
    auto slot = class_.slots[destination.slot.index()];
    for (const auto& node : before_) {
      each_reference(node.instruction, [](const SlotRef&) {}, [&](const SlotRef& one) { destination = one; });
      if (node.instruction.action == instruction.action && dtype(destination) == slot.dtype)
        return destination;
    }
    destination = {SlotId(class_.slots.size()), {}, {}};
    class_.slots.push_back(std::move(slot));
    before_.push_back({instruction});
    return destination;
  }

  /// Bounds what the choice at `at` needs, if that is one; returns where that is then.
  std::optional<std::size_t> bound_choice(Nodes& nodes, std::size_t at) {
    const auto* where = action_at<Compute>(nodes, at);
    if (where == nullptr || where->op != Op::where || where->indexed || !is_scalar(where->destination))
      return std::nullopt;
    const auto slots = class_.slots.size();
    const auto known = before_.size();
    auto bounds = bounds_of(nodes, where->operands[0], at);
    if (bounds) {
      if (const auto place = within(nodes, at, *bounds)) return place;
    }
    class_.slots.erase(class_.slots.begin() + static_cast<std::ptrdiff_t>(slots), class_.slots.end());
    before_.erase(before_.begin() + static_cast<std::ptrdiff_t>(known), before_.end());
    return std::nullopt;
  }

  std::optional<std::size_t> within(Nodes& nodes, std::size_t at, const std::vector<DataBound>& bounds) {
    const Compute where = std::get<Compute>(nodes[at].instruction.action);
    const Operand &chosen = where.operands[1], &other = where.operands[2];
    if (chosen == other) return std::nullopt;
    if (const auto sum = sum_of(nodes, where, at)) {
      const Compute add = std::get<Compute>(nodes[*sum].instruction.action);
      const auto taken = needed_by(nodes, where, at, *sum);
      nodes[*sum] = branch_of(nodes, taken, at, bounds,
                              Compute{Op::add, 0, {add.destination, chosen}, add.destination});
      return *sum - erase(nodes, taken, at);
    }
    const bool in_place = other == Operand(where.destination);
    const auto* from = std::get_if<SlotRef>(&chosen);
    if (from != nullptr && from->slot == where.destination.slot) return std::nullopt;
    const auto taken = needed_by(nodes, where, at, at);
    auto branch = branch_of(nodes, taken, at, bounds, Move{where.destination, source(chosen)});
    if (!in_place && is_read_first(branch.held, where.destination.slot)) return std::nullopt;
    if (in_place) {
      nodes[at] = std::move(branch);
    } else {
      nodes[at].instruction.action = Move{where.destination, source(other)};
      nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(++at), std::move(branch));
    }
    return at - erase(nodes, taken, std::nullopt);
  }

  /// Within bounds what is computed for the choice at `at` alone, other choices by its condition as of one that holds, and an
  /// instruction that takes it.
  Node branch_of(const Nodes& nodes, const std::vector<std::size_t>& taken, std::size_t at,
                 const std::vector<DataBound>& bounds, program::Action last) const {
    const auto span = nodes[at].instruction.span;
    Nodes held;
    for (const auto n : taken) {
      held.push_back(nodes[n]);
      if (chooses_alike(nodes, n, at))
        std::get<Compute>(held.back().instruction.action).operands[0] = Constant{1};
    }
    const auto* move = std::get_if<Move>(&last);
    auto* made = held.empty() ? nullptr : std::get_if<Compute>(&held.back().instruction.action);
    const bool adds = made != nullptr && made->op == Op::add;  // a sum's last instruction is its own
    if (move != nullptr && made != nullptr && !adds && move->source == Move::Source(made->destination)) {
      made->destination = move->destination;
    } else {
      held.push_back({{std::move(last), span}});
    }
    remove_unused(held, held.size() - 1);
    return {{program::If{program::Disjunction{program::Conjunction{}}, bounds}, span}, std::move(held)};
  }
  static Move::Source source(const Operand& operand) {
    return std::visit([](const auto& value) { return Move::Source(value); }, operand);
  }

  /// Tells whether the node at `n` is a choice by the condition of the one at `at`, after it.
  static bool chooses_alike(const Nodes& nodes, std::size_t n, std::size_t at) {
    const auto* one = action_at<Compute>(nodes, n);
    const auto& other = std::get<Compute>(nodes[at].instruction.action);
    if (one == nullptr || one->op != Op::where || one->indexed || one->operands[0] != other.operands[0])
      return false;
    const auto* condition = std::get_if<SlotRef>(&one->operands[0]);
    return condition != nullptr && writer(nodes, *condition, n) == writer(nodes, *condition, at);
  }

  /// Erases nodes in ascending order, and another behind them. Returns how many.
  static std::size_t erase(Nodes& nodes, std::vector<std::size_t> gone, std::optional<std::size_t> last) {
    if (last) gone.push_back(*last);
    for (auto n = gone.rbegin(); n != gone.rend(); ++n)
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(*n));
    return gone.size();
  }

  /// The sum in place that alone takes a choice between a term and nothing.
  [[nodiscard]] std::optional<std::size_t> sum_of(const Nodes& nodes, const Compute& where,
                                                  std::size_t at) const {
    const auto& term = where.destination;
    const auto* other = std::get_if<Constant>(&where.operands[2]);
    if (!is_local(term) || other == nullptr || !operators::is_neutral(*other, dtype(term)))
      return std::nullopt;
    const auto use = only_use(nodes, term, at);
    const auto* add = action_at<Compute>(nodes, use);
    const bool fits = add != nullptr && add->op == Op::add && add->flags == 0 && !add->indexed &&
                      add->operands[0] == Operand(add->destination) && add->operands[1] == Operand(term) &&
                      add->destination.slot != term.slot && dtype(add->destination) == dtype(term) &&
                      is_scalar(add->destination);
    return fits ? use : std::nullopt;
  }

  /// The one node after `at` that reads what is written there.
  static std::optional<std::size_t> only_use(const Nodes& nodes, const SlotRef& reference, std::size_t at) {
    std::optional<std::size_t> use;
    for (std::size_t n = at + 1; n < nodes.size(); ++n) {
      if (reads_inside(nodes[n], reference.slot)) {
        if (use || nodes[n].is_control()) return std::nullopt;
        use = n;
      }
      if (writes_inside(nodes[n], reference.slot)) {
        if (nodes[n].is_control()) return std::nullopt;
        break;
      }
    }
    return use;
  }

  /// The nodes that compute only what the choice at `at` chooses, and may do so at `place`, ascending.
  [[nodiscard]] std::vector<std::size_t> needed_by(const Nodes& nodes, const Compute& where, std::size_t at,
                                                   std::size_t place) const {
    const auto* other = std::get_if<SlotRef>(&where.operands[2]);
    std::vector<std::size_t> taken;
    std::vector<std::pair<SlotRef, std::size_t>> wanted;
    const auto want = [&](const Operand& operand, std::size_t reader) {
      if (const auto* reference = std::get_if<SlotRef>(&operand)) wanted.emplace_back(*reference, reader);
    };
    want(where.operands[1], at);
    while (!wanted.empty()) {
      const auto [reference, reader] = wanted.back();
      wanted.pop_back();
      if (!is_local(reference)) continue;
      const auto here = writer(nodes, reference, reader);
      if (!here || only_use(nodes, reference, *here) != std::optional(reader)) continue;
      const auto& instruction = nodes[*here].instruction;
      const auto* compute = std::get_if<Compute>(&instruction.action);
      const auto* move = std::get_if<Move>(&instruction.action);
      const bool changes = compute != nullptr && compute->indexed &&
                           (compute->op != Op::copy || compute->indexed->scatters);  // elements, or a sum
      const bool is_certain =
          compute != nullptr && compute->op == Op::where &&
          std::holds_alternative<Constant>(compute->operands[0]);  // not by this condition
      if ((compute == nullptr && move == nullptr) || changes || is_certain ||
          (compute != nullptr && may_fail(*compute) && !is_guarded(nodes, *here, at)) ||
          (other != nullptr && writes(instruction, other->slot)))
        continue;
      if (!stays(nodes, *here, place, taken, at)) continue;
      taken.push_back(*here);
      if (move != nullptr) {
        if (const auto* source = std::get_if<SlotRef>(&move->source)) want(*source, *here);
      } else {
        for (const auto& operand : compute->operands) want(operand, *here);
        if (compute->indexed) want(compute->indexed->number, *here);
      }
    }
    std::ranges::sort(taken);
    return taken;
  }

  /// Tells whether an operator may refuse its operands, as it then has to of elements that are not chosen too.
  [[nodiscard]] bool may_fail(const Compute& compute) const {
    return compute.op == Op::normalize_index || (compute.flags & operators::checked) != 0 ||
           (compute.op == Op::power && !operators::is_floating(dtype(compute.destination)));
  }

  /// Tells whether the index that is checked at `n` is one that never fails where the choice at `at` is not taken.
  [[nodiscard]] static bool is_guarded(const Nodes& nodes, std::size_t n, std::size_t at) {
    const auto& check = std::get<Compute>(nodes[n].instruction.action);
    if (check.op != Op::normalize_index || check.indexed) return false;
    const auto* index = std::get_if<SlotRef>(&check.operands[0]);
    const auto made = index != nullptr ? writer(nodes, *index, n) : std::nullopt;
    if (!made || !chooses_alike(nodes, *made, at)) return false;
    const auto other =
        constant_of(nodes, std::get<Compute>(nodes[*made].instruction.action).operands[2], *made);
    const auto size = constant_of(nodes, check.operands[1], n);
    return other && size && *other >= 0 && *other < *size;
  }

  /// The whole number that an operand read at `at` is in any case.
  [[nodiscard]] static std::optional<std::int64_t> constant_of(const Nodes& nodes, const Operand& operand,
                                                               std::size_t at) {
    if (const auto* number = std::get_if<Constant>(&operand)) return number->integer();
    const auto made = writer(nodes, std::get<SlotRef>(operand), at);
    if (const auto* compute = action_at<Compute>(nodes, made))
      return compute->op == Op::to_int64 && !compute->indexed
                 ? constant_of(nodes, compute->operands[0], *made)
                 : std::nullopt;
    const auto* move = action_at<Move>(nodes, made);
    const auto* number = move != nullptr ? std::get_if<Constant>(&move->source) : nullptr;
    return number != nullptr ? constant_of(nodes, *number, *made) : std::nullopt;
  }

  /// Tells whether the instruction at `from` does the same behind those up to `place`: none of them writes what it reads, nor
  /// touches what it writes, but those that go with it, and the choice at `at`.
  [[nodiscard]] static bool stays(const Nodes& nodes, std::size_t from, std::size_t place,
                                  const std::vector<std::size_t>& taken, std::size_t at) {
    bool result = true;
    for (std::size_t n = from + 1; n < place; ++n) {
      if (n == at || std::ranges::find(taken, n) != taken.end()) continue;
      each_reference(
          nodes[from].instruction,
          [&](const SlotRef& one) { result = result && !writes_inside(nodes[n], one.slot); },
          [&](const SlotRef& one) { result = result && !touches(nodes[n], one.slot); });
    }
    return result;
  }

  /// Removes what computes values, before a place of a block, that nobody reads in it.
  void remove_unused(Nodes& nodes, std::size_t end) const {
    for (std::size_t at = end; at-- > 0;) {
      const auto* compute = action_at<Compute>(nodes, at);
      const auto* move = action_at<Move>(nodes, at);
      if (compute == nullptr && move == nullptr) continue;
      const auto& to = compute != nullptr ? compute->destination : move->destination;
      if (!is_local(to) || is_read_after(nodes, to.slot, at)) continue;
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  static bool is_read_after(const Nodes& nodes, SlotId slot, std::size_t at) {
    for (std::size_t n = at + 1; n < nodes.size(); ++n) {
      if (reads(nodes[n].instruction, slot) || is_read_first(nodes[n].held, slot)) return true;
      if (writes(nodes[n].instruction, slot)) return false;
    }
    return false;
  }
  /// Tells whether a block may read what a slot holds before it.
  static bool is_read_first(const Nodes& block, SlotId slot) {
    for (const auto& node : block) {
      if (reads(node.instruction, slot) || is_read_first(node.held, slot)) return true;
      if (writes(node.instruction, slot)) return false;
    }
    return false;
  }

  [[nodiscard]] bool is_local(const SlotRef& reference) const {
    return local_.contains(reference.slot.index());
  }
  [[nodiscard]] operators::DType dtype(const SlotRef& reference) const {
    return class_.slots[reference.slot.index()].dtype;
  }
  [[nodiscard]] bool is_scalar(const SlotRef& reference) const {
    return class_.slots[reference.slot.index()].tile == operators::Shape{};
  }
  [[nodiscard]] bool is_number(const SlotRef& reference) const {
    return is_scalar(reference) && dtype(reference) == operators::DType::int64;
  }

  program::PeClass& class_;
  std::size_t dimensions_;
  bool may_end_;  ///< Some loop of the program may.
  Nodes code_;
  std::set<std::size_t> local_;
  std::set<std::size_t> written_;  ///< Slots that are before the node in hand, in any case.
  std::size_t given_slots_;        ///< The others are of what was taken out of loops.
  std::size_t variable_ = 0;       ///< Of the loop in hand.
  const Node* loop_ = nullptr;
  Nodes before_;  ///< Its own numbers, to compute first.
  bool changed_ = false;
};

}  // namespace

program::Program bound_iterations(const program::Program& program) {
  auto result = program;
  for (auto& pe_class : result.classes)
    ClassBounder(pe_class, program.grid.size(), !program.exit_plans.empty()).run();
  return result;
}

}  // namespace cyclotron::codegen
