#include <cyclotron/driver/compile.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <cyclotron/codegen/generate.hpp>
#include <cyclotron/dataflow/coordinates.hpp>
#include <cyclotron/dataflow/distribute.hpp>
#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/dataflow/share_arrivals.hpp>
#include <cyclotron/dataflow/share_links.hpp>
#include <cyclotron/mapping/mapping.hpp>
#include <cyclotron/mapping/share_channels.hpp>
#include <cyclotron/memory/channels.hpp>
#include <cyclotron/memory/layout.hpp>
#include <cyclotron/proof/proof.hpp>
#include <cyclotron/recurrence/endings.hpp>
#include <cyclotron/recurrence/reassociate.hpp>
#include <cyclotron/recurrence/reduce_in_trees.hpp>
#include <cyclotron/recurrence/reduce_inwards.hpp>
#include <cyclotron/recurrence/stage_reductions.hpp>
#include <cyclotron/recurrence/split_bounds.hpp>
#include <cyclotron/recurrence/split_reductions.hpp>
#include <cyclotron/recurrence/verify.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::driver {

namespace {

/// Keeps name and time of each stage; texts are made on demand by the stages themselves.
class Log {
 public:
  void stage(std::string name, std::string text = {}) {
    const auto now = std::chrono::steady_clock::now();
    stages_.push_back(
        {std::move(name), std::move(text), std::chrono::duration<double, std::milli>(now - last_).count()});
    last_ = std::chrono::steady_clock::now();
  }
  std::vector<Stage> take() { return std::move(stages_); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<Stage> stages_;
};

/// The limit on isl's operations; another order of time would spend as much.
constexpr std::string_view effort_spent = "CYC299";
/// What another order of a step's computations may mend.
constexpr std::string_view made_too_late = "CYC221";
constexpr std::string_view overtaken = "CYC222";
/// What shorter ways may mend.
constexpr std::string_view too_far = "CYC220";

/// Why the terms of a schedule's programs are others than the equations', or nothing.
std::string other_terms(const schedule::Schedule& schedule) {
  return schedule.rotations.empty() ? "" : "a rotated reduction starts elsewhere than its equation says";
}

/// PEs that do the work of several in a fixed order may need each other's next value first.
[[noreturn]] void refuse_circle(const DeadlockError& error, const schedule::Schedule& schedule) {
  Diagnostic found = error.diagnostic();
  found.code = "CYC227";
  found.message =
      fmt::format("with {} folded, {}", schedule.folds.size() == 1 ? "a grid dimension" : "grid dimensions",
                  found.message);
  if (found.notes.size() > 3) found.notes.resize(3);  // the message tells how many there are
  found.help =
      "fold in blocks or onto another number of PEs, stream what is broadcast, or leave the fold out";
  throw LegalityError(std::move(found));
}

/// No order of time was found: where that may be for it, says what reducing inwards wants of a folded index.
[[noreturn]] void refuse_order(const LegalityError& error, const schedule::Schedule& schedule) {
  Diagnostic found = error.diagnostic();
  for (const auto& fold : schedule.folds) {
    if (found.code != made_too_late ||
        std::ranges::find(schedule.inwards, fold.dimension) == schedule.inwards.end())
      continue;
    found.help = fmt::format(
        "inwards(\"{0}\") adds the last terms first, and a PE takes those that fold({0}=...) gives it in "
        "order: leave one "
        "of them out, or add in blocks, reassociate(\"{0}\", {1}, into=\"block\") with \"block\" in space "
        "and "
        "inwards(\"block\")",
        fold.dimension, fold.parts);
  }
  throw LegalityError(std::move(found));
}

/// The schedule with what it deals out in blocks instead, and how one writes that; none where it deals nothing out.
std::optional<std::pair<schedule::Schedule, std::string>> in_blocks(schedule::Schedule schedule) {
  std::vector<std::string> folds;
  for (auto& fold : schedule.folds) {
    if (!std::exchange(fold.cyclic, false)) continue;
    folds.push_back(fmt::format("{}=cy.block({})", fold.dimension, fold.parts));
  }
  if (folds.empty()) return std::nullopt;
  return std::pair{std::move(schedule), fmt::format("fold({})", fmt::join(folds, ", "))};
}

/// The independent checker, on small programs. That channels are too shallow is for the run to say; whatever
/// else it finds is a bug of the compiler.
void check_small(const program::Program& program, const recurrence::System& system,
                 const schedule::Schedule& schedule) {
  try {
    (void)proof::prove(program, &system,
                       {.limit = proof::compile_limit,
                        .go_on = {},
                        .other_terms = other_terms(schedule),
                        .throw_deadlock = false});
  } catch (const DeadlockError& error) {
    if (!schedule.folds.empty()) refuse_circle(error, schedule);
    throw InternalError(error.diagnostic());
  } catch (const Error& error) {
    throw InternalError(error.diagnostic());
  }
}

/// Of all links of a machine.
dataflow::Links links_of(const machine::Machine& machine) {
  dataflow::Links result;
  result.hops = [&machine](const std::vector<std::int64_t>& offset) {
    if (!machine::wraps_around(machine)) return machine::hops(machine, {}, offset);
    std::int64_t straight = 0;
    for (const auto steps : offset) straight += std::abs(steps);
    const bool around = machine::hops(machine, machine.grid, offset) < straight;
    return around ? dataflow::most_hops + 1 : straight;  // what comes round goes its own way
  };
  result.latency_cycles = machine.link.latency_cycles;
  result.depth = machine.link.depth;
  const auto add = [&](const machine::Link& link) {
    result.latency_cycles = std::max(result.latency_cycles, link.latency_cycles);
    result.depth = std::min(result.depth, link.depth);
  };
  for (const auto& [hop, link] : machine.links) add(link);
  if (machine.chiplets) add(machine.chiplets->link);
  return result;
}

/// The same points with values that come into each PE once and pass each link once.
dataflow::Shared share_links(const dataflow::Placed& placed, const machine::Machine& machine,
                             dataflow::Relays relays) {
  const auto dimensions = placed.space.size();
  const bool known_links =
      machine.link_maps.empty() && (!machine.grid.empty() || !machine::wraps_around(machine));
  const bool along_trees = relays != dataflow::Relays::between_neighbours && known_links &&
                           machine::dimensions(machine).value_or(dimensions) == dimensions;
  const auto merged = dataflow::share_arrivals(placed, !along_trees);
  dataflow::Shared result{merged.value_or(placed)};
  if (along_trees) result = dataflow::share_links(result.placed, links_of(machine));
  if (merged || result.changed) dataflow::verify(result.placed.graph);
  return result;
}

/// The flags of the system's loops, as the graph has them.
std::vector<codegen::Flag> flags_of(const recurrence::System& system, const dataflow::Graph& graph) {
  std::vector<codegen::Flag> result;
  for (const auto& ending : recurrence::endings(system)) {
    const auto& name = system.at(ending.flag).name;
    const auto found = std::ranges::find(graph.tensors, name, &dataflow::Tensor::name);
    if (found == graph.tensors.end()) continue;
    result.push_back({dataflow::TensorId(static_cast<std::size_t>(found - graph.tensors.begin())),
                      ending.index, ending.offset, ending.steps, ending.settle});
  }
  return result;
}

/// Maps; where values of one step are needed before they are made, with the step's innermost loops that allow
/// it distributed: one part of their points after the other. `shared` is share_links(placed).
mapping::Mapping map_in_parts(dataflow::Placed& placed, dataflow::Shared shared,
                              const machine::Machine& machine, dataflow::Relays relays) {
  const auto map = [&](dataflow::Placed points) {
    auto mapping = mapping::map_to_grid(points.graph, {points.space, points.time, {}}, machine);
    placed = std::move(points);
    return mapping;
  };
  try {
    return map(std::move(shared.placed));
  } catch (const LegalityError& error) {
    const auto& code = error.diagnostic().code;
    if (code != made_too_late && code != overtaken) throw;
    const auto first = std::current_exception();
    const auto map_parts = [&](const dataflow::Placed& points, std::size_t level,
                               const std::vector<std::int64_t>& parts) -> std::optional<mapping::Mapping> {
      if (std::ranges::all_of(parts, [](std::int64_t part) { return part == 0; })) return std::nullopt;
      try {
        return map(share_links(dataflow::distribute(points, level, parts), machine, relays).placed);
      } catch (const LegalityError&) {
        return std::nullopt;  // further out, or in more parts, perhaps
      }
    };
    for (auto level = placed.time.size(); level-- > 0;) {
      using enum dataflow::Passing;
      const auto early = dataflow::parts(placed, level, when_made);
      if (auto mapping = map_parts(placed, level, early)) return std::move(*mapping);
      if (const auto late = dataflow::parts(placed, level, when_needed); late != early) {
        if (auto mapping = map_parts(placed, level, late)) return std::move(*mapping);
      }
      if (auto mapping = map_parts(placed, level, dataflow::input_stages(placed.graph)))
        return std::move(*mapping);
    }
    // Of what is left to the compiler, the points of a folded PE in one step: in as many parts as can be.
    const auto outer = placed.time.size() - placed.within;
    const auto map_finest = [&](const dataflow::Placed& points) -> std::optional<mapping::Mapping> {
      for (auto inner = placed.within; inner-- > 0;) {
        const auto level = points.time.size() - placed.within + inner;
        if (auto mapping = map_parts(points, level, dataflow::finest_parts(points, level))) return mapping;
      }
      return std::nullopt;
    };
    if (auto mapping = map_finest(placed)) return std::move(*mapping);
    for (auto level = placed.within == 0 ? 0 : outer; level-- > 0;) {
      const auto parts = dataflow::parts(placed, level, dataflow::Passing::when_needed);
      if (std::ranges::all_of(parts, [](std::int64_t part) { return part == 0; })) continue;
      if (auto mapping = map_finest(dataflow::distribute(placed, level, parts))) return std::move(*mapping);
    }
    std::rethrow_exception(first);
  }
}

/// The mapping's program. Where a PE has fewer channels than it needs, kinds of message take turns on them, and the
/// mapping becomes theirs.
program::Program generate(mapping::Mapping& mapping, const machine::Machine& machine,
                          const std::vector<codegen::Flag>& flags) {
  if (!machine.pe.channels) return codegen::generate(mapping, machine, flags);
  const auto given = *machine.pe.channels;
  const auto shared = [&](std::int64_t most) {
    return mapping::share_channels(mapping, static_cast<std::size_t>(std::max<std::int64_t>(most, 1)));
  };
  auto most = given;
  auto last = shared(most);
  auto program = codegen::generate(last, machine, flags);
  // The controller and flags have channels, too.
  while (const auto more = std::max<std::int64_t>(memory::most_channels(program) - given, 0)) {
    most -= more;
    auto next = shared(most);
    if (next.channels.size() >= last.channels.size()) break;
    last = std::move(next);
    program = codegen::generate(last, machine, flags);
  }
  mapping = std::move(last);
  return program;
}

/// Candidates but the first, whose error may be told, are verified once they map: of many none may.
Compiled compile_with(const recurrence::System& system, schedule::Schedule schedule,
                      const machine::Machine& machine, dataflow::Missing missing, dataflow::Relays relays,
                      bool first, Log log) {
  auto graph = dataflow::lower(system, schedule, missing, relays);
  log.stage("lower");
  const bool same_rank = machine.grid.size() == schedule.space.size();
  auto placed = dataflow::place(graph, schedule, same_rank ? machine.grid : std::vector<std::int64_t>{});
  log.stage("place");
  const auto verify = [&] {
    dataflow::verify(graph);
    if (placed.graph.dims != graph.dims) dataflow::verify(placed.graph);
    log.stage("verify dataflow");
  };
  if (first) verify();
  auto shared = share_links(placed, machine, relays);
  if (shared.in_vain) {
    try {
      return compile_with(system, schedule, machine, missing, dataflow::Relays::between_neighbours, first,
                          log);
    } catch (const LegalityError&) {
      // A value that also comes from another distance: one copy for all is another way.
    }
  }
  auto mapping = map_in_parts(placed, std::move(shared), machine, relays);
  log.stage("map");
  if (!first) verify();
  auto program = generate(mapping, machine, flags_of(system, mapping.graph));
  log.stage("generate");
  program = memory::allocate(std::move(program));
  log.stage("allocate");
  program::verify(program);
  memory::verify_layout(program);
  log.stage("verify program");
  check_small(program, system, schedule);
  log.stage("prove");
  auto proofs = std::move(mapping.proofs);
  proofs.insert(proofs.begin(),
                "every element is assigned once, every read is of an input or an assigned element");
  proofs.insert(
      proofs.begin() + 1,
      "every value of the dataflow is defined once and before it is read, and carries the element it should");
  for (const auto& [index, parts, into] : schedule.reassociations)
    proofs.push_back(
        fmt::format("reductions over {} are re-associated: in blocks, then over these, {}", index, into));
  if (!schedule.stages.empty())
    proofs.push_back(fmt::format("nested reductions are re-associated: over {}, in this order",
                                 fmt::join(schedule.stages, ", then ")));
  for (const auto& index : schedule.inwards)
    proofs.push_back(
        fmt::format("reductions over {} are re-associated: from both ends to the middle", index));
  for (const auto& tree : schedule.trees)
    proofs.push_back(
        fmt::format("reductions over {} are re-associated: in {}", tree.index, recurrence::to_string(tree)));
  proofs.emplace_back("no value is overwritten in its PE before its last use");
  proofs.emplace_back("no two live slots overlap, and every PE's memory holds its peak");
  program.notes["schedule"] = schedule::to_string(schedule);
  return {std::move(schedule), false,     {}, std::move(graph), std::move(placed.graph), std::move(program),
          std::move(proofs),   log.take()};
}

/// Of the dimensions of a machine's grid, as large as can be where it sets no limit; empty where it has any number.
std::vector<std::int64_t> extents_of(const machine::Machine& machine) {
  if (!machine.grid.empty()) return machine.grid;
  return std::vector(machine::dimensions(machine).value_or(0), std::numeric_limits<std::int64_t>::max());
}

struct Candidate {
  schedule::Schedule schedule;
  dataflow::Missing missing = dataflow::Missing::where_read;
  dataflow::Relays relays = dataflow::Relays::shared;
};

/// What is tried in turn for one schedule that leaves things open. Link maps and rings may lead straight to PEs that are
/// several hops away on a mesh; where they do not, their links between neighbours may serve. Wavefronts come last: where
/// there are `others`, these come before.
std::vector<Candidate> candidates(const recurrence::System& system, const schedule::Schedule& schedule,
                                  bool others, bool shortcuts) {
  std::vector<Candidate> result;
  const auto add = [&](const schedule::Schedule& completion, dataflow::Missing missing) {
    using enum dataflow::Relays;
    const auto ways = shortcuts ? std::vector{none, between_neighbours} : std::vector{shared};
    for (const auto way : ways) result.push_back({completion, missing, way});
  };
  for (const auto& completion : schedule::completions(system, schedule)) {
    const bool first = result.empty();
    add(completion, dataflow::Missing::where_read);
    if (first) add(completion, dataflow::Missing::zero);
  }
  if (!others) {
    for (const auto& wavefront : schedule::wavefronts(system, schedule))
      add(wavefront, dataflow::Missing::where_read);
  }
  return result;
}

/// How many PEs there are along an index in space, at most; 0: any number.
std::int64_t parts_along(const std::string& index, const schedule::Schedule& schedule,
                         const machine::Machine& machine) {
  const auto fold = std::ranges::find(schedule.folds, index, &schedule::Fold::dimension);
  if (fold != schedule.folds.end()) return fold->cyclic ? 0 : fold->parts;
  const auto dimension = std::ranges::find(schedule.space, index) - schedule.space.begin();
  const bool limited = machine.grid.size() == schedule.space.size() && dimension < std::ssize(schedule.space);
  return limited ? machine.grid[static_cast<std::size_t>(dimension)] : 0;
}

/// The system with its reductions as the schedule does them.
recurrence::System reordered(const recurrence::System& system, const schedule::Schedule& schedule,
                             const machine::Machine& machine) {
  const auto blocks = recurrence::reassociate(system, schedule.reassociations);
  auto chains =
      recurrence::reduce_inwards(recurrence::stage_reductions(blocks, schedule.stages), schedule.inwards);
  if (schedule.trees.empty()) return chains;
  auto trees = schedule.trees;
  for (auto& tree : trees) tree.parts = parts_along(tree.index, schedule, machine);
  return recurrence::reduce_in_trees(recurrence::split_reductions(chains), trees);
}

/// What passes from point to point goes round the PEs as often as work is dealt out to them: the order of time or the links
/// may forbid it. Throws with the schedule in blocks as help, where that works; else returns.
void refuse_dealing(const LegalityError& error, const recurrence::System& system,
                    const schedule::Schedule& schedule, const machine::Machine& machine) {
  Diagnostic found = error.diagnostic();
  const bool far = found.code == too_far;
  if (!far && found.code != made_too_late && found.code != overtaken) return;
  const auto other = in_blocks(schedule);
  if (!other) return;
  try {
    (void)compile(system, other->first, machine);
  } catch (const Error&) {
    return;
  }
  found.help = fmt::format("{}fold in blocks, along which values pass once: {} works",
                           far ? found.help + ", or " : "", other->second);
  throw LegalityError(std::move(found));
}

}  // namespace

Compiled compile(const recurrence::System& system, const std::optional<schedule::Schedule>& schedule,
                 const machine::Machine& machine) {
  Log log;
  machine::verify_target(machine);
  recurrence::verify(system);
  log.stage("verify recurrences");
  const auto wanted = schedule ? reordered(system, *schedule, machine) : system;
  if (!(wanted == system)) recurrence::verify(wanted);
  log.stage("reassociate");
  const auto split = recurrence::split_bounds(recurrence::split_reductions(wanted));
  if (!(split == wanted)) recurrence::verify(split);
  log.stage("split reductions");
  const auto starts = schedule ? std::vector{*schedule} : schedule::defaults(system, extents_of(machine));
  const bool shortcuts = !machine.link_maps.empty() || machine::wraps_around(machine);
  // The first candidate is the one that the user means, or the most parallel one: its error says most where
  // none works.
  std::exception_ptr first_error;
  for (const auto& start : starts) {
    for (const auto& [candidate, missing, relays] :
         candidates(split, start, &start != &starts.back(), shortcuts)) {
      try {
        if (missing == dataflow::Missing::zero && !dataflow::missing_matters(split)) continue;
        auto result = compile_with(split, candidate, machine, missing, relays, !first_error, log);
        result.schedule_chosen = !schedule;
        result.system = wanted;
        return result;
      } catch (const LegalityError& error) {
        if (!first_error) first_error = std::current_exception();
        if (error.diagnostic().code == effort_spent) break;
      } catch (const ScheduleError&) {
        if (!first_error) throw;  // else only this completion cannot be
      } catch (const CapacityError&) {
        if (!first_error) first_error = std::current_exception();
        break;
      }
    }
  }
  try {
    std::rethrow_exception(first_error);
  } catch (const LegalityError& error) {
    refuse_dealing(error, system, schedule.value_or(schedule::Schedule{}), machine);
    refuse_order(error, schedule.value_or(schedule::Schedule{}));
  }
}

}  // namespace cyclotron::driver
