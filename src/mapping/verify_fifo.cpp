#include <cyclotron/mapping/verify_fifo.hpp>

#include <fmt/format.h>

#include <algorithm>

#include <cyclotron/mapping/message_order.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::mapping {

namespace {

/// True where a constant time between receive and send keeps the order of their messages.
bool is_lockstep(const Mapping& mapping, const Statement& receive) {
  const auto& graph = mapping.graph;
  const auto& tuple = graph.at(graph.at(receive.target.flow).space).tuple;
  return std::ranges::all_of(mapping.grid.time,
                             [&](std::size_t d) { return poly::is_constant(tuple[d] - receive.from[d]); });
}

}  // namespace

void verify_fifo(const Mapping& mapping) {
  std::vector<std::vector<MessageEnds>> messages(mapping.channels.size());
  const auto sends = sends_by_message(mapping);
  for (const auto& receive : mapping.statements) {
    if (receive.kind != Kind::receive) continue;
    const auto* send = sends[receive.message];
    CYC_CHECK(send != nullptr, mapping.channels[receive.channel].name);
    messages[receive.channel].push_back({&receive, send});
  }
  for (std::size_t c = 0; c < messages.size(); ++c) {
    for (const auto& a : messages[c]) {
      if (!is_lockstep(mapping, *a.receive) && overtakes(mapping, a, a)) {
        const auto& rule = mapping.graph.rules[a.receive->rule];
        throw LegalityError(
            {.code = "CYC222",
             .obstacle = Obstacle::overtaking,
             .span = rule.span,
             .message = fmt::format("values of `{}` would overtake each other on channel {}",
                                    mapping.graph.at(mapping.graph.at(rule.flow).tensor).user_name(),
                                    mapping.channels[c].label),
             .notes = {},
             .help = "change the order of `time`"});
      }
      const bool overtaken = std::ranges::any_of(messages[c], [&](const MessageEnds& b) {
        return b.receive != a.receive && overtakes(mapping, a, b);
      });
      CYC_CHECK(!overtaken, mapping.channels[c].name);
    }
  }
}

}  // namespace cyclotron::mapping
