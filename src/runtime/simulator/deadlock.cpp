#include "deadlock.hpp"

#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace cyclotron::runtime::simulator {
namespace {

constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max() / 2;

/// Most messages in a queue where every queue has this depth, or none where the run blocks.
std::optional<std::int64_t> passes(const program::Program& program, std::int64_t depth,
                                   const Progress& progress) {
  Simulation<false> simulation(program, {}, {.event_limit = 0, .uniform_depth = depth}, progress);
  if (!simulation.run()) return std::nullopt;
  return simulation.peak_occupancy();
}

/// The smallest depth of all queues with which the program ends, or none. A larger depth never blocks where a
/// smaller one passes, and what a run without bounds holds at most is enough.
std::optional<std::int64_t> smallest_depth(const program::Program& program, const Progress& progress) {
  const auto most = passes(program, unbounded, progress);
  if (!most) return std::nullopt;
  std::int64_t blocks = 0, enough = *most;
  for (std::int64_t depth = 1; depth < enough; depth *= 2) {  // it is mostly small
    if (passes(program, depth, progress)) {
      enough = depth;
      break;
    }
    blocks = depth;
  }
  while (enough - blocks > 1) {
    const std::int64_t middle = blocks + (enough - blocks) / 2;
    (passes(program, middle, progress) ? enough : blocks) = middle;
  }
  return enough;
}

std::string text(const PeArray& array, const Wait& wait) {
  const std::string& channel = array.program().channels[wait.channel].name;
  const std::string pe = array.name(array.grid_index(wait.pe));
  const std::string peer = wait.peer_index == PeArray::none ? "" : array.name(wait.peer_index);
  if (wait.full) {
    return fmt::format("{} waits at cycle {} to send on `{}` to {}: full (depth {})", pe, wait.cycle, channel,
                       peer, wait.depth);
  }
  if (peer.empty())
    return fmt::format("{} waits at cycle {} to receive on `{}`: empty, and no PE sends to it", pe,
                       wait.cycle, channel);
  return fmt::format("{} waits at cycle {} to receive on `{}` from {}: empty", pe, wait.cycle, channel, peer);
}

/// The circle of waits, or where there is none the chain that ends in a PE that is done.
std::vector<Wait> explain(const std::vector<Wait>& waits, bool& circle) {
  std::map<std::uint32_t, std::size_t> by_pe;
  for (std::size_t i = 0; i < waits.size(); ++i) by_pe[waits[i].pe] = i;
  std::vector<std::size_t> seen_from(waits.size(), waits.size());
  std::vector<Wait> chain;
  for (std::size_t start = 0; start < waits.size(); ++start) {
    std::vector<Wait> path;
    std::size_t at = start;
    while (seen_from[at] == waits.size()) {
      seen_from[at] = start;
      path.push_back(waits[at]);
      const auto next = by_pe.find(waits[at].peer);
      if (next == by_pe.end()) {
        if (chain.empty()) chain = path;
        break;
      }
      at = next->second;
      if (seen_from[at] != start) continue;
      circle = true;
      std::size_t first = 0;
      while (path[first].pe != waits[at].pe) ++first;
      return {path.begin() + static_cast<std::ptrdiff_t>(first), path.end()};
    }
  }
  circle = false;
  return {chain.back()};
}

}  // namespace

DeadlockError deadlock_error(const PeArray& array, const std::vector<Wait>& waits, const Progress& progress) {
  constexpr std::size_t most_notes = 16;
  const auto& program = array.program();
  bool circle = false;
  const auto circle_or_end = explain(waits, circle);
  const auto span = [&](const Wait& wait) {
    const auto grid_index = array.grid_index(wait.pe);
    const auto pe_class = program.class_of(array.coordinates(grid_index));
    return program.classes[pe_class].code[wait.instruction].span;
  };
  std::vector<Note> notes;
  for (const auto& wait : circle_or_end) {
    if (notes.size() == most_notes) break;
    notes.push_back({span(wait), text(array, wait)});
  }
  if (circle_or_end.size() > most_notes) {
    notes.push_back({{}, fmt::format("and {} more PEs in the circle", circle_or_end.size() - most_notes)});
  }
  const Wait& first = circle_or_end.front();
  std::string message;
  if (circle) {
    message = fmt::format("no PE can go on: {} PEs wait for each other in a circle", circle_or_end.size());
  } else if (first.full) {
    message = fmt::format("no PE can go on: {} waits for a place in a channel that nobody empties",
                          array.name(array.grid_index(first.pe)));
  } else {
    message = fmt::format("no PE can go on: {} waits for a message that nobody sends",
                          array.name(array.grid_index(first.pe)));
  }
  if (waits.size() > circle_or_end.size()) {
    notes.push_back({{}, fmt::format("{} of {} PEs cannot go on", waits.size(), array.count())});
  }
  const auto depth = smallest_depth(program, progress);
  return DeadlockError(
      {.code = "CYC801",
       .span = span(first),
       .message = std::move(message),
       .notes = std::move(notes),
       .help = depth
                   ? fmt::format(
                         "a depth of {} for every channel lets it pass: "
                         "cy.Machine(link=cy.Link(depth={}), ...){}",
                         *depth, *depth,
                         array.program().machine.links.empty() ? "" : ", and as deep in each of its `links`")
                   : "no channel depth helps: a message that is waited for is never sent"});
}

void throw_deadlock(const program::Program& program, std::int64_t uniform_depth, const Progress& progress) {
  Simulation<false> simulation(program, {}, {.event_limit = 0, .uniform_depth = uniform_depth}, progress);
  CYC_CHECK(!simulation.run(), "the simulator ends a run that blocked elsewhere");
  throw deadlock_error(simulation.array(), simulation.waits(), progress);
}

}  // namespace cyclotron::runtime::simulator
