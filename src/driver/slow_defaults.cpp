#include "slow_defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace cyclotron::driver {

namespace {

/// `"i", "j"`
std::string quoted(const std::vector<std::string>& names) {
  std::string result;
  for (const auto& name : names) result += fmt::format("{}\"{}\"", result.empty() ? "" : ", ", name);
  return result;
}

/// `2.4`, `12`
std::string rounded(double times) { return fmt::format("{:.{}f}", times, times < 10 ? 1 : 0); }

}  // namespace

Diagnostic refused_is_faster(const std::string& kernel, std::int64_t pes, const schedule::Schedule& other,
                             double times, Diagnostic refusal) {
  auto where = is_on_one_pe(other) ? "on one PE" : fmt::format("with space({})", quoted(other.space_indices));
  if (other.is_serpentine) where += ".serpentine()";
  for (const auto& move : other.movements) where += fmt::format(".prefetch({})", quoted({move.tensor}));
  refusal.code = "CYC330";
  refusal.message =
      fmt::format("`{}` runs on {} PE{}; {} it would be about {} times as fast, but that is refused: {}",
                  kernel, pes, pes == 1 ? "" : "s", where, rounded(times), refusal.message);
  return refusal;
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

}  // namespace cyclotron::driver
