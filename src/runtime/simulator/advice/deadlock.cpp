#include "deadlock.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/program/wires.hpp>

#include "depth_advice.hpp"
#include "../functional/simulation.hpp"
#include "../timing/timed_engine.hpp"
#include "../timing/timed_program.hpp"

namespace cyclotron::runtime::simulator {
namespace {

std::string name_of(const program::Wires& wires, std::uint32_t pe) {
  return fmt::format("PE ({})", fmt::join(wires.coordinates(pe), ", "));
}

std::string text(const program::Program& program, const program::Wires& wires, const Wait& wait) {
  const auto& channel = program.channels[wait.channel];
  const std::string pe = name_of(wires, wait.pe);
  const std::string peer = wait.peer == PeArray::none ? "" : name_of(wires, wait.peer);
  if (wait.full) {
    const bool network = channel.kind == program::Channel::Kind::network;
    return fmt::format("{} waits at cycle {} to {} on `{}` to {}: full (depth {})", pe, wait.cycle,
                       network ? "broadcast" : "send", channel.name, peer, wait.depth);
  }
  if (peer.empty())
    return fmt::format("{} waits at cycle {} to receive on `{}`: empty, and no PE sends to it", pe,
                       wait.cycle, channel.name);
  return fmt::format("{} waits at cycle {} to receive on `{}` from {}: empty", pe, wait.cycle, channel.name,
                     peer);
}

/// The machine whose links and networks have at least a depth, as Python; empty where the program sets a depth
/// itself, which is less.
std::string machine_text(const program::Program& program, std::int64_t depth) {
  const auto& machine = program.machine;
  const program::Wires wires(program);
  std::set<const machine::Link*> shallow;
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    if (wires.depths(c).least >= depth) continue;
    if (program.channels[c].depth > 0) return {};
    for (const machine::Link* link : wires.links(c)) {
      if (link->depth < depth) shallow.insert(link);
    }
  }
  const std::string deeper = fmt::format("cy.Link(depth={})", depth);
  std::vector<std::string> links;
  for (const auto& [offset, link] : machine.links) {
    if (shallow.contains(&link))
      links.push_back(
          fmt::format("({}{}): {}", fmt::join(offset, ", "), offset.size() == 1 ? "," : "", deeper));
  }
  std::string result;
  if (shallow.contains(&machine.link)) result += fmt::format("link={}, ", deeper);
  if (shallow.contains(&machine.broadcast)) result += fmt::format("broadcast={}, ", deeper);
  for (const auto& [dimension, link] : machine.broadcasts) {
    if (shallow.contains(&link)) result += fmt::format("broadcasts={{{}: {}}}, ", dimension, deeper);
  }
  if (!links.empty()) result += fmt::format("links={{{}}}, ", fmt::join(links, ", "));
  if (machine.chiplets && shallow.contains(&machine.chiplets->link))
    result += fmt::format("chiplets=cy.Chiplets(link={}, ...), ", deeper);
  return fmt::format("cy.Machine({}...)", result);
}

std::string help(const program::Program& program, const DepthAdvice& advice) {
  if (advice.waits_for_ever) return "no channel depth helps: a message that is waited for is never sent";
  const std::string machine = machine_text(program, advice.uniform);
  const std::string uniform = fmt::format("a depth of {} for every channel{}{}", advice.uniform,
                                          machine.empty() ? "" : ": ", machine);
  if (!advice.uniform_passes)
    return fmt::format("it takes at least {}; for how deep, see program.least_depths()", uniform);
  if (advice.changes.empty()) return uniform + " lets it pass";
  std::vector<std::string> words, code;
  for (const auto& [channel, given, needed] : advice.changes) {
    const std::string& name = program.channels[channel].name;
    words.push_back(fmt::format("{} for `{}` (now {})", needed, name, given));
    code.push_back(fmt::format("\"{}\": {}", name, needed));
  }
  return fmt::format("a depth of {} lets it pass: program.with_depths({{{}}}); so does {}",
                     fmt::join(words, " and of "), fmt::join(code, ", "), uniform);
}

DeadlockError make_error(const program::Program& program, const std::vector<Wait>& waits,
                         const WaitCycle& found, std::string help) {
  constexpr std::size_t most_notes = 16;
  const program::Wires wires(program);
  const auto& [chain, closed] = found;
  const auto span = [&](const Wait& wait) {
    const auto pe_class = program.class_of(wires.coordinates(wait.pe));
    return program.classes[pe_class].code[wait.instruction].span;
  };
  std::vector<Note> notes;
  for (const auto& wait : chain) {
    if (notes.size() == most_notes) break;
    notes.push_back({span(wait), text(program, wires, wait)});
  }
  if (chain.size() > most_notes) {
    notes.push_back({{}, fmt::format("and {} more PEs in the circle", chain.size() - most_notes)});
  }
  const Wait& first = chain.front();
  std::string message;
  if (closed) {
    message = fmt::format("no PE can go on: {} PEs wait for each other in a circle", chain.size());
  } else if (first.full) {
    message = fmt::format("no PE can go on: {} waits for a place in a channel that nobody empties",
                          name_of(wires, first.pe));
  } else {
    message =
        fmt::format("no PE can go on: {} waits for a message that nobody sends", name_of(wires, first.pe));
  }
  if (waits.size() > chain.size()) {
    const auto counts = program.pe_counts();
    notes.push_back({{},
                     fmt::format("{} of {} PEs cannot go on", waits.size(),
                                 std::accumulate(counts.begin(), counts.end(), std::int64_t{0}))});
  }
  return DeadlockError({.code = "CYC801",
                        .span = span(first),
                        .message = std::move(message),
                        .notes = std::move(notes),
                        .help = std::move(help)});
}

/// Waits of the PEs of a program that is known to block, in the end.
std::vector<Wait> blocked(const program::Program& program, const Progress& progress) {
  try {
    if (auto timed = time_program(program)) {
      TimedEngine engine(std::move(*timed), progress);
      CYC_CHECK(!engine.run(), "the simulator ends a run that blocked elsewhere");
      return engine.waits();
    }
  } catch (const NeedsInterpreter&) {  // the interpreter says of what
  }
  Simulation<false> simulation(program, {}, 0, progress);
  CYC_CHECK(!simulation.run(), "the simulator ends a run that blocked elsewhere");
  return simulation.waits();
}

/// With no queue shallower than that.
program::Program deepened(program::Program program, std::int64_t depth) {
  const program::Wires wires(program);
  std::vector<std::int64_t> depths;
  for (std::size_t c = 0; c < program.channels.size(); ++c)
    depths.push_back(std::max(depth, wires.depths(c).most));
  for (std::size_t c = 0; c < depths.size(); ++c) program.channels[c].depth = depths[c];
  return program;
}

}  // namespace

DeadlockError deadlock_error(const program::Program& program, const std::vector<Wait>& waits,
                             const Progress& progress) {
  constexpr std::int64_t step_limit = std::int64_t{1} << 26;  // about a second
  const DepthAdvice advice = advise_depths(program, step_limit, progress);
  const std::string text = help(program, advice);
  if (!advice.waits_for_ever) return make_error(program, waits, find_wait_cycles(waits).front(), text);
  const auto last = blocked(deepened(program, advice.uniform), progress);
  const auto cycles = find_wait_cycles(last);
  return make_error(program, last, *std::ranges::find_if(cycles, no_depth_helps), text);
}

void throw_deadlock(program::Program program, std::int64_t least_depth, const Progress& progress) {
  if (least_depth > 0) program = deepened(std::move(program), least_depth);
  throw deadlock_error(program, blocked(program, progress), progress);
}

}  // namespace cyclotron::runtime::simulator
