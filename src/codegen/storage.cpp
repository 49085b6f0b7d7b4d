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

  static bool writes_to(const Statement& statement, FlowId flow) {
    const auto kind = statement.kind;
    return statement.target.flow == flow &&
           (kind == Kind::load || kind == Kind::receive || kind == Kind::move || kind == Kind::compute);
  }

  /// That coordinates of the dim, so far apart, have the same place in the slot.
  static void add_same_place(poly::Conjunction& all, const Storage& storage, std::size_t dim,
                             poly::Affine apart) {
    if (storage.modulus != 0 && dim == storage.dims.front()) {
      all.divisible.emplace_back(std::move(apart), storage.modulus);
    } else {
      all.constraints.push_back({std::move(apart), true});
    }
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
      if (!writes_to(write, value.flow)) continue;
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
      for (const auto d : storage.dims)
        add_same_place(same_cell, storage, d, widen(value.point[d], 0) - q[d]);
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

  /// The points at which the forms are lexicographically positive.
  static poly::Set lex_positive(poly::Set points, const std::vector<poly::Affine>& forms) {
    auto result = poly::Set::empty(points.context(), points.dimensions());
    const auto one = poly::constant(points.dimensions(), 1);
    for (const auto& form : forms) {
      if (poly::is_constant(form) && form.constant == 0) continue;
      result = result.unite(points.intersect({form - one, false}));
      points = points.intersect({form, true});
    }
    return result;
  }

  /// Reads of the value at one place, as seen from the reader.
  struct Reads {
    std::vector<poly::Affine> point;
    poly::Set domain;
    std::vector<const Statement*> statements;
  };
  std::vector<Reads> reads_of(FlowId flow) const {
    std::vector<Reads> result;
    for (const auto& statement : mapping_.statements) {
      for (const auto& value : statement.sources) {
        if (value.flow != flow) continue;
        auto same = std::ranges::find(result, value.point, &Reads::point);
        if (same == result.end()) {
          result.push_back({value.point, statement.domain, {&statement}});
        } else if (same->statements.back() != &statement) {
          same->domain = same->domain.unite(statement.domain).coalesce();
          same->statements.push_back(&statement);
        }
      }
    }
    return result;
  }

  /// Whether a step between a computed value's and its reader's, or the reader's own before it reads, writes to
  /// the same cell. Every point is computed once, and before it is read: nothing else can go wrong.
  bool is_overwritten(FlowId flow, const Storage& storage) const {
    const auto rank = graph_.dims.size();
    std::vector<poly::Affine> reader, writer;
    for (std::size_t d = 0; d < rank; ++d) {
      reader.push_back(poly::variable(2 * rank, d));
      writer.push_back(poly::variable(2 * rank, rank + d));
    }
    auto all = poly::Set::empty(graph_.context, rank);
    std::vector<const Statement*> writes;  // In the order of a step, as all statements are.
    for (const auto& statement : mapping_.statements) {
      if (!writes_to(statement, flow)) continue;
      writes.push_back(&statement);
      all = all.unite(statement.domain).coalesce();
    }
    const auto overwrites = [&](const Reads& reads, const poly::Set& domain, const poly::Set& written,
                                bool same_step) {
      auto pairs = domain.preimage(reader, 2 * rank).intersect(written.preimage(writer, 2 * rank));
      poly::Conjunction same_cell;
      for (const auto d : mapping_.grid.space) same_cell.constraints.push_back({reader[d] - writer[d], true});
      for (const auto d : storage.dims)
        add_same_place(same_cell, storage, d, poly::substitute(reads.point[d], reader, 2 * rank) - writer[d]);
      std::vector<poly::Affine> after, before;
      for (const auto d : mapping_.grid.time) {
        after.push_back(writer[d] - poly::substitute(reads.point[d], reader, 2 * rank));
        before.push_back(reader[d] - writer[d]);
        if (same_step) same_cell.constraints.push_back({before.back(), true});
      }
      const auto here = poly::Set::where(graph_.context, 2 * rank, same_cell);
      pairs = lex_positive(pairs.intersect(here), after);
      return !(same_step ? pairs : lex_positive(pairs, before)).is_empty();
    };
    for (const auto& reads : reads_of(flow)) {
      if (overwrites(reads, reads.domain, all, false)) return true;
      for (const auto* read : reads.statements) {
        auto earlier = poly::Set::empty(graph_.context, rank);
        for (const auto* write : writes) {
          if (write->position < read->position)
            earlier = earlier.unite(write->domain.intersect(read->domain));
        }
        if (!earlier.is_empty() && overwrites(reads, read->domain, earlier, true)) return true;
      }
    }
    return false;
  }

  bool is_sound(FlowId flow, const Storage& storage) const {
    if (graph_.at(flow).computed) return !is_overwritten(flow, storage);
    const auto rank = graph_.dims.size();
    const auto order = mapping_.grid.time.size() + 2;
    for (const auto& read : mapping_.statements) {
      for (const auto& value : read.sources) {
        if (value.flow != flow) continue;
        const auto earlier = earlier_writes(read, value, storage);
        const auto writes = poly::Map::from_pairs(earlier, rank);
        if (!read.domain.is_subset(writes.domain())) return false;
        // What the last writer left must be the element that the read wants.
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
        for (const auto& form : definition.element) require(form);
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
