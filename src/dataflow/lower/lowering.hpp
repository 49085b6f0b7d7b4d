// Private to this folder: the state that the rewrite rules share.
#pragma once
#include <map>

#include <cyclotron/dataflow/graph.hpp>
#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/schedule/schedule.hpp>

#include "../shifts.hpp"
#include "rotation.hpp"

namespace cyclotron::dataflow::detail {

/// Place of complete values of a tensor: the points of `domain` of `flow`.
struct Holder {
  FlowId flow;
  poly::Set domain;
  std::optional<Constant> constant = {};  ///< All of them are this number.
};

/// Adds a space for each input that lives in given PEs, with the rule that loads its elements there before the
/// run. Throws ScheduleError CYC319 where the place does not tell each element's PE.
void add_residents(Graph& graph, const schedule::Schedule& schedule, const std::vector<FlowId>& operands,
                   std::vector<Holder>& holders, std::vector<Rule>& rules);

/// Adds the rules that bring an operand to every point of its space: ChooseStream, Inject, Propagate,
/// relays (inputs), InnerSend and turns (computed tensors). Appends relay spaces and flows to the graph.
class Router {
 public:
  /// `demands`: of operands that only some points of their spaces use, these.
  Router(Graph& graph, const schedule::Schedule& schedule, const std::vector<Holder>& holders, Relays relays,
         const std::map<FlowId, poly::Set>& demands, const std::vector<std::int64_t>& grid)
      : relays_(relays),
        graph_(graph),
        schedule_(schedule),
        frame_(schedule::frame(schedule, graph.dims)),
        holders_(holders),
        demands_(demands),
        neighbours_(neighbours(grid)) {}
  /// Returns the rules of this operand flow, relays first.
  [[nodiscard]] std::vector<Rule> route(FlowId id);

 private:
  /// A value at p comes from p - direction * unit(dim), or straight from the first point of its line.
  /// Without a direction of its own it may also go both ways, from where it is made.
  struct Axis {
    std::size_t dim;
    bool broadcast;
    std::int64_t direction;
    bool both_ways;
  };
  /// A step along a dim from any point of a PE to one of the next PE, where the dim is folded in blocks.
  struct Neighbour {
    std::size_t dim;
    std::int64_t distance;
  };
  [[nodiscard]] std::vector<Neighbour> neighbours(const std::vector<std::int64_t>& grid) const;
  [[nodiscard]] const schedule::Movement* move_of(const Flow& flow) const;
  [[nodiscard]] bool is_space(std::size_t dim) const;
  [[nodiscard]] std::vector<std::size_t> order_of_dims(const schedule::Movement* move) const;
  [[nodiscard]] bool is_held(const Flow& flow) const;
  [[nodiscard]] std::optional<std::int64_t> given_direction(const schedule::Movement* move,
                                                            std::size_t dim) const;
  [[nodiscard]] std::int64_t direction_of(const Flow& flow, const schedule::Movement* move,
                                          std::size_t dim) const;
  [[nodiscard]] bool made_beyond(const Flow& flow, std::size_t dim) const;
  [[nodiscard]] std::vector<Axis> axes_of(const Flow& flow, const schedule::Movement* move) const;
  [[nodiscard]] std::optional<std::size_t> relay_axis(const Flow& flow, const schedule::Movement* move) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> oblique_step(const Flow& flow, std::size_t dim,
                                                                      std::int64_t direction) const;
  void propagate(FlowId id, const std::vector<std::int64_t>& step, const poly::Set& users, poly::Set& starts,
                 std::vector<Rule>& rules) const;
  [[nodiscard]] std::optional<Rotation> operand_rotation(const Flow& flow, std::size_t axis) const;
  void follow_rotation(FlowId id, const Axis& axis, const Rotation& rotation, poly::Set& starts,
                       std::vector<Rule>& rules) const;
  [[nodiscard]] bool comes_in_panels(const Flow& flow, const std::vector<Axis>& axes) const;
  FlowId follow(FlowId id, const Axis& axis, poly::Set& starts, std::vector<Rule>& rules);
  /// Maker's coordinate along a dim, on its line, of the value of each of `users`.
  struct Root {
    poly::Set users;
    poly::Affine place;
  };
  static void add_root(Root root, std::vector<Root>& roots);
  [[nodiscard]] std::optional<std::vector<Root>> roots_between(const Flow& flow, const Axis& axis,
                                                               const poly::Set& starts, bool apart) const;
  [[nodiscard]] bool meets_another(FlowId id, const Axis& axis) const;
  FlowId fan_out(FlowId id, const Axis& axis, const std::vector<Root>& makers, poly::Set& starts,
                 std::vector<Rule>& rules);
  [[nodiscard]] static poly::Set between(const poly::Set& users, std::size_t dim, std::int64_t direction,
                                         const poly::Affine& place);
  void inject(FlowId id, const poly::Set& starts, std::vector<Rule>& rules) const;
  void relay(FlowId id, std::size_t axis, bool broadcast, const poly::Set& starts, std::vector<Rule>& rules);
  void constants(FlowId id, poly::Set& starts, std::vector<Rule>& rules) const;
  [[nodiscard]] bool may_hold(FlowId id, FlowId source, const std::vector<std::int64_t>& offset) const;
  [[nodiscard]] std::int64_t fewest_hops(FlowId id, FlowId source) const;
  void hand_over(FlowId id, poly::Set starts, std::vector<Rule>& rules) const;
  [[nodiscard]] std::vector<std::pair<poly::Set, std::vector<std::int64_t>>> at_distance(
      FlowId id, const Holder& holder, const poly::Set& starts, std::int64_t least, std::int64_t most) const;
  void hand_over_one_hop(FlowId id, poly::Set& starts, std::vector<Rule>& rules) const;
  void hand_over_next(FlowId id, poly::Set& starts, std::vector<Rule>& rules) const;
  void pass_obliquely(FlowId id, const poly::Set& users, poly::Set& starts, std::vector<Rule>& rules) const;
  void hand_straight(FlowId id, bool in_place, poly::Set& starts, std::vector<Rule>& rules) const;
  [[nodiscard]] std::int64_t time_step(const std::vector<std::int64_t>& offset) const;
  void hand_over_far(FlowId id, bool earlier, poly::Set& starts, std::vector<Rule>& rules) const;
  bool relay_for_one(FlowId id, FlowId source, const poly::Set& domain,
                     const std::vector<std::int64_t>& offset, std::vector<Rule>& rules) const;
  bool relay_for_each(FlowId id, FlowId source, const poly::Set& domain,
                      const std::vector<std::int64_t>& offset, std::vector<Rule>& rules) const;
  bool relay_for_few(FlowId id, FlowId source, const poly::Set& domain,
                     const std::vector<std::int64_t>& offset, std::vector<Rule>& rules) const;
  [[nodiscard]] std::int64_t hops(const std::vector<std::int64_t>& offset) const;
  [[nodiscard]] std::vector<std::int64_t> nearer(const std::vector<std::int64_t>& offset) const;
  FlowId add_relay(const Flow& flow, const std::vector<std::int64_t>& offset, const poly::Set& domain,
                   SpaceKind kind = SpaceKind::relay) const;
  FlowId add_passing(const Flow& flow, const poly::Set& way, const std::vector<poly::Affine>& home,
                     const std::vector<std::int64_t>& offset, std::size_t axis) const;
  bool hand_over_from(FlowId id, FlowId source, const poly::Set& defined,
                      const std::vector<std::int64_t>& offset, Origin origin, poly::Set& starts,
                      std::vector<Rule>& rules) const;

  Relays relays_;
  Graph& graph_;
  const schedule::Schedule& schedule_;
  schedule::Frame frame_;
  const std::vector<Holder>& holders_;
  const std::map<FlowId, poly::Set>& demands_;
  std::vector<Neighbour> neighbours_;
  /// The flows of the operand in hand, itself first: they must not take from each other, nor those that
  /// fan it out from its user.
  std::vector<FlowId> routed_;
};

}  // namespace cyclotron::dataflow::detail
