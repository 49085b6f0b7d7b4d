#include <cyclotron/mapping/delay_sends.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <cyclotron/mapping/late_messages.hpp>
#include <cyclotron/mapping/live_range.hpp>
#include <cyclotron/mapping/wait_cycles.hpp>
#include <cyclotron/poly/set.hpp>

namespace cyclotron::mapping {

namespace {

class SendDelayer {
 public:
  explicit SendDelayer(const Mapping& mapping) : mapping_(mapping) {}

  Mapping run(const std::vector<Wire>& wires) {
    for (const auto& wire : wires) delay(wire);
    std::ranges::stable_sort(mapping_.statements, {}, &Statement::position);
    mapping_.proofs.push_back(
        fmt::format("{} kinds of message are sent in the step that receives them, all before any of them is "
                    "received: links of every depth carry them",
                    delayed_));
    return std::move(mapping_);
  }

 private:
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
    if (has_constant_delay(message)) return;
    auto receive = mapping_.statements[message.receive], send = mapping_.statements[message.send];
    auto later = lex_positive(receive.domain, message.later).coalesce();
    receive.domain = receive.domain.subtract(later).coalesce();
    if (receive.domain.is_empty()) return;
    mapping_.statements[message.receive].domain = later;
    mapping_.statements[message.send].domain = later.image(receive.from).coalesce();
    send.domain = receive.domain.image(receive.from).coalesce();
    mapping_.channels.push_back(Channel(mapping_.channels[receive.channel]));
    receive.channel = receive.message = mapping_.channels.size() - 1;
    send.channel = send.message = receive.channel;
    mapping_.statements.push_back(std::move(receive));
    mapping_.statements.push_back(std::move(send));
  }

  /// The flow that has the value when it is sent. Where its own PE does not need it for as long, its array would have
  /// to grow for it: it is put aside.
  [[nodiscard]] FlowId lies_in(const LateMessage& message, std::optional<dataflow::TensorId>& aside) {
    auto& graph = mapping_.graph;
    const auto send = mapping_.statements[message.send];
    const auto source = send.sources.front().flow;
    if (!graph.at(source).computed || is_live_as_long(source, message)) return source;
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

  /// True where the PE itself uses values of the flow that many steps later, or more.
  [[nodiscard]] bool is_live_as_long(FlowId flow, const LateMessage& message) const {
    if (!has_constant_delay(message)) return false;
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

  Mapping mapping_;
  std::size_t delayed_ = 0;
};

}  // namespace

Mapping delay_sends(const Mapping& mapping, const machine::Machine& machine) {
  const auto wires = late_messages(mapping);
  // All or none: each way alone is free of cycles, and mixed they need not be.
  return may_deadlock(mapping, machine, wires) ? SendDelayer(mapping).run(wires) : mapping;
}

}  // namespace cyclotron::mapping
