#include "reorder.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <cyclotron/driver/compile.hpp>
#include <cyclotron/recurrence/reassociate.hpp>
#include <cyclotron/recurrence/reduce_descending.hpp>
#include <cyclotron/recurrence/reduce_in_trees.hpp>
#include <cyclotron/recurrence/reduce_inwards.hpp>
#include <cyclotron/recurrence/split_bounds.hpp>
#include <cyclotron/recurrence/split_reductions.hpp>
#include <cyclotron/recurrence/stage_reductions.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "array_of.hpp"

namespace cyclotron::driver {

using recurrence::System;

namespace {

/// Number of PEs along an index in space, at most; 0: any number.
std::int64_t parts_along(const std::string& index, const schedule::Schedule& schedule,
                         const machine::Machine& machine) {
  const auto& space = schedule.space_indices;
  const auto dimension = static_cast<std::size_t>(std::ranges::find(space, index) - space.begin());
  if (dimension == space.size()) return 0;
  const auto grid = array_of(schedule, machine).grid;
  const auto limit = grid.size() == space.size() ? grid[dimension] : 0;
  const auto fold = schedule::fold_of(schedule, dimension, limit);
  return fold.kind == schedule::FoldKind::cyclic ? 0 : fold.parts;
}

}  // namespace

System reorder_reductions(const System& system, const schedule::Schedule& schedule,
                          const machine::Machine& machine) {
  const auto blocks = recurrence::reassociate(system, schedule.reassociations);
  const auto descending = recurrence::reduce_descending(blocks, schedule.descending_indices);
  auto chains = recurrence::reduce_inwards(recurrence::stage_reductions(descending, schedule.stage_indices),
                                           schedule.inward_indices);
  if (schedule.reductions.empty()) return chains;
  auto trees = schedule.reductions;
  for (auto& tree : trees) tree.parts = parts_along(tree.index, schedule, machine);
  return recurrence::reduce_in_trees(recurrence::split_reductions(chains), trees);
}

Reordered reorder(const System& system, const schedule::Schedule& schedule, const machine::Machine& machine,
                  Log& log) {
  auto wanted = reorder_reductions(system, schedule, machine);
  if (!(wanted == system)) recurrence::verify(wanted);
  log.stage("reassociate");
  auto split = recurrence::split_bounds(recurrence::split_reductions(wanted));
  if (!(split == wanted)) recurrence::verify(split);
  log.stage("split reductions");
  return {std::move(wanted), std::move(split)};
}

}  // namespace cyclotron::driver
