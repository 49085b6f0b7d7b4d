#include <cyclotron/poly/effort.hpp>

#include <isl/ctx.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace cyclotron::poly {

namespace {

constexpr auto unlimited = std::numeric_limits<unsigned long>::max();
thread_local unsigned long limit_of_thread = unlimited;

struct Limited {
  std::weak_ptr<isl_ctx> context;
  unsigned long usual;
};
thread_local std::vector<Limited> limited_contexts;

}  // namespace

EffortLimit::EffortLimit(unsigned long operations)
    : before_(std::exchange(limit_of_thread, std::min(limit_of_thread, operations))) {}

EffortLimit::~EffortLimit() {
  limit_of_thread = before_;
  if (acts()) return;
  for (const auto& limited : std::exchange(limited_contexts, {})) {
    if (const auto context = limited.context.lock()) {
      isl_ctx_reset_operations(context.get());
      isl_ctx_set_max_operations(context.get(), limited.usual);
    }
  }
}

bool EffortLimit::acts() { return limit_of_thread != unlimited; }

std::optional<unsigned long> EffortLimit::of_each() {
  return EffortBudget::acts() ? std::nullopt : std::optional(limit_of_thread);
}

void EffortLimit::apply(const std::shared_ptr<isl_ctx>& context, unsigned long usual) {
  isl_ctx_set_max_operations(context.get(), std::min(usual, limit_of_thread));
  if (acts()) limited_contexts.push_back({context, usual});
}

}  // namespace cyclotron::poly
