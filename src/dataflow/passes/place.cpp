#include <cyclotron/dataflow/place.hpp>
#include <cyclotron/dataflow/distribute.hpp>
#include <cyclotron/dataflow/receive_at_first_use.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include <cyclotron/poly/inverse.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "../lower/rotation.hpp"
#include "../shifts.hpp"

namespace cyclotron::dataflow {

namespace {

constexpr std::size_t unfolded = static_cast<std::size_t>(-1);
/// Ways in which one rule may cross the folds before it is refused.
constexpr std::int64_t most_crossings = 8;

/// One form of the schedule. Folded, its value is divisor * quotient + remainder, two coordinates.
struct Axis {
  poly::Affine form;  ///< Over the old dims.
  std::int64_t divisor = 1;
  std::size_t quotient = 0;  ///< Its coordinate, or the whole form's where it is not folded.
  std::size_t remainder = unfolded;
};

/// Source of a rule's values, for a part of its points.
struct Piece {
  poly::Set domain;
  std::vector<poly::Affine> from;
};

class CoordinateChange {
 public:
  CoordinateChange(const Graph& graph, const schedule::Schedule& schedule,
                   const std::vector<std::int64_t>& grid, const std::set<std::string>& rows)
      : old_(graph), schedule_(schedule) {
    const auto frame = schedule::frame(schedule, graph.dims);
    for (const auto& name : schedule.space_indices) result_.space.push_back(unused(name));  // `0`, `0`
    for (std::size_t s = 0; s < frame.space.size(); ++s)
      add_space_axis(frame.space[s], s, s < grid.size() ? grid[s] : 0);
    place_rows(rows);
    for (std::size_t t = 0; t < frame.time.size(); ++t) add_time_axis(frame.time[t], t);
    for (const auto& rotation : schedule.rotations) turn(rotation);
    for (auto& axis : axes_) {
      if (axis.divisor > 1 && (axis.quotient == unfolded || axis.remainder == unfolded)) place_fold(axis);
    }
  }

  [[nodiscard]] bool is_plain() const {
    return std::ranges::all_of(axes_, [](const Axis& axis) {
      const auto units = std::ranges::count(axis.form.coefficients, 1);
      const auto zeros = std::ranges::count(axis.form.coefficients, 0);
      return axis.divisor == 1 && axis.form.constant == 0 && units == 1 &&
             units + zeros == static_cast<std::ptrdiff_t>(axis.form.coefficients.size());
    });
  }

  Placed run() {
    if (is_plain()) {
      result_.graph = old_;
      result_.time = schedule_.time_indices;
      return std::move(result_);
    }
    invert();
    auto& graph = result_.graph;
    graph.kernel = old_.kernel;
    graph.context = old_.context;
    graph.dims = result_.space;
    graph.dims.insert(graph.dims.end(), result_.time.begin(), result_.time.end());
    graph.tensors = old_.tensors;
    for (const auto& space : old_.spaces) graph.spaces.push_back(convert(space));
    graph.flows = old_.flows;
    for (auto& flow : graph.flows) {
      for (auto& form : flow.element) form = in_free(flow.space, to_new(form));
    }
    for (const auto& rule : old_.rules) convert(rule);
    // The whole of a panel comes before what is computed with it; inner levels first, which moves no other.
    for (auto level = panel_levels_.rbegin(); level != panel_levels_.rend(); ++level)
      result_ = distribute(result_, *level, inputs_first(result_.graph));
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::size_t size() const { return result_.space.size() + result_.time.size(); }
  [[nodiscard]] poly::Affine to_new(const poly::Affine& form) const {
    return poly::substitute(form, old_of_new_, size());
  }

  /// An index keeps its name; other forms are steps `t`.
  [[nodiscard]] std::string time_name(std::size_t t) const {
    const auto is_index = [&](const std::string& text) {
      const bool turns = std::ranges::find(schedule_.rotations, text, &schedule::Rotation::index) !=
                         schedule_.rotations.end();
      return !turns && std::ranges::find(old_.dims, text) != old_.dims.end();
    };
    if (is_index(schedule_.time_indices[t])) return schedule_.time_indices[t];
    std::string name = std::ranges::count_if(schedule_.time_indices, std::not_fn(is_index)) == 1
                           ? "t"
                           : fmt::format("t{}", t);
    while (std::ranges::find(old_.dims, name) != old_.dims.end()) name += "'";
    return unused(std::move(name));
  }

  /// The name, or one like it that no coordinate has yet.
  [[nodiscard]] std::string unused(std::string name) const {
    const auto is_taken = [&name](const std::vector<std::string>& names) {
      return std::ranges::find(names, name) != names.end();
    };
    while (is_taken(result_.space) || is_taken(result_.time)) name += "'";
    return name;
  }

  void add_space_axis(const poly::Affine& form, std::size_t s, std::int64_t limit) {
    Axis axis{form, 1, s, unfolded};
    const auto [low, high] = detail::range_of(old_, form);
    if (const auto folding = schedule::folding(schedule_, s, high - low + 1, limit)) {
      axis.form.constant -= low;
      axis.divisor = folding->divisor;
      // The coordinate in space is at `s`; the other is placed after all others in time.
      if (folding->kind == schedule::FoldKind::cyclic) std::swap(axis.quotient, axis.remainder);
    }
    axes_.push_back(std::move(axis));
  }

  /// A time form is a coordinate; cut into panels, two: the panel, and the step in it.
  void add_time_axis(const poly::Affine& form, std::size_t t) {
    Axis axis{form, 1, size(), unfolded};
    result_.time.push_back(time_name(t));
    const auto [low, high] = detail::range_of(old_, form);
    axis.divisor = schedule::panel_width(schedule_, schedule_.time_indices[t], high - low + 1);
    if (axis.divisor > 1) {
      axis.form.constant -= low;
      axis.remainder = size();
      panel_levels_.push_back(result_.time.size());
      result_.time.push_back(unused(result_.time.back() + "'"));
    }
    axes_.push_back(std::move(axis));
  }

  /// The steps since the start of a rotated index are its distance from there modulo its extent.
  void turn(const schedule::Rotation& rotation) {
    const auto place = std::ranges::find(old_.dims, rotation.index);
    const auto dim = static_cast<std::size_t>(place - old_.dims.begin());
    for (const auto& space : old_.spaces) {
      if (std::ranges::find(space.own, dim) == space.own.end()) continue;
      const auto rotated = detail::rotation_of(schedule_, old_.dims, dim, space.domain);
      if (!rotated || rotated->extent == 1) continue;
      if (std::ranges::any_of(axes_, [](const Axis& axis) { return axis.divisor > 1; }))
        refuse_rotated_fold(rotation);
      for (std::size_t a = schedule_.space_indices.size(); a < axes_.size(); ++a) {
        if (axes_[a].form != poly::variable(old_.dims.size(), dim) || axes_[a].divisor > 1) continue;
        axes_[a] = {rotated->form(old_.dims.size()), rotated->extent, unfolded, a};
      }
    }
  }

  [[noreturn]] static void refuse_rotated_fold(const schedule::Rotation& rotation) {
    throw ScheduleError(
        {.code = "CYC317",
         .span = {},
         .message = fmt::format("the schedule rotates `{}` on a grid that is folded", rotation.index),
         .notes = {},
         .help =
             "use larger tiles (cy.blocked) so that the grid need not be folded, or leave the rotation out"});
  }

  /// True where numbers in PE memory bound iterations, as `first[i] <= k < last[i]`.
  [[nodiscard]] bool is_bounded_by_numbers() const {
    return std::ranges::any_of(old_.rules, [](const Rule& rule) {
      const auto* compute = std::get_if<Compute>(&rule.action);
      if (compute == nullptr) return false;
      const auto& terms = compute->terms;
      const auto compares = [&terms](std::size_t term, recurrence::Op op) {
        const auto* apply = std::get_if<Apply>(&terms[term]);
        return apply != nullptr && apply->op == op &&
               std::holds_alternative<FlowRef>(terms[apply->operands[0]]) &&
               std::holds_alternative<Index>(terms[apply->operands[1]]);
      };
      const auto* both = std::get_if<Apply>(&terms.back());
      return both != nullptr && both->op == recurrence::Op::logical_and &&
             compares(both->operands[0], recurrence::Op::less_equal) &&
             compares(both->operands[1], recurrence::Op::greater);
    });
  }

  /// Values of an index that need none of each other, as rows of different lengths, come one after the other: each takes
  /// its own iterations of the loops inside.
  void place_rows(const std::set<std::string>& rows) {
    const bool all = is_bounded_by_numbers();
    for (auto& axis : axes_) {
      bool is_row = all;
      for (std::size_t d = 0; d < old_.dims.size(); ++d)
        is_row = is_row || (axis.form.coefficients[d] != 0 && rows.contains(old_.dims[d]));
      if (axis.divisor > 1 && is_row &&
          std::ranges::none_of(old_.rules, [&](const Rule& rule) { return crosses(rule, axis.form); }))
        place_outside(axis);
    }
  }

  /// True where a rule takes values from points at which the form is another.
  [[nodiscard]] bool crosses(const Rule& rule, const poly::Affine& form) const {
    const auto is_elsewhere = [&](const std::vector<poly::Affine>& from) {
      return !rule.domain.satisfies({poly::substitute(form, from, old_.dims.size()) - form, true});
    };
    if (const auto* transfer = std::get_if<Transfer>(&rule.action)) return is_elsewhere(transfer->from);
    const auto* compute = std::get_if<Compute>(&rule.action);
    return compute != nullptr && std::ranges::any_of(compute->terms, [&](const Term& term) {
             const auto* ref = std::get_if<FlowRef>(&term);
             return ref != nullptr && is_elsewhere(detail::shifted(old_.dims.size(), ref->offset));
           });
  }

  /// The coordinate of a fold that is not in space is innermost in time.
  void place_fold(Axis& axis) {
    place_outside(axis);
    ++result_.within;
  }
  /// Or inside of the loops that time has so far.
  void place_outside(Axis& axis) {
    const auto known = axis.quotient == unfolded ? axis.remainder : axis.quotient;
    const auto spaces = result_.space.size();
    const auto name = known < spaces ? result_.space[known] : result_.time[known - spaces];
    (axis.quotient == unfolded ? axis.quotient : axis.remainder) = size();
    result_.time.push_back(unused(name + "'"));
  }

  /// Old dims over the new coordinates.
  void invert() {
    std::vector<poly::Affine> forms;
    for (const auto& axis : axes_) {
      forms.push_back(axis.form);
      auto value = poly::variable(size(), axis.quotient);
      if (axis.remainder != unfolded) value = axis.divisor * value + poly::variable(size(), axis.remainder);
      values_.push_back(std::move(value));
    }
    const auto inverse = poly::left_inverse(forms, old_.dims.size());
    CYC_CHECK(inverse.has_value(), "a complete schedule determines each point");
    for (const auto& form : *inverse) old_of_new_.push_back(poly::substitute(form, values_, size()));
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      // Coordinates that others determine (time i+j+k beside space i, j and time k).
      auto redundant = values_[a] - to_new(axes_[a].form);
      if (!(redundant == poly::constant(size(), 0))) equalities_.push_back(std::move(redundant));
    }
  }

  Space convert(const Space& space) {
    Space result{space.name, space.domain.preimage(old_of_new_, size()), {}, {}, space.kind};
    auto equalities = equalities_;
    for (std::size_t d = 0; d < space.tuple.size(); ++d) {
      if (std::ranges::find(space.own, d) == space.own.end())
        equalities.push_back(old_of_new_[d] - to_new(space.tuple[d]));
    }
    for (const auto& equality : equalities) result.domain = result.domain.intersect({equality, true});
    for (const auto& axis : axes_) {
      if (axis.remainder == unfolded) continue;
      const auto remainder = poly::variable(size(), axis.remainder);
      result.domain = result.domain.intersect({remainder, false})
                          .intersect({poly::constant(size(), axis.divisor - 1) - remainder, false});
      // The steps of a turn; a panel's are one interval.
      if (axis.remainder >= result_.space.size() && axis.remainder < axis.quotient)
        result.domain = by_quotient(axis, result.domain);
    }
    result.domain = result.domain.coalesce();
    detail::choose_free_coordinates(equalities, result);
    return result;
  }

  /// The same points, each turn a conjunction of its own: what is then projected on the grid stays affine.
  [[nodiscard]] poly::Set by_quotient(const Axis& axis, const poly::Set& domain) const {
    auto result = poly::Set::empty(domain.context(), size());
    if (domain.is_empty()) return result;
    const auto last = domain.maximum(axis.quotient).value();
    for (auto turn = domain.minimum(axis.quotient).value(); turn <= last; ++turn) {
      const auto form = poly::variable(size(), axis.quotient) - poly::constant(size(), turn);
      result = result.unite(domain.intersect({form, true}));
    }
    return result;
  }

  [[nodiscard]] poly::Affine in_free(SpaceId space, const poly::Affine& form) const {
    return poly::substitute(form, result_.graph.at(space).tuple, size());
  }
  [[nodiscard]] std::vector<poly::Affine> in_free(SpaceId space, std::vector<poly::Affine> forms) const {
    for (auto& form : forms) form = in_free(space, form);
    return forms;
  }

  void convert(const Rule& rule) {
    const auto space = old_.at(rule.flow).space;
    const auto domain =
        rule.domain.preimage(old_of_new_, size()).intersect(result_.graph.at(space).domain).coalesce();
    if (domain.is_empty()) return;
    std::visit(Overloaded{[&](const Inject&) { add(rule, rule.action, loaded_once(rule, domain)); },
                          [&](const Export&) { add(rule, rule.action, domain); },
                          [&](const Transfer& transfer) { convert(rule, transfer, domain); },
                          [&](const Compute& compute) { convert(rule, compute, domain); }},
               rule.action);
  }

  void add(const Rule& rule, std::variant<Inject, Transfer, Compute, Export> action,
           const poly::Set& domain) {
    if (domain.is_empty()) return;
    result_.graph.rules.push_back({std::move(action), rule.flow, domain.coalesce(), rule.origin, rule.span});
  }

  /// The points of a fold that need one element of a prefetched input: the first of them loads it, and each hands it to
  /// the next. Returns those that load.
  poly::Set loaded_once(const Rule& rule, poly::Set domain) {
    const auto& flow = old_.at(rule.flow);
    if (!flow.prefetched) return domain;
    for (const auto& axis : axes_) {
      const auto spaces = result_.space.size();
      if (axis.remainder == unfolded || (axis.remainder >= spaces && axis.quotient >= spaces)) continue;
      const auto inner = axis.remainder < spaces ? axis.quotient : axis.remainder;
      const bool varies = std::ranges::any_of(
          flow.element, [&](const poly::Affine& form) { return to_new(form).coefficients[inner] != 0; });
      if (varies) continue;
      const auto kept = domain.intersect(domain.translate(detail::unit(size(), inner, 1)));
      const auto from = detail::shifted(size(), detail::unit(size(), inner, -1));
      add(rule, Transfer{rule.flow, in_free(flow.space, from), false}, kept);
      domain = domain.subtract(kept).coalesce();
    }
    return domain;
  }

  void convert(const Rule& rule, const Transfer& transfer, const poly::Set& domain) {
    const auto space = old_.at(rule.flow).space;
    const auto move = [&](const Piece& piece, bool broadcast) {
      if (piece.domain.is_empty()) return;
      auto from = in_free(space, detail::as_shifts(piece.domain, piece.from));
      add(rule, Transfer{transfer.source, std::move(from), broadcast}, piece.domain);
    };
    for (auto& piece : pieces(rule, transfer.from, domain)) {
      if (!transfer.broadcast) {
        move(piece, false);
        continue;
      }
      keep_in_fold(rule, transfer, piece);
      // In a fold a broadcast also reaches points of the PE in which it starts.
      const Piece local{within_pe(piece), piece.from};
      piece.domain = piece.domain.subtract(local.domain);
      move(local, false);
      move(piece, true);
    }
  }

  /// The points whose value comes from their own PE.
  [[nodiscard]] poly::Set within_pe(const Piece& piece) const {
    auto result = piece.domain;
    for (std::size_t c = 0; c < result_.space.size(); ++c)
      result = result.intersect({piece.from[c] - poly::variable(size(), c), true});
    return result;
  }

  /// Of the points of one PE that one value reaches, the first of a fold hands it to the next.
  void keep_in_fold(const Rule& rule, const Transfer& transfer, Piece& piece) {
    for (const auto& axis : axes_) {
      if (axis.remainder == unfolded) continue;
      const auto inner = axis.remainder < result_.space.size() ? axis.quotient : axis.remainder;
      if (piece.from[inner] == poly::variable(size(), inner)) continue;
      auto held = piece.domain;
      if (transfer.source == rule.flow) {
        check_straight(rule, transfer, axis);
        check_forwards(rule, axis, piece);
        held = held.unite(held.image(piece.from));
      } else if (old_.at(old_.at(rule.flow).tensor).role != Role::input || !shared_along(inner, piece)) {
        continue;
      }
      const auto step = detail::unit(size(), inner, 1);
      const auto kept = piece.domain.intersect(held.translate(step));
      const auto from = detail::shifted(size(), detail::unit(size(), inner, -1));
      add(rule, Transfer{rule.flow, in_free(old_.at(rule.flow).space, from), false}, kept);
      piece.domain = piece.domain.subtract(kept).coalesce();
    }
  }

  /// True where points that differ in one coordinate get the same value.
  static bool shared_along(std::size_t coordinate, const Piece& piece) {
    return std::ranges::all_of(piece.from,
                               [&](const poly::Affine& form) { return form.coefficients[coordinate] == 0; });
  }

  /// A PE hands a kept value on to its next point in time: the broadcast has to start at the fold's beginning.
  void check_forwards(const Rule& rule, const Axis& axis, const Piece& piece) const {
    const auto point = piece.domain.sample();
    const auto value = values_.at(static_cast<std::size_t>(&axis - axes_.data()));
    if (!point) return;
    const auto source = poly::substitute(value, piece.from, size());
    if (poly::evaluate(source, *point) <= poly::evaluate(value, *point)) return;
    throw ScheduleError({.code = "CYC316",
                         .span = rule.span,
                         .message = fmt::format("`{}` is broadcast from the far end of `{}`, which is folded",
                                                old_.at(old_.at(rule.flow).tensor).user_name(),
                                                poly::to_string(axis.form, old_.dims)),
                         .notes = {},
                         .help = "broadcast it the other way, or stream it"});
  }

  /// A broadcast across a fold is kept from point to point of a PE, which are neighbours only where no other
  /// coordinate changes with the folded one.
  void check_straight(const Rule& rule, const Transfer& transfer, const Axis& axis) const {
    for (std::size_t d = 0; d < old_.dims.size(); ++d) {
      if (transfer.from[d] == old_.at(old_.at(rule.flow).space).tuple[d]) continue;
      for (const auto& other : axes_) {
        if (&other == &axis || other.form.coefficients[d] == 0) continue;
        throw ScheduleError(
            {.code = "CYC316",
             .span = rule.span,
             .message = fmt::format("`{}` is broadcast along `{}`, which is folded and also moves `{}`",
                                    old_.at(old_.at(rule.flow).tensor).user_name(), old_.dims[d],
                                    poly::to_string(other.form, old_.dims)),
             .notes = {},
             .help = "stream it, or use plain indices for time and the other grid dimensions"});
      }
    }
  }

  void convert(const Rule& rule, const Compute& compute, const poly::Set& domain) {
    // At most one term looks back: the accumulator.
    const auto moved = [](const Term& term) {
      const auto* ref = std::get_if<FlowRef>(&term);
      return ref != nullptr && std::ranges::any_of(ref->offset, [](std::int64_t step) { return step != 0; });
    };
    CYC_CHECK(std::ranges::count_if(compute.terms, moved) <= 1, "one accumulator a computation");
    Compute here = compute;
    for (auto& term : here.terms) {
      if (auto* ref = std::get_if<FlowRef>(&term)) ref->offset.assign(size(), 0);
      if (auto* index = std::get_if<Index>(&term))
        index->form = in_free(old_.at(rule.flow).space, to_new(index->form));
    }
    const auto back = std::ranges::find_if(compute.terms, moved);
    if (back == compute.terms.end()) {
      add(rule, std::move(here), domain);
      return;
    }
    const auto from = detail::shifted(old_.dims.size(), std::get<FlowRef>(*back).offset);
    for (auto& piece : pieces(rule, from, domain)) {
      auto& ref = std::get<FlowRef>(here.terms[static_cast<std::size_t>(back - compute.terms.begin())]);
      for (std::size_t c = 0; c < size(); ++c) {
        const auto step = piece.from[c] - poly::variable(size(), c);
        CYC_CHECK(poly::is_constant(step), "a shift of points is a shift of coordinates");
        ref.offset[c] = step.constant;
      }
      add(rule, here, piece.domain);
    }
  }

  /// The new coordinates of the old point `from` (forms over old dims), by the blocks it lies in.
  std::vector<Piece> pieces(const Rule& rule, const std::vector<poly::Affine>& from,
                            const poly::Set& domain) const {
    std::vector<Piece> result{{domain, std::vector<poly::Affine>(size(), poly::constant(size(), 0))}};
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const auto& axis = axes_[a];
      const auto step = poly::substitute(axis.form, from, old_.dims.size()) - axis.form;
      const auto value = values_[a] + to_new(step);
      if (axis.remainder == unfolded) {
        for (auto& piece : result) piece.from[axis.quotient] = value;
        continue;
      }
      std::vector<Piece> split;
      for (const auto& piece : result) divide(rule, axis, value, piece, split);
      result = std::move(split);
    }
    return result;
  }

  /// value = divisor * whole + rest; rest over divisor is one of a few numbers.
  void divide(const Rule& rule, const Axis& axis, const poly::Affine& value, const Piece& piece,
              std::vector<Piece>& result) const {
    auto whole = poly::constant(size(), 0), rest = value;
    for (std::size_t c = 0; c < size(); ++c) {
      if (value.coefficients[c] % axis.divisor != 0) continue;
      whole.coefficients[c] = value.coefficients[c] / axis.divisor;
      rest.coefficients[c] = 0;
    }
    const auto rests = piece.domain.image({rest});
    if (rests.is_empty()) return;
    const auto floor = [&](std::int64_t number) {
      return number >= 0 ? number / axis.divisor : -((-number + axis.divisor - 1) / axis.divisor);
    };
    const auto first = floor(rests.minimum(0).value()), last = floor(rests.maximum(0).value());
    if (last - first >= most_crossings) refuse(rule, axis);
    for (auto q = first; q <= last; ++q) {
      const auto remainder = rest - poly::constant(size(), q * axis.divisor);
      auto part = piece;
      part.domain = piece.domain.intersect({remainder, false})
                        .intersect({poly::constant(size(), axis.divisor - 1) - remainder, false});
      if (part.domain.is_empty()) continue;
      part.from[axis.quotient] = whole + poly::constant(size(), q);
      part.from[axis.remainder] = remainder;
      result.push_back(std::move(part));
    }
  }

  [[noreturn]] void refuse(const Rule& rule, const Axis& axis) const {
    throw ScheduleError(
        {.code = "CYC316",
         .span = rule.span,
         .message = fmt::format("`{}` comes from another part of the folded dimension `{}` at a distance "
                                "that varies, in more than {} ways",
                                old_.at(old_.at(rule.flow).tensor).user_name(),
                                poly::to_string(axis.form, old_.dims), most_crossings),
         .notes = {},
         .help = "fold another dimension, or use larger tiles (cy.blocked) instead of folding"});
  }

  const Graph& old_;
  const schedule::Schedule& schedule_;
  std::vector<Axis> axes_;            ///< Space's, then time's.
  std::vector<poly::Affine> values_;  ///< Of the axes' forms, over the new coordinates.
  std::vector<poly::Affine> old_of_new_;
  std::vector<poly::Affine> equalities_;   ///< Forms that vanish at every point.
  std::vector<std::size_t> panel_levels_;  ///< Place in time of the counter of a panel's steps.
  Placed result_;
};

}  // namespace

Placed place(const Graph& graph, const schedule::Schedule& schedule, const std::vector<std::int64_t>& grid,
             const std::set<std::string>& rows) {
  return receive_at_first_use(CoordinateChange(graph, schedule, grid, rows).run());
}

}  // namespace cyclotron::dataflow
