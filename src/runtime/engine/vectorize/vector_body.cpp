#include "vector_body.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "../tensors.hpp"

namespace cyclotron::runtime {

namespace {

constexpr auto unknown = std::numeric_limits<std::ptrdiff_t>::min();

constexpr std::int64_t runs_ahead = 2;

/// Starts to bring the part [part, part + 1) / parts of what a later run needs into the cache: the processor's own
/// prefetching is thrown out by runs, in which each stream is read for a moment only. Inlined always: GCC takes a call
/// that only prefetches for one without effect.
[[gnu::always_inline]] inline void fetch(const std::byte* at, std::ptrdiff_t step, std::size_t part,
                                         std::size_t parts) {
  constexpr std::ptrdiff_t line = 64;
  const auto lines = static_cast<std::size_t>(std::abs(step) / line + 1);
  const std::byte* const first = at + runs_ahead * step + std::min<std::ptrdiff_t>(step, 0);
  const std::byte* const end = first + static_cast<std::ptrdiff_t>(lines * (part + 1) / parts) * line;
  for (at = first + static_cast<std::ptrdiff_t>(lines * part / parts) * line; at < end; at += line)
    __builtin_prefetch(at);
}

}  // namespace

/// Tells whether the scalars are as they were to each other where they may overlap.
bool VectorBody::plan_holds(std::span<const VectorOperation> operations, std::int64_t iterations) {
  if (planned_.size() != operations.size()) return false;
  if (vectorizes_ ? iterations > planned_iterations_ : iterations != planned_iterations_) return false;
  std::fill(moved_.begin(), moved_.end() - 1, unknown);
  const auto holds = [&](const Scalar& before, const Scalar& now) {
    const std::ptrdiff_t by = now.at - before.at;
    std::ptrdiff_t& moved = moved_[now.region];
    if (moved == unknown) moved = by;
    return moved == by && before.advance == now.advance;
  };
  for (std::size_t o = 0; o < operations.size(); ++o) {
    const auto &before = planned_[o], &now = operations[o];
    for (std::size_t n = 0; n < now.operands; ++n) {
      if (!holds(before.in[n], now.in[n])) return false;
    }
    if (!holds(before.out, now.out)) return false;
  }
  return true;
}

void VectorBody::make_plan(std::span<const VectorOperation> operations, std::int64_t iterations) {
  planned_.assign(operations.begin(), operations.end());
  planned_iterations_ = iterations;
  std::size_t regions = 0;
  for (const auto& operation : operations) {
    regions = std::max<std::size_t>(regions, operation.out.region + 1);
    for (std::size_t n = 0; n < operation.operands; ++n)
      regions = std::max<std::size_t>(regions, operation.in[n].region + 1);
  }
  moved_.assign(regions + 1, 0);
  const auto plan = plan_vectors(operations, iterations);
  vectorizes_ = plan.has_value();
  if (plan) bind(*plan);
}

VectorBody::Bound VectorBody::bind(const VectorPlan& plan, VectorPlan::Location location) {
  if (location.own) {
    const std::uint8_t width = plan.widths[location.number];
    return {vectors_[starts_[location.number]].bytes.data(), width, 0, width,
            static_cast<std::uint16_t>(moved_.size() - 1)};
  }
  const auto& operation = planned_[location.number / 4];
  const std::size_t n = location.number % 4;
  const Scalar& scalar = n == VectorPlan::result ? operation.out : operation.in[n];
  return {scalar.at, scalar.advance, scalar.advance * plan.together, scalar.width, scalar.region};
}

void VectorBody::bind(const VectorPlan& plan) {
  together_ = plan.together;
  starts_.clear();
  std::size_t lines = 0;
  for (const std::uint8_t width : plan.widths) {
    starts_.push_back(lines);
    // One more, so that vectors do not share the sets of the cache.
    lines += static_cast<std::size_t>(together_) * width / sizeof(CacheLine) + 2;
  }
  vectors_.resize(lines);
  operations_.clear();
  fetched_.clear();
  for (const auto& planned : plan.operations) {
    auto& operation = operations_.emplace_back(BoundOperation{.kernel = planned.kernel});
    operation.region.fill(static_cast<std::uint16_t>(moved_.size() - 1));
    for (std::size_t n = 0; n < planned.operands; ++n) {
      const Bound in = bind(plan, planned.in[n]);
      operation.in[n] = in.at;
      operation.advance[n] = in.advance;
      operation.step[n] = in.step;
      operation.region[n] = in.region;
      if (planned.fetch[n]) fetched_.push_back(in);
    }
    operation.out = bind(plan, planned.out);
    if (planned.fetch[VectorPlan::result]) fetched_.push_back(operation.out);
  }
  fills_.clear();
  std::ranges::fill(moved_, 0);
  for (const auto& [from, vector] : plan.fills) {
    const BoundCopy copy{bind(plan, from), bind(plan, vector)};
    const bool constant = planned_[from.number / 4].in[from.number % 4].constant;
    if (constant) {
      fill(copy, together_);
    } else {
      fills_.push_back(copy);
    }
  }
}

void VectorBody::fill(const BoundCopy& copy, std::int64_t count) const {
  const auto& [from, to] = copy;
  const void* const in = address(from);
  copy_kernel(to.width)(address(to), to.advance, &in, &from.advance, count);
}

/// Finds the scalars of the first run.
void VectorBody::start() {
  running_ = operations_;
  for (auto& operation : running_) {
    for (std::size_t n = 0; n < operation.in.size(); ++n)
      operation.in[n] = static_cast<const std::byte*>(operation.in[n]) + moved_[operation.region[n]];
    operation.out.at = address(operation.out);
  }
  fetching_ = fetched_;
  for (auto& stream : fetching_) stream.at = address(stream);
}

/// To the scalars of the next run.
void VectorBody::go_on() {
  for (auto& operation : running_) {
    for (std::size_t n = 0; n < operation.in.size(); ++n)
      operation.in[n] = static_cast<const std::byte*>(operation.in[n]) + operation.step[n];
    operation.out.at += operation.out.step;
  }
  for (auto& stream : fetching_) stream.at += stream.step;
}

bool VectorBody::run(std::span<const VectorOperation> operations, std::int64_t iterations) {
  if (iterations < VectorPlan::least_iterations) return false;
  if (!plan_holds(operations, iterations)) make_plan(operations, iterations);
  if (!vectorizes_) return false;
  const std::int64_t together = std::min(iterations - 1, together_);
  for (const auto& copy : fills_) fill(copy, together);
  start();
  for (std::int64_t left = iterations - 1; left > 0; left -= together) {
    const std::int64_t count = std::min(together, left);
    // Not beyond the last run: another thread may be writing there.
    const bool fetches = left > runs_ahead * together;
    // Between operations, that have other things to do while it comes.
    for (std::size_t o = 0; o < running_.size(); ++o) {
      for (const auto& stream : fetching_) {
        if (fetches) fetch(stream.at, stream.step, o, running_.size());
      }
      const auto& [kernel, in, advance, step, region, out] = running_[o];
      kernel(out.at, out.advance, in.data(), advance.data(), count);
    }
    go_on();
  }
  return true;
}

}  // namespace cyclotron::runtime
