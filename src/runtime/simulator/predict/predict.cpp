#include <cyclotron/runtime/predict.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

#include "../advice/deadlock.hpp"
#include "../timing/timed_engine.hpp"

namespace cyclotron::runtime {
namespace {

void require(bool fits, const char* what, std::size_t found, std::size_t wanted) {
  if (fits) return;
  throw ExecutionError({.code = "CYC733",
                        .span = {},
                        .message = fmt::format("{}: {} and {}", what, found, wanted),
                        .notes = {},
                        .help = "give each PE of the grid a rank, and at least one core"});
}

/// The program on a machine that ranks are: they tell the ends of loops themselves, and have no units or ports.
program::Program for_ranks(program::Program program) {
  machine::Machine& machine = program.machine;
  machine::Pe& pe = machine.pe;
  machine.control.reset();
  machine.shared_links = false;
  for (auto& [name, memory] : machine.memories) memory.dram.reset();
  pe.ports.clear();
  pe.overlap = false;
  for (auto* unit : {&pe.matrix, &pe.vector, &pe.scalar}) {
    if (*unit) (*unit)->latency_cycles.reset();
  }
  return program;
}

/// The program with whole tiles only: those at the end of a dimension, which may be smaller, become as large as the
/// others, so that all tiles of a slot have one size.
program::Program with_whole_tiles(program::Program program) {
  for (auto& tensor : program.tensors) {
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      std::int64_t& extent = tensor.shape[d];
      const std::int64_t rest = extent % tensor.tile[d];
      if (extent < tensor.tile[d] || rest == 0) continue;
      std::int64_t whole = 0;
      if (!__builtin_add_overflow(extent, tensor.tile[d] - rest, &whole)) extent = whole;
    }
  }
  return program;
}

}  // namespace

Prediction predict(const program::Program& program, const Dealing& dealing, const Progress& progress) {
  using namespace simulator;
  program::verify(program);
  const auto whole = with_whole_tiles(for_ranks(program));
  require(dealing.ranks > 0 && dealing.cores > 0, "there are too few ranks or cores", dealing.ranks,
          dealing.cores);
  for (const std::uint32_t owner : dealing.owners)
    require(owner < dealing.ranks, "a PE is given to a rank that there is not", owner, dealing.ranks);
  auto timed = time_program(whole);
  if (!timed)
    throw ExecutionError({.code = "CYC709",
                          .span = {},
                          .message = "the time of this program's ranks cannot be predicted: tiles of several "
                                     "sizes share a slot or a channel",
                          .notes = {},
                          .help = "give all operands that meet the same tiles"});
  TimedEngine engine(std::move(*timed), progress);
  const TimedArray& array = engine.array();
  const bool blocks = dealing.owners.empty();
  require(blocks || dealing.owners.size() == array.grid_size(),
          "the PEs that have ranks are not those of the grid", dealing.owners.size(), array.grid_size());
  std::vector<std::uint32_t> owners(array.count());
  for (std::uint32_t o = 0; o < array.count(); ++o) {
    const std::uint64_t in_blocks =
        ((o + std::uint64_t{1}) * dealing.ranks - 1) / array.count();  // as `PeArray`
    owners[o] = blocks ? static_cast<std::uint32_t>(in_blocks) : dealing.owners[array.grid_index(o)];
  }
  engine.deal(Ranks(std::move(owners), dealing.ranks, dealing.cores));
  try {
    if (!engine.run()) throw deadlock_error(whole, engine.waits(), progress);
  } catch (const NeedsInterpreter&) {
    // The interpreter says what is wrong, and where.
    static_cast<void>(simulate(whole, {}, {.functional = false, .event_limit = 0}, progress));
    CYC_CHECK(false, "an irregular program that the interpreter runs");
  }
  Prediction result{.cycles = 0, .ranks = engine.ranks().timings()};
  for (const TimedPe& pe : array.state().pes) result.cycles = std::max(result.cycles, pe.now);
  return result;
}

}  // namespace cyclotron::runtime
