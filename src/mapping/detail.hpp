// Private to this folder: the steps of map_to_grid, in order.
#pragma once
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping::detail {

[[nodiscard]] Grid make_grid(const dataflow::Graph& graph, const schedule::Schedule& schedule,
                             const machine::Machine& machine);
/// Places the spaces within a step: what hands values over within one step comes first. Throws LegalityError
/// CYC221 where two need each other.
void rank_spaces(Mapping& mapping);
/// Fills channels (one a rule) and statements.
void make_statements(Mapping& mapping, const machine::Machine& machine);
/// The value of `source` at from(p) is used for `rule.flow` at p.
struct Dependence {
  const dataflow::Rule* rule;
  FlowId source;
  std::vector<poly::Affine> from;
};
[[nodiscard]] std::vector<Dependence> dependences(const dataflow::Graph& graph);
/// A skew of the loops of time from `first` on with which no value is used in a step before that in which it is made, as
/// small as can be; none where no constant one is found.
[[nodiscard]] std::optional<Skew> find_skew(const Mapping& mapping, const std::vector<Dependence>& all,
                                            std::size_t first);
/// Every dependence advances in time, or between PEs of one step in a common direction.
void check_dependences(Mapping& mapping);
/// Where links would have to hold more messages than they do between the steps in which these are made and used, or pass
/// them on in another order, or where PEs might wait for each other's room in a circle (`may_wait_in_a_circle`), messages are
/// sent in the step that receives them. All sends of a step come first, then all receives of such messages: where all PEs
/// could take each step together, every depth does then.
/// Requires: check_dependences; channels still one a rule.
void send_late(Mapping& mapping, const machine::Machine& machine);
/// Within one PE and step a value is written before the statements that read it.
void check_steps(const Mapping& mapping);
/// Of the messages of one kind.
struct Ends {
  const Statement* receive;
  const Statement* send;
};
/// What induces the messages of each kind, none where there are none: of several parts, which have one position, the
/// first. Requires: check_channels.
[[nodiscard]] std::vector<const Statement*> sends_by_message(const Mapping& mapping);
/// Whether some message of `a` is received before one of `b` by one PE but sent after it by the same sender.
[[nodiscard]] bool overtakes(const Mapping& mapping, const Ends& a, const Ends& b);
/// Messages of a channel arrive in the order in which they are received; channels into one flow over the
/// same wire become one where that holds for them together.
/// Until then each channel has messages of one kind: its index becomes theirs.
void check_channels(Mapping& mapping);
/// Checks that on every channel the messages of different rules arrive in the order in which they are received.
void verify_order(const Mapping& mapping);
/// Where a slot is smaller for the values of a flow that later steps use, the others become a flow of their own.
void separate_transients(Mapping& mapping);
void make_classes(Mapping& mapping);

/// Along each grid dimension: sender = scale * receiver - offset.
struct Hop {
  std::vector<std::int64_t> scale;
  std::vector<std::int64_t> offset;
};

/// From the PE that computes `from` to the PE of the flow's point; none where no scales of at least 1 say it.
[[nodiscard]] std::optional<Hop> grid_hop(const Mapping& mapping, FlowId flow,
                                          const std::vector<poly::Affine>& from);

/// p[d] of `from` minus own, on the space dims; none where it varies.
[[nodiscard]] std::optional<std::vector<std::int64_t>> grid_offset(const Mapping& mapping, FlowId flow,
                                                                   const std::vector<poly::Affine>& from);

}  // namespace cyclotron::mapping::detail
