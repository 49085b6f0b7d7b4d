#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include <cyclotron/program/exits.hpp>
#include <cyclotron/proof/channels.hpp>
#include <cyclotron/proof/proof.hpp>
#include <cyclotron/recurrence/early_exit.hpp>
#include <cyclotron/support/error.hpp>

#include "equations.hpp"
#include "execute.hpp"
#include "violations.hpp"

namespace cyclotron::proof {
namespace {

using Status = Property::Status;

constexpr std::int64_t longest_lag = 1;  // Of the flag that a loop ends by, in iterations.
constexpr std::int64_t most_places = std::int64_t{1} << 24;  // Of all PEs' memories: half a gigabyte.

void require_laid_out(const program::Program& program) {
  for (const auto& pe_class : program.classes) {
    for (const auto& slot : pe_class.slots) {
      if (slot.laid_out()) continue;
      throw ProgramError({.code = "CYC613",
                          .span = {},
                          .message = fmt::format("slot `{}` of {} has no address", slot.name, pe_class.name),
                          .notes = {},
                          .help = "lay the program's memory out first"});
    }
  }
}

class Prover {
 public:
  Prover(const program::Program& program, const recurrence::System* system, const Options& options)
      : program_(program), system_(system), options_(options), terms_(program.tensors) {}

  Proof run() {
    program::verify(program_);
    require_laid_out(program_);
    proven("structure",
           "ids, types, sizes and addresses are consistent, and every PE's memory holds its slots");
    try {
      trace_ = unroll(program_, options_.limit);
      result_.events = trace_.events;
      if (system_ != nullptr) {
        endings_ = recurrence::early_exits(*system_);
        std::vector<recurrence::TensorId> flags;
        for (const auto& ending : endings_) flags.push_back(ending.flag);
        auto [outputs, others] = terms_of(*system_, program_, terms_, flags, options_.limit);
        expected_ = std::move(outputs);
        flags_ = std::move(others);
        if (compares()) known_terms_ = std::max<std::size_t>(terms_.size(), 1);
      }
      check_channels();
      check_values();
    } catch (const CapacityError& error) {
      too_large(error.diagnostic().message);
    }
    result_.terms = static_cast<std::int64_t>(terms_.size());
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool compares() const { return system_ != nullptr && options_.other_terms.empty(); }

  void proven(const char* name, std::string text) {
    result_.properties.push_back({name, Status::proven, std::move(text)});
  }

  void too_large(const std::string& why) {
    result_.properties.resize(1);
    result_.events = 0;
    for (const char* name : {"bounds", "reads", "outputs", "messages", "deadlock", "rendezvous", "terms"}) {
      result_.properties.push_back({name, Status::not_checked, "too large: " + why});
    }
  }

  void check_channels() {
    channels_ = channels_of(program_, trace_);
    const auto depths = depths_of(program_, trace_);
    auto run = run_channels(channels_, depths);
    if (run.finished()) {
      deadlock_ = {"deadlock", Status::proven,
                   "no deadlock with the program's channel depths, whatever the timing"};
    } else {
      auto freely = run_channels(channels_, std::vector<std::int64_t>(depths.size(), unbounded));
      const bool deeper_helps = freely.finished();
      const auto error =
          deadlock_error(program_, trace_, channels_, run, depths,
                         deeper_helps ? "deeper channels let it pass: `least_depths()` lists how deep"
                                      : "no channel depth helps: a message that is waited for is never sent");
      if (!deeper_helps || options_.throw_deadlock) throw DeadlockError(error.diagnostic());
      deadlock_ = {"deadlock", Status::does_not_hold, error.diagnostic().message};
      run = std::move(freely);
    }
    left_ = std::move(run.left);
  }

  void check_values() {
    const OnStore compare = [&](std::uint32_t tensor, std::int64_t linear, TermId term, std::uint32_t pe,
                                std::size_t event) {
      if (compares()) compare_store(tensor, linear, term, pe, event);
    };
    const Executed executed =
        execute(program_, trace_, terms_, {std::min(4 * options_.limit, most_places), known_terms_}, compare);
    CYC_CHECK(executed.finished, "messages that are sent arrive");
    proven("bounds", "every access is inside its slot, its tensor and the grid");
    proven("reads", "every read finds a value of its own slot that was written before and not overwritten");
    check_outputs(executed);
    check_messages();
    if (compares()) {
      for (std::uint32_t e = 0; e < program_.exit_plans.size(); ++e) check_exit_plan(e, executed);
      if (!program_.exit_plans.empty()) {
        proven("endings",
               "PEs leave out iterations alike, after which nothing that is seen changes once the loop has "
               "ended");
      }
    }
    result_.properties.push_back(deadlock_);
    check_rendezvous();
    if (system_ == nullptr) {
      result_.properties.push_back(
          {"terms", Status::not_checked,
           "the recurrences are not at hand: a program file holds the PEs' programs only"});
    } else if (!compares()) {
      result_.properties.push_back({"terms", Status::not_checked, options_.other_terms});
    } else {
      proven("terms", "every stored element is the very tree of operations of its equation, for all data");
    }
  }

  void compare_store(std::uint32_t tensor, std::int64_t linear, TermId term, std::uint32_t pe,
                     std::size_t event) {
    const auto& of_tensor = expected_[tensor];
    const std::string element = TermTable::element_text(program_.tensors[tensor], linear);
    if (of_tensor.empty()) {
      violation<LegalityError>("CYC666", program_, trace_, pe, event,
                               fmt::format("`{}` is stored, which no equation assigns", element));
    }
    const TermId wanted = of_tensor[static_cast<std::size_t>(linear)];
    if (wanted == term) return;
    const auto [found_part, wanted_part] = terms_.difference(term, wanted);
    std::vector<Note> notes{{{}, fmt::format("the equation gives {}", terms_.text(wanted))},
                            {{}, fmt::format("the program stores {}", terms_.text(term))}};
    if (found_part != term) {
      notes.push_back({{},
                       fmt::format("they first differ where the equation has {} and the program {}",
                                   terms_.text(wanted_part), terms_.text(found_part))});
    }
    violation<LegalityError>("CYC665", program_, trace_, pe, event,
                             fmt::format("`{}` is stored with another value than its equation's", element),
                             std::move(notes));
  }

  void check_outputs(const Executed& executed) {
    for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
      const auto& stored = executed.stored[t];
      const auto absent = std::ranges::find(stored, no_term);
      if (absent == stored.end()) continue;
      throw ProgramError(
          {.code = "CYC662",
           .span = {},
           .message = fmt::format("`{}` is never stored",
                                  TermTable::element_text(program_.tensors[t], absent - stored.begin())),
           .notes = {},
           .help = "compile the kernel again"});
    }
    proven("outputs", "every element of every output is stored exactly once");
  }

  /// That what all PEs look at is a flag of the equations, of this iteration or one before it; in each run of a loop that PEs
  /// end on their own, the flag of another run of the equations.
  void check_exit_plan(std::uint32_t number, const Executed& executed) {
    const auto& plan = program_.exit_plans[number];
    const auto widest = *program::range_of(program_, program::ExitPlanId(number));
    std::map<std::int64_t, std::vector<TermId>> runs;  // Their flags, by iteration.
    for (const auto& [at, term] : executed.flags) {
      const auto [plan_number, run, iteration] = at;
      if (plan_number == number && iteration >= plan.first && iteration <= plan.last)
        runs[run].push_back(term);
    }
    const auto is = [&](std::size_t n, std::int64_t lag) {
      const auto count = system_->at(endings_[n].flag).shape.back();
      const auto element = [&](std::int64_t iteration) { return iteration - lag + endings_[n].offset; };
      if (element(plan.first) < 0 || element(plan.last) >= count) return false;
      std::map<std::vector<TermId>, std::int64_t>
          known;  // Flags of runs of the equations, and how many have them.
      const auto of_run = [&](std::int64_t run) {
        const auto begin = flags_[n].begin() + run * count;
        return std::vector(begin + element(plan.first), begin + element(plan.last) + 1);
      };
      for (std::int64_t run = 0; plan.per_pe && run < plan.runs; ++run) ++known[of_run(run)];
      return std::ranges::all_of(runs, [&](const auto& run) {
        return plan.per_pe ? known[run.second]-- > 0 : of_run(run.first) == run.second;
      });
    };
    for (std::size_t n = 0; n < endings_.size(); ++n) {
      if (endings_[n].index != plan.loop || endings_[n].steps != plan.steps) continue;
      if (plan.runs * system_->at(endings_[n].flag).shape.back() != std::ssize(flags_[n])) continue;
      if (widest.last - endings_[n].settle < plan.last) continue;
      for (std::int64_t lag = 0; lag <= longest_lag; ++lag) {
        if (is(n, lag)) return;
      }
    }
    throw LegalityError({.code = "CYC671",
                         .span = {},
                         .message = fmt::format(
                             "the loop over `{}` ends early by what is no flag of its equations", plan.loop),
                         .notes = {},
                         .help = "compile the kernel again"});
  }

  void check_messages() {
    for (std::size_t q = 0; q < left_.size(); ++q) {
      if (left_[q] == 0) continue;
      const Queue& queue = trace_.queues[q];
      const std::string sender = queue.sender == none ? "nobody" : trace_.name(queue.sender);
      const std::string receiver =
          queue.receiver == none ? "a PE without a program" : trace_.name(queue.receiver);
      throw ProgramError(
          {.code = "CYC663",
           .span = {},
           .message = fmt::format("{} messages on `{}` from {} to {} are never received", left_[q],
                                  program_.channels[queue.channel].name, sender, receiver),
           .notes = {},
           .help = "compile the kernel again"});
    }
    proven("messages", fmt::format("each of the receives has its one send, in order, on {} queues with one "
                                   "sender and one receiver each, and no message is left",
                                   trace_.queues.size()));
  }

  void check_rendezvous() {
    const std::vector<std::int64_t> depths(channels_.queues.size(), 0);
    const auto run = run_channels(channels_, depths);
    if (run.finished()) {
      proven("rendezvous", "no deadlock with depth 0 either: a send may wait for its receive");
      return;
    }
    const auto error = deadlock_error(program_, trace_, channels_, run, depths, {});
    result_.properties.push_back(
        {"rendezvous", Status::does_not_hold, "with depth 0 " + error.diagnostic().message});
  }

  const program::Program& program_;
  const recurrence::System* system_;
  Options options_;
  TermTable terms_;
  std::size_t known_terms_ = 0;
  Trace trace_;
  ChannelProgram channels_;
  Property deadlock_;
  std::vector<std::int64_t> left_;             // Messages, by queue.
  std::vector<std::vector<TermId>> expected_;  // By tensor and element.
  std::vector<recurrence::EarlyExit> endings_;
  std::vector<std::vector<TermId>> flags_;  // By ending of the equations and element.
  Proof result_;
};

}  // namespace

bool Proof::ok() const {
  return std::ranges::all_of(properties, [](const Property& property) {
    return property.status == Status::proven || property.name == "rendezvous";
  });
}

Proof prove(const program::Program& program, const recurrence::System* system, const Options& options) {
  return Prover(program, system, options).run();
}

}  // namespace cyclotron::proof
