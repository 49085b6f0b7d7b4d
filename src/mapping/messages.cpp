// Messages arrive in the order in which they are received.
#include <fmt/format.h>

#include <algorithm>

#include <cyclotron/mapping/kept.hpp>
#include <cyclotron/support/error.hpp>

#include "detail.hpp"

namespace cyclotron::mapping::detail {

std::vector<const Statement*> sends_by_message(const Mapping& mapping) {
  std::vector<const Statement*> result;
  for (const auto& statement : mapping.statements) {
    if (!is_message(statement.kind)) continue;
    if (result.size() <= statement.message) result.resize(statement.message + 1);
    auto& send = result[statement.message];
    if (statement.kind != Kind::receive && send == nullptr) send = &statement;
  }
  return result;
}

bool overtakes(const Mapping& mapping, const Ends& a, const Ends& b) {
  const auto rank = mapping.graph.dims.size();
  const auto widen = [rank](const poly::Affine& form, bool second) {
    poly::Affine wide = poly::constant(2 * rank, form.constant);
    std::ranges::copy(form.coefficients,
                      wide.coefficients.begin() + (second ? static_cast<std::ptrdiff_t>(rank) : 0));
    return wide;
  };
  std::vector<poly::Affine> first, second;
  for (std::size_t d = 0; d < rank; ++d) {
    first.push_back(poly::variable(2 * rank, d));
    second.push_back(poly::variable(2 * rank, rank + d));
  }
  auto pairs =
      a.receive->domain.preimage(first, 2 * rank).intersect(b.receive->domain.preimage(second, 2 * rank));
  for (const auto d : mapping.grid.space) {
    pairs = pairs.intersect({first[d] - second[d], true});
    pairs = pairs.intersect({widen(a.receive->from[d], false) - widen(b.receive->from[d], true), true});
  }
  // b's minus a's order of receiving, a's minus b's of sending.
  std::vector<poly::Affine> received, sent;
  for (const auto d : mapping.grid.time) {
    received.push_back(second[d] - first[d]);
    sent.push_back(widen(a.receive->from[d], false) - widen(b.receive->from[d], true));
  }
  received.push_back(poly::constant(2 * rank, b.receive->position - a.receive->position));
  sent.push_back(poly::constant(2 * rank, a.send->position - b.send->position));
  return !lex_positive(lex_positive(pairs, received), sent).is_empty();
}

namespace {

/// Receive and send of one rule in lockstep: a constant time between them keeps the order.
bool lockstep(const Mapping& mapping, const Ends& message) {
  const auto& graph = mapping.graph;
  const auto& tuple = graph.at(graph.at(message.receive->target.flow).space).tuple;
  return std::ranges::all_of(mapping.grid.time, [&](std::size_t d) {
    return poly::is_constant(tuple[d] - message.receive->from[d]);
  });
}

}  // namespace

void check_channels(Mapping& mapping) {
  std::vector<Ends> messages(mapping.channels.size());
  for (auto& statement : mapping.statements) {
    if (!is_message(statement.kind)) continue;
    statement.message = statement.channel;
    auto& ends = messages[statement.message];
    (statement.kind == Kind::receive ? ends.receive : ends.send) = &statement;
  }
  std::vector<std::vector<std::size_t>> groups;
  std::size_t count = 0;
  for (std::size_t c = 0; c < messages.size(); ++c) {
    if (messages[c].receive == nullptr) continue;
    ++count;
    if (!lockstep(mapping, messages[c]) && overtakes(mapping, messages[c], messages[c])) {
      const auto& rule = mapping.graph.rules[messages[c].receive->rule];
      throw LegalityError({.code = "CYC222",
                           .span = rule.span,
                           .message = fmt::format("values of `{}` would overtake each other on channel {}",
                                                  mapping.graph.at(mapping.graph.at(rule.flow).tensor).name,
                                                  mapping.channels[c].name),
                           .notes = {},
                           .help = "change the order of `time`"});
    }
    const auto same_wire = [&](std::size_t other) {
      const auto &a = mapping.channels[c], &b = mapping.channels[other];
      return a.flow == b.flow && a.offset == b.offset && a.scale == b.scale && a.network == b.network &&
             a.axis == b.axis;
    };
    const auto joins = [&](const std::vector<std::size_t>& group) {
      return same_wire(group.front()) && std::ranges::all_of(group, [&](std::size_t other) {
               return !overtakes(mapping, messages[c], messages[other]) &&
                      !overtakes(mapping, messages[other], messages[c]);
             });
    };
    const auto group = std::ranges::find_if(groups, joins);
    if (group != groups.end()) {
      group->push_back(c);
    } else {
      groups.push_back({c});
    }
  }
  std::vector<std::size_t> target(mapping.channels.size(), 0);
  std::vector<Channel> kept;
  for (const auto& group : groups) {
    for (const auto c : group) target[c] = kept.size();
    kept.push_back(mapping.channels[group.front()]);
  }
  for (auto& statement : mapping.statements) {
    if (is_message(statement.kind)) statement.channel = target[statement.message];
  }
  mapping.channels = std::move(kept);
  mapping.proofs.push_back(fmt::format(
      "{} kinds of message on {} channels: each receive has one send, in first-in-first-out order", count,
      mapping.channels.size()));
}

void verify_order(const Mapping& mapping) {
  std::vector<std::vector<Ends>> messages(mapping.channels.size());
  const auto sends = sends_by_message(mapping);
  for (const auto& receive : mapping.statements) {
    if (receive.kind != Kind::receive) continue;
    const auto* send = sends[receive.message];
    CYC_CHECK(send != nullptr, mapping.channels[receive.channel].name);
    messages[receive.channel].push_back({&receive, send});
  }
  for (std::size_t c = 0; c < messages.size(); ++c) {
    for (const auto& a : messages[c]) {
      const bool overtaken = std::ranges::any_of(
          messages[c], [&](const Ends& b) { return b.receive != a.receive && overtakes(mapping, a, b); });
      CYC_CHECK(!overtaken, mapping.channels[c].name);
    }
  }
}

}  // namespace cyclotron::mapping::detail
