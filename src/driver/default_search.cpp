#include "default_search.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/recurrence/reduce_descending.hpp>
#include <cyclotron/recurrence/reduce_inwards.hpp>

#include "placement_search.hpp"
#include "slow_defaults.hpp"

namespace cyclotron::driver {

namespace {

struct Found {
  Expected<Compiled, Refusal> compiled;
  double time;  ///< Of a run; infinite where none compiles.
};

/// The faster one; about as fast, the first.
Found faster(Found one, Found other) {
  return other.compiled && other.time * about_as_fast < one.time ? std::move(other) : std::move(one);
}

/// On the grid, and on a line through its rows where that promises much more.
Found search_in_order(const Reordered& system, const machine::Machine& machine,
                      const std::vector<std::string>& descending, double to_beat, const Log& log) {
  const bool has_rows = machine.grid.size() == 2 && std::ranges::min(machine.grid) > 1;
  const bool at_once = has_rows && is_costly(system) && to_beat < no_time;
  PlacementSearch on_grid(system, machine, at_once ? Array::either : Array::grid, descending, to_beat, log);
  Found taken{on_grid.run(), no_time};
  taken.time = on_grid.time();
  if (!has_rows || at_once) return taken;
  const bool narrow = taken.compiled && on_grid.is_narrow(on_grid.taken());
  const auto wanted = taken.compiled ? on_grid.expected() : no_time;
  auto found = std::move(taken);
  auto to_be_beaten = std::min(on_grid.time_in_order(), to_beat);
  const auto search = [&](Array array) {
    PlacementSearch others(system, machine, array, descending, to_be_beaten, log);
    if (array == Array::either) others.go_on_from(on_grid);
    if (found.compiled) others.expect(on_grid.largest_estimate());
    const auto promise = others.promise();
    if (!promise || *promise * much_faster >= wanted) return;
    Found other{array == Array::either ? others.run_in_brief() : others.run(), no_time};
    other.time = others.time();
    to_be_beaten = std::min(to_be_beaten, others.time_in_order());
    const bool compiles = static_cast<bool>(other.compiled);
    found = faster(std::move(found), std::move(other));
    if (!found.compiled) return;
    auto& warning = found.compiled->warning;
    if (found.time != on_grid.time()) {
      const auto of_grid = compiles ? on_grid.warning(others.taken()) : std::nullopt;
      if (!warning && of_grid && is_of_unknown(*of_grid)) warning = of_grid;
      return;
    }
    if (!warning || (array == Array::either && is_of_unknown(*warning)))
      warning = others.warning(on_grid.taken());
  };
  if (!narrow || !is_costly(system)) search(Array::line);
  // Where nothing but one row is known, the grid is searched again, with more effort for each placement.
  if (narrow && found.time == on_grid.time() && (is_costly(system) || on_grid.lacked_effort()))
    search(Array::either);
  return found;
}

}  // namespace

Expected<Compiled, Refusal> search_defaults(const Reordered& system, const machine::Machine& machine,
                                            const Log& log) {
  const auto last_first = recurrence::indices_with_newest_first(system.system);
  const auto free = recurrence::indices_in_any_order(system.system);
  std::vector<std::string> in_any_order, in_text_order;
  std::ranges::partition_copy(
      last_first, std::back_inserter(in_any_order), std::back_inserter(in_text_order),
      [&](const std::string& index) { return std::ranges::find(free, index) != free.end(); });
  auto found = search_in_order(system, machine, {}, no_time, log);
  if (!in_any_order.empty()) {
    auto other = search_in_order(system, machine, in_any_order, found.time, log);
    found = faster(std::move(found), std::move(other));
  }
  if (!found.compiled || in_text_order.empty() || is_costly(system)) return std::move(found.compiled);
  const auto other = search_in_order(system, machine, last_first, found.time, log);
  if (other.compiled && other.time * much_faster < found.time)
    found.compiled->warning = newest_comes_first(system.system, in_text_order, found.time / other.time);
  return std::move(found.compiled);
}

}  // namespace cyclotron::driver
