#include "simulated_cycles.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>
#include <cyclotron/schedule/schedule.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/interrupt.hpp>

namespace cyclotron::driver {

namespace {

/// PEs, and instructions that the simulator follows, of the programs whose time it tells: a few hundredths of a second.
constexpr std::int64_t most_pes = 1 << 16, most_work = 1 << 20;

/// Tells whether a loop holds a branch alone.
bool holds_alone(const std::vector<program::Instruction>& code, std::size_t branch) {
  std::size_t open = 0, at = branch;
  do {
    const auto& action = code[at++].action;
    if (std::holds_alternative<program::End>(action))
      --open;
    else if (std::holds_alternative<program::Loop>(action) || std::holds_alternative<program::If>(action))
      ++open;
  } while (open > 0);
  return std::holds_alternative<program::End>(code[at].action);
}

/// The program with so many of the iterations that numbers bound as are expected; all of loops that also do something else.
program::Program with_expected_iterations(program::Program program) {
  for (auto& pe_class : program.classes) {
    auto& code = pe_class.code;
    for (std::size_t n = 0; n + 1 < code.size(); ++n) {
      auto* loop = std::get_if<program::Loop>(&code[n].action);
      const auto* branch = std::get_if<program::If>(&code[n + 1].action);
      if (loop == nullptr || branch == nullptr || branch->within.empty() || loop->lower.size() != 1 ||
          loop->upper.size() != 1 || loop->lower[0].divisor != 1 || loop->upper[0].divisor != 1 ||
          !holds_alone(code, n + 1))
        continue;
      // lower + (upper - lower) / share
      auto& upper = loop->upper[0];
      const auto& lower = loop->lower[0].numerator;
      upper.divisor = schedule::expected_of_bounded;
      auto& form = upper.numerator;
      form.constant += (upper.divisor - 1) * lower.constant;
      form.coefficients.resize(std::max(form.coefficients.size(), lower.coefficients.size()), 0);
      for (std::size_t v = 0; v < lower.coefficients.size(); ++v)
        form.coefficients[v] += (upper.divisor - 1) * lower.coefficients[v];
    }
  }
  return program;
}

}  // namespace

std::int64_t pe_count(const program::Program& program) {
  std::int64_t result = 1;
  for (const auto extent : program.grid) {
    if (__builtin_mul_overflow(result, extent, &result)) return std::numeric_limits<std::int64_t>::max();
  }
  return result;
}

std::optional<std::int64_t> simulated_cycles(const program::Program& given) {
  if (pe_count(given) > most_pes) return std::nullopt;
  const bool is_bounded = program::is_bounded_by_numbers(given);
  const auto program = is_bounded ? with_expected_iterations(given) : program::Program(given);
  runtime::Progress progress = [](double) {
    return Interrupt::of_this_thread() == nullptr || !Interrupt::of_this_thread()->raised();
  };
  progress.most_work = most_work;
  try {
    return runtime::simulate(program, {}, {.functional = false, .event_limit = 0}, progress).cycles;
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {  // it takes long, or is no run: PEs wait for each other, tensors do not fit
    check_interrupt();
    return std::nullopt;
  }
}

}  // namespace cyclotron::driver
