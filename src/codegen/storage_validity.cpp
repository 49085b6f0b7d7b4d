#include "storage_validity.hpp"

#include <algorithm>
#include <vector>

#include <cyclotron/mapping/live_range.hpp>

namespace cyclotron::codegen {

using mapping::FlowId;
using mapping::Mapping;
using mapping::Statement;
using mapping::Value;

namespace {

/// Reads of a flow's values at one place, as seen from the reader.
struct Reads {
  FlowId flow;
  std::vector<poly::Affine> point;
  poly::Set domain;
  std::vector<const Statement*> statements;
};

std::vector<Reads> reads_of(const Mapping& mapping, std::span<const FlowId> flows) {
  std::vector<Reads> result;
  for (const auto& statement : mapping.statements) {
    for (const auto& value : statement.sources) {
      if (std::ranges::find(flows, value.flow) == flows.end()) continue;
      const auto same = std::ranges::find_if(
          result, [&](const Reads& reads) { return reads.flow == value.flow && reads.point == value.point; });
      if (same == result.end()) {
        result.push_back({value.flow, value.point, statement.domain, {&statement}});
      } else if (same->statements.back() != &statement) {
        same->domain = same->domain.unite(statement.domain);
        same->statements.push_back(&statement);
      }
    }
  }
  for (auto& reads : result) reads.domain = reads.domain.coalesce();
  return result;
}

/// The statements that write a flow's values, in the order of a step, and the points where they do.
struct Writes {
  FlowId flow;
  poly::Set domain;
  std::vector<const Statement*> statements;
};

Writes writes_of(const Mapping& mapping, FlowId flow) {
  Writes result{flow, mapping::points_defined(mapping, {&flow, 1}), {}};
  for (const auto& statement : mapping.statements) {
    if (mapping::defines(statement, flow)) result.statements.push_back(&statement);
  }
  return result;
}

class LastWriters {
 public:
  LastWriters(const Mapping& mapping, const Storage& storage)
      : mapping_(mapping), graph_(mapping.graph), storage_(storage) {}

  /// True where a step between a computed value's and its reader's, or the reader's own before it reads, writes to the same
  /// cell. Every point is computed once, and before it is read: nothing else can go wrong with one flow. Another one's
  /// value must not come in the step of the making either.
  [[nodiscard]] bool is_overwritten(std::span<const FlowId> flows) const {
    const auto all_reads = reads_of(mapping_, flows);
    return std::ranges::any_of(flows, [&](FlowId flow) {
      const auto writes = writes_of(mapping_, flow);
      return std::ranges::any_of(all_reads,
                                 [&](const Reads& reads) { return is_overwritten(reads, writes); });
    });
  }

  /// True where the last writer of the cell that a read looks into leaves the element that it wants.
  [[nodiscard]] bool is_preserved(FlowId flow) const {
    const auto rank = graph_.dims.size();
    const auto order = mapping_.grid.time.size() + 2;
    for (const auto& read : mapping_.statements) {
      for (const auto& value : read.sources) {
        if (value.flow != flow) continue;
        const auto earlier = earlier_writes(read, value);
        const auto writes = poly::Map::from_pairs(earlier, rank);
        if (!read.domain.is_subset(writes.domain())) return false;
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

 private:
  /// Adds that two points, so far apart in each dim, have the same place in the slot.
  template <class Apart>
  void add_same_place(poly::Conjunction& all, std::size_t variables, Apart apart) const {
    for (const auto d : storage_.dims) all.constraints.push_back({apart(d), true});
    if (storage_.buffer.modulus == 0) return;
    auto around = poly::constant(variables, 0);
    for (const auto& [d, factor] : storage_.buffer.dims) around = around + factor * apart(d);
    all.divisible.emplace_back(std::move(around), storage_.buffer.modulus);
  }

  [[nodiscard]] bool is_overwritten(const Reads& reads, const Writes& writes) const {
    if (overwrites(reads, writes.flow, reads.domain, writes.domain, false)) return true;
    return std::ranges::any_of(reads.statements, [&](const Statement* read) {
      auto earlier = poly::Set::empty(graph_.context, graph_.dims.size());
      for (const auto* write : writes.statements) {
        if (write->position < read->position) earlier = earlier.unite(write->domain.intersect(read->domain));
      }
      return !earlier.is_empty() && overwrites(reads, writes.flow, read->domain, earlier, true);
    });
  }

  /// True where a write comes after the making of what is read in the domain, and before the reader's step or
  /// (`same_step`) in it.
  [[nodiscard]] bool overwrites(const Reads& reads, FlowId writing, const poly::Set& domain,
                                const poly::Set& written, bool same_step) const {
    const auto rank = graph_.dims.size();
    std::vector<poly::Affine> reader, writer;
    for (std::size_t d = 0; d < rank; ++d) {
      reader.push_back(poly::variable(2 * rank, d));
      writer.push_back(poly::variable(2 * rank, rank + d));
    }
    const auto made = [&](std::size_t d) { return poly::substitute(reads.point[d], reader, 2 * rank); };
    poly::Conjunction same_cell;
    for (const auto d : mapping_.grid.space) same_cell.constraints.push_back({reader[d] - writer[d], true});
    add_same_place(same_cell, 2 * rank, [&](std::size_t d) { return made(d) - writer[d]; });
    std::vector<poly::Affine> after, before;
    for (const auto d : mapping_.grid.time) {
      after.push_back(writer[d] - made(d));
      before.push_back(reader[d] - writer[d]);
      if (same_step) same_cell.constraints.push_back({before.back(), true});
    }
    auto pairs = domain.preimage(reader, 2 * rank).intersect(written.preimage(writer, 2 * rank));
    pairs = pairs.intersect(poly::Set::where(graph_.context, 2 * rank, same_cell));
    auto later = mapping::lex_positive(pairs, after);
    if (writing != reads.flow) {
      std::vector<poly::Constraint> at_once;
      for (const auto& form : after) at_once.push_back({form, true});
      later = later.unite(pairs.intersect(at_once));
    }
    return !(same_step ? later : mapping::lex_positive(later, before)).is_empty();
  }

  /// { (p, order of q, q) } for the writes q to the cell that the read at p looks into, before it.
  [[nodiscard]] poly::Set earlier_writes(const Statement& read, const Value& value) const {
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
      if (!mapping::defines(write, value.flow)) continue;
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
      add_same_place(same_cell, total, [&](std::size_t d) { return widen(value.point[d], 0) - q[d]; });
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

  const Mapping& mapping_;
  const dataflow::Graph& graph_;
  const Storage& storage_;
};

}  // namespace

bool is_valid_storage(const Mapping& mapping, std::span<const FlowId> flows, const Storage& storage) {
  const LastWriters writers(mapping, storage);
  if (mapping.graph.at(flows.front()).computed) return !writers.is_overwritten(flows);
  return writers.is_preserved(flows.front());
}

}  // namespace cyclotron::codegen
