// The verifier of a class's code.
#include <algorithm>
#include <set>

#include <cyclotron/program/uses.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "checks.hpp"

namespace cyclotron::program {
namespace {

constexpr std::size_t loop_depth_limit = 16;
constexpr std::size_t depth_limit = 64;  ///< Of loops and conditions.

/// Checks the code of one class, instruction by instruction.
class CodeChecker {
 public:
  CodeChecker(const Program& program, const PeClass& pe_class, const Environment& grid)
      : program_(program), class_(pe_class), environment_(grid) {}

  void check(const Path& path) {
    for (std::size_t at = 0; at < class_.code.size(); ++at) {
      span_ = &class_.code[at].span;
      check(class_.code[at], Path(path, at));
    }
    if (!blocks_.empty()) {
      fail("CYC609", path, fmt::format("ends inside {} loops or ifs", blocks_.size()), "end each with `end`");
    }
  }

 private:
  void check(const Instruction& instruction, const Path& path) {
    const auto& action = instruction.action;
    if (!blocks_.empty()) {
      const auto* compute = std::get_if<Compute>(&action);
      const bool may_be = std::holds_alternative<Move>(action) || std::holds_alternative<End>(action) ||
                          (compute != nullptr && !(compute->indexed && compute->indexed->scatters));
      if (blocks_.back().is_bounded && !may_be) {
        fail("CYC611", path, "is within bounds that are numbers, and neither moves nor computes an element",
             "move it before or after the if", *span_);
      }
      const auto written = uses_of(action).written;
      blocks_.back().written.insert(written.begin(), written.end());
    }
    std::visit(Overloaded{
                   [&](const Loop& loop) { check(loop, path); },
                   [&](const If& branch) {
                     check_condition(branch.condition, environment_, Path(path, "condition"), *span_);
                     if (!branch.within.empty()) check(branch.within, Path(path, "within"));
                     open(false, path, !branch.within.empty());
                   },
                   [&](const End&) { close(path); },
                   [&](const Load& load) {
                     const Slot& slot = check(load.destination, Path(path, "destination"));
                     check(load.tensor, load.index, true, slot, path);
                   },
                   [&](const Store& store) {
                     const Slot& slot = check(store.source, Path(path, "source"));
                     check(store.tensor, store.index, false, slot, path);
                   },
                   [&](const Send& send) {
                     const Slot& slot = check(send.source, Path(path, "source"));
                     const Channel& channel = check(send.channel, slot, path);
                     if (channel.kind != Channel::Kind::link)
                       misused(channel, "a network", "send on a link", path);
                   },
                   [&](const Receive& receive) { check(receive, path); },
                   [&](const Broadcast& broadcast) {
                     const Slot& slot = check(broadcast.source, Path(path, "source"));
                     const Channel& channel = check(broadcast.channel, slot, path);
                     if (channel.kind != Channel::Kind::network)
                       misused(channel, "a link", "broadcast on a network", path);
                     check_bounds(broadcast.lower, environment_, Path(path, "lower"), *span_);
                     check_bounds(broadcast.upper, environment_, Path(path, "upper"), *span_);
                   },
                   [&](const Move& move) {
                     const Slot& slot = check(move.destination, Path(path, "destination"));
                     check(move.source, slot, Path(path, "source"));
                   },
                   [&](const Compute& compute) { check(compute, path); },
                   [&](const Exit& exit) { check(exit, path); },
               },
               instruction.action);
  }

  /// The bounds of an if: of iterations of the loop around, by numbers that stay while it runs.
  void check(const std::vector<DataBound>& bounds, const Path& path) {
    if (blocks_.empty() || !blocks_.back().is_loop) {
      fail("CYC611", path, "is not directly in a loop", "numbers bound the iterations of one", *span_);
    }
    const std::size_t variable = environment_.size() - 1;
    for (std::size_t n = 0; n < bounds.size(); ++n) {
      const auto& [number, form, last] = bounds[n];
      const Path own(path, n);
      const Slot& slot = check(number, Path(own, "number"));
      check_affine(form, environment_, Path(own, "form"), *span_);
      const bool moves =
          number.index.coefficients.size() > variable || number.wrap.form.coefficients.size() > variable;
      if (slot.dtype != DType::int64 || slot.tile != operators::Shape{} || moves ||
          (form.coefficients.size() > variable && form.coefficients[variable] != 1)) {
        fail("CYC611", own,
             fmt::format("is no bound of the loop around by a scalar of int64, `{}`", slot.name),
             "the loop's variable has the coefficient 1 in its form, or none, and the number stays", *span_);
      }
      blocks_.back().numbers.insert(number.slot.index());
    }
  }

  void check(const Loop& loop, const Path& path) {
    require_range(loop.step, 1, number_limit, Path(path, "step"), *span_);
    const auto lower = check_bounds(loop.lower, environment_, Path(path, "lower"), *span_);
    const auto upper = check_bounds(loop.upper, environment_, Path(path, "upper"), *span_);
    open(true, path);
    environment_.push_back(std::max(lower, upper));
  }

  void open(bool is_loop, const Path& path, bool is_bounded = false) {
    const auto require = [&](std::size_t depth, std::size_t limit) {
      if (depth < limit) return;
      fail("CYC609", path, fmt::format("is nested {} deep, more than {}", depth + 1, limit),
           "merge loops or conditions", *span_);
    };
    if (is_loop) {
      require(static_cast<std::size_t>(std::ranges::count(blocks_, true, &Block::is_loop)), loop_depth_limit);
    }
    require(blocks_.size(), depth_limit);
    blocks_.push_back({is_loop, is_bounded, {}, {}});
  }

  void close(const Path& path) {
    if (blocks_.empty()) fail("CYC609", path, "ends nothing", "each `end` closes one loop or if", *span_);
    if (blocks_.back().is_loop) environment_.pop_back();
    const Block closed = std::move(blocks_.back());
    blocks_.pop_back();
    for (const std::size_t number : closed.numbers) {
      if (!closed.written.contains(number)) continue;
      fail(
          "CYC611", path,
          fmt::format("ends a loop that writes `{}`, which bounds its iterations", class_.slots[number].name),
          "the numbers that bound a loop stay while it runs", *span_);
    }
    if (!blocks_.empty()) blocks_.back().written.insert(closed.written.begin(), closed.written.end());
  }

  const Slot& check(const SlotRef& reference, const Path& path) {
    const Slot& slot = lookup(reference.slot, class_.slots, "slot", path, *span_);
    const Path index(path, "index");
    check_affine(reference.index, environment_, index, *span_);
    const Wrap& wrap = reference.wrap;
    const Path wrapped(path, "wrap");
    require_range(wrap.modulus, 0, slot.count, Path(wrapped, "modulus"), *span_);
    require_range(wrap.stride, 1, slot.count, Path(wrapped, "stride"), *span_);
    if (wrap.modulus == 0 && wrap != Wrap{}) {
      fail("CYC606", Path(wrapped, "modulus"), "is 0, and there is a form or a stride",
           "compile the program again", *span_);
    }
    check_affine(wrap.form, environment_, Path(wrapped, "form"), *span_);
    if (reference.index.coefficients.empty()) {
      const std::int64_t most = wrap.modulus == 0 ? 0 : (wrap.modulus - 1) * wrap.stride;
      require_range(reference.index.constant, 0, slot.count - 1 - most, index, *span_);
    }
    return slot;
  }

  void check(TensorId id, const std::vector<Affine>& index, bool load, const Slot& slot, const Path& path) {
    const Tensor& tensor = lookup(id, program_.tensors, "tensor", Path(path, "tensor"), *span_);
    if ((tensor.role == Role::output) == load) {
      fail("CYC611", Path(path, "tensor"),
           fmt::format("{} `{}`, which is {}", load ? "loads" : "stores to", tensor.name,
                       load ? "an output" : "no output"),
           load ? "outputs are not loaded" : "only outputs are stored to", *span_);
    }
    same_dtype(slot.dtype, tensor.dtype, "tensor", tensor.name, path);
    const Path list(path, "index");
    require_length(index.size(), tensor.shape.size(), "an element has one index a dimension of its tensor",
                   list, *span_);
    for (std::size_t d = 0; d < index.size(); ++d)
      check_affine(index[d], environment_, Path(list, d), *span_);
  }

  const Channel& check(ChannelId id, const Slot& slot, const Path& path) {
    const Channel& channel = lookup(id, program_.channels, "channel", Path(path, "channel"), *span_);
    same_dtype(slot.dtype, channel.dtype, "channel", channel.name, path);
    if (slot.tile.rows > channel.tile.rows || slot.tile.columns > channel.tile.columns) {
      fail("CYC611", path,
           fmt::format("moves `{}`, a {}x{} tile, over channel `{}`, whose messages are at most {}x{}",
                       slot.name, slot.tile.rows, slot.tile.columns, channel.name, channel.tile.rows,
                       channel.tile.columns),
           "give the channel the larger tile", *span_);
    }
    return channel;
  }

  void check(const Receive& receive, const Path& path) {
    const Slot& slot = check(receive.destination, Path(path, "destination"));
    const Channel& channel = check(receive.channel, slot, path);
    const bool link = channel.kind == Channel::Kind::link;
    const Path sender(path, "sender");
    require_length(
        receive.sender.size(), link ? 0 : 1,
        link ? "a link has one sender, which is not named" : "a network needs the sender's coordinate",
        sender, *span_);
    if (!link) check_affine(receive.sender.front(), environment_, sender, *span_);
  }

  void check(const Exit& exit, const Path& path) {
    (void)lookup(exit.plan, program_.exit_plans, "ending", Path(path, "ending"), *span_);
    const Slot& flag = check(exit.runs, Path(path, "runs"));
    if (flag.dtype == DType::boolean && flag.tile == operators::Shape{}) return;
    fail("CYC610", Path(path, "runs"), fmt::format("is `{}`, which is no scalar of bool", flag.name),
         "a loop ends by a flag", *span_);
  }

  void check(const Move::Source& source, const Slot& destination, const Path& path) {
    std::visit(
        Overloaded{[&](const SlotRef& reference) {
                     const Slot& slot = check(reference, path);
                     same_dtype(destination.dtype, slot.dtype, "operand", slot.name, path);
                   },
                   [](const Constant&) {}, [&](const Affine& form) { check_index(form, destination, path); }},
        source);
  }

  void check_index(const Affine& form, const Slot& destination, const Path& path) {
    check_affine(form, environment_, Path(path, "form"), *span_);
    if (operators::holds_index(destination.dtype)) return;
    fail("CYC610", path,
         fmt::format("puts the value of a form into `{}` of {}", destination.name,
                     operators::name(destination.dtype)),
         "forms are integers or real numbers", *span_);
  }

  void check(const Compute& compute, const Path& path) {
    require_range(static_cast<std::int64_t>(compute.op), 0,
                  static_cast<std::int64_t>(operators::operator_count) - 1, Path(path, "op"), *span_);
    const operators::Info& op = operators::info(compute.op);
    constexpr Flags known = operators::transpose_a | operators::transpose_b | operators::lower |
                            operators::right_side | operators::unit_diagonal | operators::checked;
    require_range(compute.flags, 0, known, Path(path, "flags"), *span_);
    const Slot& destination = check(compute.destination, Path(path, "destination"));
    const Path list(path, "operands");
    require_length(compute.operands.size(), static_cast<std::size_t>(op.arity),
                   "the operator has a fixed number of operands", list, *span_);
    for (std::size_t o = 0; o < compute.operands.size(); ++o) {
      const Path here(list, o);
      if (const auto* reference = std::get_if<SlotRef>(&compute.operands[o])) check(*reference, here);
      const auto* reference = std::get_if<SlotRef>(&compute.operands[o]);
      if (reference != nullptr && *reference == compute.destination && !may_alias(compute.op, o)) {
        fail("CYC611", here, fmt::format("of `{}` is also its destination, `{}`", op.name, destination.name),
             "only accumulators and elementwise operands may be overwritten", *span_);
      }
    }
    check_dtypes(compute, destination, path);
    if (compute.indexed) check(*compute.indexed, compute, destination, Path(path, "indexed"));
  }

  void check(const Indexed& indexed, const Compute& compute, const Slot& destination, const Path& path) {
    const Slot& number = check(indexed.number, Path(path, "number"));
    check_affine(indexed.lower, environment_, Path(path, "lower"), *span_);
    check_affine(indexed.upper, environment_, Path(path, "upper"), *span_);
    require_range(indexed.stride, -number_limit, number_limit, Path(path, "stride"), *span_);
    const auto* first = std::get_if<SlotRef>(&compute.operands.front());
    const auto* last = std::get_if<SlotRef>(&compute.operands.back());
    const auto is_scalar = [](const Slot& slot) { return slot.tile == operators::Shape{}; };
    const bool in_place = first != nullptr && *first == compute.destination;
    const auto apart = [&](const SlotRef* one) {
      return one == nullptr || one->slot != compute.destination.slot;
    };
    const bool fits = compute.op == Op::add
                          ? in_place && apart(last) && (indexed.scatters || last != nullptr)
                          : compute.op == Op::copy && apart(last) && (indexed.scatters || last != nullptr);
    if (fits && number.dtype == DType::int64 && is_scalar(number) && is_scalar(destination) &&
        (last == nullptr || is_scalar(class_.slots[last->slot.index()])) &&
        indexed.number.slot != compute.destination.slot)
      return;
    fail("CYC611", path, "is no element of a slot of scalars that a number in another slot tells",
         "an `add` in place or a `copy` has one", *span_);
  }

  /// Tells whether operand `o` may be the destination: every operand of an elementwise operator, else the
  /// accumulator.
  static bool may_alias(Op op, std::size_t o) {
    return operators::is_elementwise(op) || (operators::is_accumulating(op) && o == 0);
  }

  /// The dtypes of operands and destination are those of the operator on one dtype, which it is defined on.
  void check_dtypes(const Compute& compute, const Slot& destination, const Path& path) {
    const auto& name = operators::info(compute.op).name;
    std::vector<std::optional<DType>> operands;
    for (const auto& operand : compute.operands) {
      const auto* reference = std::get_if<SlotRef>(&operand);
      operands.push_back(reference == nullptr ? std::nullopt
                                              : std::optional(class_.slots[reference->slot.index()].dtype));
    }
    DType dtype{};
    try {
      dtype = operators::working_dtype(compute.op, operands, destination.dtype);
    } catch (const ShapeError& error) {
      fail("CYC610", Path(path, "operands"), error.diagnostic().message,
           "element types are converted by operators only", *span_);
    }
    if (!operators::is_defined(compute.op, dtype)) {
      fail("CYC610", path, fmt::format("applies `{}` to {}", name, operators::name(dtype)),
           fmt::format("it is defined on {}", kinds_text(compute.op)), *span_);
    }
    const DType result = operators::result_dtype(compute.op, dtype);
    if (result != destination.dtype) {
      fail("CYC610", path,
           fmt::format("puts the result of `{}`, {}, into `{}` of {}", name, operators::name(result),
                       destination.name, operators::name(destination.dtype)),
           "element types are converted by operators only", *span_);
    }
  }

  static std::string kinds_text(Op op) {
    std::vector<std::string_view> names;
    for (const auto dtype : operators::all_dtypes()) {
      if (operators::is_defined(op, dtype)) names.push_back(operators::name(dtype));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void same_dtype(DType slot, DType other, const char* what, const std::string& name, const Path& path) {
    if (slot == other) return;
    fail("CYC610", path,
         fmt::format("joins a slot of {} and {} `{}` of {}", operators::name(slot), what, name,
                     operators::name(other)),
         "element types are never converted on the way", *span_);
  }

  [[noreturn]] void misused(const Channel& channel, const char* kind, const char* help, const Path& path) {
    fail("CYC611", Path(path, "channel"), fmt::format("uses `{}`, which is {}", channel.name, kind), help,
         *span_);
  }

  const Program& program_;
  const PeClass& class_;
  Environment environment_;
  struct Block {
    bool is_loop = false;
    bool is_bounded = false;          ///< By numbers.
    std::set<std::size_t> numbers{};  ///< Slots of those that bound iterations of this loop.
    std::set<std::size_t> written{};  ///< Slots.
  };
  std::vector<Block> blocks_;  // Open ones.
  const Span* span_ = nullptr;
};

}  // namespace

void check_code(const Program& program, const PeClass& pe_class, const Environment& grid, const Path& path) {
  CodeChecker(program, pe_class, grid).check(path);
}

}  // namespace cyclotron::program
