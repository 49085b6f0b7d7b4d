#include "proofs.hpp"

#include <utility>

#include <fmt/format.h>

#include <cyclotron/proof/proof.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::driver {

namespace {

/// Reason for which the terms of a schedule's programs are others than the equations', or nothing.
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

}  // namespace

void check_small(const program::Program& program, const recurrence::System& system,
                 const schedule::Schedule& schedule, bool folded) {
  try {
    (void)proof::prove(
        program, &system,
        {.limit = proof::compile_limit, .other_terms = other_terms(schedule), .throw_deadlock = false});
  } catch (const DeadlockError& error) {
    if (folded) refuse_circle(error, schedule);
    throw InternalError(error.diagnostic());
  } catch (const Error& error) {
    throw InternalError(error.diagnostic());
  }
}

std::vector<std::string> all_proofs(const std::vector<std::string>& of_mapping,
                                    const schedule::Schedule& schedule) {
  std::vector<std::string> result{
      "every element is assigned once, every read is of an input or an assigned element",
      "every value of the dataflow is defined once and before it is read, and carries the element it should"};
  result.insert(result.end(), of_mapping.begin(), of_mapping.end());
  for (auto& sentence : schedule::reorderings(schedule)) result.push_back(std::move(sentence));
  result.emplace_back("no value is overwritten in its PE before its last use");
  result.emplace_back("no two live slots overlap, and every PE's memory holds its peak");
  return result;
}

}  // namespace cyclotron::driver
