#include "controller.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include <cyclotron/memory/control.hpp>
#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/roles.hpp>
#include <cyclotron/support/error.hpp>

#include "timed_engine.hpp"

namespace cyclotron::runtime::simulator {

/// The calls of the sections that the executive sends, and the ends of iterations in which loops may end, in order.
class IssueOrder {
 public:
  struct Item {
    bool is_call = false;
    std::uint32_t number = 0;  ///< Of the call, or of the exit plan.
  };

  explicit IssueOrder(const ControlledRun& run) : run_(run), runs_(run.outcomes.size()) {
    std::uint32_t calls = 0;
    for (const program::Section& section : run.flow.sections) {
      first_calls_.push_back(calls + 1);
      calls += static_cast<std::uint32_t>(section.calls.size());
    }
    levels_.push_back({.block = &run.flow.program});
    find_next();
  }

  /// None at the end.
  [[nodiscard]] const std::optional<Item>& next() const { return next_; }
  void find_next() {
    next_.reset();
    while (!next_ && !levels_.empty()) step();
  }

 private:
  struct Level {
    const program::ControlBlock* block = nullptr;
    const program::ControlLoop* loop = nullptr;  ///< Whose body it is, if any.
    std::int64_t iteration = 0;
    std::size_t place = 0;  ///< Section.
    std::size_t call = 0;   ///< Of it.
  };

  void step() {
    Level& top = levels_.back();
    const std::size_t section = top.block->sections[top.place];
    if (top.call < run_.flow.sections[section].calls.size()) {
      next_ = {true, first_calls_[section] + static_cast<std::uint32_t>(top.call++)};
    } else if (top.place < top.block->loops.size()) {
      const program::ControlLoop& loop = top.block->loops[top.place++];
      top.call = 0;
      if (loop.first <= loop.last)
        levels_.push_back({.block = &loop.body, .loop = &loop, .iteration = loop.first});
    } else if (top.loop == nullptr) {
      levels_.pop_back();
    } else {
      end_iteration(top);
    }
  }

  void end_iteration(Level& level) {
    const program::ControlLoop& loop = *level.loop;
    std::int64_t next = level.iteration + 1;
    if (loop.plan) {
      const std::size_t plan = loop.plan->index();
      const auto* run = run_.outcomes[plan].find(runs_[plan]);
      if (run != nullptr && run->at == level.iteration) next += run->skipped;
      if (next > loop.last) ++runs_[plan];
      const program::ExitPlan& range = run_.system.exit_plans[plan];
      if (level.iteration >= range.first && level.iteration <= range.last)
        next_ = {false, static_cast<std::uint32_t>(plan)};
    }
    if (next > loop.last) {
      levels_.pop_back();
    } else {
      level = {.block = level.block, .loop = level.loop, .iteration = next};
    }
  }

  const ControlledRun& run_;
  std::vector<std::uint32_t> first_calls_;  // By section: numbers.
  std::vector<std::int64_t> runs_;          // By exit plan: of its loop, so far.
  std::vector<Level> levels_;
  std::optional<Item> next_;
};

ControlledRun controlled_run(const program::Program& program, std::vector<program::ExitOutcome> outcomes,
                             const program::Unrolled* unrolled) {
  ControlledRun result{.system = memory::control_system(program, program::Workers::outside),
                       .flow = program::control_flow(program),
                       .outcomes = std::move(outcomes),
                       .calls = {}};
  result.system.machine.control =
      program.machine.control;  // EXITs of runs are timed on machines with control
  result.outcomes.resize(program.exit_plans.size());
  std::vector<std::vector<std::uint32_t>> calls;
  for (const auto& pe_class : program.classes) calls.emplace_back(pe_class.code.size());
  std::uint32_t number = 0;
  for (const auto& section : result.flow.sections) {
    for (const auto& call : section.calls) {
      ++number;
      for (std::size_t n = 0; n < call.classes.size(); ++n) calls[call.classes[n]][call.begins[n]] = number;
    }
  }
  if (unrolled == nullptr) {
    result.calls = std::move(calls);
    return result;
  }
  for (std::size_t c = 0; c < calls.size(); ++c) {
    auto& own = result.calls.emplace_back();
    for (const std::uint32_t origin : unrolled->origin[c]) own.push_back(calls[c][origin]);
  }
  return result;
}

Controller::Controller(const ControlledRun* run, const program::Program& program,
                       const std::vector<std::uint32_t>& grid_index)
    : run_(run), entries_(1) {
  if (run_ == nullptr) return;
  control_ = *program.machine.control;
  plans_ = program.exit_plans;
  const auto classes = program.class_map();
  for (std::uint32_t o = 0; o < grid_index.size(); ++o) {
    if (program.classes[classes[grid_index[o]]].executive) executive_ = o;
  }
  running_ = static_cast<std::uint32_t>(grid_index.size()) - (executive_ == no_pe ? 0 : 1);
  entries_.front().next_of = running_;
  for (const std::uint32_t index : grid_index) hops_.push_back(program::hops_to_control(program, index));
  for (const std::int64_t hops : hops_) most_hops_ = std::max(most_hops_, hops);
  next_.resize(grid_index.size());
  stalled_.resize(grid_index.size());
  waited_.resize(grid_index.size());
  find_nearest(program, grid_index);
  for (const auto& section : run_->flow.sections) {
    for (const auto& call : section.calls)
      argument_counts_.push_back(static_cast<std::uint32_t>(call.arguments.size()));
  }
  auto timed = time_program(run_->system);
  CYC_CHECK(timed, "the control system moves single words alone");
  system_ = std::make_unique<TimedEngine>(std::move(*timed), Progress{});
  system_->end_loops(run_->outcomes);
  flags_ = system_->queue_of(program::channel_of_flags(program));
  calls_ = system_->queue_of(program::channel_of_calls);
  arguments_ = system_->queue_of(program::channel_of_arguments);
  order_ = std::make_unique<IssueOrder>(*run_);
  run_system([](std::uint32_t) {});
}

Controller::~Controller() = default;

void Controller::find_nearest(const program::Program& program, const std::vector<std::uint32_t>& grid_index) {
  std::set<std::size_t> issued;
  const auto collect = [&](const auto& self, const program::ControlBlock& block) -> void {
    for (const auto& loop : block.loops) {
      if (loop.plan) issued.insert(loop.plan->index());
      self(self, loop.body);
    }
  };
  collect(collect, run_->flow.program);
  for (const auto& pe_class : program.classes) {
    auto& own = exits_.emplace_back(plans_.size(), false);
    for (const auto& instruction : pe_class.code) {
      const auto* exit = std::get_if<program::Exit>(&instruction.action);
      if (exit != nullptr && issued.contains(exit->plan.index())) own[exit->plan.index()] = true;
    }
  }
  loops_.resize(plans_.size());
  const auto classes = program.class_map();
  for (std::uint32_t o = 0; o < grid_index.size(); ++o) {
    for (std::size_t plan = 0; plan < plans_.size(); ++plan) {
      if (!exits_[classes[grid_index[o]]][plan]) continue;
      Loop& loop = loops_[plan];
      if (!std::exchange(loop.issued, true) || o == executive_ || hops_[o] < hops_[loop.nearest])
        loop.nearest = o;
    }
  }
}

bool Controller::decide(std::uint32_t ordinal, std::uint32_t plan, std::int64_t iteration, std::int64_t& now,
                        const Wake& wake) {
  if (run_ == nullptr || !loops_[plan].issued) return true;
  if (iteration < plans_[plan].first || iteration > plans_[plan].last) return true;
  Loop& loop = loops_[plan];
  const bool tells = ordinal == loop.nearest;
  if (tells && !loop.told) {
    const auto left = system_->send_from_outside(flags_, now + way(ordinal));
    if (!left) {
      flag_waits_ = true;
      waiting_.push_back(ordinal);
      return false;
    }
    loop.told = true;
    const std::int64_t before = std::exchange(now, *left - way(ordinal));
    stalled_[ordinal] += now - before;
    waited_[ordinal] += now - before;
    run_system(wake);
  }
  if (ordinal == executive_) {  // it takes no words
    loop.told = false;
    return true;
  }
  const auto found = find(ordinal, [&](const Entry& one) { return one.call == 0 && one.plan == plan; });
  if (!found) return await_more(ordinal, now, wake);
  if (tells) loop.told = false;
  pass(ordinal, *found + 1, now);
  release(wake);
  return true;
}

bool Controller::call(std::uint32_t ordinal, std::uint32_t pe_class, std::uint32_t instruction,
                      std::int64_t& now, const Wake& wake) {
  if (run_ == nullptr) return true;
  const std::uint32_t number = run_->calls[pe_class][instruction];
  if (number == 0) return true;  // of a loop that the control flow lacks
  const std::vector<bool>& own = exits_[pe_class];
  const auto found =
      find(ordinal, [&](const Entry& one) { return one.call == number || (one.call == 0 && own[one.plan]); });
  if (!found && order_->next()) return await_more(ordinal, now, wake);
  if (found && entry(*found).call == number) {
    const std::int64_t starts = std::max(now, entry(*found).arrival + way(ordinal));
    pass(ordinal, *found + 1, now);
    waited_[ordinal] += starts - now;
    stalled_[ordinal] += starts - now;
    now = starts;
  }
  stalled_[ordinal] += control_.setup_cycles;
  now += control_.setup_cycles;
  release(wake);
  return true;
}

void Controller::finish(std::uint32_t ordinal, std::int64_t now, const Wake& wake) {
  if (run_ == nullptr || ordinal == executive_) return;
  Entry& last = entry(next_[ordinal]);
  --last.next_of;
  last.passed = std::max(last.passed, now);
  --running_;
  release(wake);
}

template <class Wanted>
std::optional<std::int64_t> Controller::find(std::uint32_t ordinal, Wanted wanted) {
  const std::int64_t end = first_ + std::ssize(entries_) - 1;
  for (std::int64_t number = next_[ordinal]; number < end; ++number) {
    if (wanted(entry(number))) return number;
  }
  return std::nullopt;
}

bool Controller::await_more(std::uint32_t ordinal, std::int64_t now, const Wake& wake) {
  waiting_.push_back(ordinal);
  pass(ordinal, first_ + std::ssize(entries_) - 1, now);
  release(wake);
  return false;
}

/// Several entries at once: those after the first leave no sooner than that.
void Controller::pass(std::uint32_t ordinal, std::int64_t to, std::int64_t now) {
  Entry& from = entry(next_[ordinal]);
  if (std::exchange(next_[ordinal], to) == to) return;
  --from.next_of;
  from.passed = std::max(from.passed, now);
  ++entry(to).next_of;
}

void Controller::release(const Wake& wake) {
  if (entries_.front().next_of > 0 || entries_.size() == 1 || running_ == 0) return;
  const std::int64_t farthest = most_hops_ * control_.hop_cycles;
  const auto leave = [&](std::uint32_t queue, std::uint32_t& known) {
    released_ = std::max(released_, system_->arrival(queue, 0) + farthest);
    system_->take_from_outside(queue, released_);
    --known;
  };
  while (entries_.size() > 1 && entries_.front().next_of == 0) {
    const Entry& first = entries_.front();
    released_ = std::max(released_, first.passed);
    if (first.call > 0) {
      leave(calls_, known_calls_);
      for (std::uint32_t n = 0; n < argument_counts_[first.call - 1]; ++n)
        leave(arguments_, known_arguments_);
    }
    entries_.pop_front();
    ++first_;
  }
  run_system(wake);
}

void Controller::run_system(const Wake& wake) {
  system_->run();
  const bool more = add_entries();
  if (!more && !flag_waits_) return;
  flag_waits_ = false;
  for (const std::uint32_t ordinal : std::exchange(waiting_, {})) wake(ordinal);
}

bool Controller::add_entries() {
  const std::size_t before = entries_.size();
  for (; order_->next(); order_->find_next()) {
    const auto [is_call, number] = *order_->next();
    Entry& last = entries_.back();
    if (is_call) {
      const std::uint32_t arguments = argument_counts_[number - 1];
      if (system_->messages_in(calls_) <= known_calls_ ||
          system_->messages_in(arguments_) < known_arguments_ + arguments)
        break;
      last.call = number;
      last.arrival = system_->arrival(calls_, known_calls_++);
      known_arguments_ += arguments;
      if (arguments > 0)
        last.arrival = std::max(last.arrival, system_->arrival(arguments_, known_arguments_ - 1));
    } else {
      last.plan = number;
    }
    entries_.emplace_back();
  }
  return entries_.size() > before;
}

}  // namespace cyclotron::runtime::simulator
