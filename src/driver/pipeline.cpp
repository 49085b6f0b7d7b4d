#include "pipeline.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <cyclotron/codegen/generate.hpp>
#include <cyclotron/codegen/hold_global_data.hpp>
#include <cyclotron/codegen/wind.hpp>
#include <cyclotron/dataflow/place.hpp>
#include <cyclotron/memory/channels.hpp>
#include <cyclotron/memory/control.hpp>
#include <cyclotron/memory/layout.hpp>
#include <cyclotron/program/units.hpp>
#include <cyclotron/recurrence/early_exit.hpp>
#include <cyclotron/recurrence/omit_determined.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "array_of.hpp"
#include "candidates.hpp"
#include "default_search.hpp"
#include "mapping_search.hpp"
#include "proofs.hpp"
#include "refuse.hpp"
#include "reorder.hpp"

namespace cyclotron::driver {

namespace {

/// The flags of the system's loops, as the graph has them.
std::vector<codegen::ExitFlag> flags_of(const recurrence::System& system, const dataflow::Graph& graph) {
  std::vector<codegen::ExitFlag> result;
  for (const auto& exit : recurrence::early_exits(system)) {
    const auto& flag = system.at(exit.flag);
    const auto tensor = std::ranges::find(graph.tensors, flag.name, &dataflow::Tensor::name);
    if (tensor == graph.tensors.end()) continue;
    codegen::ExitFlag own{dataflow::TensorId(static_cast<std::size_t>(tensor - graph.tensors.begin())),
                          exit.index,
                          exit.offset,
                          exit.steps,
                          exit.settle,
                          exit.around,
                          1};
    for (std::size_t d = 0; d < exit.around.size(); ++d) own.runs *= flag.shape[d];
    result.push_back(std::move(own));
  }
  return result;
}

/// The loops of time that have flags and no exit plan.
std::vector<LostLoop> lost_loops(const recurrence::System& system, const schedule::Schedule& schedule,
                                 const program::Program& program) {
  std::vector<LostLoop> result;
  const auto add = [&](recurrence::TensorId flag, const std::string& because, const std::string& bounded_by) {
    const auto& tensor = system.at(flag);
    const auto is_same = [&](const LostLoop& loop) { return loop.flag == tensor.user_name(); };
    if (std::ranges::none_of(result, is_same))
      result.push_back({tensor.user_name(), because, bounded_by, tensor.shape.back(), tensor.span});
  };
  const auto in_space = [&](const std::string& index) {
    return std::ranges::find(schedule.space_indices, index) != schedule.space_indices.end();
  };
  for (const auto& exit : recurrence::early_exits(system)) {
    const auto ends = [&](const program::ExitPlan& plan) {
      return plan.loop == exit.index && plan.steps == exit.steps;
    };
    if (!in_space(exit.index) && std::ranges::none_of(program.exit_plans, ends)) add(exit.flag, "", "");
  }
  for (const auto& lost : recurrence::lost_exits(system))
    add(lost.flag, lost.because ? system.at(system.at(*lost.because).target).user_name() : "",
        lost.bounded_by);
  return result;
}

/// The indices of loops that may end early, and of those around.
std::set<std::string> indices_of_exits(const recurrence::System& system) {
  std::set<std::string> result;
  for (const auto& exit : recurrence::early_exits(system)) {
    result.insert(exit.index);
    for (const auto& [index, offset] : exit.around) result.insert(index);
  }
  return result;
}

/// Without indices that others tell, but for those which the schedule names and those of loops that may end early.
recurrence::System omit_determined(const recurrence::System& system,
                                   const std::optional<schedule::Schedule>& schedule) {
  std::optional<std::set<std::string>> of_exits;
  return recurrence::omit_determined(system, [&](const std::string& index) {
    if (schedule && schedule::names_index(*schedule, index)) return true;
    if (!of_exits) of_exits = indices_of_exits(system);
    return of_exits->contains(index);
  });
}

struct Lowered {
  dataflow::Graph graph;
  dataflow::Placed placed;
  Expected<dataflow::Shared, Refusal> shared;
};

void verify(const dataflow::Graph& graph, const dataflow::Placed& placed, bool placed_is_verified, Log& log) {
  dataflow::verify(graph);
  if (!placed_is_verified && placed.graph.dims != graph.dims) dataflow::verify(placed.graph);
  log.stage("verify dataflow");
}

Lowered lower(const recurrence::System& system, const Candidate& candidate, const machine::Machine& machine,
              bool verify_now, Log& log) {
  const auto& schedule = candidate.schedule;
  const bool same_rank = machine.grid.size() == schedule.space_indices.size();
  const auto grid = same_rank ? machine.grid : std::vector<std::int64_t>{};
  auto graph = dataflow::lower(system, schedule, candidate.free_indices, candidate.relays, grid);
  log.stage("lower");
  std::set<std::string> rows;  // Each ends the loops inside by itself, which matters where a PE has several.
  if (same_rank || !schedule.folds.empty()) {
    for (const auto& exit : recurrence::early_exits(system)) {
      for (const auto& [index, offset] : exit.around) rows.insert(index);
    }
  }
  auto placed = dataflow::place(graph, schedule, grid, rows);
  log.stage("place");
  if (verify_now) verify(graph, placed, false, log);
  auto shared =
      attempt([&] { return share_links(placed, machine, candidate.relays, candidate.moves_operands); });
  return {std::move(graph), std::move(placed), std::move(shared)};
}

/// The program of a mapping to an array of the machine's PEs, and by channel the flows that it moves.
std::pair<program::Program, std::vector<std::string>> program_of(mapping::Mapping& mapping,
                                                                 const std::vector<codegen::ExitFlag>& flags,
                                                                 const schedule::Schedule& schedule,
                                                                 const machine::Machine& array,
                                                                 const machine::Machine& machine) {
  auto program = generate_within_channels(mapping, array, flags, !schedule.is_serpentine);
  std::vector<std::string> flows;
  for (const auto& channel : mapping.channels) flows.push_back(channel.name);
  if (!schedule.is_serpentine) return {std::move(program), std::move(flows)};
  const auto network =
      std::ranges::find(program.channels, program::Channel::Kind::network, &program::Channel::kind);
  if (network != program.channels.end())
    throw ScheduleError(
        {.code = "CYC321",
         .span = {},
         .message = fmt::format("the schedule is serpentine, and broadcasts {}", network->name),
         .notes = {},
         .help = "`stream` it: no network goes along rows back and forth"});
  auto wound = codegen::wind(program, machine);
  std::vector<std::string> own;
  for (const auto channel : wound.line_channels)
    own.push_back(channel < flows.size() ? flows[channel] : program.channels[channel].name);
  auto held = codegen::hold_global_data(wound.program);
  const auto most = machine.pe.channels;
  const bool fits = !most || memory::most_channels(held) <= *most;
  return {std::move(fits ? held : wound.program), std::move(own)};
}

Compiled generate(const recurrence::System& system, const schedule::Schedule& schedule,
                  const machine::Machine& array, const machine::Machine& machine, dataflow::Graph graph,
                  Mapped mapped, Log& log) {
  auto& mapping = mapped.mapping;
  auto [program, channel_flows] =
      program_of(mapping, flags_of(system, mapping.graph), schedule, array, machine);
  log.stage("generate");
  program::verify_units(program);
  program = memory::allocate(std::move(program));
  log.stage("allocate");
  program::verify(program);
  memory::verify_layout(program);
  memory::require_control(program);
  log.stage("verify program");
  program.notes["schedule"] = schedule::to_string(schedule);
  auto lost = lost_loops(system, schedule, program);
  return {schedule,
          false,
          {},
          std::move(graph),
          std::move(mapped.placed.graph),
          std::move(program),
          std::move(channel_flows),
          all_proofs(mapping.proofs, schedule),
          log.take(),
          std::move(lost),
          mapped.placed.within > 0,
          {}};
}

}  // namespace

Expected<Compiled, Refusal> compile_candidate(const recurrence::System& system, const Candidate& candidate,
                                              const machine::Machine& machine, bool verify_first, Log log) {
  const auto reached = attempt([&] { return array_of(candidate.schedule, machine); });
  if (!reached) return reached.error();
  const auto& array = *reached;
  auto lowered = attempt([&] { return lower(system, candidate, array, verify_first, log); });
  if (!lowered) return lowered.error();
  if (lowered->shared && lowered->shared->in_vain) {
    auto other = candidate;
    other.relays = dataflow::Relays::between_neighbours;
    auto compiled = compile_candidate(system, other, machine, verify_first, log);
    // A value that also comes from another distance: one copy for all is another way.
    if (compiled || !compiled.error().is_illegal()) return compiled;
  }
  auto relays = candidate.relays;
  const bool operands = candidate.moves_operands;
  auto mapped = map_in_parts(lowered->placed, std::move(lowered->shared), array, relays, operands);
  const bool in_stages = relays == dataflow::Relays::routed && lowered->placed.within > 0;
  if (!mapped && (in_stages || relays == dataflow::Relays::routed_singly) &&
      mapped.error().obstacle() == Obstacle::late_value) {
    relays = dataflow::Relays::routed_together;  // of the same graph, by other routes
    auto shared = attempt([&] { return share_links(lowered->placed, array, relays, operands); });
    mapped = map_in_parts(lowered->placed, std::move(shared), array, relays, operands);
  }
  if (!mapped) return mapped.error();
  const bool may_end = mapped->distributed && !recurrence::early_exits(system).empty();
  if (may_end && candidate.free_indices != dataflow::FreeIndexPlacement::zero) {
    auto other = candidate;
    other.relays = relays;
    other.free_indices = dataflow::FreeIndexPlacement::zero;
    auto compiled = compile_candidate(system, other, machine, verify_first, log);
    if (compiled && compiled->lost_loops.empty()) return compiled;
  }
  log.stage("map");
  auto compiled = attempt([&] {
    if (!verify_first) verify(lowered->graph, mapped->placed, mapped->verified, log);
    return generate(system, candidate.schedule, array, machine, std::move(lowered->graph), std::move(*mapped),
                    log);
  });
  if (compiled || !in_stages || compiled.error().obstacle() != Obstacle::capacity) return compiled;
  auto other = candidate;
  other.relays = dataflow::Relays::routed_singly;  // needs less room
  return compile_candidate(system, other, machine, verify_first, log);
}

Expected<Compiled, Refusal> proven(Compiled compiled, const recurrence::System& system) {
  return attempt([&] {
    Log log(std::move(compiled.stages));
    check_small(compiled.program, system, compiled.schedule, compiled.folded);
    log.stage("prove");
    compiled.stages = log.take();
    return std::move(compiled);
  });
}

Compiled compile(const recurrence::System& given, const std::optional<schedule::Schedule>& schedule,
                 const machine::Machine& machine) {
  Log log;
  machine::verify_target(machine);
  recurrence::verify(given);
  log.stage("verify recurrences");
  const auto system = omit_determined(recurrence::copy_results(given), schedule);
  if (!(system == given)) recurrence::verify(system);
  log.stage("copy results");
  const auto reordered = reorder(system, schedule.value_or(schedule::Schedule{}), machine, log);
  auto compiled = schedule ? CandidateSearch(reordered.split, machine, log).run(*schedule, {})
                           : search_defaults(reordered, machine, log);
  if (!compiled) refuse(compiled.error(), system, schedule.value_or(schedule::Schedule{}), machine);
  compiled->schedule_chosen = !schedule;
  if (schedule) compiled->system = reordered.system;
  return std::move(*compiled);
}

}  // namespace cyclotron::driver
