// Values that only later steps use stay with their makers until then, where links are too shallow to hold them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <cyclotron/mapping/kept.hpp>
#include <cyclotron/poly/set.hpp>

#include "detail.hpp"
#include "late_messages.hpp"

namespace cyclotron::mapping::detail {

namespace {

class LateSender {
 public:
  LateSender(Mapping& mapping, const machine::Machine& machine) : mapping_(mapping), machine_(machine) {}

  void run() {
    const auto all = wires();
    // All or none: each way alone is free of circles, and mixed they need not be.
    if (!may_wait_in_a_circle(mapping_, machine_, all)) return;
    for (const auto& wire : all) delay(wire);
    std::ranges::stable_sort(mapping_.statements, {}, &Statement::position);
    mapping_.proofs.push_back(
        fmt::format("{} kinds of message are sent in the step that receives them, all before any of them is "
                    "received: links of every depth carry them",
                    delayed_));
  }

 private:
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
  [[nodiscard]] bool find_points(LateMessage& message) const {
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
    std::vector<std::optional<LateMessage>> messages(mapping_.channels.size());
    for (std::size_t s = 0; s < mapping_.statements.size(); ++s) {
      const auto& statement = mapping_.statements[s];
      if (!is_message(statement.kind)) continue;
      auto& message = messages[statement.channel];
      if (!message) message = LateMessage{};
      (statement.kind == Kind::receive ? message->receive : message->send) = s;
    }
    std::vector<Found> all;
    for (std::size_t c = 0; c < messages.size(); ++c) {
      const auto& channel = mapping_.channels[c];
      if (channel.network || !messages[c]) continue;
      auto found = std::ranges::find_if(
          all, [&](const Found& other) { return is_same_wire(*other.channel, channel); });
      if (found == all.end()) found = all.insert(found, {&channel, {}});
      const auto& skew = mapping_.in_turn[mapping_.graph.at(channel.flow).space.index()];
      if (!skew) continue;
      auto& message = *messages[c];
      const auto& receive = mapping_.statements[message.receive];
      for (std::size_t t = 0; t < mapping_.grid.time.size(); ++t) {
        const auto d = mapping_.grid.time[t];
        message.later.push_back(receive.target.point[d] - receive.from[d] + apart(receive, *skew, t));
      }
      if (!outermost_loop(message)) continue;
      found->has_forms = found->has_forms && find_points(message);
      found->wire.push_back(std::move(message));
    }
    std::vector<Wire> result;
    for (auto& found : all) {
      if (found.has_forms && !found.wire.empty()) result.push_back(std::move(found.wire));
    }
    return result;
  }

  void delay(const Wire& wire) {
    std::optional<dataflow::TensorId> aside;
    for (const auto& message : wire) {
      delay(message, aside);
      ++delayed_;
    }
  }

  void delay(const LateMessage& message, std::optional<dataflow::TensorId>& aside) {
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
  void keep_in_step(const LateMessage& message) {
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
  [[nodiscard]] FlowId lies_in(const LateMessage& message, std::optional<dataflow::TensorId>& aside) {
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
  [[nodiscard]] bool is_kept(FlowId flow, const LateMessage& message) const {
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
