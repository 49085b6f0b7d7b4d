#include <cyclotron/mapping/map_to_grid.hpp>

#include <utility>

#include <cyclotron/mapping/delay_sends.hpp>
#include <cyclotron/mapping/make_classes.hpp>
#include <cyclotron/mapping/make_grid.hpp>
#include <cyclotron/mapping/make_statements.hpp>
#include <cyclotron/mapping/merge_channels.hpp>
#include <cyclotron/mapping/order_steps.hpp>
#include <cyclotron/mapping/rank_spaces.hpp>
#include <cyclotron/mapping/split_short_lived.hpp>
#include <cyclotron/mapping/verify_fifo.hpp>
#include <cyclotron/mapping/verify_steps.hpp>

namespace cyclotron::mapping {

Mapping map_to_grid(dataflow::Graph graph, const schedule::Schedule& schedule,
                    const machine::Machine& machine) {
  auto grid = make_grid(graph, schedule, machine);
  auto mapping = rank_spaces({std::move(graph), std::move(grid), {}, {}, {}, {}, {}, {}, {}, {}});
  mapping = make_statements(mapping, machine);
  mapping = order_steps(mapping);
  mapping = delay_sends(mapping, machine);
  verify_steps(mapping);
  verify_fifo(mapping);
  mapping = merge_channels(mapping);
  mapping = split_short_lived(mapping);
  return make_classes(mapping);
}

}  // namespace cyclotron::mapping
