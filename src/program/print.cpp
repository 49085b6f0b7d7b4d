// Programs as text, in the paper's notation (Fig. 14).
#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/program/program.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::program {
namespace {

using Names = std::vector<std::string>;

// Text is also for programs that a verifier has refused, so no id or index is trusted here.
template <class Tag, class T>
std::string name_of(Id<Tag> id, const std::vector<T>& table) {
  return id.index() < table.size() ? table[id.index()].name : std::string("?");
}
std::string name_of(std::size_t variable, const Names& names) {
  return variable < names.size() ? names[variable] : fmt::format("v{}", variable);
}

// Without overflow, whatever the value.
std::int64_t negated(std::int64_t value) {
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value));
}

std::string term(std::uint64_t magnitude, const std::string& name) {
  if (magnitude == 1) return name;
  // A name may be a form itself, such as `i-k`.
  const bool compound = name.find_first_of("+-") != std::string::npos;
  return fmt::format("{}*{}", magnitude, compound ? "(" + name + ")" : name);
}

/// `i - 2*j + 1`, or `i-2*j+1` where compact.
std::string affine(const Affine& form, const Names& names, bool compact = false) {
  std::string text;
  const auto append = [&](bool negative, const std::string& part) {
    if (text.empty()) {
      if (negative) text += "-";
    } else if (compact) {
      text += negative ? "-" : "+";
    } else {
      text += negative ? " - " : " + ";
    }
    text += part;
  };
  const auto magnitude = [](std::int64_t value) {
    return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  };
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    const std::int64_t coefficient = form.coefficients[v];
    if (coefficient == 0) continue;
    auto text_of = term(magnitude(coefficient), name_of(v, names));
    const bool compound = coefficient == -1 && text_of.find_first_of("+-") != std::string::npos;
    append(coefficient < 0, compound ? "(" + text_of + ")" : text_of);
  }
  if (form.constant != 0 || text.empty()) append(form.constant < 0, std::to_string(magnitude(form.constant)));
  return text;
}

std::string affines(const std::vector<Affine>& forms, const Names& names) {
  Names parts;
  for (const auto& form : forms) parts.push_back(affine(form, names, true));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string bounds(const std::vector<Bound>& list, bool lower, const Names& names) {
  Names parts;
  for (const auto& bound : list) {
    const std::string numerator = affine(bound.numerator, names);
    parts.push_back(bound.divisor == 1
                        ? numerator
                        : fmt::format("{}(({}) / {})", lower ? "ceil" : "floor", numerator, bound.divisor));
  }
  if (parts.size() == 1) return parts.front();
  return fmt::format("{}({})", lower ? "max" : "min", fmt::join(parts, ", "));
}

/// A comparison without minus signs where possible: `i - 1 >= 0` reads `i ≥ 1`.
std::string comparison(const Affine& form, const char* relation, const char* flipped, const Names& names) {
  Affine left;
  Affine right;
  left.coefficients.resize(form.coefficients.size());
  right.coefficients.resize(form.coefficients.size());
  bool left_has_variable = false;
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] > 0) {
      left.coefficients[v] = form.coefficients[v];
      left_has_variable = true;
    } else {
      right.coefficients[v] = negated(form.coefficients[v]);
    }
  }
  // The constant goes to the side without variables, or to where it is positive.
  const bool right_has_variable = std::any_of(right.coefficients.begin(), right.coefficients.end(),
                                              [](std::int64_t coefficient) { return coefficient != 0; });
  if (!left_has_variable || (right_has_variable && form.constant > 0)) {
    left.constant = form.constant;
  } else {
    right.constant = negated(form.constant);
  }
  if (left_has_variable) return fmt::format("{} {} {}", affine(left, names), relation, affine(right, names));
  return fmt::format("{} {} {}", affine(right, names), flipped, affine(left, names));
}

std::string condition(const Condition& one, const Names& names) {
  switch (one.kind) {
    case Condition::Kind::non_negative: return comparison(one.form, "≥", "≤", names);
    case Condition::Kind::zero: return comparison(one.form, "=", "=", names);
    case Condition::Kind::divisible:
      return fmt::format("({}) mod {} = 0", affine(one.form, names), one.modulus);
  }
  return "?";
}

std::string disjunction(const Disjunction& any, const Names& names) {
  Names alternatives;
  for (const auto& all : any) {
    Names parts;
    for (const auto& one : all) parts.push_back(condition(one, names));
    std::string text = parts.empty() ? "true" : fmt::format("{}", fmt::join(parts, " and "));
    alternatives.push_back(any.size() > 1 && parts.size() > 1 ? fmt::format("({})", text) : text);
  }
  return alternatives.empty() ? "false" : fmt::format("{}", fmt::join(alternatives, " or "));
}

std::string constant(const Constant& value) {
  if (value.rest != 0) return value.integer_text();
  if (value.imaginary == 0) return fmt::format("{}", value.real);
  return fmt::format("({}{:+}j)", value.real, value.imaginary);
}

/// Prints the code of one class, line by line.
class ClassPrinter {
 public:
  ClassPrinter(const Program& program, const PeClass& pe_class)
      : program_(program), class_(pe_class), names_(program.grid_names) {}

  std::string print() {
    text_ = class_.name;
    if (!class_.region_text.empty()) text_ += fmt::format("    {}", class_.region_text);
    text_ += "\n";
    for (const auto& instruction : class_.code) print(instruction.action);
    return std::move(text_);
  }

 private:
  void print(const Action& action) {
    std::visit(Overloaded{
                   [&](const Loop& loop) {
                     line(fmt::format("for {} = {} .. {}{}", loop.name, bounds(loop.lower, true, names_),
                                      bounds(loop.upper, false, names_),
                                      loop.step == 1 ? "" : fmt::format(" step {}", loop.step)));
                     open_.push_back(true);
                     names_.push_back(loop.name);
                   },
                   [&](const If& branch) {
                     line(fmt::format("if {}", condition(branch)));
                     open_.push_back(false);
                   },
                   [&](const End&) { close(); },
                   [&](const Load& load) {
                     arrow(slot(load.destination), "←", element(load.tensor, load.index), "load");
                   },
                   [&](const Store& store) {
                     arrow(element(store.tensor, store.index), "←", slot(store.source), "store");
                   },
                   [&](const Send& send) {
                     arrow(slot(send.source), "→", neighbour(send.channel, true, send.source), "send");
                   },
                   [&](const Receive& receive) { print(receive); },
                   [&](const Broadcast& broadcast) { print(broadcast); },
                   [&](const Move& move) { arrow(slot(move.destination), "←", moved(move.source)); },
                   [&](const Compute& compute) {
                     if (compute.indexed) return line(indexed(compute));
                     arrow(slot(compute.destination), "←", value(compute));
                   },
                   [&](const Exit& exit) { line(fmt::format("exit unless {}", slot(exit.runs))); },
               },
               action);
  }

  [[nodiscard]] std::string condition(const If& branch) const {
    Names parts;
    if (branch.within.empty() || branch.condition != Disjunction{Conjunction{}})
      parts.push_back(disjunction(branch.condition, names_));
    for (const auto& [number, form, last] : branch.within)
      parts.push_back(fmt::format("{} {} {}", affine(form, names_), last ? "<" : "≥", slot(number)));
    return fmt::format("{}", fmt::join(parts, " and "));
  }

  void print(const Receive& receive) {
    if (receive.sender.empty()) {
      arrow(slot(receive.destination), "←", neighbour(receive.channel, false, receive.destination),
            "receive");
      return;
    }
    arrow(slot(receive.destination), "←",
          on_line(receive.channel, affine(receive.sender.front(), names_, true), receive.destination),
          "receive");
  }

  void print(const Broadcast& broadcast) {
    const std::string range =
        bounds(broadcast.lower, true, names_) + " .. " + bounds(broadcast.upper, false, names_);
    arrow(slot(broadcast.source), "→", on_line(broadcast.channel, range, broadcast.source), "broadcast");
  }

  void line(const std::string& content) {
    text_ += fmt::format("{:{}}{}\n", "", 2 * (open_.size() + 1), content);
  }

  void arrow(const std::string& left, const char* direction, const std::string& right,
             const char* what = "") {
    line(fmt::format("{} {} {}{}{}", left, direction, right, *what == 0 ? "" : "   ", what));
  }

  void close() {
    if (open_.empty()) return;
    if (open_.back()) names_.pop_back();
    open_.pop_back();
  }

  /// `[i, k]_B`, and `[i, k]_B[j]` where the slot holds several tiles.
  [[nodiscard]] std::string at(const Names& coordinates, const SlotRef& reference, bool element) const {
    std::string text =
        fmt::format("[{}]_{}", fmt::join(coordinates, ", "), name_of(reference.slot, class_.slots));
    const std::size_t index = reference.slot.index();
    if (element && index < class_.slots.size() && class_.slots[index].count > 1) {
      text += fmt::format("[{}]", element_of(reference));
    }
    return text;
  }

  /// `j+2*((t+1) mod 2)`.
  [[nodiscard]] std::string element_of(const SlotRef& reference) const {
    auto index = affine(reference.index, names_, true);
    const auto& [form, modulus, stride] = reference.wrap;
    if (modulus == 0) return index;
    auto wrapped = affine(form, names_, true);
    const bool single = wrapped.find_first_of("+-", 1) == std::string::npos;
    wrapped = fmt::format(fmt::runtime(single ? "({} mod {})" : "(({}) mod {})"), wrapped, modulus);
    if (stride != 1) wrapped = fmt::format("{}*{}", stride, wrapped);
    return index == "0" ? wrapped : fmt::format("{}+{}", index, wrapped);
  }

  [[nodiscard]] std::string slot(const SlotRef& reference) const {
    return at(program_.grid_names, reference, true);
  }

  /// The same value in the PE at the other end of a link: the receiver or the sender.
  [[nodiscard]] std::string neighbour(ChannelId id, bool receiver, const SlotRef& reference) const {
    Names coordinates = program_.grid_names;
    if (id.index() < program_.channels.size()) {
      const auto& channel = program_.channels[id.index()];
      const auto& offset = channel.offset;
      for (std::size_t d = 0; d < std::min(offset.size(), coordinates.size()); ++d) {
        const std::int64_t scale = channel.scale_along(d);
        Affine form{std::vector<std::int64_t>(d + 1, 0), receiver ? offset[d] : negated(offset[d])};
        form.coefficients[d] = receiver ? 1 : scale;
        coordinates[d] = affine(form, program_.grid_names, true);
        if (receiver && scale != 1) coordinates[d] = fmt::format("({})/{}", coordinates[d], scale);
      }
    }
    return at(coordinates, reference, false);
  }

  /// The same value elsewhere on the line of a network.
  [[nodiscard]] std::string on_line(ChannelId id, const std::string& where, const SlotRef& reference) const {
    Names coordinates = program_.grid_names;
    if (id.index() < program_.channels.size()) {
      const std::size_t axis = program_.channels[id.index()].axis;
      if (axis < coordinates.size())
        coordinates[axis] = where;
      else
        coordinates = {"PE " + where};
    }
    return at(coordinates, reference, false);
  }

  [[nodiscard]] std::string element(TensorId id, const std::vector<Affine>& index) const {
    return fmt::format("{}[{}]", name_of(id, program_.tensors), affines(index, names_));
  }

  [[nodiscard]] std::string moved(const Move::Source& value) const {
    return std::visit(Overloaded{[&](const SlotRef& reference) { return slot(reference); },
                                 [](const Constant& number) { return constant(number); },
                                 [&](const Affine& form) { return affine(form, names_); }},
                      value);
  }

  /// `[i]_x[[i]_n]`, with the numbers that it may have: `[i]_x[0 + [i]_n], 0 <= [i]_n <= 9`.
  [[nodiscard]] std::string indexed(const Compute& compute) const {
    const auto& at = *compute.indexed;
    const auto* operand = std::get_if<SlotRef>(&compute.operands.back());
    const auto& named = at.scatters || operand == nullptr ? compute.destination : *operand;
    const auto number = slot(at.number);
    const auto lower = affine(at.lower, names_);
    auto from = affine(at.lower, names_, true);
    if (from.find_first_of("+-", 1) != std::string::npos) from = fmt::format("({})", from);
    const auto steps = from == "0" ? number : fmt::format("({}-{})", number, from);
    const auto first = element_of(named);
    const auto moved = at.stride == 1 ? steps : fmt::format("{}*{}", at.stride, steps);
    const auto element = fmt::format("{}[{}]", place_of(named), first == "0" ? moved : first + "+" + moved);
    const auto where = fmt::format("where {} <= {} <= {}", lower, number, affine(at.upper, names_));
    if (at.scatters && compute.op == Op::copy)
      return fmt::format("{} ← {}   {}", element, this->operand(compute.operands.back()), where);
    if (at.scatters)
      return fmt::format("{} ← {} + {}   {}", element, element, this->operand(compute.operands.back()),
                         where);
    const auto target = slot(compute.destination);
    if (compute.op == Op::add) return fmt::format("{} ← {} + {}   {}", target, target, element, where);
    return fmt::format("{} ← {}   {} else {}", target, element, where, constant(at.neutral));
  }
  [[nodiscard]] std::string place_of(const SlotRef& reference) const {
    return at(program_.grid_names, reference, false);
  }

  [[nodiscard]] std::string operand(const Operand& value) const {
    return std::visit(Overloaded{[&](const SlotRef& reference) { return slot(reference); },
                                 [](const Constant& number) { return constant(number); }},
                      value);
  }

  /// The right-hand side of a compute.
  [[nodiscard]] std::string value(const Compute& compute) const {
    Names parts;
    for (const auto& one : compute.operands) parts.push_back(operand(one));
    switch (compute.op) {
      case Op::multiply_add: return accumulated(parts, "+", infix(Op::multiply, 0, parts, 1));
      case Op::multiply_subtract: return accumulated(parts, "-", infix(Op::multiply, 0, parts, 1));
      case Op::matmul_add: return accumulated(parts, "+", infix(Op::matmul, compute.flags, parts, 1));
      case Op::matmul_subtract: return accumulated(parts, "-", infix(Op::matmul, compute.flags, parts, 1));
      case Op::syrk_add: return accumulated(parts, "+", call(Op::syrk, compute.flags, parts, 1));
      case Op::syrk_subtract: return accumulated(parts, "-", call(Op::syrk, compute.flags, parts, 1));
      default:  // The other operators print by their registry entry.
        return operators::info(compute.op).symbol.empty() ? call(compute.op, compute.flags, parts, 0)
                                                          : infix(compute.op, compute.flags, parts, 0);
    }
  }

  static std::string accumulated(const Names& parts, const char* sign, const std::string& term) {
    return fmt::format("{} {} {}", parts.empty() ? "?" : parts.front(), sign, term);
  }

  static std::string infix(Op op, Flags flags, const Names& parts, std::size_t first) {
    if (parts.size() != first + 2) return call(op, flags, parts, first);
    return fmt::format("{}{} {} {}{}", parts[first], (flags & operators::transpose_a) != 0 ? "ᵀ" : "",
                       operators::info(op).symbol, parts[first + 1],
                       (flags & operators::transpose_b) != 0 ? "ᵀ" : "");
  }

  static std::string call(Op op, Flags flags, const Names& parts, std::size_t first) {
    Names arguments(parts.begin() + static_cast<std::ptrdiff_t>(std::min(first, parts.size())), parts.end());
    constexpr std::pair<Flags, std::string_view> flag_names[] = {{operators::transpose_a, "transpose_a"},
                                                                 {operators::transpose_b, "transpose_b"},
                                                                 {operators::lower, "lower"},
                                                                 {operators::right_side, "right_side"},
                                                                 {operators::unit_diagonal, "unit_diagonal"},
                                                                 {operators::checked, "checked"}};
    for (const auto& [flag, name] : flag_names) {
      if ((flags & flag) != 0) arguments.emplace_back(name);
    }
    return fmt::format("{}({})", operators::info(op).name, fmt::join(arguments, ", "));
  }

  const Program& program_;
  const PeClass& class_;
  Names names_;
  std::vector<bool> open_;  // Open blocks, true for loops.
  std::string text_;
};

std::string describe(const Channel& channel) {
  const bool link = channel.kind == Channel::Kind::link;
  return fmt::format(
      "  {} {}: {}x{} {} {}\n", link ? "link" : "network", channel.name, channel.tile.rows,
      channel.tile.columns, operators::name(channel.dtype),
      link ? fmt::format("by [{}]{}", fmt::join(channel.offset, ", "),
                         channel.scale.empty() ? "" : fmt::format(" of [{}]", fmt::join(channel.scale, ", ")))
      : channel.link ? "from the executive"
                     : fmt::format("along dimension {}", channel.axis));
}

std::string describe(const Tensor& tensor) {
  static constexpr const char* roles[] = {"input", "output", "constant"};
  std::string text = fmt::format("  {} {}: [{}] {}", roles[static_cast<std::size_t>(tensor.role)],
                                 tensor.name, fmt::join(tensor.shape, ", "), operators::name(tensor.dtype));
  if (tensor.blocked) text += fmt::format(" in tiles of [{}]", fmt::join(tensor.tile, ", "));
  return text + "\n";
}

}  // namespace

std::string to_string(const Program& program, const PeClass& pe_class) {
  return ClassPrinter(program, pe_class).print();
}

std::string to_string(const Program& program) {
  std::string text = fmt::format("program {} on {}\n", program.kernel, machine::to_string(program.machine));
  for (const auto& [key, note] : program.notes) text += fmt::format("  {}: {}\n", key, note);
  for (const auto& tensor : program.tensors) text += describe(tensor);
  for (const auto& channel : program.channels) text += describe(channel);
  for (const auto& pe_class : program.classes) {
    text += "\n";
    text += to_string(program, pe_class);
  }
  return text;
}

}  // namespace cyclotron::program
