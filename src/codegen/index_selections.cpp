#include <cyclotron/codegen/index_selections.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <cyclotron/operators/operators.hpp>

#include "code_tree.hpp"
#include "interchange.hpp"
#include "visit_forms.hpp"

namespace cyclotron::codegen {

namespace {

using program::Affine;
using program::Compute;
using program::Constant;
using program::Indexed;
using program::Instruction;
using program::Loop;
using program::Move;
using program::Op;
using program::Operand;
using program::SlotId;
using program::SlotRef;

/// a + factor * b.
Affine sum(const Affine& a, const Affine& b, std::int64_t factor = 1) {
  Affine result{a.coefficients, a.constant + factor * b.constant};
  result.coefficients.resize(std::max(a.coefficients.size(), b.coefficients.size()), 0);
  for (std::size_t v = 0; v < b.coefficients.size(); ++v)
    result.coefficients[v] += factor * b.coefficients[v];
  trim(result);
  return result;
}

Affine plus(Affine form, std::int64_t constant) {
  form.constant += constant;
  return form;
}

/// The form with the variable, which no later one follows, replaced.
Affine substitute(const Affine& form, std::size_t variable, const Affine& by) {
  const std::int64_t own = coefficient(form, variable);
  Affine rest = form;
  if (own != 0) rest.coefficients[variable] = 0;
  return sum(rest, by, own);
}

/// The number by which a form exceeds another, if it is one.
std::optional<std::int64_t> difference(const Affine& form, const Affine& other) {
  const auto result = sum(form, other, -1);
  return result.coefficients.empty() ? std::optional(result.constant) : std::nullopt;
}

/// One term: the table's element where the number is the form's value, else the neutral one; or the value, which the
/// element of that number gets.
struct Term {
  std::vector<std::size_t> nodes;  ///< Its instructions, in order.
  SlotRef number;
  Affine form;
  Operand value;
  SlotRef destination;
  Constant neutral;
  std::optional<Operand> base{};  ///< The value that it is added to; else it is assigned.
  bool overwrites = false;        ///< The base is what the other elements get, instead of the neutral one.
  std::optional<SlotRef> flag{};  ///< Without it nothing is overwritten.
  [[nodiscard]] bool in_place() const { return base == Operand(destination); }
  [[nodiscard]] bool adds() const { return in_place() && !overwrites; }
  [[nodiscard]] const SlotRef* table() const { return std::get_if<SlotRef>(&value); }
  /// The instruction that takes the table's element.
  [[nodiscard]] std::size_t read() const { return nodes[2]; }
  [[nodiscard]] std::size_t last() const { return nodes.back(); }
};

class ClassIndexer {
 public:
  ClassIndexer(const program::Program& program, const program::PeClass& pe_class)
      : program_(program), slots_(pe_class.slots), dimensions_(program.grid.size()) {
    code_ = tree_of(pe_class.code);
    local_ = local_slots(code_, slots_);
  }

  [[nodiscard]] const std::vector<program::Slot>& slots() const { return slots_; }

  std::optional<std::vector<Instruction>> run() {
    index(code_, dimensions_);
    if (!changed_) return std::nullopt;
    local_ = local_slots(code_, slots_);  // sums that loops held are
    join(code_, dimensions_);
    return code_of(code_);
  }

 private:
  /// `variables`: how many a form may name in the block.
  void index(Nodes& nodes, std::size_t variables) {
    for (auto& node : nodes) {
      const bool is_loop = std::holds_alternative<Loop>(node.instruction.action);
      index(node.held, variables + (is_loop ? 1 : 0));
    }
    variables_ = variables;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      sink(nodes, at, variables);
      if (auto joined = join_rows(nodes[at], variables)) {
        nodes[at] = std::move(*joined);
        changed_ = true;
        continue;
      }
      auto found = take_out(nodes, at, variables);
      if (!found) continue;
      changed_ = true;
      const std::size_t place = found->goes_before || nodes[at].held.empty() ? at : at + 1;
      if (nodes[at].held.empty()) {
        nodes[at] = std::move(found->node);
      } else {
        keep_last(nodes[at], variables);
        nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(place), std::move(found->node));
      }
      if (!std::get<Compute>(nodes[place].instruction.action).indexed->scatters) widen(nodes, place);
      if (found->number)
        nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(place), std::move(*found->number));
      at = static_cast<std::size_t>(-1);  // the loop may have another, and places have changed
    }
  }

  /// Of a loop that moves elements of a slot into one and does nothing else, keeps the last iteration.
  static void keep_last(Node& node, std::size_t variable) {
    const auto& loop = std::get<Loop>(node.instruction.action);
    auto* move = node.held.size() == 1 ? std::get_if<Move>(&node.held[0].instruction.action) : nullptr;
    auto* source = move != nullptr ? std::get_if<SlotRef>(&move->source) : nullptr;
    if (source == nullptr || depends_on(move->destination, variable) || source->wrap.modulus != 0 ||
        source->slot == move->destination.slot)
      return;
    const auto& last = loop.upper[0].numerator;
    if (difference(last, loop.lower[0].numerator).value_or(-1) < 0) return;  // it may have no iteration
    source->index = substitute(source->index, variable, last);
    Node kept = std::move(node.held[0]);
    node = std::move(kept);
  }

  /// Takes the loop of a table's elements into those of the numbers, where it can be left out there: `for j: for i:` as
  /// `for i: for j:`, each number with all elements. What fills the table then is a loop before it.
  void sink(Nodes& nodes, std::size_t at, std::size_t variables) {
    const bool changed = changed_;
    const auto slots = slots_;
    const auto kept = kept_;
    auto parts = distributed(with_table(nodes[at], variables), variables, local_);
    const bool fits = slots_ == slots || has_room();
    const Node& node = parts ? parts->second : nodes[at];
    if (auto inner = interchanged(node, variables, local_)) {
      index(inner->held, variables + 1);
      variables_ = variables;
      if (depth(*inner) < depth(node) && fits) {
        nodes[at] = std::move(*inner);
        if (parts) nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(at), std::move(parts->first));
        return;
      }
    }
    changed_ = changed;
    slots_ = slots;
    kept_ = kept;
  }

  /// Elements of a table that go by, each in the same place, in slots of their own.
  struct Kept {
    SlotId slot;
    std::int64_t first = 0;  ///< The value of a loop for which the first one lies there.
  };

  /// A loop that ends with one over the numbers, which has each element that it gets before in a place of its own.
  Node with_table(const Node& node, std::size_t variable) {
    const auto* loop = std::get_if<Loop>(&node.instruction.action);
    if (!is_simple(loop) || node.held.size() < 2 || machine::has_banks(program_.machine.pe)) return node;
    const auto first = least(loop->lower[0].numerator), last = most(loop->upper[0].numerator);
    Node result = node;
    Node& inner = result.held.back();
    if (!first || !last || *last < *first || !std::holds_alternative<Loop>(inner.instruction.action))
      return node;
    for (std::size_t n = 0; n + 1 < node.held.size(); ++n) {
      std::optional<SlotRef> element;
      each_reference(
          node.held[n].instruction, [](const SlotRef&) {}, [&](const SlotRef& to) { element = to; });
      if (!element || local_.contains(element->slot.index()) || !is_scalar(element->slot) ||
          depends_on(*element, variable) || element->wrap.modulus != 0 || !reads_inside(inner, element->slot))
        continue;
      const auto place = place_of(element->slot, {*first, *last}, variable);
      replace(inner, *element, place);
      const Node move{{Move{place, *element}, node.held[n].instruction.span}};
      result.held.insert(result.held.end() - 1, move);
    }
    return result;
  }

  /// The place of the element that comes through a slot in an iteration of a loop.
  SlotRef place_of(SlotId through, std::pair<std::int64_t, std::int64_t> values, std::size_t variable) {
    auto found = kept_.find(through.index());
    if (found == kept_.end() || values.first < found->second.first) {
      slots_.push_back(slots_[through.index()]);
      slots_.back().count = 0;
      found = kept_.insert_or_assign(through.index(), Kept{SlotId(slots_.size() - 1), values.first}).first;
    }
    const auto& [slot, first] = found->second;
    auto& count = slots_[slot.index()].count;
    count = std::max(count, values.second - first + 1);
    SlotRef result{slot, {}, {}};
    result.index.coefficients.resize(variable + 1, 0);
    result.index.coefficients[variable] = 1;
    result.index.constant = -first;
    return result;
  }

  static void replace(Node& node, const SlotRef& element, const SlotRef& by) {
    if (auto* move = std::get_if<Move>(&node.instruction.action)) {
      if (move->source == Move::Source(element)) move->source = by;
    }
    if (auto* compute = std::get_if<Compute>(&node.instruction.action)) {
      std::ranges::replace(compute->operands, Operand(element), Operand(by));
    }
    for (auto& held : node.held) replace(held, element, by);
  }

  /// The least and the most that a form of the PE's coordinates alone may be; none of others.
  [[nodiscard]] std::optional<std::int64_t> least(const Affine& form) const { return extreme(form, false); }
  [[nodiscard]] std::optional<std::int64_t> most(const Affine& form) const { return extreme(form, true); }
  [[nodiscard]] std::optional<std::int64_t> extreme(const Affine& form, bool most) const {
    std::int64_t result = form.constant;
    for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
      const auto factor = form.coefficients[v];
      if (factor != 0 && v >= dimensions_) return std::nullopt;
      if ((factor > 0) == most && factor != 0) result += factor * (program_.grid[v] - 1);
    }
    return result;
  }

  /// Tells whether all slots, side by side, leave a quarter of the memory of a PE to other data.
  [[nodiscard]] bool has_room() const {
    std::int64_t bytes = 0;
    for (const auto& slot : slots_)
      bytes += slot.words() * static_cast<std::int64_t>(operators::size_bytes(slot.dtype));
    return bytes <= program_.machine.pe.memory_bytes / 4 * 3;
  }

  /// Of the loops in each other.
  static std::size_t depth(const Node& node) {
    std::size_t most = 0;
    for (const auto& held : node.held) most = std::max(most, depth(held));
    return most + (std::holds_alternative<Loop>(node.instruction.action) ? 1 : 0);
  }

  /// Joins instructions that read elements with those next to them, and with their loops over rows.
  void join(Nodes& nodes, std::size_t variables) {
    for (auto& node : nodes) {
      join(node.held, variables + (std::holds_alternative<Loop>(node.instruction.action) ? 1 : 0));
      if (auto joined = join_rows(node, variables)) node = std::move(*joined);
    }
    for (std::size_t at = 0; at + 1 < nodes.size(); ++at) {
      while (at + 1 < nodes.size() && (take_along(nodes, at) || go_on(nodes, at)))
        nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
  }

  /// The element that an instruction reads of a table; none of others.
  static SlotRef* element_read(Node& node) {
    auto* compute = std::get_if<Compute>(&node.instruction.action);
    if (compute == nullptr || !compute->indexed || compute->indexed->scatters) return nullptr;
    return std::get_if<SlotRef>(&compute->operands.back());
  }

  /// Has the instruction at `at`, which reads an element, do what the next alone does with it: add it or hand it on.
  [[nodiscard]] bool take_along(Nodes& nodes, std::size_t at) const {
    const auto* element = element_read(nodes[at]);
    if (element == nullptr) return false;
    auto& taken = std::get<Compute>(nodes[at].instruction.action);
    if (taken.op != Op::copy || !is_local(taken.destination) ||
        use_of(nodes, taken.destination, at) != std::optional(at + 1))
      return false;
    const auto& next = nodes[at + 1].instruction.action;
    const auto* move = std::get_if<Move>(&next);
    const auto* add = std::get_if<Compute>(&next);
    const bool adds = add != nullptr && add->op == Op::add && !add->indexed &&
                      add->operands[0] == Operand(add->destination) &&
                      add->operands[1] == Operand(taken.destination);
    if (move == nullptr && !adds) return false;
    const SlotRef to = move != nullptr ? move->destination : add->destination;
    if (to.slot == element->slot || to.slot == taken.indexed->number.slot ||
        slots_[to.slot.index()].dtype != slots_[taken.destination.slot.index()].dtype)
      return false;
    if (adds) {
      taken.op = Op::add;
      taken.operands.insert(taken.operands.begin(), to);
    }
    taken.destination = to;
    return true;
  }

  /// Widens the instruction at `at`, which reads an element, to the numbers of the next, which go on with its own.
  static bool go_on(Nodes& nodes, std::size_t at) {
    const auto *first = element_read(nodes[at]), *second = element_read(nodes[at + 1]);
    if (first == nullptr || second == nullptr) return false;
    auto& one = std::get<Compute>(nodes[at].instruction.action);
    const auto& other = std::get<Compute>(nodes[at + 1].instruction.action);
    const auto count = difference(one.indexed->upper, one.indexed->lower);
    auto expected = *one.indexed;
    expected.lower = other.indexed->lower;
    expected.upper = other.indexed->upper;
    if (!count || other.op != Op::add || other.destination != one.destination || *other.indexed != expected ||
        first->slot != second->slot || first->wrap.modulus != 0 || second->wrap.modulus != 0 ||
        plus(one.indexed->upper, 1) != other.indexed->lower ||
        plus(first->index, one.indexed->stride * (*count + 1)) != second->index)
      return false;
    one.indexed->upper = other.indexed->upper;
    return true;
  }

  /// The term whose comparison is at `at`; of a value that was moved from elsewhere the one before, or as it was moved.
  enum class Value { before, moved };
  [[nodiscard]] std::optional<Term> term_at(const Nodes& nodes, std::size_t at, Value value) const {
    const auto* equal = std::get_if<Compute>(&nodes[at].instruction.action);
    if (equal == nullptr || equal->op != Op::equal || equal->indexed) return std::nullopt;
    const auto* number = std::get_if<SlotRef>(&equal->operands[0]);
    const auto* place = std::get_if<SlotRef>(&equal->operands[1]);
    if (number == nullptr || place == nullptr || !is_local(*place) || !is_local(equal->destination))
      return std::nullopt;
    if (at == 0 || slots_[number->slot.index()].dtype != operators::DType::int64 || !is_scalar(number->slot))
      return std::nullopt;
    const auto* move = std::get_if<Move>(&nodes[at - 1].instruction.action);
    if (move == nullptr || !(move->destination == *place) || !std::holds_alternative<Affine>(move->source))
      return std::nullopt;
    const auto chosen = use_of(nodes, equal->destination, at);
    if (!chosen || !is_used_once(nodes, *place, at - 1, at)) return std::nullopt;
    const auto* where = std::get_if<Compute>(&nodes[*chosen].instruction.action);
    if (where == nullptr || where->op != Op::where || !(where->operands[0] == Operand(equal->destination)))
      return std::nullopt;
    Term term{{at - 1, at, *chosen},
              *number,
              std::get<Affine>(move->source),
              value == Value::moved ? where->operands[1] : moved_from(nodes, where->operands[1], *chosen),
              where->destination,
              {}};
    const auto* other = std::get_if<Constant>(&where->operands[2]);
    term.overwrites =
        other == nullptr || !operators::is_neutral(*other, slots_[where->destination.slot.index()].dtype);
    if (term.overwrites) {
      term.base = where->operands[2];
    } else {
      term.neutral = *other;
    }
    if (!is_scalar(where->destination.slot)) return std::nullopt;
    if (!term.overwrites && is_local(where->destination)) {
      if (const auto added = use_of(nodes, where->destination, *chosen)) {
        const auto* add = std::get_if<Compute>(&nodes[*added].instruction.action);
        if (add != nullptr && add->op == Op::add && !add->indexed &&
            add->operands[1] == Operand(where->destination) &&
            add->destination.slot != where->destination.slot) {
          term.nodes.push_back(*added);
          term.destination = add->destination;
          term.base = add->operands[0];
        }
      }
    }
    if (term.overwrites && is_local(where->destination)) {
      if (const auto last = use_of(nodes, where->destination, *chosen)) {
        const auto* either = std::get_if<Compute>(&nodes[*last].instruction.action);
        if (either != nullptr && either->op == Op::where && !either->indexed &&
            either->operands[1] == Operand(where->destination) && either->operands[2] == *term.base) {
          const auto* base = std::get_if<SlotRef>(&*term.base);
          const auto flag = flag_of(nodes, either->operands[0], *last);
          if (flag == Operand(Constant{0}) || (base != nullptr && changes(nodes, *base, *chosen, *last)))
            return std::nullopt;
          term.nodes.push_back(*last);
          term.destination = either->destination;
          if (const auto* slot = std::get_if<SlotRef>(&flag)) term.flag = *slot;
        }
      }
    }
    const auto* table = term.table();
    if (table != nullptr && (!is_scalar(table->slot) || table->slot == term.destination.slot))
      return std::nullopt;
    if (number->slot == term.destination.slot) return std::nullopt;
    return term;
  }

  /// The instruction before `at` in its block that last wrote an operand, if it moved the operand's value there.
  static std::optional<std::size_t> move_to(const Nodes& nodes, const SlotRef& operand, std::size_t at) {
    for (auto n = at; n-- > 0 && !nodes[n].is_control();) {
      if (!writes(nodes[n].instruction, operand.slot)) continue;
      const auto* move = std::get_if<Move>(&nodes[n].instruction.action);
      return move != nullptr && move->destination == operand ? std::optional(n) : std::nullopt;
    }
    return std::nullopt;
  }

  /// The element of another slot that a scalar operand of the instruction at `at` was moved from in its block, if both
  /// still are the same; else the operand.
  static Operand moved_from(const Nodes& nodes, const Operand& operand, std::size_t at) {
    const auto* own = std::get_if<SlotRef>(&operand);
    const auto place = own != nullptr ? move_to(nodes, *own, at) : std::nullopt;
    if (!place) return operand;
    const auto* source = std::get_if<SlotRef>(&std::get<Move>(nodes[*place].instruction.action).source);
    return source == nullptr || changes(nodes, *source, *place, at) ? operand : Operand(*source);
  }

  /// The operand that tells an instruction at `at` to overwrite: the same before the loop, if it does not change there.
  static Operand flag_of(const Nodes& nodes, const Operand& operand, std::size_t at) {
    const auto* own = std::get_if<SlotRef>(&operand);
    const auto place = own != nullptr ? move_to(nodes, *own, at) : std::nullopt;
    const auto* constant =
        place ? std::get_if<Constant>(&std::get<Move>(nodes[*place].instruction.action).source) : nullptr;
    return constant != nullptr ? Operand(*constant) : moved_from(nodes, operand, at);
  }

  [[nodiscard]] bool is_local(const SlotRef& reference) const {
    return local_.contains(reference.slot.index());
  }
  [[nodiscard]] bool is_scalar(SlotId slot) const { return slots_[slot.index()].tile == operators::Shape{}; }

  /// The one instruction after `at` in its block that reads the slot before it is written again.
  static std::optional<std::size_t> use_of(const Nodes& nodes, const SlotRef& reference, std::size_t at) {
    for (std::size_t n = at + 1; n < nodes.size(); ++n) {
      if (nodes[n].is_control()) return std::nullopt;
      if (reads(nodes[n].instruction, reference.slot))
        return is_used_once(nodes, reference, at, n) ? std::optional(n) : std::nullopt;
      if (writes(nodes[n].instruction, reference.slot)) return std::nullopt;
    }
    return std::nullopt;
  }
  /// Nothing reads what is written at `at` but the instruction `use`; blocks in between write before they read.
  static bool is_used_once(const Nodes& nodes, const SlotRef& reference, std::size_t at, std::size_t use) {
    for (std::size_t n = at + 1; n < nodes.size(); ++n) {
      if (n != use && reads(nodes[n].instruction, reference.slot)) return false;
      if (writes(nodes[n].instruction, reference.slot)) return true;
    }
    return true;
  }

  static bool is_simple(const Loop* loop) {
    return loop != nullptr && loop->step == 1 && loop->lower.size() == 1 && loop->upper.size() == 1 &&
           loop->lower[0].divisor == 1 && loop->upper[0].divisor == 1;
  }

  /// A loop over the rows of a table, in each of which the numbers go on, as one instruction on the element in all rows.
  [[nodiscard]] std::optional<Node> join_rows(const Node& node, std::size_t variable) const {
    const auto* loop = std::get_if<Loop>(&node.instruction.action);
    if (!is_simple(loop) || node.held.size() != 1) return std::nullopt;
    const auto* row = std::get_if<Compute>(&node.held[0].instruction.action);
    if (row == nullptr || !row->indexed) return std::nullopt;
    Compute whole = *row;
    Indexed& all = *whole.indexed;
    if (row->op == Op::copy && !all.scatters) return std::nullopt;  // what the last row tells
    const auto* last = std::get_if<SlotRef>(&whole.operands.back());
    SlotRef element = all.scatters ? whole.destination : *last;
    const auto* other = all.scatters ? last : &whole.destination;
    const std::int64_t length = coefficient(all.lower, variable);
    if (length <= 0 || coefficient(element.index, variable) != all.stride * length ||
        difference(all.upper, all.lower) != length - 1 || element.wrap.modulus != 0 ||
        depends_on(all.number, variable) || (other != nullptr && depends_on(*other, variable)) ||
        (other != nullptr && other->slot == element.slot))
      return std::nullopt;
    all.lower = substitute(all.lower, variable, loop->lower[0].numerator);
    all.upper = substitute(all.upper, variable, loop->upper[0].numerator);
    element.index = substitute(element.index, variable, loop->lower[0].numerator);
    if (all.scatters) whole.destination = element;
    if (!all.scatters) whole.operands.back() = element;
    if (all.scatters && whole.op == Op::add) whole.operands.front() = element;
    return Node{{std::move(whole), node.held[0].instruction.span}};
  }

  struct Taken {
    Node node;
    std::optional<Node> number{};  ///< Before it: the number, or none that there is.
    bool goes_before = false;      ///< The loop, which may need the sums.
  };
  /// The terms of a loop as one instruction, which then is no longer in it.
  std::optional<Taken> take_out(Nodes& nodes, std::size_t place, std::size_t variable) {
    auto& node = nodes[place];
    const auto* loop = std::get_if<Loop>(&node.instruction.action);
    if (!is_simple(loop) || std::ranges::any_of(node.held, [](const Node& held) {
          return held.is_control() || std::holds_alternative<program::Exit>(held.instruction.action);
        }))
      return std::nullopt;
    for (std::size_t at = 0; at < node.held.size(); ++at) {
      auto term = term_at(node.held, at, Value::before);
      if (term && term->flag && depends_on(*term->flag, variable))
        term->flag = filled_with(nodes, place, *term->flag, variable).value_or(*term->flag);
      bool gathers = term && is_apart(node.held, *term, variable);
      // A loop may keep as a table the elements that it computes.
      auto kept = gathers ? std::nullopt : term_at(node.held, at, Value::moved);
      if (kept && is_apart(node.held, *kept, variable)) {
        term = std::move(kept);
        gathers = true;
      }
      if (!gathers && !(term && may_scatter(node.held, *term, variable))) continue;
      const auto& first = loop->lower[0].numerator;
      const auto& last = loop->upper[0].numerator;
      SlotRef element = gathers ? *term->table() : term->destination;
      Indexed indexed{term->number,
                      substitute(term->form, variable, first),
                      substitute(term->form, variable, last),
                      coefficient(element.index, variable),
                      !gathers,
                      term->neutral};
      element.index = substitute(element.index, variable, first);
      const auto& to = gathers ? term->destination : element;
      const auto span = node.held[term->last()].instruction.span;
      Compute compute{Op::add, 0, {to, gathers ? Operand(element) : term->value}, to, std::move(indexed)};
      if (overwrites(*term)) {
        compute.op = Op::copy;
        compute.operands.erase(compute.operands.begin());
      }
      const bool goes_before = gathers ? changes_later(node.held, *term) : term->in_place();
      const bool first_copies = !gathers && !goes_before;
      if (first_copies) {
        const auto source = std::visit([](const auto& value) { return Move::Source(value); }, base_of(*term));
        node.held[term->last()].instruction.action = Move{term->destination, source};
      }
      for (auto one = term->nodes.rbegin() + (first_copies ? 1 : 0); one != term->nodes.rend(); ++one)
        node.held.erase(node.held.begin() + static_cast<std::ptrdiff_t>(*one));
      std::optional<Node> number;
      if (term->flag) {
        number = Node{{number_or_none(*term), span}};
        compute.indexed->number = std::get<Compute>(number->instruction.action).destination;
      }
      return Taken{{{std::move(compute), span}}, std::move(number), goes_before};
    }
    return std::nullopt;
  }

  /// The value with which a loop before the one at `place` has filled all elements that this one reads, if they and it still
  /// are the same.
  static std::optional<SlotRef> filled_with(const Nodes& nodes, std::size_t place, const SlotRef& element,
                                            std::size_t variable) {
    if (writes_inside(nodes[place], element.slot)) return std::nullopt;
    for (auto n = place; n-- > 0;) {
      if (!writes_inside(nodes[n], element.slot)) continue;
      const auto* fill = std::get_if<Loop>(&nodes[n].instruction.action);
      const auto& own = std::get<Loop>(nodes[place].instruction.action);
      if (!is_simple(fill) || difference(own.lower[0].numerator, fill->lower[0].numerator).value_or(-1) < 0 ||
          difference(fill->upper[0].numerator, own.upper[0].numerator).value_or(-1) < 0)
        return std::nullopt;
      std::optional<SlotRef> result;
      for (const auto& held : nodes[n].held) {
        if (!writes_inside(held, element.slot)) continue;
        const auto* move = std::get_if<Move>(&held.instruction.action);
        const auto* source = move != nullptr ? std::get_if<SlotRef>(&move->source) : nullptr;
        if (result || source == nullptr || move->destination != element || depends_on(*source, variable))
          return std::nullopt;
        result = *source;
      }
      const auto stays = [&](const Node& node) { return !result || !writes_inside(node, result->slot); };
      const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(n);
      return std::all_of(first, nodes.begin() + static_cast<std::ptrdiff_t>(place) + 1, stays) ? result
                                                                                               : std::nullopt;
    }
    return std::nullopt;
  }

  /// The number of a term with its flag, else one that no element has, in a slot of its own.
  Compute number_or_none(const Term& term) {
    constexpr auto none = static_cast<double>(std::numeric_limits<std::int64_t>::min());
    slots_.push_back(slots_[term.number.slot.index()]);
    slots_.back().count = 1;
    const SlotRef number{SlotId(slots_.size() - 1), {}, {}};
    return {Op::where, 0, {*term.flag, term.number, Constant{none}}, number};
  }

  /// Of a term that each element of the destination gets.
  static Operand base_of(const Term& term) { return term.base ? *term.base : Operand(term.neutral); }
  static bool overwrites(const Term& term) { return term.overwrites || !term.base; }

  /// Tells whether a loop's term may be taken out: all its numbers follow each other, and the loop's other instructions
  /// neither need the sum nor change what the terms read, but fill the table first or change it afterwards.
  [[nodiscard]] static bool is_apart(const Nodes& nodes, const Term& term, std::size_t variable) {
    const auto* table = term.table();
    if (!term.adds() || table == nullptr || coefficient(term.form, variable) != 1 ||
        depends_on(term.number, variable) || depends_on(term.destination, variable) ||
        table->wrap.modulus != 0)
      return false;
    const bool moves = depends_on(*table, variable);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (std::ranges::find(term.nodes, n) != term.nodes.end()) continue;
      bool apart =
          !touches(nodes[n], term.destination.slot) && !writes(nodes[n].instruction, term.number.slot);
      each_reference(
          nodes[n].instruction, [](const SlotRef&) {},
          [&](const SlotRef& one) {
            apart = apart && (one.slot != table->slot || (moves && one == *table));
          });
      if (!apart) return false;
    }
    return !(changes(nodes, *table, 0, term.read()) && changes_later(nodes, term));
  }

  /// Tells whether the loop writes what the term reads after the term has read it.
  static bool changes_later(const Nodes& nodes, const Term& term) {
    return changes(nodes, *term.table(), term.read(), nodes.size());
  }
  static bool changes(const Nodes& nodes, const SlotRef& table, std::size_t begin, std::size_t end) {
    return std::any_of(nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                       nodes.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const Node& node) { return writes(node.instruction, table.slot); });
  }

  /// The same of a loop in which each element of the destination gets its term.
  [[nodiscard]] static bool may_scatter(const Nodes& nodes, const Term& term, std::size_t variable) {
    const auto& to = term.destination;
    const auto* value = term.table();
    if (coefficient(term.form, variable) != 1 || depends_on(term.number, variable) ||
        coefficient(to.index, variable) == 0 || to.wrap.modulus != 0 ||
        (value != nullptr && depends_on(*value, variable)))
      return false;
    if (term.flag && (depends_on(*term.flag, variable) || term.flag->slot == to.slot)) return false;
    const auto base = base_of(term);
    const auto* from = std::get_if<SlotRef>(&base);
    if (!term.in_place() && from != nullptr && from->slot == to.slot) return false;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (std::ranges::find(term.nodes, n) != term.nodes.end()) continue;
      const auto& other = nodes[n].instruction;
      if (writes(other, term.number.slot) || (term.flag && writes(other, term.flag->slot)) ||
          (value != nullptr && writes(other, value->slot)))
        return false;
      // Behind it each element may be used, as it is then, before those after it have got theirs.
      bool stays = true;
      const auto uses = [&](const SlotRef& one) { stays = stays && (one.slot != to.slot || one == to); };
      each_reference(other, uses, uses);
      const bool is_behind = term.in_place() && n > term.last();
      if (!stays || (!is_behind && (reads(other, to.slot) || writes(other, to.slot)))) return false;
    }
    return true;
  }

  /// Adds the terms before and after the instruction at `at` that go on with its numbers.
  void widen(Nodes& nodes, std::size_t at) {
    for (bool found = true; std::exchange(found, false);) {
      for (std::size_t n = 0; n < nodes.size() && !found; ++n) {
        const auto joins = [&](const std::optional<Term>& term) {
          return term && (n < at ? joins_before(nodes, *term, at) : joins_after(nodes, *term, at));
        };
        auto term = n == at ? std::nullopt : term_at(nodes, n, Value::before);
        if (n != at && !joins(term)) term = term_at(nodes, n, Value::moved);
        if (!joins(term)) continue;
        auto joined = nodes[at];
        const std::size_t place = std::max(term->last(), at);
        std::vector<std::size_t> gone = term->nodes;
        gone.push_back(at);
        std::ranges::sort(gone);
        nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(place) + 1,
                     join(std::move(joined), *term, n < at));
        for (auto one = gone.rbegin(); one != gone.rend(); ++one)
          nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(*one));
        at = place + 1 - gone.size();
        found = true;
      }
    }
  }

  static Node join(Node node, const Term& term, bool before) {
    auto& compute = std::get<Compute>(node.instruction.action);
    if (!before) {
      compute.indexed->upper = term.form;
      return node;
    }
    compute.indexed->lower = term.form;
    std::get<SlotRef>(compute.operands.back()).index = term.table()->index;
    if (!term.adds()) {
      compute.op = Op::copy;
      compute.operands.erase(compute.operands.begin());
    }
    return node;
  }

  /// Tells whether a term before the instruction is of the number before its first, and may be done with it.
  [[nodiscard]] bool joins_before(const Nodes& nodes, const Term& term, std::size_t at) const {
    const auto& compute = std::get<Compute>(nodes[at].instruction.action);
    const auto& indexed = *compute.indexed;
    if (!fits(compute, term) || compute.op != Op::add || plus(term.form, 1) != indexed.lower ||
        plus(term.table()->index, indexed.stride) != std::get<SlotRef>(compute.operands.back()).index)
      return false;
    const auto& own = term.table()->index;
    return stays(nodes, term, own, own, term.nodes[1], at, term.last());
  }

  [[nodiscard]] bool joins_after(const Nodes& nodes, const Term& term, std::size_t at) const {
    const auto& compute = std::get<Compute>(nodes[at].instruction.action);
    const auto& indexed = *compute.indexed;
    const auto count = difference(indexed.upper, indexed.lower);
    const auto& table = std::get<SlotRef>(compute.operands.back()).index;
    if (!count || !fits(compute, term) || !term.adds() || plus(indexed.upper, 1) != term.form ||
        plus(table, indexed.stride * (*count + 1)) != term.table()->index)
      return false;
    const auto& own = term.table()->index;
    return stays(nodes, term, table, plus(table, indexed.stride * *count), at, term.last(), at) &&
           stays(nodes, term, own, own, term.nodes[1], term.last(), at);
  }

  static bool fits(const Compute& compute, const Term& term) {
    const auto* table = term.table();
    return !term.flag && table != nullptr && table->wrap.modulus == 0 &&
           term.number == compute.indexed->number && term.destination == compute.destination &&
           (!term.base || term.adds()) && term.neutral == compute.indexed->neutral &&
           table->slot == std::get<SlotRef>(compute.operands.back()).slot;
  }

  /// Tells whether in the nodes after `begin` and before `end`, the term's own left out, the number stays and so do the
  /// table's elements from `low` to `high`; and, from `sum` on, nobody needs or changes the sum.
  [[nodiscard]] bool stays(const Nodes& nodes, const Term& term, const Affine& low, const Affine& high,
                           std::size_t begin, std::size_t end, std::size_t sum) const {
    for (std::size_t n = begin + 1; n < end; ++n) {
      if (std::ranges::find(term.nodes, n) != term.nodes.end()) continue;
      if (writes_inside(nodes[n], term.number.slot) || !keeps(nodes[n], term.table()->slot, low, high) ||
          (n > sum && touches(nodes[n], term.destination.slot)))
        return false;
    }
    return true;
  }

  /// Tells whether a node of the block writes none of the elements of a slot from `low` to `high`.
  [[nodiscard]] bool keeps(const Node& node, SlotId slot, const Affine& low, const Affine& high) const {
    if (!writes_inside(node, slot)) return true;
    const auto outside = [&](const SlotRef& one, const Affine& first, const Affine& last) {
      bool below = true, above = true;
      for (const auto& own : {first, last}) {
        for (const auto& other : {low, high}) {
          const auto distance = difference(own, other);
          below = below && distance && *distance < 0;
          above = above && distance && *distance > 0;
        }
      }
      return one.wrap.modulus == 0 && (below || above);
    };
    bool result = true;
    if (!node.is_control()) {
      each_reference(
          node.instruction, [](const SlotRef&) {},
          [&](const SlotRef& one) {
            result = result && (one.slot != slot || outside(one, one.index, one.index));
          });
      return result;
    }
    const auto* loop = std::get_if<Loop>(&node.instruction.action);
    if (loop == nullptr || loop->lower.size() != 1 || loop->upper.size() != 1 ||
        loop->lower[0].divisor != 1 || loop->upper[0].divisor != 1 ||
        std::ranges::any_of(node.held, &Node::is_control))
      return false;
    for (const auto& held : node.held) {
      each_reference(
          held.instruction, [](const SlotRef&) {},
          [&](const SlotRef& one) {
            if (one.slot != slot) return;
            const auto at = [&](const program::Bound& bound) {
              return substitute(one.index, variables_, bound.numerator);
            };
            result = result && outside(one, at(loop->lower[0]), at(loop->upper[0]));
          });
    }
    return result;
  }

  const program::Program& program_;
  std::vector<program::Slot> slots_;
  std::size_t dimensions_;
  std::map<std::size_t, Kept> kept_;  ///< By the slot through which the elements come.
  Nodes code_;
  std::set<std::size_t> local_;
  std::size_t variables_ = 0;  ///< Of the block in hand.
  bool changed_ = false;
};

}  // namespace

program::Program index_selections(const program::Program& program) {
  auto result = program;
  for (auto& pe_class : result.classes) {
    ClassIndexer indexer(program, pe_class);
    if (auto code = indexer.run()) {
      pe_class.code = std::move(*code);
      pe_class.slots = indexer.slots();
    }
  }
  return result;
}

}  // namespace cyclotron::codegen
