#include "storage.hpp"

#include <algorithm>
#include <optional>

#include <cyclotron/support/error.hpp>

namespace cyclotron::codegen::detail {

using dataflow::FlowId;
using mapping::Kind;
using mapping::Mapping;
using mapping::Statement;
using mapping::Value;

namespace {

class Chooser {
 public:
  explicit Chooser(const Mapping& mapping) : mapping_(mapping), graph_(mapping.graph) {}

  std::vector<Storage> run() {
    std::vector<Storage> result;
    for (std::size_t f = 0; f < graph_.flows.size(); ++f) result.push_back(choose(FlowId(f)));
    return result;
  }

 private:
  Storage choose(FlowId flow) const {
    const auto carried = carried_positions(flow);
    if (!carried.outermost && !carried.from_prologue) return {};
    if (!carried.from_prologue) {
      // What goes through several loops, such as a sum cut into panels, may still need one place only.
      if (carried.innermost != carried.outermost) {
        Storage fewest{varying(flow, *carried.innermost + 1)};
        if (is_sound(flow, fewest)) return fewest;
      }
      Storage few{varying(flow, *carried.outermost + 1)};
      if (is_sound(flow, few)) return few;
      Storage round{varying(flow, *carried.outermost), carried.steps + 1};
      const bool varies = !round.dims.empty() && round.dims.front() == mapping_.grid.time[*carried.outermost];
      if (varies && carried.steps > 0 && is_sound(flow, round)) return round;
    }
    // One place for each value: since dependences advance, nothing can come between its making and its uses.
    Storage all{varying(flow, 0)};
    CYC_CHECK(is_sound(flow, all), "a place for each value is enough");
    return all;
  }

  /// The time loops across which values of a flow are kept; none where each is used in the step it is made.
  struct Carried {
    bool from_prologue = false;  ///< Across all of them.
    std::optional<std::size_t> outermost, innermost;
    std::int64_t steps = 0;  ///< The most of the outermost loop, where they are numbers; else 0.
  };

  Carried carried_positions(FlowId flow) const {
    Carried result;
    std::vector<std::int64_t> steps(mapping_.grid.time.size(), 0);
    constexpr auto unknown = INT64_MAX;
    const auto note = [&](const std::vector<poly::Affine>& use, const std::vector<poly::Affine>& made) {
      for (std::size_t t = 0; t < mapping_.grid.time.size(); ++t) {
        const auto d = mapping_.grid.time[t];
        if (use[d] == made[d]) continue;
        const auto distance = use[d] - made[d];
        steps[t] = std::max(steps[t], poly::is_constant(distance) ? distance.constant : unknown);
        result.outermost = std::min(result.outermost.value_or(t), t);
        result.innermost = std::max(result.innermost.value_or(t), t);
        return;
      }
    };
    for (const auto& statement : mapping_.statements) {
      if (statement.prologue && statement.target.flow == flow) result.from_prologue = true;
      if (statement.kind != Kind::compute && statement.kind != Kind::move) continue;
      for (const auto& source : statement.sources) {
        if (source.flow == flow) note(statement.target.point, source.point);
      }
    }
    for (const auto& rule : graph_.rules) {
      const auto* transfer = std::get_if<dataflow::Transfer>(&rule.action);
      if (transfer != nullptr && rule.flow == flow && transfer->source == flow)
        note(graph_.at(graph_.at(flow).space).tuple, transfer->from);
    }
    if (result.outermost && steps[*result.outermost] != unknown) result.steps = steps[*result.outermost];
    return result;
  }

  /// The time dims from a position on, with which the flow's values vary.
  std::vector<std::size_t> varying(FlowId id, std::size_t from) const {
    const auto& flow = graph_.at(id);
    const auto& space = graph_.at(flow.space);
    std::vector<std::size_t> dims;
    for (std::size_t t = from; t < mapping_.grid.time.size(); ++t) {
      const auto d = mapping_.grid.time[t];
      const bool own = std::ranges::find(space.own, d) != space.own.end();
      const bool in_element = std::ranges::any_of(
          flow.element, [d](const poly::Affine& form) { return form.coefficients[d] != 0; });
      if (flow.computed ? own : in_element) dims.push_back(d);
    }
    return dims;
  }

  /// { (p, order of q, q) } for the writes q to the cell that the read at p looks into, before it.
  poly::Set earlier_writes(const Statement& read, const Value& value, const Storage& storage) const {
    const auto rank = graph_.dims.size();
    const auto& time = mapping_.grid.time;
    const auto order = time.size() + 2;
    const auto total = 2 * rank + order;
    const auto widen = [&](const poly::Affine& form, std::size_t shift) {
      poly::Affine wide = poly::constant(total, form.constant);
      std::ranges::copy(form.coefficients, wide.coefficients.begin() + static_cast<std::ptrdiff_t>(shift));
      return wide;
    };
    std::vector<poly::Affine> p, q;
    for (std::size_t d = 0; d < rank; ++d) {
      p.push_back(poly::variable(total, d));
      q.push_back(poly::variable(total, rank + order + d));
    }
    const auto one = poly::constant(total, 1);
    auto result = poly::Set::empty(graph_.context, total);
    for (const auto& write : mapping_.statements) {
      const bool writes = write.kind == Kind::load || write.kind == Kind::receive ||
                          write.kind == Kind::move || write.kind == Kind::compute;
      if (!writes || write.target.flow != value.flow) continue;
      auto pairs = read.domain.preimage(p, total).intersect(write.domain.preimage(q, total));
      std::vector<poly::Affine> read_order{poly::constant(total, read.prologue ? 0 : 1)},
          write_order{poly::constant(total, write.prologue ? 0 : 1)};
      for (const auto d : time) {
        read_order.push_back(p[d]);
        write_order.push_back(q[d]);
      }
      read_order.push_back(poly::constant(total, read.position));
      write_order.push_back(poly::constant(total, write.position));
      poly::Conjunction same_cell;
      for (std::size_t o = 0; o < order; ++o)
        same_cell.constraints.push_back({poly::variable(total, rank + o) - write_order[o], true});
      for (const auto d : mapping_.grid.space) same_cell.constraints.push_back({p[d] - q[d], true});
      for (const auto d : storage.dims) {
        auto apart = widen(value.point[d], 0) - q[d];
        if (storage.modulus != 0 && d == storage.dims.front()) {
          same_cell.divisible.emplace_back(std::move(apart), storage.modulus);
        } else {
          same_cell.constraints.push_back({std::move(apart), true});
        }
      }
      pairs = pairs.intersect(poly::Set::where(graph_.context, total, same_cell));
      for (std::size_t o = 0; o < order; ++o) {  // write_order lexicographically before read_order
        const auto later = read_order[o] - write_order[o];
        if (poly::is_constant(later) && later.constant < 0) break;
        if (poly::is_constant(later) && later.constant == 0) continue;
        result = result.unite(pairs.intersect({later - one, false}));
        if (poly::is_constant(later)) break;
        pairs = pairs.intersect({later, true});
      }
    }
    return result;
  }

  bool is_sound(FlowId flow, const Storage& storage) const {
    const auto rank = graph_.dims.size();
    const auto order = mapping_.grid.time.size() + 2;
    for (const auto& read : mapping_.statements) {
      for (const auto& value : read.sources) {
        if (value.flow != flow) continue;
        const auto earlier = earlier_writes(read, value, storage);
        const auto writes = poly::Map::from_pairs(earlier, rank);
        if (!read.domain.is_subset(writes.domain())) return false;
        // What the last writer left must be what the read wants: the same element, or the same partial
        // result.
        const auto total = 2 * rank + order;
        std::vector<poly::Affine> q, p;
        for (std::size_t d = 0; d < rank; ++d) {
          q.push_back(poly::variable(total, rank + order + d));
          p.push_back(poly::variable(total, d));
        }
        const auto& definition = graph_.at(flow);
        std::vector<poly::Constraint> wanted_element;
        const auto require = [&](const poly::Affine& form) {
          const auto found = poly::substitute(form, q, total);
          const auto wanted = poly::substitute(poly::substitute(form, value.point, rank), p, total);
          wanted_element.push_back({found - wanted, true});
        };
        if (definition.computed) {
          for (const auto d : graph_.at(definition.space).own) require(poly::variable(rank, d));
        } else {
          for (const auto& form : definition.element) require(form);
        }
        const auto right = poly::Set::where(graph_.context, total, wanted_element);
        if (earlier.is_subset(right)) continue;  // so is the last one, and finding it is dear
        if (!writes.lexmax().wrap().is_subset(right)) return false;
      }
    }
    return true;
  }

  const Mapping& mapping_;
  const dataflow::Graph& graph_;
};

}  // namespace

std::vector<Storage> choose_storage(const Mapping& mapping) { return Chooser(mapping).run(); }

}  // namespace cyclotron::codegen::detail
