#include <cyclotron/codegen/write_code.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include <cyclotron/mapping/live_range.hpp>
#include <cyclotron/poly/loops.hpp>
#include <cyclotron/support/division.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "to_program.hpp"

namespace cyclotron::codegen {

namespace {

using dataflow::FlowId;
using mapping::Kind;
using mapping::Mapping;
using mapping::Statement;
using mapping::Value;
using program::ChannelId;
using program::Operand;
using program::SlotId;
using program::SlotRef;

/// The class without code.
program::PeClass named_class(const Mapping& mapping, std::size_t index) {
  const auto& region = mapping.classes[index].region;
  program::PeClass result;
  result.name = fmt::format("class {}", index);
  result.region_text = region.constraints_text(mapping.grid.names);
  const auto conditions = region.conjunctions();
  if (conditions) {
    result.region = to_program(*conditions);
    return result;
  }
  constexpr std::size_t most = 120;
  auto text = result.region_text;
  if (text.size() > most) text = text.substr(0, most) + "…";
  const auto& rules = mapping.graph.rules;
  throw LegalityError({.code = "CYC225",
                       .span = rules.empty() ? Span{} : rules.front().span,
                       .message = fmt::format(
                           "the PEs where {} do the same, and no plain conditions tell which they are", text),
                       .notes = {},
                       .help = "fold in blocks, or reduce in trees of a radix of at most 64"});
}

using Group = std::vector<std::size_t>;  ///< Statements, in order.

/// The code of a class before its loops, or in them.
struct Part {
  std::vector<Group> groups;  ///< Of statements that run at the same points: one to the loop generator.
  poly::Node nest;
};

/// Without conditions on PEs that all of the class meet: of a class in several pieces, each would have code of its own.
poly::Set plain_domain(poly::Set domain, const poly::Set& here, const std::vector<poly::Affine>& times,
                       std::size_t width) {
  auto anywhere = domain.image(times).preimage(times, width);
  return anywhere.intersect(here) == domain ? anywhere : std::move(domain);
}

/// A statement's points over the coordinates of grid and time.
struct Points {
  poly::Set set;
  std::size_t times =
      0;  ///< Their number, where they are the same in all of its PEs: the set says nothing of these.
};

/// Of all statements. Those with the same times in all of their PEs, and so in all of a class, share one set.
std::vector<Points> points_of(const Mapping& mapping) {
  const auto forms = mapping.point_forms();
  const auto coordinates = mapping.grid.extents.size();
  const auto width = coordinates + mapping.grid.time.size();
  std::vector<poly::Affine> pes, times;
  std::vector<std::size_t> is_time;
  for (std::size_t c = 0; c < width; ++c) {
    (c < coordinates ? pes : times).push_back(poly::variable(width, c));
    is_time.push_back(c < coordinates ? 0 : 1);
  }
  const auto are_everywhere = [&](const poly::Set& points, const poly::Set& anywhere) {
    const auto parts = points.conjunctions();
    return (parts && parts->size() == 1 && poly::is_product(parts->front(), is_time)) ||
           points.image(pes).preimage(pes, width).intersect(anywhere) == points;
  };
  std::map<std::optional<std::vector<std::int64_t>>, std::vector<Points>> by_first;
  std::size_t count = 0;
  std::vector<Points> result;
  for (const auto& statement : mapping.statements) {
    auto points = statement.domain.preimage(forms, width).coalesce();
    const auto when = points.image(times);
    auto anywhere = when.preimage(times, width);
    if (!are_everywhere(points, anywhere)) {
      result.push_back({std::move(points)});
      continue;
    }
    auto& alike = by_first[when.lexmin_point()];
    const auto same = std::ranges::find(alike, anywhere, &Points::set);
    result.push_back(same == alike.end() ? alike.emplace_back(anywhere.coalesce(), ++count) : *same);
  }
  return result;
}

/// The groups of a part, and their points.
poly::Region region_of(const Mapping& mapping, const std::vector<Points>& points,
                       const mapping::PeClass& cell, bool prologue, std::vector<Group>& groups) {
  const auto coordinates = mapping.grid.extents.size();
  const auto width = coordinates + mapping.grid.time.size();
  std::vector<poly::Affine> keep;
  for (std::size_t g = 0; g < coordinates; ++g) keep.push_back(poly::variable(width, g));
  const auto here = cell.region.preimage(keep, width);
  std::vector<poly::Affine> times;
  for (std::size_t t = coordinates; t < width; ++t) times.push_back(poly::variable(width, t));
  const auto pieces = cell.region.conjunctions();
  const bool in_pieces = !pieces || pieces->size() > 1;
  poly::Region result{cell.region, {}};
  std::size_t last = 0;
  for (const auto s : cell.statements) {
    if (mapping.statements[s].prologue != prologue) continue;
    auto domain = points[s].set;
    if (points[s].times == 0) {
      domain = domain.intersect(here).coalesce();
      if (in_pieces) domain = plain_domain(std::move(domain), here, times, width);
    }
    // Neighbours in order that run at the same points are one statement to the loop generator.
    const bool known = last != 0 && points[s].times != 0;
    const auto before = std::exchange(last, points[s].times);
    if (!groups.empty() && (known ? before == last : result.statements.back() == domain)) {
      groups.back().push_back(s);
      continue;
    }
    result.statements.push_back(std::move(domain));
    groups.push_back({s});
  }
  return result;
}

/// For each class its prologue and its loops.
std::vector<std::vector<Part>> parts_of(const Mapping& mapping) {
  std::vector<std::vector<Part>> result(mapping.classes.size());
  const auto points = points_of(mapping);
  std::vector<poly::Region> regions;
  for (std::size_t c = 0; c < mapping.classes.size(); ++c) {
    for (const bool prologue : {true, false}) {
      auto& part = result[c].emplace_back();
      regions.push_back(region_of(mapping, points, mapping.classes[c], prologue, part.groups));
    }
  }
  auto nests = poly::generate_loops(regions, mapping.grid.time.size());
  for (std::size_t n = 0; n < nests.size(); ++n) result[n / 2][n % 2].nest = std::move(nests[n]);
  return result;
}

/// Writes the code of one PE class.
class ClassWriter {
 public:
  ClassWriter(const Mapping& mapping, const std::vector<Storage>& storage,
              const std::vector<program::TensorId>& tensors, const std::vector<ExitFlag>& flags,
              const std::vector<bool>& partial, const mapping::PeClass& cell)
      : mapping_(mapping),
        graph_(mapping.graph),
        storage_(storage),
        tensors_(tensors),
        flags_(flags),
        partial_(partial),
        cell_(cell),
        slots_(graph_.flows.size()) {}

  program::PeClass write(program::PeClass named, const std::vector<Part>& parts) {
    result_ = std::move(named);
    for (const auto& part : parts) write_node(part.nest, part.groups);
    return std::move(result_);
  }
  [[nodiscard]] const std::vector<FlagValue>& flag_values() const { return flag_values_; }

 private:
  [[nodiscard]] std::size_t coordinates() const { return mapping_.grid.extents.size(); }
  [[nodiscard]] std::size_t variables() const {
    return coordinates() + poly::loop_variables(mapping_.grid.time.size());
  }

  void write_node(const poly::Node& node, const std::vector<Group>& groups) {
    switch (node.kind) {
      case poly::Node::Kind::block:
        for (const auto& child : node.children) write_node(child, groups);
        return;
      case poly::Node::Kind::loop: {
        program::Loop loop{loop_name(node), {}, {}, node.step};
        for (const auto& bound : node.lower) loop.lower.push_back({to_program(bound.form), bound.divisor});
        for (const auto& bound : node.upper) loop.upper.push_back({to_program(bound.form), bound.divisor});
        add(std::move(loop), {});
        ++depth_;
        for (const auto& child : node.children) write_node(child, groups);
        --depth_;
        add(program::End{}, {});
        return;
      }
      case poly::Node::Kind::guard:
        add(program::If{to_program(node.condition)}, {});
        for (const auto& child : node.children) write_node(child, groups);
        add(program::End{}, {});
        return;
      case poly::Node::Kind::visit:
        for (const auto s : groups[node.statement]) {
          write_statement(mapping_.statements[s], point_of(node.time));
          note_flag(mapping_.statements[s], point_of(node.time));
        }
        return;
    }
  }

  /// The index that the loop counts: the time coordinate that varies with it in the first statement inside.
  [[nodiscard]] std::string loop_name(const poly::Node& loop) const {
    const poly::Node* visit = &loop;
    while (visit->kind != poly::Node::Kind::visit) {
      if (visit->children.empty()) return fmt::format("t{}", depth_);
      visit = &visit->children.front();
    }
    for (std::size_t t = 0; t < visit->time.size(); ++t) {
      if (visit->time[t].coefficients[coordinates() + depth_] != 0) return graph_.dims[mapping_.grid.time[t]];
    }
    return fmt::format("t{}", depth_);
  }

  /// The point's coordinates over grid coordinates and loop variables.
  [[nodiscard]] std::vector<poly::Affine> point_of(const std::vector<poly::Affine>& time) const {
    std::vector<poly::Affine> point(graph_.dims.size());
    for (std::size_t g = 0; g < mapping_.grid.space.size(); ++g) {
      point[mapping_.grid.space[g]] = poly::variable(variables(), g);
      point[mapping_.grid.space[g]].constant = mapping_.grid.origin[g];
    }
    for (std::size_t t = 0; t < mapping_.grid.time.size(); ++t) point[mapping_.grid.time[t]] = time[t];
    return point;
  }

  void write_statement(const Statement& statement, const std::vector<poly::Affine>& point) {
    const auto& rule = graph_.rules[statement.rule];
    const Span& span = rule.span;
    const auto at = [&](const poly::Affine& form) { return poly::substitute(form, point, variables()); };
    const auto element = [&](FlowId flow) {
      std::vector<program::Affine> forms;
      for (const auto& form : graph_.at(flow).element) forms.push_back(to_program(at(form)));
      return forms;
    };
    switch (statement.kind) {
      case Kind::load:
        add(program::Load{slot(statement.target, point), tensor(rule.flow), element(rule.flow)}, span);
        return;
      case Kind::store:
        add(program::Store{tensor(rule.flow), element(rule.flow), slot(statement.sources.front(), point)},
            span);
        return;
      case Kind::move:
        add(program::Move{slot(statement.target, point), slot(statement.sources.front(), point)}, span);
        return;
      case Kind::receive: {
        program::Receive receive{ChannelId(statement.channel), slot(statement.target, point), {}};
        const auto& channel = mapping_.channels[statement.channel];
        if (channel.network) {
          auto sender = at(statement.from[mapping_.grid.space[channel.axis]]);
          sender.constant -= mapping_.grid.origin[channel.axis];
          receive.sender = {to_program(sender)};
        }
        add(std::move(receive), span);
        return;
      }
      case Kind::forward:
      case Kind::send:
        if (mapping_.channels[statement.channel].network) {
          write_broadcast(statement, point, span);
        } else {
          add(program::Send{ChannelId(statement.channel), slot(statement.sources.front(), point)}, span);
        }
        return;
      case Kind::compute:
        write_compute(statement, std::get<dataflow::Compute>(rule.action), point, span);
        return;
    }
  }

  /// Notes where the statement has defined a flag of a loop.
  void note_flag(const Statement& statement, const std::vector<poly::Affine>& point) {
    const bool defines =
        statement.kind == Kind::receive || statement.kind == Kind::move || statement.kind == Kind::compute;
    if (flags_.empty() || !defines || partial_[statement.target.flow.index()]) return;
    const auto& flow = graph_.at(statement.target.flow);
    for (std::size_t f = 0; f < flags_.size(); ++f) {
      if (flow.tensor != flags_[f].tensor) continue;
      const auto element = [&](std::size_t d) {
        const auto made = poly::substitute(flow.element[d], statement.target.point, graph_.dims.size());
        return poly::substitute(made, point, variables());
      };
      bool of_this_run = true;
      std::vector<program::Affine> run;
      const auto& around = flags_[f].around;
      for (std::size_t d = 0; d < around.size(); ++d) {
        const auto& [index, offset] = around[d];
        const auto dim =
            static_cast<std::size_t>(std::ranges::find(graph_.dims, index) - graph_.dims.begin());
        of_this_run = of_this_run && std::ranges::find(mapping_.grid.time, dim) != mapping_.grid.time.end() &&
                      element(d) - point[dim] == poly::constant(point[dim].coefficients.size(), offset);
        run.push_back(to_program(element(d)));
      }
      flag_values_.push_back({f, result_.code.size() - 1, slot(statement.target, point),
                              to_program(element(around.size())), of_this_run, std::move(run)});
    }
  }

  /// The receivers of one sender, itself perhaps among them, form an interval along the axis.
  void write_broadcast(const Statement& send, const std::vector<poly::Affine>& point, const Span& span) {
    const auto rank = graph_.dims.size();
    const auto axis = mapping_.channels[send.channel].axis;
    const auto receive = std::ranges::find_if(mapping_.statements, [&](const Statement& s) {
      return s.kind == Kind::receive && s.rule == send.rule && s.channel == send.channel;
    });
    auto forms = receive->from;
    forms.push_back(poly::variable(rank, mapping_.grid.space[axis]));
    forms.back().constant = -mapping_.grid.origin[axis];
    auto pairs = receive->domain.image(forms).coalesce();
    std::vector<poly::Affine> sender, sender_point;
    for (std::size_t d = 0; d < rank; ++d) {
      sender.push_back(poly::variable(rank + 1, d));
      sender_point.push_back(poly::variable(rank, d));
    }
    auto pieces = pairs.conjunctions();
    if (!pieces || pieces->size() != 1) {
      auto own = poly::variable(rank, mapping_.grid.space[axis]);
      own.constant = -mapping_.grid.origin[axis];
      auto itself = sender_point;
      itself.push_back(own);
      const auto one = poly::constant(rank + 1, 1);
      const auto distance = poly::variable(rank + 1, rank) - poly::substitute(own, sender, rank + 1);
      const auto next = pairs.intersect({one - distance, false}).intersect({one + distance, false});
      std::vector<std::size_t> senders(rank);
      std::iota(senders.begin(), senders.end(), std::size_t{0});
      const auto reached = pairs.project({rank}).preimage({poly::variable(rank + 1, rank)}, rank + 1);
      const auto joined = pairs.unite(next.project(senders).image(itself).intersect(reached));
      pairs = joined.coalesce();
      pieces = pairs.conjunctions();
      if (!pieces ||
          pieces->size() != 1) {  // a coordinate of one value only, as a fold's, may keep parts apart
        pairs = joined.detect_equalities().coalesce();
        pieces = pairs.conjunctions();
      }
      // Where isl leaves one set in parts, their bounds together may say it, as the end of this function checks.
      if (!pieces || pieces->size() != 1) pieces = pairs.simple_hull().conjunctions();
    }
    program::Broadcast broadcast{ChannelId(send.channel), slot(send.sources.front(), point), {}, {}};
    auto interval = send.domain.preimage(sender, rank + 1);
    for (const auto& [form, equality] :
         pieces && pieces->size() == 1 ? pieces->front().constraints : std::vector<poly::Constraint>{}) {
      const auto own = form.coefficients[rank];
      if (own == 0) continue;
      interval = interval.intersect({form, equality});
      // own * x + rest >= 0: x >= ceil(-rest / own) or x <= floor(rest / -own).
      poly::Affine rest{std::vector<std::int64_t>(form.coefficients.begin(), form.coefficients.end() - 1),
                        form.constant};
      const auto value = poly::substitute(own > 0 ? -1 * rest : rest, point, variables());
      const program::Bound bound{to_program(value), std::abs(own)};
      if (own > 0 || equality) broadcast.lower.push_back(bound);
      if (own < 0 || equality) broadcast.upper.push_back(bound);
    }
    if (broadcast.lower.empty() || broadcast.upper.empty() || !(interval == pairs)) {
      throw LegalityError(
          {.code = "CYC224",
           .span = span,
           .message = fmt::format("the PEs that need one value of `{}` are not one interval of the axis",
                                  graph_.at(graph_.at(send.sources.front().flow).tensor).user_name()),
           .notes = {},
           .help = "stream it instead of broadcasting it"});
    }
    add(std::move(broadcast), span);
  }

  void write_compute(const Statement& statement, const dataflow::Compute& compute,
                     const std::vector<poly::Affine>& point, const Span& span) {
    const SlotRef target = slot(statement.target, point);
    std::vector<Operand> operands(compute.terms.size());
    std::vector<operators::Shape> shapes(compute.terms.size());
    std::vector<std::optional<operators::DType>> dtypes(compute.terms.size());
    std::size_t next_source = 0;
    std::size_t next_temporary = 0;
    for (std::size_t t = 0; t < compute.terms.size(); ++t) {
      const bool last = t + 1 == compute.terms.size();
      std::visit(
          Overloaded{
              [&](const dataflow::FlowRef&) {
                const auto& source = statement.sources.at(next_source++);
                operands[t] = slot(source, point);
                shapes[t] = graph_.at(source.flow).tile;
                dtypes[t] = graph_.dtype_of(source.flow);
              },
              [&](const Number& value) { operands[t] = value; },
              [&](const dataflow::Index& index) {
                dtypes[t] = index.dtype;
                const auto to = last ? target : temporary(next_temporary++, {}, index.dtype, target);
                add(program::Move{to, to_program(poly::substitute(index.form, point, variables()))}, span);
                operands[t] = to;
              },
              [&](const dataflow::Apply& apply) {
                program::Compute instruction{apply.op, apply.flags, {}, target};
                std::vector<operators::Shape> inputs;
                std::vector<std::optional<operators::DType>> input_dtypes;
                for (const auto operand : apply.operands) {
                  input_dtypes.push_back(dtypes[operand]);
                  instruction.operands.push_back(operands[operand]);
                  inputs.push_back(shapes[operand]);
                }
                shapes[t] = operators::result_shape(apply.op, apply.flags, inputs);
                dtypes[t] =
                    operators::result_dtype(apply.op, operators::common_dtype(apply.op, input_dtypes));
                const bool direct = last && !overlaps(apply, instruction.operands, inputs, target, shapes[t]);
                if (!direct)
                  instruction.destination = temporary(next_temporary++, shapes[t], dtypes[t], target);
                operands[t] = instruction.destination;
                add(std::move(instruction), span);
              }},
          compute.terms[t]);
    }
    const auto* result = std::get_if<SlotRef>(&operands.back());
    if (result == nullptr || !(*result == target))
      add(program::Move{target, to_source(operands.back())}, span);
  }

  /// True where the destination is an operand that the operator must not overwrite while it reads.
  static bool overlaps(const dataflow::Apply& apply, const std::vector<Operand>& operands,
                       const std::vector<operators::Shape>& shapes, const SlotRef& target,
                       const operators::Shape& shape) {
    const bool elementwise = operators::is_elementwise(apply.op);
    const bool accumulating = operators::is_accumulating(apply.op);
    for (std::size_t n = 0; n < operands.size(); ++n) {
      const auto* operand = std::get_if<SlotRef>(&operands[n]);
      if (operand == nullptr || operand->slot != target.slot) continue;
      const bool in_place =
          *operand == target && shapes[n] == shape && (elementwise || (accumulating && n == 0));
      if (!in_place) return true;
    }
    return false;
  }

  struct Slot {
    SlotId id;
    SlotLayout layout;
  };

  /// The place of a flow's value; makes the slot at its first use.
  SlotRef slot(const Value& value, const std::vector<poly::Affine>& point) {
    auto& own = slots_[storage_[value.flow.index()].slot.index()];
    if (!own) own = make_slot(value.flow);
    const auto coordinate = [&](std::size_t dim, std::int64_t low) {
      auto form = poly::substitute(value.point[dim], point, variables());
      form.constant -= low;
      return form;
    };
    const auto& [axes, modulo, count] = own->layout;
    poly::Affine index = poly::constant(variables(), 0);
    for (const auto& [dim, low, stride] : axes) index = index + stride * coordinate(dim, low);
    if (modulo.modulus == 0) return {own->id, to_program(index), {}};
    poly::Affine wrapped = poly::constant(variables(), 0);
    for (const auto& [dim, low, factor] : modulo.axes) wrapped = wrapped + factor * coordinate(dim, low);
    wrapped.constant = floor_modulo(wrapped.constant, modulo.modulus);
    if (poly::is_constant(wrapped)) {
      index.constant += modulo.stride * wrapped.constant;
      return {own->id, to_program(index), {}};
    }
    return {own->id, to_program(index), {to_program(wrapped), modulo.modulus, modulo.stride}};
  }

  /// The slot of the flow and those that share it.
  Slot make_slot(FlowId id) {
    const auto& flow = graph_.at(id);
    const auto& storage = storage_[id.index()];
    // The values that this class defines, however far they are kept.
    auto defined = poly::Set::empty(graph_.context, graph_.dims.size());
    if (storage.is_indexed()) {
      const auto here = cell_.region.preimage(mapping_.pe_forms(), graph_.dims.size());
      for (const auto s : cell_.statements) {
        const auto& statement = mapping_.statements[s];
        const auto target = statement.target.flow;
        if (target.valid() && storage_[target.index()].slot == storage.slot &&
            mapping::defines(statement, target))
          defined = defined.unite(statement.domain.intersect(here));
      }
    }
    Slot slot{SlotId(result_.slots.size()), slot_layout(storage, defined)};
    result_.slots.push_back({dataflow::listed_name(graph_, flow, "."), graph_.dtype_of(id), flow.tile,
                             slot.layout.count, -1, flow.prefetched});
    return slot;
  }

  /// Numbers alone adopt the dtype of the result.
  SlotRef temporary(std::size_t ordinal, const operators::Shape& shape, std::optional<operators::DType> known,
                    const SlotRef& result) {
    const auto dtype = known.value_or(result_.slots[result.slot.index()].dtype);
    const auto name = fmt::format("t{}", ordinal);
    const auto same = std::ranges::find_if(result_.slots, [&](const program::Slot& s) {
      return s.name == name && s.dtype == dtype && s.tile == shape;
    });
    if (same == result_.slots.end()) {
      result_.slots.push_back({name, dtype, shape, 1, -1, false});
      return {SlotId(result_.slots.size() - 1), {}};
    }
    return {SlotId(static_cast<std::size_t>(same - result_.slots.begin())), {}};
  }

  [[nodiscard]] program::TensorId tensor(FlowId flow) const {
    return tensors_.at(graph_.at(flow).tensor.index());
  }

  void add(program::Action action, const Span& span) { result_.code.push_back({std::move(action), span}); }

  const Mapping& mapping_;
  const dataflow::Graph& graph_;
  const std::vector<Storage>& storage_;
  const std::vector<program::TensorId>& tensors_;
  const std::vector<ExitFlag>& flags_;
  const std::vector<bool>& partial_;
  const mapping::PeClass& cell_;
  std::vector<std::optional<Slot>> slots_;
  std::size_t depth_ = 0;
  program::PeClass result_;
  std::vector<FlagValue> flag_values_;
};

/// Flows of parts of sums, which are no elements of their tensors, and of sums on their way to the expression around them.
std::vector<bool> partial_results(const dataflow::Graph& graph) {
  std::vector<bool> result(graph.flows.size());
  for (bool more = true; std::exchange(more, false);) {
    for (const auto& rule : graph.rules) {
      const auto* transfer = std::get_if<dataflow::Transfer>(&rule.action);
      const bool partial = rule.origin == dataflow::Origin::lower_sum ||
                           (transfer != nullptr && result[transfer->source.index()]);
      if (!partial || result[rule.flow.index()]) continue;
      result[rule.flow.index()] = more = true;
    }
  }
  return result;
}

/// The labels of channels. Those that would be the same have the lines of the text whose values they move, and
/// those of one line a number: `u along i (line 7, number 2)`.
std::vector<std::string> channel_labels(const Mapping& mapping) {
  const auto line = [&](const mapping::Channel& channel) { return mapping.graph.at(channel.flow).span.line; };
  std::map<std::string, std::map<int, std::size_t>> lines;  // How many channels there are of each.
  for (const auto& channel : mapping.channels) ++lines[channel.label][line(channel)];
  auto left = lines;
  std::vector<std::string> labels;
  for (const auto& channel : mapping.channels) {
    std::vector<std::string> parts;
    const auto& alike = lines[channel.label];
    const auto count = alike.at(line(channel));
    if ((alike.size() > 1 || count > 1) && line(channel) > 0)
      parts.push_back(fmt::format("line {}", line(channel)));
    if (count > 1)
      parts.push_back(fmt::format("number {}", count + 1 - left[channel.label][line(channel)]--));
    labels.push_back(parts.empty() ? channel.label
                                   : fmt::format("{} ({})", channel.label, fmt::join(parts, ", ")));
  }
  return labels;
}

}  // namespace

Code write_code(const Mapping& mapping, const machine::Machine& machine, const std::vector<Storage>& storage,
                const std::vector<ExitFlag>& flags) {
  const auto& graph = mapping.graph;
  Code code{};
  auto& result = code.program;
  result.kernel = graph.kernel;
  result.grid = mapping.grid.extents;
  result.machine = machine::on_part(machine, result.grid);
  result.grid_names = mapping.grid.names;
  std::vector<program::TensorId> tensors(graph.tensors.size());
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const auto& tensor = graph.tensors[t];
    if (tensor.role == dataflow::Role::local) continue;
    tensors[t] = program::TensorId(result.tensors.size());
    result.tensors.push_back(
        {tensor.name, tensor.dtype,
         tensor.role == dataflow::Role::input ? program::Role::input : program::Role::output, tensor.shape,
         tensor.tile, tensor.blocked});
  }
  const auto labels = channel_labels(mapping);
  for (const auto& channel : mapping.channels) {
    const auto& flow = graph.at(channel.flow);
    result.channels.push_back(
        {labels[result.channels.size()],
         channel.network ? program::Channel::Kind::network : program::Channel::Kind::link,
         graph.dtype_of(channel.flow), flow.tile, channel.offset, static_cast<std::uint32_t>(channel.axis), 0,
         channel.scale});
  }
  for (std::size_t c = 0; c < mapping.classes.size(); ++c) result.classes.push_back(named_class(mapping, c));
  const auto parts = parts_of(mapping);
  const auto partial = partial_results(graph);
  for (std::size_t c = 0; c < parts.size(); ++c) {
    ClassWriter writer(mapping, storage, tensors, flags, partial, mapping.classes[c]);
    result.classes[c] = writer.write(std::move(result.classes[c]), parts[c]);
    code.flag_values.push_back(writer.flag_values());
  }
  if (!mapping.time_function.empty()) result.notes["time"] = mapping.time_function;
  return code;
}

}  // namespace cyclotron::codegen
