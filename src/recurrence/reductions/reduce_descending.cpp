#include <cyclotron/recurrence/reduce_descending.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "reduced_indices.hpp"

namespace cyclotron::recurrence {

System reduce_descending(const System& system, const std::vector<std::string>& indices) {
  for (const auto& index : indices)
    require_reduction(system, index,
                      fmt::format("the schedule reduces over `{}` in descending order", index));
  System result = system;
  for (auto& expr : result.exprs) {
    auto* reduce = std::get_if<Reduce>(&expr.node);
    if (reduce != nullptr && std::ranges::find(indices, reduce->index) != indices.end())
      reduce->descending = true;
  }
  return result;
}

}  // namespace cyclotron::recurrence
