// Values that only later steps use stay with their makers until then, where links are too shallow to hold them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <cyclotron/mapping/kept.hpp>
#include <cyclotron/poly/set.hpp>

#include "detail.hpp"

namespace cyclotron::mapping::detail {

namespace {

/// Of the links that a channel's messages take, as far as the machine tells them apart.
std::int64_t least_depth(const machine::Machine& machine, const std::vector<std::int64_t>& hop) {
  const auto own = machine.links.find(hop);
  auto result = own == machine.links.end() ? machine.link.depth : own->second.depth;
  if (machine.chiplets) result = std::min(result, machine.chiplets->link.depth);
  for (const auto& map : machine.link_maps) {
    if (map.link) result = std::min(result, map.link->depth);
  }
  return result;
}

class LateSender {
 public:
  LateSender(Mapping& mapping, const machine::Machine& machine) : mapping_(mapping), machine_(machine) {}

  void run() {
    const auto all = wires();
    // All or none: each way alone is free of circles, and mixed they need not be.
    if (std::ranges::none_of(all, [&](const Wire& wire) { return is_crowded(wire, all); })) return;
    for (const auto& wire : all) delay(wire);
    std::ranges::stable_sort(mapping_.statements, {}, &Statement::position);
    mapping_.proofs.push_back(
        fmt::format("{} kinds of message are sent in the step that receives them, all before any of them is "
                    "received: links of every depth carry them",
                    delayed_));
  }

 private:
  /// A receive, the send it induces, and how many steps that all PEs take together lie between, by loop of time.
  struct Message {
    std::size_t receive, send;
    std::vector<poly::Affine> later;   ///< At the receiver's point.
    std::vector<poly::Affine> sender;  ///< Its point in the step that receives.
    std::vector<poly::Affine> made;    ///< At that point: where the value comes from.
  };
  /// All messages into one flow over the same link.
  using Wire = std::vector<Message>;

  /// The outermost loop in which any steps lie between.
  [[nodiscard]] static std::optional<std::size_t> outermost(const Message& message) {
    const auto first = std::ranges::find_if(message.later, [](const poly::Affine& steps) {
      return !poly::is_constant(steps) || steps.constant != 0;
    });
    if (first == message.later.end()) return std::nullopt;
    return static_cast<std::size_t>(first - message.later.begin());
  }
  [[nodiscard]] static bool is_constant(const Message& message) {
    return std::ranges::all_of(message.later, poly::is_constant);
  }

  /// By how many steps of a loop of time the receiver runs behind the sender.
  [[nodiscard]] poly::Affine apart(const Statement& receive, const Skew& skew, std::size_t loop) const {
    auto result = poly::constant(mapping_.graph.dims.size(), 0);
    for (std::size_t g = 0; g < skew.size(); ++g) {
      const auto d = mapping_.grid.space[g];
      result = result + skew[g][loop] * (receive.target.point[d] - receive.from[d]);
    }
    return result;
  }

  /// Writes the sender's point and that of the making, if they are single forms.
  [[nodiscard]] bool find_points(Message& message) const {
    const auto& receive = mapping_.statements[message.receive];
    const auto& time = mapping_.grid.time;
    message.sender = receive.from;
    for (std::size_t t = 0; t < time.size(); ++t)
      message.sender[time[t]] = message.sender[time[t]] + message.later[t];
    if (is_constant(message)) {
      for (std::size_t d = 0; d < receive.from.size(); ++d)
        message.made.push_back(poly::variable(receive.from.size(), d));
      for (std::size_t t = 0; t < time.size(); ++t)
        message.made[time[t]].constant -= message.later[t].constant;
      return true;
    }
    const auto senders = poly::Map::function(receive.domain, message.sender);
    if (!senders.is_injective()) return false;
    const auto pieces = senders.reverse().then(poly::Map::function(receive.domain, receive.from)).pieces();
    if (!pieces || pieces->size() != 1) return false;
    message.made = pieces->front().forms;
    return true;
  }

  /// The wires with messages between which and whose receives lie steps. Not those of which one has no single form.
  [[nodiscard]] std::vector<Wire> wires() const {
    struct Found {
      const Channel* channel;
      Wire wire;
      bool has_forms = true;
    };
    std::vector<std::optional<Message>> messages(mapping_.channels.size());
    for (std::size_t s = 0; s < mapping_.statements.size(); ++s) {
      const auto& statement = mapping_.statements[s];
      if (!is_message(statement.kind)) continue;
      auto& message = messages[statement.channel];
      if (!message) message = Message{};
      (statement.kind == Kind::receive ? message->receive : message->send) = s;
    }
    std::vector<Found> all;
    for (std::size_t c = 0; c < messages.size(); ++c) {
      const auto& channel = mapping_.channels[c];
      if (channel.network || !messages[c]) continue;
      auto found = std::ranges::find_if(all, [&](const Found& other) {
        return other.channel->flow == channel.flow && other.channel->offset == channel.offset &&
               other.channel->scale == channel.scale;
      });
      if (found == all.end()) found = all.insert(found, {&channel, {}});
      const auto& skew = mapping_.in_turn[mapping_.graph.at(channel.flow).space.index()];
      if (!skew) continue;
      auto& message = *messages[c];
      const auto& receive = mapping_.statements[message.receive];
      for (std::size_t t = 0; t < mapping_.grid.time.size(); ++t) {
        const auto d = mapping_.grid.time[t];
        message.later.push_back(receive.target.point[d] - receive.from[d] + apart(receive, *skew, t));
      }
      if (!outermost(message)) continue;
      found->has_forms = found->has_forms && find_points(message);
      found->wire.push_back(std::move(message));
    }
    std::vector<Wire> result;
    for (auto& found : all) {
      if (found.has_forms && !found.wire.empty()) result.push_back(std::move(found.wire));
    }
    return result;
  }

  /// Whether a PE may make more of the messages than the link holds before the first of them is used.
  [[nodiscard]] bool is_crowded(const Wire& wire, const std::vector<Wire>& all) const {
    const auto& hop = mapping_.channels[mapping_.statements[wire.front().receive].channel].offset;
    const auto depth = least_depth(machine_, hop);
    if (depth >= machine::unbounded_depth) return false;
    if (!std::ranges::all_of(wire, is_constant) && is_out_of_order(wire)) return true;
    std::size_t loop = mapping_.grid.time.size();
    for (const auto& message : wire) loop = std::min(loop, *outermost(message));
    // Of one step more, where a PE makes some before it receives what others wait to send.
    const bool makes_before = std::ranges::any_of(all, [&](const Wire& other) {
      return std::ranges::any_of(other, [&](const Message& used) {
        return std::ranges::any_of(wire, [&](const Message& sent) { return comes_before(sent, used, loop); });
      });
    });
    std::int64_t count = 1;
    for (const auto& message : wire) {
      const auto most = most_steps(message, loop);
      if (!most) return true;
      count = std::max(count, *most);
    }
    if (makes_before) ++count;
    auto points = poly::Set::empty(mapping_.graph.context, mapping_.graph.dims.size());
    for (const auto& message : wire) points = points.unite(mapping_.statements[message.receive].domain);
    if (points.is_empty()) return false;
    // By how many points a PE has in a step.
    auto fixed = mapping_.grid.space;
    for (std::size_t t = 0; t < mapping_.grid.time.size() && count <= depth; ++t) {
      const auto d = mapping_.grid.time[t];
      const auto before = fixed.size();
      fixed.push_back(d);
      if (t <= loop || poly::Map::from_pairs(points.project(fixed), before).is_single_valued()) continue;
      const auto low = points.minimum(d), high = points.maximum(d);
      if (!low || !high || __builtin_mul_overflow(count, *high - *low + 1, &count)) return true;
    }
    return count > depth;
  }

  /// How many steps of a loop lie between at most; none where nothing limits them.
  [[nodiscard]] std::optional<std::int64_t> most_steps(const Message& message, std::size_t loop) const {
    const auto& steps = message.later[loop];
    if (poly::is_constant(steps)) return steps.constant;
    const auto& domain = mapping_.statements[message.receive].domain;
    return domain.is_empty() ? 0 : domain.image({steps}).maximum(0);
  }

  /// Whether in some step of a loop a PE sends the one before it receives the other: since that is used later within its
  /// step than it is made, or in the order of a step's statements.
  [[nodiscard]] bool comes_before(const Message& sent, const Message& used, std::size_t loop) const {
    const auto& time = mapping_.grid.time;
    const auto inner = used.later.begin() + static_cast<std::ptrdiff_t>(loop) + 1;
    const auto within = std::find_if(inner, used.later.end(), [](const poly::Affine& steps) {
      return !poly::is_constant(steps) || steps.constant != 0;
    });
    const auto& send = mapping_.statements[sent.send];
    const auto& receive = mapping_.statements[used.receive];
    const bool in_one_step = within == used.later.end();
    if (in_one_step ? receive.position <= send.position : within->constant < 0 && poly::is_constant(*within))
      return false;
    auto step = mapping_.grid.space;
    step.insert(step.end(), time.begin(),
                in_one_step ? time.end() : time.begin() + static_cast<std::ptrdiff_t>(loop) + 1);
    return !send.domain.project(step).intersect(receive.domain.project(step)).is_empty();
  }

  /// Whether messages are used in another order than that in which they are made: how many the link has to hold depends on
  /// the size of the problem.
  [[nodiscard]] bool is_out_of_order(const Wire& wire) const {
    const auto both = [this](const Message& message) {
      return Ends{&mapping_.statements[message.receive], &mapping_.statements[message.send]};
    };
    return std::ranges::any_of(wire, [&](const Message& a) {
      return std::ranges::any_of(wire,
                                 [&](const Message& b) { return overtakes(mapping_, both(a), both(b)); });
    });
  }

  void delay(const Wire& wire) {
    std::optional<dataflow::TensorId> aside;
    for (const auto& message : wire) {
      delay(message, aside);
      ++delayed_;
    }
  }

  void delay(const Message& message, std::optional<dataflow::TensorId>& aside) {
    const auto& dims = mapping_.graph.dims;
    std::vector<poly::Affine> here;
    for (std::size_t d = 0; d < dims.size(); ++d) here.push_back(poly::variable(dims.size(), d));
    keep_in_step(message);
    const auto source = lies_in(message, aside);
    auto& receive = mapping_.statements[message.receive];
    auto& send = mapping_.statements[message.send];
    receive.from = message.sender;
    send.domain = receive.domain.image(receive.from).coalesce();
    send.target.point = std::move(here);
    send.sources = {{source, message.made}};
    // Before whatever else a step does: first all sends, then all receives.
    const auto rules = static_cast<std::int64_t>(mapping_.graph.rules.size());
    send.position = static_cast<std::int64_t>(send.rule) - 2 * rules;
    receive.position = static_cast<std::int64_t>(receive.rule) - rules;
  }

  /// Leaves where they are those between which and whose receives no steps lie.
  void keep_in_step(const Message& message) {
    if (is_constant(message)) return;
    auto receive = mapping_.statements[message.receive], send = mapping_.statements[message.send];
    auto later = lex_positive(receive.domain, message.later).coalesce();
    receive.domain = receive.domain.subtract(later).coalesce();
    if (receive.domain.is_empty()) return;
    mapping_.statements[message.receive].domain = later;
    mapping_.statements[message.send].domain = later.image(receive.from).coalesce();
    send.domain = receive.domain.image(receive.from).coalesce();
    mapping_.channels.push_back(Channel(mapping_.channels[receive.channel]));
    receive.channel = send.channel = mapping_.channels.size() - 1;
    mapping_.statements.push_back(std::move(receive));
    mapping_.statements.push_back(std::move(send));
  }

  /// The flow that has the value when it is sent. Where its own PE does not need it for as long, its array would have
  /// to grow for it: it is put aside.
  [[nodiscard]] FlowId lies_in(const Message& message, std::optional<dataflow::TensorId>& aside) {
    auto& graph = mapping_.graph;
    const auto send = mapping_.statements[message.send];
    const auto source = send.sources.front().flow;
    if (!graph.at(source).computed || is_kept(source, message)) return source;
    if (!aside) {
      aside = dataflow::TensorId(graph.tensors.size());
      graph.tensors.push_back(dataflow::Tensor(graph.at(graph.at(source).tensor)));
      graph.tensors.back().role = dataflow::Role::local;
    }
    const FlowId result(graph.flows.size());
    graph.flows.push_back(dataflow::Flow(graph.at(source)));
    graph.flows.back().tensor = *aside;
    graph.flows.back().dtype = graph.dtype_of(source);
    auto move = send;
    move.kind = Kind::move;
    move.target = {result, send.sources.front().point};
    mapping_.statements.push_back(std::move(move));
    return result;
  }

  /// Whether the PE itself uses values of the flow that many steps later, or more.
  [[nodiscard]] bool is_kept(FlowId flow, const Message& message) const {
    if (!is_constant(message)) return false;
    std::vector<std::int64_t> later;
    for (const auto& steps : message.later) later.push_back(steps.constant);
    for (const auto& statement : mapping_.statements) {
      if (statement.kind != Kind::compute && statement.kind != Kind::move) continue;
      for (const auto& value : statement.sources) {
        if (value.flow != flow) continue;
        std::vector<std::int64_t> use;
        for (const auto d : mapping_.grid.time) {
          const auto steps = statement.target.point[d] - value.point[d];
          if (!poly::is_constant(steps)) break;
          use.push_back(steps.constant);
        }
        if (use.size() == later.size() && use >= later) return true;
      }
    }
    return false;
  }

  Mapping& mapping_;
  const machine::Machine& machine_;
  std::size_t delayed_ = 0;
};

}  // namespace

void send_late(Mapping& mapping, const machine::Machine& machine) { LateSender(mapping, machine).run(); }

}  // namespace cyclotron::mapping::detail
