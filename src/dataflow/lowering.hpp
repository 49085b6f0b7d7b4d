// Private to this folder: the state that the rewrite rules share.
#pragma once
#include <cyclotron/dataflow/graph.hpp>
#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::dataflow::detail {

/// Where complete values of a tensor are: the points of `domain` of `flow`.
struct Holder {
  FlowId flow;
  poly::Set domain;
};

/// Adds the rules that bring an operand to every point of its space: ChooseStream, Inject, Propagate,
/// relays (inputs), InnerSend and turns (computed tensors). Appends relay spaces and flows to the graph.
class Router {
 public:
  Router(Graph& graph, const schedule::Schedule& schedule, const std::vector<Holder>& holders)
      : graph_(graph), schedule_(schedule), holders_(holders) {}
  /// Returns the rules of this operand flow, relays first.
  [[nodiscard]] std::vector<Rule> route(FlowId id);

 private:
  struct Axis {
    std::size_t dim;
    bool broadcast;
  };
  [[nodiscard]] const schedule::Move* move_of(const Flow& flow) const;
  [[nodiscard]] bool is_space(std::size_t dim) const;
  [[nodiscard]] std::vector<Axis> axes_of(const Flow& flow, const schedule::Move* move) const;
  [[nodiscard]] std::optional<std::size_t> relay_axis(const Flow& flow, const schedule::Move* move) const;
  void follow(FlowId id, const Axis& axis, poly::Set& starts, std::vector<Rule>& rules) const;
  void inject(FlowId id, const poly::Set& starts, std::vector<Rule>& rules) const;
  void relay(FlowId id, std::size_t axis, bool broadcast, const poly::Set& starts, std::vector<Rule>& rules);
  void hand_over(FlowId id, poly::Set starts, std::vector<Rule>& rules) const;
  void hand_over_one_hop(FlowId id, poly::Set& starts, std::vector<Rule>& rules) const;
  bool hand_over_from(FlowId id, FlowId source, const poly::Set& defined,
                      const std::vector<std::int64_t>& offset, Origin origin, poly::Set& starts,
                      std::vector<Rule>& rules) const;

  Graph& graph_;
  const schedule::Schedule& schedule_;
  const std::vector<Holder>& holders_;
};

/// Equal forms on the domain, written as p + constant where they are that: isl may write a coordinate that
/// is fixed on a small domain as a constant, which hides the neighbour.
[[nodiscard]] std::vector<poly::Affine> as_shifts(const poly::Set& domain, std::vector<poly::Affine> forms);
/// p + offset as forms.
[[nodiscard]] std::vector<poly::Affine> shifted(std::size_t rank, const std::vector<std::int64_t>& offset);
[[nodiscard]] std::vector<std::int64_t> unit(std::size_t rank, std::size_t dim, std::int64_t value);

}  // namespace cyclotron::dataflow::detail
