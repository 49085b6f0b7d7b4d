#include "vector_body.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "tensors.hpp"

namespace cyclotron::runtime {

namespace {

constexpr auto unknown = std::numeric_limits<std::ptrdiff_t>::min();

constexpr std::int64_t runs_ahead = 4;

/// Starts to bring memory into the cache, that of some runs later: the processor's own prefetching is thrown out by
/// runs, in which each stream is read for a moment only. Inlined always: GCC takes a call that only prefetches for one
/// without effect.
[[gnu::always_inline]] inline void fetch(const std::byte* at, std::ptrdiff_t step) {
  constexpr std::ptrdiff_t line = 64;
  const std::byte* const end = at + runs_ahead * step + std::max<std::ptrdiff_t>(step, 0);
  for (at = end - std::abs(step); at < end; at += line) __builtin_prefetch(at);
}

}  // namespace

/// Whether the scalars are as they were to each other where they may overlap.
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

VectorBody::Bound VectorBody::bind(const VectorPlan& plan, VectorPlan::Place place) {
  if (place.own) {
    const std::uint8_t width = plan.widths[place.number];
    return {vectors_[starts_[place.number]].bytes.data(), width, 0, width,
            static_cast<std::uint16_t>(moved_.size() - 1)};
  }
  const auto& operation = planned_[place.number / 4];
  const std::size_t n = place.number % 4;
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
  for (const auto& planned : plan.operations) {
    auto& operation =
        operations_.emplace_back(BoundOperation{.kernel = planned.kernel, .operands = planned.operands});
    for (std::size_t n = 0; n < planned.operands; ++n) {
      const Bound in = bind(plan, planned.in[n]);
      operation.in[n] = in.at;
      operation.advance[n] = in.advance;
      operation.step[n] = in.step;
      operation.region[n] = in.region;
      operation.fetch[n] = planned.fetch[n];
    }
    operation.out = bind(plan, planned.out);
    operation.fetch_out = planned.fetch[VectorPlan::result];
  }
  fills_.clear();
  for (const auto& [from, vector] : plan.fills) fills_.push_back({bind(plan, from), bind(plan, vector)});
  left_.clear();
  for (const auto& [value, home] : plan.left) left_.push_back({bind(plan, value), bind(plan, home)});
}

/// Finds the scalars of the first run.
void VectorBody::start() {
  running_ = operations_;
  for (auto& operation : running_) {
    for (std::size_t n = 0; n < operation.operands; ++n)
      operation.in[n] = static_cast<const std::byte*>(operation.in[n]) + moved_[operation.region[n]];
    operation.out.at = place(operation.out);
  }
}

bool VectorBody::run(std::span<const VectorOperation> operations, std::int64_t iterations) {
  if (iterations < VectorPlan::least_iterations) return false;
  if (!plan_holds(operations, iterations)) make_plan(operations, iterations);
  if (!vectorizes_) return false;
  const std::int64_t together = std::min(iterations, together_);
  for (const auto& [from, to] : fills_) {
    const void* const in = place(from);
    copy_kernel(to.width)(place(to), to.advance, &in, &from.advance, together);
  }
  start();
  for (std::int64_t first = 0; first < iterations; first += together) {
    const std::int64_t count = std::min(together, iterations - first);
    // Not beyond the last run: another thread may be writing there.
    const bool fetches = iterations - first > runs_ahead * together;
    for (auto& operation : running_) {
      for (std::size_t n = 0; n < operation.operands; ++n) {
        if (fetches && operation.fetch[n])
          fetch(static_cast<const std::byte*>(operation.in[n]), operation.step[n]);
      }
      Bound& out = operation.out;
      if (fetches && operation.fetch_out) fetch(out.at, out.step);
      operation.kernel(out.at, out.advance, operation.in.data(), operation.advance.data(), count);
      for (std::size_t n = 0; n < operation.operands; ++n)
        operation.in[n] = static_cast<const std::byte*>(operation.in[n]) + operation.step[n];
      out.at += out.step;
    }
  }
  // The values of the last iteration, as the iterations in turn leave them.
  const std::int64_t last = iterations - 1;
  for (const auto& [value, home] : left_) {
    const std::int64_t at = value.step == 0 ? last % together : last;
    copy_scalar(place(home), place(value) + at * value.advance, home.width);
  }
  return true;
}

}  // namespace cyclotron::runtime
