// The work of steps, where the sizes of all tiles are known before the run.
#pragma once
#include <span>
#include <vector>

#include <cyclotron/runtime/counters.hpp>

#include "../../engine/code.hpp"
#include "timed_program.hpp"

namespace cyclotron::runtime::simulator {

/// Adds one execution of a step that is no control. Of a broadcast only the instruction: whether a message is sent
/// depends on its range. Requires: the sizes are those of the step's class.
void add_step(Work& work, const Code& code, const Step& step, const std::vector<TileSize>& slots,
              const std::vector<TimedChannel>& channels);

/// Adds one execution of a load, a store or a move, of so many words.
void add_access(Work& work, const Step& step, std::int64_t words);

/// Adds what costs energy of so many executions of a step that is no control: of a computation on tiles of these shapes
/// (none: all 1x1), of other steps of so many words. Of a broadcast: of its message.
void add_amounts(Work& work, const Code& code, const Step& step, std::span<const Shape> operands,
                 std::int64_t words, std::int64_t times);

void add_work(Work& work, const Work& other);

[[nodiscard]] std::int64_t all_instructions(const Work& work);

}  // namespace cyclotron::runtime::simulator
