// Receives come from dependences and sends are induced one to one (CY-079, CY-080); local values are referred to.
#include <cyclotron/mapping/make_statements.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <cyclotron/mapping/links.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "hops.hpp"

namespace cyclotron::mapping {

using dataflow::Compute;
using dataflow::FlowRef;
using dataflow::Rule;
using dataflow::Transfer;

namespace {

constexpr std::int64_t kind_count = 8;
/// Statements that one computation may become by where its operands lie.
constexpr std::size_t most_cases = 100;

class StatementBuilder {
 public:
  StatementBuilder(const Mapping& mapping, const machine::Machine& machine)
      : mapping_(mapping), machine_(machine), graph_(mapping.graph) {
    if (!machine.link_maps.empty()) custom_ = links_between(graph_.context, machine, mapping.grid.extents);
  }

  Mapping run() {
    find_aliases();
    for (std::size_t r = 0; r < graph_.rules.size(); ++r) add_rule(r);
    std::ranges::stable_sort(mapping_.statements, {}, &Statement::position);
    return std::move(mapping_);
  }

 private:
  [[nodiscard]] std::vector<poly::Affine> here(FlowId flow) const {
    return graph_.at(graph_.at(flow).space).tuple;
  }
  [[nodiscard]] bool is_local(FlowId flow, const Transfer& transfer) const {
    const auto offset = grid_offset(mapping_, flow, transfer.from);
    return offset && std::ranges::all_of(*offset, [](std::int64_t step) { return step == 0; });
  }

  /// A flow whose every value lies on its own PE already, and which only computations read, needs no storage.
  void find_aliases() {
    alias_.assign(graph_.flows.size(), true);
    for (const auto& rule : graph_.rules) {
      const auto* transfer = std::get_if<Transfer>(&rule.action);
      if (transfer == nullptr || transfer->source == rule.flow || !is_local(rule.flow, *transfer))
        alias_[rule.flow.index()] = false;
      if (transfer != nullptr) alias_[transfer->source.index()] = false;
    }
    for (const auto& rule : graph_.rules) {
      if (std::holds_alternative<Compute>(rule.action)) limit_cases(rule);
    }
  }

  struct Case {
    poly::Set domain;
    std::vector<Value> sources;
  };

  /// The parts of the cases in which a flow without storage lies in one place each.
  [[nodiscard]] std::vector<Case> refined(const std::vector<Case>& cases, FlowId alias) const {
    std::vector<Case> result;
    for (const auto& one : cases) {
      for (const auto& definition : graph_.rules) {
        if (definition.flow != alias) continue;
        auto part = one.domain.intersect(definition.domain);
        if (part.is_empty()) continue;
        result.push_back({std::move(part), one.sources});
        const auto& transfer = std::get<Transfer>(definition.action);
        result.back().sources.push_back({transfer.source, transfer.from});
      }
    }
    return result;
  }

  /// Operands that would make too many cases of a computation (a wide stencil's, each with borders of its own)
  /// are moved to one place instead.
  void limit_cases(const Rule& rule) {
    std::vector<Case> cases{{rule.domain, {}}};
    for (const auto& term : std::get<Compute>(rule.action).terms) {
      const auto* ref = std::get_if<FlowRef>(&term);
      if (ref == nullptr || !alias_[ref->flow.index()]) continue;
      auto next = refined(cases, ref->flow);
      if (next.size() > most_cases) {
        alias_[ref->flow.index()] = false;
      } else {
        cases = std::move(next);
      }
    }
  }

  Statement make(Kind kind, std::size_t rule, FlowId flow, poly::Set domain) const {
    const auto rank = mapping_.ranks[graph_.at(flow).space.index()];
    const auto rules = static_cast<std::int64_t>(graph_.rules.size());
    Statement statement{kind, rule, std::move(domain), {}, {}, 0, 0, {}, 0, false};
    statement.position =
        (rank * kind_count + static_cast<std::int64_t>(kind)) * rules + static_cast<std::int64_t>(rule);
    return statement;
  }

  void add(Statement statement) {
    if (!statement.domain.is_empty()) mapping_.statements.push_back(std::move(statement));
  }

  void add_rule(std::size_t r) {
    const Rule& rule = graph_.rules[r];
    std::visit(Overloaded{[&](const dataflow::Inject&) {
                            auto statement = make(Kind::load, r, rule.flow, rule.domain);
                            statement.target = {rule.flow, here(rule.flow)};
                            statement.prologue = graph_.at(rule.flow).prefetched;
                            add(std::move(statement));
                          },
                          [&](const Transfer& transfer) { add_transfer(r, rule, transfer); },
                          [&](const Compute& compute) { add_compute(r, rule, compute); },
                          [&](const dataflow::Export&) {
                            auto statement = make(Kind::store, r, rule.flow, rule.domain);
                            statement.sources = {{rule.flow, here(rule.flow)}};
                            add(std::move(statement));
                          }},
               rule.action);
  }

  void add_transfer(std::size_t r, const Rule& rule, const Transfer& transfer) {
    if (alias_[rule.flow.index()]) return;
    if (is_local(rule.flow, transfer)) {
      if (transfer.source == rule.flow && stays_in_place(rule.flow, transfer)) return;
      auto statement = make(Kind::move, r, rule.flow, rule.domain);
      statement.target = {rule.flow, here(rule.flow)};
      statement.sources = {{transfer.source, transfer.from}};
      add(std::move(statement));
      return;
    }
    add_message(r, rule, transfer.source, transfer.from, transfer.broadcast);
  }

  /// True where a value stays in its slot: places are told apart by the steps with which the element
  /// varies, and none of these changes.
  [[nodiscard]] bool stays_in_place(FlowId flow, const Transfer& transfer) const {
    const auto tuple = here(flow);
    return std::ranges::none_of(mapping_.grid.time, [&](std::size_t d) {
      const bool varies = std::ranges::any_of(
          graph_.at(flow).element, [d](const poly::Affine& form) { return form.coefficients[d] != 0; });
      return varies && !(transfer.from[d] == tuple[d]);
    });
  }

  /// A receive at the rule's points and the send it induces at the points they receive from.
  void add_message(std::size_t r, const Rule& rule, FlowId source, const std::vector<poly::Affine>& from,
                   bool broadcast) {
    const auto channel = broadcast ? network(rule, from) : link(rule, from);
    auto receive = make(Kind::receive, r, rule.flow, rule.domain);
    receive.target = {rule.flow, here(rule.flow)};
    receive.channel = receive.message = channel;
    receive.from = from;
    const auto domain = rule.domain.image(from).coalesce();
    const bool computed = graph_.at(source).computed;
    auto send = make(computed ? Kind::send : Kind::forward, r, source, domain);
    send.sources = {{source, here(source)}};
    send.channel = send.message = channel;
    add(std::move(receive));
    add(std::move(send));
  }

  /// A point whose value comes from several PEs away, or one, or from its own: the first that there is.
  [[nodiscard]] std::vector<std::int64_t> farthest_point(const Rule& rule,
                                                         const std::vector<poly::Affine>& from) const {
    const auto tuple = here(rule.flow);
    for (const std::int64_t least : {2, 1}) {
      for (const auto d : mapping_.grid.space) {
        for (const std::int64_t sign : {1, -1}) {
          const auto beyond = sign * (tuple[d] - from[d]) - poly::constant(tuple.size(), least);
          if (const auto point = rule.domain.intersect({beyond, false}).lexmin_point()) return *point;
        }
      }
    }
    return rule.domain.lexmin_point().value();
  }

  std::size_t link(const Rule& rule, const std::vector<poly::Affine>& from) {
    const auto offset = grid_offset(mapping_, rule.flow, from);
    const auto hop = grid_hop(mapping_, rule.flow, from);
    if (hop && custom_) require_links(rule, from);
    if (!hop || (!custom_ && (!offset || machine::hops(machine_, mapping_.grid.extents, *offset) > 1))) {
      const auto point = farthest_point(rule, from);
      std::vector<std::int64_t> source;
      for (const auto& form : from) source.push_back(poly::evaluate(form, point));
      const auto fault = offset ? fmt::format("{} hops away, and links join neighbours",
                                              distance(pe_of(point), pe_of(source)))
                                : "and others from another distance, which no one link joins";
      throw LegalityError(
          {.code = "CYC220",
           .obstacle = Obstacle::distance,
           .span = rule.span,
           .message = fmt::format("PE ({}) needs `{}` from PE ({}), {}", fmt::join(pe_of(point), ", "),
                                  graph_.at(graph_.at(rule.flow).tensor).user_name(),
                                  fmt::join(pe_of(source), ", "), fault),
           .notes = {},
           .help = help_for(rule, from, offset, hop.has_value())});
    }
    if (!poly::Map::function(rule.domain, from).is_injective()) {
      throw LegalityError(
          {.code = "CYC220",
           .obstacle = Obstacle::distance,
           .span = rule.span,
           .message = fmt::format("one value of `{}` would be sent to the same PE several times",
                                  graph_.at(graph_.at(rule.flow).tensor).user_name()),
           .notes = {},
           .help = "map the index along which it is used again to space, or order it last in time"});
    }
    Channel channel{rule.flow, hop->offset, false, 0, {}};
    if (!offset) channel.scale = hop->scale;
    if (channel.offset.empty()) channel.offset.push_back(0);
    for (std::size_t g = 0; offset && g < channel.offset.size(); ++g)
      channel.offset[g] = wrapped(channel.offset[g], g);
    return add_channel(std::move(channel));
  }

  /// Of a machine with link maps: one of them joins each pair of PEs.
  void require_links(const Rule& rule, const std::vector<poly::Affine>& from) {
    std::vector<poly::Affine> senders;
    for (const auto& form : mapping_.pe_forms())
      senders.push_back(poly::substitute(form, from, graph_.dims.size()));
    const auto needed = poly::Map::function(rule.domain, senders)
                            .reverse()
                            .then(poly::Map::function(rule.domain, mapping_.pe_forms()));
    const auto missing = needed.subtract(*custom_).sample();
    if (!missing) return;
    std::vector<std::string> maps;
    for (const auto& map : machine_.link_maps) maps.push_back(fmt::format("`{}`", map.map));
    throw LegalityError(
        {.code = "CYC220",
         .obstacle = Obstacle::distance,
         .span = rule.span,
         .message = fmt::format(
             "PE ({}) needs `{}` from PE ({}), and no link leads there", fmt::join(missing->second, ", "),
             graph_.at(graph_.at(rule.flow).tensor).user_name(), fmt::join(missing->first, ", ")),
         .notes = {},
         .help = fmt::format("give the machine such a link map; it has {}", fmt::join(maps, ", "))});
  }

  std::size_t network(const Rule& rule, const std::vector<poly::Affine>& from) {
    const auto& tuple = graph_.at(graph_.at(rule.flow).space).tuple;
    Channel channel{rule.flow, {}, true, mapping_.grid.space.size(), {}};
    for (std::size_t g = 0; g < mapping_.grid.space.size(); ++g) {
      if (from[mapping_.grid.space[g]] == tuple[mapping_.grid.space[g]]) continue;
      if (channel.axis != mapping_.grid.space.size()) {
        throw LegalityError(
            {.code = "CYC224",
             .span = rule.span,
             .message = fmt::format("a broadcast runs along one grid dimension, and `{}` would move along "
                                    "`{}` and `{}` together",
                                    graph_.at(graph_.at(rule.flow).tensor).user_name(),
                                    mapping_.grid.names[channel.axis], mapping_.grid.names[g]),
             .notes = {},
             .help = "stream it instead of broadcasting it"});
      }
      channel.axis = g;
    }
    CYC_CHECK(channel.axis < mapping_.grid.space.size(), "a broadcast leaves its PE");
    return add_channel(std::move(channel));
  }

  std::size_t add_channel(Channel channel) {
    const auto& flow = graph_.at(channel.flow);
    const auto motion = motion_of(channel);
    channel.name = fmt::format("{}^{}{}", flow.name, graph_.at(flow.space).name, motion);
    channel.label = graph_.at(flow.tensor).user_name() + motion;
    mapping_.channels.push_back(std::move(channel));
    return mapping_.channels.size() - 1;
  }

  /// ` along i`: how values move on a channel, empty where they stay.
  [[nodiscard]] std::string motion_of(const Channel& channel) const {
    if (channel.network) return fmt::format(" broadcast along {}", mapping_.grid.names[channel.axis]);
    std::vector<std::string> steps;
    if (!channel.scale.empty()) {
      for (std::size_t g = 0; g < channel.offset.size(); ++g) {
        auto sender = channel.scale[g] * poly::variable(channel.offset.size(), g);
        sender.constant = -channel.offset[g];
        steps.push_back(poly::to_string(sender, mapping_.grid.names));
      }
      return fmt::format(" from ({})", fmt::join(steps, ", "));
    }
    for (std::size_t g = 0; g < channel.offset.size(); ++g) {
      if (channel.offset[g] != 0)
        steps.push_back(poly::to_string(direction(channel.offset, g), mapping_.grid.names));
    }
    return steps.empty() ? "" : fmt::format(" along {}", fmt::join(steps, ", "));
  }

  static poly::Affine direction(const std::vector<std::int64_t>& offset, std::size_t g) {
    return (offset[g] < 0 ? -1 : 1) * poly::variable(offset.size(), g);
  }

  /// An offset on a ring, the short way round; both ways are one link where there are only two PEs.
  [[nodiscard]] std::int64_t wrapped(std::int64_t step, std::size_t g) const {
    const auto extent = mapping_.grid.extents[g];
    if (!machine::wraps_around(machine_, g) || std::abs(step) <= 1) return step;
    return step > 0 ? step - extent : step + extent;
  }

  /// `scaled`: link maps may lead there.
  [[nodiscard]] std::string help_for(const Rule& rule, const std::vector<poly::Affine>& from,
                                     const std::optional<std::vector<std::int64_t>>& offset,
                                     bool scaled) const {
    for (const auto topology : {machine::Topology::hexagonal, machine::Topology::torus}) {
      auto other = machine_;
      other.topology = {topology};
      if (offset && machine::hops(other, mapping_.grid.extents, *offset) <= 1)
        return fmt::format("give a machine that has such a link: cy.Machine(topology=\"{}\")",
                           machine::name(topology));
    }
    if (offset) return "map the index that jumps to time, or stream the value along it";
    const auto tuple = here(rule.flow);
    std::vector<std::string> varying;
    for (std::size_t g = 0; g < mapping_.grid.space.size(); ++g) {
      const auto d = mapping_.grid.space[g];
      const auto distance = tuple[d] - from[d];
      const bool is_one = std::ranges::all_of(distance.coefficients, [](std::int64_t c) { return c == 0; });
      if (!is_one) varying.push_back(fmt::format("`{}`", mapping_.grid.names[g]));
    }
    const auto which = varying.empty()
                           ? "the index by which the distance varies"
                           : fmt::format("{}, along which the distance varies,", fmt::join(varying, " or "));
    return fmt::format("map {} to time{}", which,
                       scaled ? ", or give a machine that has such links, as cy.machines.tree has" : "");
  }

  [[nodiscard]] std::vector<std::int64_t> pe_of(const std::vector<std::int64_t>& point) const {
    std::vector<std::int64_t> pe;
    for (const auto& form : mapping_.pe_forms()) pe.push_back(poly::evaluate(form, point));
    return pe;
  }
  static std::int64_t distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    std::int64_t hops = 0;
    for (std::size_t g = 0; g < a.size(); ++g) hops += std::abs(a[g] - b[g]);
    return hops;
  }

  /// One compute statement for each way in which its aliased operands lie.
  void add_compute(std::size_t r, const Rule& rule, const Compute& compute) {
    std::vector<Case> cases{{rule.domain, {}}};
    for (const auto& term : compute.terms) {
      const auto* ref = std::get_if<FlowRef>(&term);
      if (ref == nullptr) continue;
      auto point = here(rule.flow);
      for (std::size_t d = 0; d < point.size(); ++d) point[d].constant += ref->offset[d];
      if (!alias_[ref->flow.index()]) {
        if (arrives(r, rule, *ref, point)) point = here(rule.flow);
        for (auto& one : cases) one.sources.push_back({ref->flow, point});
        continue;
      }
      cases = refined(cases, ref->flow);
    }
    for (auto& one : cases) {
      // An operand that is a known number is there as early as one that is loaded.
      const auto place = graph_.at(rule.flow).computed ? Kind::compute : Kind::load;
      auto statement = make(place, r, rule.flow, one.domain.coalesce());
      statement.kind = Kind::compute;
      statement.target = {rule.flow, here(rule.flow)};
      statement.sources = std::move(one.sources);
      add(std::move(statement));
    }
  }

  /// The accumulator's predecessor is in its PE, or (true) comes from a neighbour to the place of this one.
  bool arrives(std::size_t r, const Rule& rule, const FlowRef& ref, const std::vector<poly::Affine>& point) {
    if (ref.flow != rule.flow) return false;
    const auto offset = grid_offset(mapping_, rule.flow, point);
    if (offset && std::ranges::all_of(*offset, [](std::int64_t step) { return step == 0; })) return false;
    add_message(r, rule, ref.flow, point, false);
    return true;
  }

  Mapping mapping_;
  const machine::Machine& machine_;
  const dataflow::Graph& graph_;
  std::optional<poly::Map> custom_;  // The pairs of PEs that link maps join, where the machine has any.
  std::vector<bool> alias_;
};

}  // namespace

Mapping make_statements(const Mapping& mapping, const machine::Machine& machine) {
  return StatementBuilder(mapping, machine).run();
}

}  // namespace cyclotron::mapping
