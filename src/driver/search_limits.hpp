// Limits of a search of placements and of each of its analyses: counts, operations of integer sets, and how many times better
// an estimate has to be.
#pragma once
#include <cstddef>
#include <limits>

namespace cyclotron::driver {

/// Candidates that are compiled to find a better placement than the first: so many in about 0.2 s of kernels of one
/// equation, divided by what makes their analysis slow; and at least and most so many.
inline constexpr std::size_t candidates_of_one = 600, least_candidates = 4, most_candidates = 24;
/// Of kernels that cost so little, placements for which values come late are tried with values on long ways, too.
inline constexpr std::size_t small_kernel = candidates_of_one / most_candidates;
/// At most so many where even one PE takes long to analyse.
inline constexpr std::size_t least_candidates_of_long = 2;
/// A kernel whose candidates cost so much, and that takes so few cycles, gains less by a search than that takes: in
/// proportion, where they cost more.
inline constexpr std::size_t long_kernel = 900;
inline constexpr double few_cycles = 300;
/// One whose candidates cost so much runs on one PE first: that costs less, and tells what is worth to be tried.
inline constexpr std::size_t costly_kernel = 200;
/// Unless it takes so many times longer than the usual default, by their estimates: that is tried at once.
inline constexpr double hopeless = 8;
/// Operations of integer sets for that: some tenths of a second. A kernel that needs more has it in as many as a whole
/// analysis may take where no default compiles: unlikely placements would take far longer.
inline constexpr unsigned long most_operations_of_one_pe = 8'000'000,
                               most_operations_of_very_long = 40'000'000;
/// For each placement of a costly kernel at first, by its cost, and at most; and for all of these together, about.
inline constexpr unsigned long operations_of_one = 6'000, least_operations_of_first = 1'000'000,
                               most_operations_of_first = 3'000'000, most_operations_together = 16'000'000;
/// One that needs so many times the operations is tried where it promises to be so many times as fast; and any, where it
/// promises to be so much faster than the best.
inline constexpr unsigned long times_more = 3;
inline constexpr double price_of_more = 1.25, worth_trying = 1.1;
/// For the first placement of a very long kernel, or another of a kernel that takes one PE.
inline constexpr unsigned long most_operations_of_long = 20'000'000;
/// For all others of a costly kernel that one PE refuses: they rarely compile.
inline constexpr unsigned long most_operations_without_one_pe = 12'000'000;
/// The same where no default compiles, of any kernel.
inline constexpr std::size_t most_in_need = 64;
/// Of one placement: other orders of time rarely help. The third is a wavefront: of 32 that were tried for long kernels
/// that run on one PE, two compiled.
inline constexpr std::size_t most_of_one = 3, most_of_one_long = 2;
inline constexpr auto no_limit = std::numeric_limits<std::size_t>::max();
/// Operations of integer sets for all that is tried where nothing else compiles: about a second, and half of that where
/// as much was tried before.
inline constexpr unsigned long most_operations_in_need = 10'000'000,
                               most_operations_in_need_of_costly = 5'000'000;
/// Placements whose values have to pass PEs on long ways, and operations for each: they have more to analyse.
inline constexpr std::size_t most_routed = 4, most_routed_of_long = 2;
inline constexpr unsigned long most_operations_of_routes = 8'000'000;
/// Of these, ways that take more operations: each is a second or two that finds nothing.
inline constexpr std::ptrdiff_t most_lacking = 2;
/// So many where that is more, for each unit of a kernel's cost: long kernels have as many more values.
inline constexpr unsigned long operations_of_cost = 10'000;
/// A placement whose estimate is so many times better is tried before the usual default.
inline constexpr double far_faster = 2;
/// One whose PEs take so many times longer than estimated may wait for each other where they need not.
inline constexpr double far_slower = 1.3;
/// One that takes seconds to analyse is tried in the end where its estimate is so many times better than one PE, or than
/// the best; some tenths of a second where it is `much_faster`, of long kernels where `far_faster`.
inline constexpr double worth_seconds = 1.75, many_times = 4;
/// Operations for one with long ways where its estimate is `hopeless` times better: many stages have many ways. And for
/// the best of all where nothing else compiles: half a minute, or a minute.
inline constexpr unsigned long most_operations_of_stages = 100'000'000, most_operations_at_last = 400'000'000;
/// Operations of integer sets for each of its analyses: some milliseconds.
inline constexpr unsigned long most_operations = 500'000;
/// For the analysis of the one that promises the most of those that need more: some tenths of a second.
inline constexpr unsigned long most_operations_again = 4'000'000;
/// So many of these in the end of a search, while their operations suffice.
inline constexpr std::size_t most_long = 2;
/// On fewer PEs, placements are tried up to this factor of the estimate: it does not see what overlaps.
inline constexpr double uncertainty = 1.25;
/// So many others are tried up to this factor of the best time, as estimates are about as far off, whatever was tried
/// before: of kernels that are not costly, and of all in brief.
inline constexpr std::size_t most_by_chance = 2;
inline constexpr double by_chance = 1.35;
/// The same operations where reductions of a placement that compiles have another order, which is as legal: some tenths
/// of a second; and for so many placements.
inline constexpr unsigned long most_operations_reordered = 20'000'000;
inline constexpr std::size_t most_reordered = 3;
/// Elements of inputs that all PEs may load together.
inline constexpr double most_loaded = 1 << 16;
/// So many that promise to be the best are simulated for longer in the end.
inline constexpr std::size_t most_simulated_long = 3;
/// So many placements that deal values out in turn are tried, of costly kernels that are not long and of others.
inline constexpr std::size_t most_dealt_of_costly = 2, most_dealt = 4;

}  // namespace cyclotron::driver
