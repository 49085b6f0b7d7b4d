#include "slow_defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace cyclotron::driver {

namespace {

constexpr auto unknown = "CYC333";

/// `"i", "j"`
std::string quoted(const std::vector<std::string>& names) {
  std::string result;
  for (const auto& name : names) result += fmt::format("{}\"{}\"", result.empty() ? "" : ", ", name);
  return result;
}

/// `2.4`, `12`
std::string rounded(double times) { return fmt::format("{:.{}f}", times, times < 10 ? 1 : 0); }

/// `with space("i").serpentine()`
std::string where(const schedule::Schedule& schedule) {
  if (is_on_one_pe(schedule)) return "on one PE";
  auto result = fmt::format("with space({})", quoted(schedule.space_indices));
  if (schedule.is_serpentine) result += ".serpentine()";
  for (const auto& move : schedule.movements) result += fmt::format(".prefetch({})", quoted({move.tensor}));
  return result;
}

/// `kernel` runs on 8 PEs
std::string runs_on(const std::string& kernel, std::int64_t pes) {
  return fmt::format("`{}` runs on {} PE{}", kernel, pes, pes == 1 ? "" : "s");
}

}  // namespace

Diagnostic refused_is_faster(const std::string& kernel, std::int64_t pes, const schedule::Schedule& other,
                             double times, Diagnostic refusal) {
  refusal.code = "CYC330";
  refusal.message = fmt::format("{}; {} it would be about {} times as fast, but that is refused: {}",
                                runs_on(kernel, pes), where(other), rounded(times), refusal.message);
  return refusal;
}

bool is_of_unknown(const Diagnostic& warning) { return warning.code == unknown; }

Diagnostic unknown_may_be_faster(const recurrence::System& system, std::int64_t pes,
                                 const schedule::Schedule& other, double times) {
  return {
      .code = unknown,
      .span = system.equations.front().span,
      .message =
          fmt::format("{}; {} it may be up to {} times as fast, by an estimate: that is not tried to its "
                      "end, as its analysis takes long",
                      runs_on(system.kernel, pes), where(other), rounded(times)),
      .notes = {},
      .help = fmt::format("try it, or another: `schedule=cy.Schedule().space({}){}`",
                          quoted(other.space_indices), other.is_serpentine ? ".serpentine()" : ""),
  };
}

Diagnostic newest_comes_first(const recurrence::System& system, const std::vector<std::string>& indices,
                              double times) {
  const auto is_one = [&](const recurrence::Expr& expr) {
    const auto* reduce = std::get_if<recurrence::Reduce>(&expr.node);
    return reduce != nullptr && reduce->index == indices.front();
  };
  const auto& index = indices.front();
  return {
      .code = "CYC332",
      .span = std::ranges::find_if(system.exprs, is_one)->span,
      .message = fmt::format("the sum over `{}` begins with the value that was computed last, for which all "
                             "other terms wait; from its last term to the first `{}` would be about {} times "
                             "as fast",
                             index, system.kernel, rounded(times)),
      .notes = {},
      .help = fmt::format("write it so, with `for {} in reversed(range(...))`, or as a sum of arrays, as "
                          "`A[i, i + 1:] @ x[i + 1:]`, which promises no order",
                          index)};
}

Diagnostic pes_take_turns(const std::string& kernel, Diagnostic refusal) {
  refusal.code = "CYC334";
  refusal.message = fmt::format("the PEs of `{}` compute one after the other, in the order of the text: {}",
                                kernel, refusal.message);
  refusal.help = "leave out the schedule, or map an index along which values are made in turn to time";
  return refusal;
}

}  // namespace cyclotron::driver
