// Proof that PEs that send each value as soon as it is made never wait for each other in a cycle.
//
// A PE's sends and receives wait for those before them in its program; a receive for its send; a send, on a link that
// holds c messages, for the receive of the c-th before it. PEs go on as long as these waits form no cycle. Count the steps
// of all loops as all PEs take them together (`Mapping::skews`). Then the first two kinds of wait never lead to an
// earlier step, nor round within one step of all loops: dependences advance. Of the third kind, which leads from a receive
// to a send, `LinkRoom` tells: it keeps some outermost loops in their step at most, and by the next loop it advances, or may
// turn back.
//
// So a cycle has some that turn back. Let n be the fewest outermost loops that one of them keeps. All waits of the cycle
// keep these loops or advance them: it lies within one step of them, and leads, over PEs, messages and links, from a send
// that waits for one of these receives to one of these receives again. Where `WaitGraph` finds no such way for any n, there is
// no cycle. Kinds of messages stand for messages in it: a way that it finds need not be one.
#include <cyclotron/mapping/wait_cycles.hpp>

#include <algorithm>
#include <cstdint>
#include <set>

#include <cyclotron/mapping/live_range.hpp>
#include <cyclotron/mapping/message_order.hpp>
#include <cyclotron/poly/set.hpp>

namespace cyclotron::mapping {

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

std::size_t loop_of(const Wire& wire) {
  auto result = wire.front().later.size();
  for (const auto& message : wire) result = std::min(result, outermost_loop(message).value_or(result));
  return result;
}

/// The loops by which a message is made after the receive that gives it room.
struct Release {
  std::size_t loops;  ///< Number of outermost ones that may be in the same step then.
  bool turns_back;    ///< It may be made before that receive by the next loop, or there is none.
};

class LinkRoom {
 public:
  LinkRoom(const Mapping& mapping, const machine::Machine& machine) : mapping_(mapping), machine_(machine) {}

  /// Of each message of a wire; none where the link does not hold those that are made before the first of them is used.
  [[nodiscard]] std::optional<std::vector<Release>> releases(const Wire& wire) const {
    const auto loop = loop_of(wire);
    std::vector<Release> result(wire.size(), {loop, false});
    const auto& hop = mapping_.channels[mapping_.statements[wire.front().receive].channel].offset;
    const auto depth = least_depth(machine_, hop);
    if (depth >= machine::unbounded_depth) return result;
    if (!std::ranges::all_of(wire, has_constant_delay) && is_out_of_order(wire)) return std::nullopt;
    // Where the link holds all messages of a step of the loop around, those that it waits for are of earlier ones.
    if (loop > 0 && most_in_step(wire, loop - 1, depth) <= depth)
      return std::vector<Release>(wire.size(), {loop - 1, false});
    std::int64_t steps = 1;
    for (const auto& message : wire) {
      const auto most = most_steps(message, loop);
      if (!most) return std::nullopt;
      steps = std::max(steps, *most);
    }
    const auto in_step = most_in_step(wire, loop, depth);
    if (in_step == 0) return result;
    if (steps > depth / in_step) return std::nullopt;
    if (steps < depth / in_step) return result;
    // Messages received in any window of so many steps find room: those that follow wait for the first of them, and are
    // received so many steps after it.
    const bool repeats = steps_are_alike(wire, loop);
    std::ranges::transform(wire, result.begin(), [&](const LateMessage& message) {
      const auto& first = message.later[loop];
      if (poly::is_constant(first) && first.constant < steps) return Release{loop, false};
      return repeats ? within(message, loop) : Release{loop + 1, true};
    });
    return result;
  }

 private:
  /// Number of steps of a loop that lie between at most; none where nothing limits them.
  [[nodiscard]] std::optional<std::int64_t> most_steps(const LateMessage& message, std::size_t loop) const {
    const auto& steps = message.later[loop];
    if (poly::is_constant(steps)) return steps.constant;
    const auto& domain = mapping_.statements[message.receive].domain;
    return domain.is_empty() ? 0 : domain.image({steps}).maximum(0);
  }

  /// Points at which PEs receive from a link.
  [[nodiscard]] poly::Set receives(const Wire& wire) const {
    auto result = poly::Set::empty(mapping_.graph.context, mapping_.graph.dims.size());
    const auto& link = mapping_.channels[mapping_.statements[wire.front().receive].channel];
    for (const auto& statement : mapping_.statements) {
      if (statement.kind == Kind::receive && is_same_wire(mapping_.channels[statement.channel], link))
        result = result.unite(statement.domain);
    }
    return result;
  }

  /// True where a PE that receives in two steps of a loop, one after the other, does so at the same points within them.
  [[nodiscard]] bool steps_are_alike(const Wire& wire, std::size_t loop) const {
    const auto rank = mapping_.graph.dims.size();
    const auto& time = mapping_.grid.time;
    std::vector<poly::Affine> step_before, outer_forms;
    for (std::size_t d = 0; d < rank; ++d) step_before.push_back(poly::variable(rank, d));
    step_before[time[loop]].constant -= 1;
    auto outer = mapping_.grid.space;
    outer.insert(outer.end(), time.begin(), time.begin() + static_cast<std::ptrdiff_t>(loop) + 1);
    for (const auto d : outer) outer_forms.push_back(poly::variable(rank, d));
    const auto points = receives(wire), later = points.preimage(step_before, rank);
    const auto both = points.project(outer).intersect(later.project(outer)).preimage(outer_forms, rank);
    const auto here = points.intersect(both), there = later.intersect(both);
    return here.is_subset(there) && there.is_subset(here);
  }

  /// Of a message that is received just so many steps later, where steps are alike: by how much later it is used within its step.
  [[nodiscard]] static Release within(const LateMessage& message, std::size_t loop) {
    for (std::size_t t = loop + 1; t < message.later.size(); ++t) {
      const auto& steps = message.later[t];
      if (!poly::is_constant(steps) || steps.constant != 0)
        return {t, !poly::is_constant(steps) || steps.constant > 0};
    }
    return {message.later.size(), true};
  }

  /// Most messages that a PE makes in a step of a loop; one more than `enough` where there are more.
  [[nodiscard]] std::int64_t most_in_step(const Wire& wire, std::size_t loop, std::int64_t enough) const {
    const auto points = receives(wire);
    if (points.is_empty()) return 0;
    std::int64_t count = 1;
    auto fixed = mapping_.grid.space;
    for (std::size_t t = 0; t < mapping_.grid.time.size() && count <= enough; ++t) {
      const auto d = mapping_.grid.time[t];
      const auto before = fixed.size();
      fixed.push_back(d);
      if (t <= loop || poly::Map::from_pairs(points.project(fixed), before).is_single_valued()) continue;
      const auto low = points.minimum(d), high = points.maximum(d);
      if (!low || !high || __builtin_mul_overflow(count, *high - *low + 1, &count)) return enough + 1;
    }
    return std::min(count, enough + 1);
  }

  /// True where messages are used in another order than that in which they are made: how many the link has to hold depends on
  /// the size of the problem.
  [[nodiscard]] bool is_out_of_order(const Wire& wire) const {
    const auto both = [this](const LateMessage& message) {
      return MessageEnds{&mapping_.statements[message.receive], &mapping_.statements[message.send]};
    };
    return std::ranges::any_of(wire, [&](const LateMessage& a) {
      return std::ranges::any_of(wire,
                                 [&](const LateMessage& b) { return overtakes(mapping_, both(a), both(b)); });
    });
  }

  const Mapping& mapping_;
  const machine::Machine& machine_;
};

/// Waits between kinds of sends and receives, by the index of their statement, while the outermost loops stay in one step
/// of all PEs.
class WaitGraph {
 public:
  explicit WaitGraph(const Mapping& mapping) : mapping_(mapping), kinds_(mapping.channels.size()) {
    for (std::size_t s = 0; s < mapping.statements.size(); ++s) {
      const auto& statement = mapping.statements[s];
      if (!is_message(statement.kind)) continue;
      auto& kind = kinds_[statement.channel];
      (statement.kind == Kind::receive ? kind.receive : kind.send) = s;
      // A link holds the message of one step of all loops.
      if (mapping.skews[mapping.graph.at(mapping.channels[statement.channel].flow).space.index()])
        kind.release.loops = mapping.grid.time.size() - 1;
    }
    std::erase_if(kinds_, [](const MessageKind& kind) { return kind.send == kind.receive; });
  }

  void add(const LateMessage& message, const Release& release) {
    auto& kind = *std::ranges::find(kinds_, message.receive, &MessageKind::receive);
    kind.release = release;
    const auto outermost = outermost_loop(message);
    if (outermost && poly::is_constant(message.later[*outermost])) kind.loops = *outermost;
  }

  /// True where a send that has to wait for a receive in a step of so many loops may keep such a receive waiting.
  [[nodiscard]] bool may_form_cycle(std::size_t loops) const {
    std::vector<std::size_t> open;
    std::vector<bool> reached(mapping_.statements.size(), false), turns = reached;
    for (const auto& kind : kinds_) {
      if (!kind.release.turns_back || kind.release.loops != loops) continue;
      open.push_back(kind.send);
      for (const auto& before : kinds_) {
        if (is_same_wire(channel_of(kind), channel_of(before))) turns[before.receive] = true;
      }
    }
    while (!open.empty()) {
      const auto at = open.back();
      open.pop_back();
      for (const auto next : after(at, loops, reached)) {
        if (turns[next]) return true;
        reached[next] = true;
        open.push_back(next);
      }
    }
    return false;
  }

 private:
  static constexpr auto all = static_cast<std::size_t>(-1);
  struct MessageKind {
    std::size_t receive = 0, send = 0;  ///< Statements.
    std::size_t loops = all;            ///< Number of outermost ones that may be in one step when it comes.
    Release release{all, false};
  };

  [[nodiscard]] const Channel& channel_of(const MessageKind& kind) const {
    return mapping_.channels[mapping_.statements[kind.receive].channel];
  }

  /// The sends and receives, of those not reached, that may wait for one: the receive of what it sends, sends to which it
  /// gives room, and those that its PE does later.
  [[nodiscard]] std::vector<std::size_t> after(std::size_t at, std::size_t loops,
                                               const std::vector<bool>& reached) const {
    std::vector<std::size_t> result;
    const auto here = std::ranges::find_if(
        kinds_, [at](const MessageKind& kind) { return kind.send == at || kind.receive == at; });
    for (const auto& kind : kinds_) {
      const bool comes = kind.send == at && kind.loops >= loops;
      if (!reached[kind.receive] && (comes || comes_before(at, kind.receive, loops)))
        result.push_back(kind.receive);
      const bool has_room = here->receive == at && kind.release.loops >= loops &&
                            is_same_wire(channel_of(*here), channel_of(kind));
      if (!reached[kind.send] && (has_room || comes_before(at, kind.send, loops)))
        result.push_back(kind.send);
    }
    return result;
  }

  /// True where in one step of so many loops some PE comes to the one before it comes to the other.
  [[nodiscard]] bool comes_before(std::size_t first, std::size_t next, std::size_t loops) const {
    const auto &a = mapping_.statements[first], &b = mapping_.statements[next];
    const auto& time = mapping_.grid.time;
    const auto rank = mapping_.graph.dims.size();
    std::vector<poly::Affine> here, there;
    for (std::size_t d = 0; d < rank; ++d) {
      here.push_back(poly::variable(2 * rank, d));
      there.push_back(poly::variable(2 * rank, rank + d));
    }
    std::vector<poly::Constraint> same;
    for (const auto d : mapping_.grid.space) same.push_back({here[d] - there[d], true});
    for (std::size_t t = 0; t < loops; ++t) same.push_back({here[time[t]] - there[time[t]], true});
    auto pairs = a.domain.preimage(here, 2 * rank).intersect(b.domain.preimage(there, 2 * rank));
    std::vector<poly::Affine> later;
    for (std::size_t t = loops; t < time.size(); ++t) later.push_back(there[time[t]] - here[time[t]]);
    later.push_back(poly::constant(2 * rank, b.position - a.position));
    return !lex_positive(pairs.intersect(same), later).is_empty();
  }

  const Mapping& mapping_;
  std::vector<MessageKind> kinds_;
};

}  // namespace

bool may_deadlock(const Mapping& mapping, const machine::Machine& machine, const std::vector<Wire>& wires) {
  WaitGraph waits(mapping);
  std::set<std::size_t> loops;
  const LinkRoom room(mapping, machine);
  for (const auto& wire : wires) {
    const auto releases = room.releases(wire);
    if (!releases) return true;
    for (std::size_t m = 0; m < wire.size(); ++m) {
      const auto& release = (*releases)[m];
      waits.add(wire[m], release);
      if (release.turns_back) loops.insert(release.loops);
    }
  }
  return std::ranges::any_of(loops, [&](std::size_t count) { return waits.may_form_cycle(count); });
}

}  // namespace cyclotron::mapping
