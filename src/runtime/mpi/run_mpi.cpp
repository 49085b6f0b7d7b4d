#include "run_mpi.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/program/file.hpp>
#include <cyclotron/runtime/raised_flags.hpp>

#include "../processes/core_binding.hpp"
#include "../simulator/advice/deadlock.hpp"
#include "agreement.hpp"
#include "gather_accounts.hpp"
#include "halo.hpp"
#include "outcome.hpp"
#include "rank.hpp"
#include "transport.hpp"

namespace cyclotron::runtime::mpi {
namespace {

/// Outcome of a run; all ranks agree.
enum class End : std::uint8_t { finished, failed, deadlocked };

/// Waiting costs little, since others may need the core: first yields, then sleeps. Where ranks are more than
/// cores it sleeps at once: a core on which waiting ranks yield to each other looks busy, so the system leaves a
/// rank that has work in the other core's queue.
class BackOff {
 public:
  explicit BackOff(Transport& transport) : transport_(transport), yields_(transport.crowded() ? 0 : 200) {}
  void wait() {
    if (waits_ == 0) since_ = Clock::now();
    if (waits_++ < yields_) {
      sched_yield();
    } else {
      transport_.sleep(longest, std::chrono::microseconds(std::clamp(5 * (waits_ - yields_), 50, 1000)));
    }
  }
  void reset() { waits_ = 0; }
  /// Tells whether it has waited for so long that perhaps nothing will come.
  [[nodiscard]] bool doubts() const { return waits_ > 0 && Clock::now() - since_ >= longest; }

 private:
  using Clock = std::chrono::steady_clock;
  /// Between looks for what rings no bell, such as an interrupt.
  static constexpr std::chrono::milliseconds longest{10};
  Transport& transport_;
  int yields_;
  int waits_ = 0;
  Clock::time_point since_;  // The first wait.
};

/// Decides from the sums of each round; all ranks see the same sums in the same round, so they all decide the
/// same.
class Judge {
 public:
  explicit Judge(int ranks) : ranks_(ranks) {}
  std::optional<End> judge(const Totals& totals) {
    const auto before = std::exchange(before_, totals);
    if (totals.stopped > 0) {
      // Those who had not stopped when they were counted may have sent since: one more round.
      const bool all_stopped = before && before->stopped > 0;
      return all_stopped && totals.settled() ? std::optional(End::failed) : std::nullopt;
    }
    if (!totals.settled()) return std::nullopt;
    if (totals.finished == ranks_) return End::finished;
    // Nothing moved from one round to the next, and nobody had anything to do in either.
    return before == totals ? std::optional(End::deadlocked) : std::nullopt;
  }

 private:
  std::int64_t ranks_;
  std::optional<Totals> before_;
};

/// Works while there is work, and keeps receiving until all ranks agree on the end. `rank` is null, and
/// `failure` set, where this rank could not even begin.
End run_rank(Transport& transport, Rank* rank, std::exception_ptr& failure) {
  Judge judge(transport.size());
  BackOff back_off(transport);
  bool stopped = rank == nullptr;
  if (stopped) transport.alarm();
  while (true) {
    try {
      if (!stopped && rank->can_work()) {
        rank->work();
        back_off.reset();
        continue;
      }
      if (!stopped) rank->idle();
    } catch (const Stopped&) {
      stopped = true;
    } catch (...) {
      failure = std::current_exception();
      stopped = true;
      transport.alarm();
    }
    transport.flush();
    const bool moved =
        transport.poll([&](const Record& record, const std::byte* numbers, const Tile& holder) {
          if (!stopped) rank->take(record, numbers, holder);
        });
    stopped = stopped || transport.alarmed();
    if (!stopped && rank->can_work()) continue;
    const bool finished = rank != nullptr && rank->finished();
    // Rounds that could not end the run would only wake ranks that wait.
    if (!transport.in_round() && (finished || stopped || back_off.doubts()))
      transport.join(finished, stopped);
    if (const auto totals = transport.result()) {
      stopped = stopped || totals->stopped > 0;
      if (const auto end = judge.judge(*totals)) return *end;
    } else if (!moved) {
      back_off.wait();
    }
  }
}

void require_same_program(Transport& transport, std::string_view bytes) {
  if (agree(bytes, transport.communicator())) return;
  throw ExecutionError(
      {.code = "CYC731",
       .span = {},
       .message = fmt::format("the {} ranks were given different programs", transport.size()),
       .notes = {},
       .help = "a collective run needs the same kernel, shapes, schedule and machine on every rank"});
}

/// Brings every stored tile to every rank. Each tile was stored by one rank, so the bits of all, or'ed, are
/// its bits.
void combine_outputs(Transport& transport, const program::Program& program, Rank& rank) {
  const auto all = [&](std::vector<std::uint8_t>& bytes) {
    combine(reinterpret_cast<std::byte*>(bytes.data()), bytes.size(), transport.communicator());
  };
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].role != program::Role::output || rank.distributed(t)) continue;
    const TensorAccess& tensor = rank.tensors()[t];
    const auto own = rank.stored_tiles()[t];
    std::size_t tile_bytes = operators::size_bytes(program.tensors[t].dtype);
    for (const auto extent : program.tensors[t].tile) tile_bytes *= static_cast<std::size_t>(extent);
    std::vector<std::uint8_t> bytes(own.size() * tile_bytes);
    std::vector<std::int64_t> index(std::max<std::size_t>(1, tensor.rank()));
    for (std::size_t n = 0; n < own.size(); ++n) {
      if (own[n] == 0) continue;
      tensor.unravel(n, index.data());
      tensor.read(index.data(), reinterpret_cast<std::byte*>(bytes.data() + n * tile_bytes));
    }
    auto stored = own;
    all(stored);
    all(bytes);
    for (std::size_t n = 0; n < own.size(); ++n) {
      if (stored[n] == 0 || own[n] != 0) continue;
      tensor.unravel(n, index.data());
      tensor.write(index.data(), reinterpret_cast<const std::byte*>(bytes.data() + n * tile_bytes),
                   tensor.size(index.data()));
    }
  }
}

/// Throws ExecutionError CYC733 where PEs cannot be dealt out so.
void check_deal(const std::optional<BlockCyclic>& dealt, const program::Program& program, int ranks) {
  if (!dealt) return;
  const auto positive = [](std::int64_t n) { return n >= 1; };
  const std::size_t dimensions = program.grid.size();
  std::int64_t parts = 1;
  bool fits = dealt->count.size() == dimensions && dealt->block.size() == dimensions &&
              std::all_of(dealt->count.begin(), dealt->count.end(), positive) &&
              std::all_of(dealt->block.begin(), dealt->block.end(), positive);
  for (const auto count : dealt->count) fits = fits && !__builtin_mul_overflow(parts, count, &parts);
  if (fits && parts <= ranks) return;
  throw ExecutionError(
      {.code = "CYC733",
       .span = {},
       .message =
           fmt::format("PEs of a grid with {} dimensions are dealt out to {} ranks in blocks of {}, of {}",
                       dimensions, fmt::join(dealt->count, " x "), fmt::join(dealt->block, " x "), ranks),
       .notes = {},
       .help = "give a number of ranks and a block for each dimension of the grid"});
}

}  // namespace

std::vector<Account> run_mpi(std::string_view program_bytes, MPI_Comm communicator,
                             const std::function<Tensors(const program::Program&)>& make_tensors,
                             const Options& options, const Progress& progress) {
  const SingleThreadedBlas single_threaded;
  Transport transport(communicator, options.share_memory);
  const CoreBinding binding(transport.own_core());
  require_same_program(transport, program_bytes);
  program::Program program;
  std::optional<Rank> rank;
  std::exception_ptr failure;
  try {
    program = program::deserialize(program_bytes);
    const Tensors tensors = make_tensors(program);
    check_deal(options.dealt, program, transport.size());
    // So that those of all ranks have numbers of MPI's.
    const std::int64_t most_events = std::numeric_limits<int>::max() / transport.size();
    rank.emplace(program, tensors.arrays, tensors.distributed, options.dealt,
                 std::min(options.event_limit, most_events), options.loops, transport, progress);
  } catch (...) {
    failure = std::current_exception();
  }
  int ready = rank ? 1 : 0;
  check(MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, transport.communicator()), "MPI_Allreduce");
  const double begun = wall_seconds();
  const double busy = processor_seconds();
  clear_raised_flags();
  if (ready != 0) rank->exchange_tiles();
  switch (run_rank(transport, rank ? &*rank : nullptr, failure)) {
    case End::finished: break;
    case End::failed: rethrow_everywhere(transport, failure);
    case End::deadlocked:
      // Where a run stops does not depend on the host, so the simulator explains it, on each rank alike.
      simulator::throw_deadlock(program, std::numeric_limits<std::int64_t>::max() / 2, progress);
  }
  constexpr std::size_t kept_between_runs = std::size_t{1} << 30;
  Account own = rank->account(begun);
  own.profile.raised = raised_flags();
  own.profile.processor_seconds = processor_seconds() - busy;
  rank->hand_over_outputs();
  if (!options.shared_outputs) combine_outputs(transport, program, *rank);
  std::vector<Account> all =
      gather(std::move(own), begun, transport.communicator(), transport.one_computer());
  rank.reset();
  Arena::instance().trim(kept_between_runs);
  return all;
}

}  // namespace cyclotron::runtime::mpi
