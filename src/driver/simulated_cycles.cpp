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

/// PEs, and instructions that the simulator follows, of the programs whose time it tells.
constexpr std::int64_t most_pes = 1 << 16, little_work = 1 << 20, times_patient = 16;
/// Iterations of long loops that tell how long others take; for these so many times the instructions are followed.
constexpr std::int64_t few_iterations = 8, more_iterations = 16, times_in_part = 2;

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

std::int64_t coefficient(const program::Affine& form, std::size_t variable) {
  return variable < form.coefficients.size() ? form.coefficients[variable] : 0;
}

/// Iterations of a loop where all PEs and iterations of other loops have as many.
std::optional<std::int64_t> iterations_of(const program::Loop& loop) {
  if (loop.lower.size() != 1 || loop.upper.size() != 1) return std::nullopt;
  const auto& [lower, lower_divisor] = loop.lower[0];
  const auto& [upper, upper_divisor] = loop.upper[0];
  const auto variables = std::max(lower.coefficients.size(), upper.coefficients.size());
  for (std::size_t v = 0; v < variables; ++v) {
    if (coefficient(lower, v) != coefficient(upper, v)) return std::nullopt;
  }
  if (lower_divisor != 1 || upper_divisor != 1) return std::nullopt;
  return (upper.constant - lower.constant) / loop.step + 1;
}

/// Calls `visit` with each outermost loop of a class.
template <typename PeClass, typename Visit>
void for_outermost_loops(PeClass& pe_class, const Visit& visit) {
  std::size_t open = 0;
  for (auto& instruction : pe_class.code) {
    auto* const loop = std::get_if<program::Loop>(&instruction.action);
    if (loop != nullptr && open == 0) visit(*loop);
    if (loop != nullptr || std::holds_alternative<program::If>(instruction.action)) ++open;
    if (std::holds_alternative<program::End>(instruction.action)) --open;
  }
}

/// True where the iterations of the outermost loops take the same instructions, but for some at their ends.
bool has_alike_iterations(const program::Program& program) {
  const auto variable = program.grid.size();
  const auto varies = [&](const std::vector<program::Bound>& bounds) {
    return std::ranges::any_of(
        bounds, [&](const program::Bound& bound) { return coefficient(bound.numerator, variable) != 0; });
  };
  return std::ranges::all_of(program.classes, [&](const program::PeClass& pe_class) {
    std::size_t open = 0;
    return std::ranges::all_of(pe_class.code, [&](const program::Instruction& instruction) {
      const auto* loop = std::get_if<program::Loop>(&instruction.action);
      const bool is_inner = open > 0 && loop != nullptr;
      if (loop != nullptr || std::holds_alternative<program::If>(instruction.action)) ++open;
      if (std::holds_alternative<program::End>(instruction.action)) --open;
      return !is_inner || iterations_of(*loop) || !(varies(loop->lower) || varies(loop->upper));
    });
  });
}

std::int64_t longest_loop(const program::Program& program) {
  std::int64_t result = 0;
  for (const auto& pe_class : program.classes)
    for_outermost_loops(pe_class, [&](const program::Loop& loop) {
      result = std::max(result, iterations_of(loop).value_or(0));
    });
  return result;
}

/// The program without so many iterations of all outermost loops that have more.
program::Program without_iterations(program::Program program, std::int64_t iterations) {
  for (auto& pe_class : program.classes)
    for_outermost_loops(pe_class, [&](program::Loop& loop) {
      if (iterations_of(loop).value_or(0) > iterations)
        loop.upper[0].numerator.constant -= iterations * loop.step;
    });
  return program;
}

/// None where that takes too much work, or is no run: PEs wait for each other, tensors do not fit.
std::optional<std::int64_t> run(const program::Program& program, std::int64_t work) {
  runtime::Progress progress = [](double) {
    return Interrupt::of_this_thread() == nullptr || !Interrupt::of_this_thread()->raised();
  };
  progress.most_work = work;
  try {
    return runtime::simulate(program, {}, {.functional = false, .event_limit = 0}, progress).cycles;
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
    check_interrupt();
    return std::nullopt;
  }
}

/// As many cycles for each of the iterations of long loops as for some of them.
std::optional<std::int64_t> run_in_part(const program::Program& program, std::int64_t work) {
  const auto longest = longest_loop(program);
  if (longest < 2 * more_iterations || !has_alike_iterations(program)) return std::nullopt;
  const auto first = run(without_iterations(program, longest - few_iterations), work);
  if (!first) return std::nullopt;
  const auto second = run(without_iterations(program, longest - more_iterations), work);
  if (!second) return std::nullopt;
  std::int64_t others = 0;
  if (__builtin_mul_overflow(*second - *first, longest - more_iterations, &others)) return std::nullopt;
  return *second + others / (more_iterations - few_iterations);
}

}  // namespace

std::int64_t pe_count(const program::Program& program) {
  std::int64_t result = 1;
  for (const auto extent : program.grid) {
    if (__builtin_mul_overflow(result, extent, &result)) return std::numeric_limits<std::int64_t>::max();
  }
  return result;
}

std::int64_t most_work(Patience patience) {
  return little_work * (patience == Patience::much ? times_patient : 1);
}

std::optional<std::int64_t> simulated_cycles(const program::Program& given, Patience patience) {
  if (pe_count(given) > most_pes) return std::nullopt;
  const bool is_bounded = program::is_bounded_by_numbers(given);
  const auto program = is_bounded ? with_expected_iterations(given) : program::Program(given);
  const auto work = most_work(patience);
  if (const auto cycles = run(program, work)) return cycles;
  return run_in_part(program, times_in_part * work);
}

}  // namespace cyclotron::driver
