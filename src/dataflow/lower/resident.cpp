// Inputs that live in given PEs before the run (design section 3: `place`).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <cyclotron/support/error.hpp>

#include "lowering.hpp"

namespace cyclotron::dataflow::detail {

namespace {

/// Home of the elements of one tensor. An element is told by the values v of the indices in its
/// subscripts.
class Resident {
 public:
  Resident(Graph& graph, const schedule::Schedule& schedule, const schedule::Place& residence,
           std::vector<FlowId> users)
      : graph_(graph), residence_(residence), users_(std::move(users)) {
    const auto rank = graph.dims.size();
    for (const auto& form : schedule::frame(schedule, graph.dims).space) {
      const auto dim = only_index(form);
      if (!dim || !(form == poly::variable(rank, *dim))) refuse("space is not plain indices");
      space_.push_back(*dim);
    }
    for (const auto& form : graph.at(users_.front()).element) {
      const auto dim = only_index(form);
      if (!dim || std::ranges::find(indices_, *dim) != indices_.end())
        refuse("its subscripts are not an index each");
      indices_.push_back(*dim);
    }
    for (const auto user : users_) {
      if (!(graph.at(user).element == graph.at(users_.front()).element))
        refuse("it is read by different subscripts");
    }
    for (const auto& text : residence.at) at_.push_back(schedule::parse_affine(text, graph.dims));
    value_.assign(rank, std::nullopt);
    point_.assign(rank, std::nullopt);
    for (const auto dim : indices_) solve(dim);
    for (std::size_t g = 0; g < space_.size(); ++g) point_[space_[g]] = over_point(at_[g]);
  }

  /// Adds the space, its flow and the rule that loads it.
  Holder add(std::vector<Rule>& rules) {
    const auto rank = graph_.dims.size();
    Space space{
        unused_name(graph_, "home"), poly::Set::universe(graph_.context, rank), own_, {}, SpaceKind::home};
    std::ranges::sort(space.own);
    for (std::size_t d = 0; d < rank; ++d) {
      if (!point_[d]) point_[d] = poly::constant(rank, earliest(d));
      space.tuple.push_back(*point_[d]);
      space.domain = space.domain.intersect({poly::variable(rank, d) - *point_[d], true});
    }
    space.domain = space.domain.intersect(needed().preimage(values(), rank)).coalesce();
    graph_.spaces.push_back(std::move(space));
    Flow flow = graph_.at(users_.front());
    flow.space = SpaceId(graph_.spaces.size() - 1);
    flow.prefetched = true;
    auto all = std::vector<poly::Affine>(rank, poly::constant(rank, 0));
    for (const auto dim : indices_) all[dim] = *value_[dim];
    for (auto& form : flow.element) form = poly::substitute(form, all, rank);
    graph_.flows.push_back(flow);
    const FlowId id(graph_.flows.size() - 1);
    const auto& domain = graph_.spaces.back().domain;
    if (!domain.is_empty()) rules.push_back({Inject{}, id, domain, Origin::inject, flow.span});
    return {id, domain};
  }

 private:
  [[noreturn]] void refuse(const std::string& fault) const {
    throw ScheduleError(
        {.code = "CYC319",
         .span = graph_.at(users_.front()).span,
         .message = fmt::format("the schedule places `{}` at ({}), and {}", residence_.tensor,
                                fmt::join(residence_.at, ", "), fault),
         .notes = {},
         .help = fmt::format("give one plain index of `{0}`'s subscripts or number for each grid dimension, "
                             "or leave the place of `{0}` out",
                             residence_.tensor)});
  }

  /// The dim whose multiple by +-1 and a constant the form is.
  static std::optional<std::size_t> only_index(const poly::Affine& form) {
    std::optional<std::size_t> result;
    for (std::size_t d = 0; d < form.coefficients.size(); ++d) {
      const auto factor = form.coefficients[d];
      if (factor == 0) continue;
      if (result || std::abs(factor) != 1) return std::nullopt;
      result = d;
    }
    return result;
  }

  /// The index's value over the coordinates of the point: told by the PE, or a step of its own.
  void solve(std::size_t dim) {
    const auto rank = graph_.dims.size();
    const bool in_space = std::ranges::find(space_, dim) != space_.end();
    for (std::size_t g = 0; g < at_.size(); ++g) {
      if (only_index(at_[g]) != dim) continue;
      const auto sign = at_[g].coefficients[dim];
      value_[dim] = sign * (poly::variable(rank, space_[g]) - poly::constant(rank, at_[g].constant));
      own_.push_back(space_[g]);
      if (!in_space) point_[dim] = value_[dim];
      return;
    }
    if (in_space)
      refuse(fmt::format("elements that differ in `{}` would share a place with nothing to tell them apart",
                         graph_.dims[dim]));
    value_[dim] = point_[dim] = poly::variable(rank, dim);
    own_.push_back(dim);
  }

  /// A place, given over the indices, over the coordinates of the point.
  [[nodiscard]] poly::Affine over_point(const poly::Affine& place) const {
    const auto rank = graph_.dims.size();
    poly::Affine result = poly::constant(rank, place.constant);
    for (std::size_t d = 0; d < rank; ++d) {
      if (place.coefficients[d] == 0) continue;
      if (!value_[d]) refuse(fmt::format("`{}` is none of its subscripts", graph_.dims[d]));
      result = result + place.coefficients[d] * *value_[d];
    }
    return result;
  }

  [[nodiscard]] std::vector<poly::Affine> values() const {
    std::vector<poly::Affine> result;
    for (const auto dim : indices_) result.push_back(*value_[dim]);
    return result;
  }

  /// The values of the indices with which elements are read.
  [[nodiscard]] poly::Set needed() const {
    const auto rank = graph_.dims.size();
    std::vector<poly::Affine> forms;
    for (const auto dim : indices_) forms.push_back(poly::variable(rank, dim));
    auto result = poly::Set::empty(graph_.context, forms.size());
    for (const auto user : users_)
      result = result.unite(graph_.at(graph_.at(user).space).domain.image(forms));
    return result.coalesce();
  }

  /// Of a step that the element does not tell, the first in which one is needed.
  [[nodiscard]] std::int64_t earliest(std::size_t dim) const {
    std::optional<std::int64_t> result;
    for (const auto user : users_) {
      const auto& domain = graph_.at(graph_.at(user).space).domain;
      if (domain.is_empty()) continue;
      const auto least = domain.minimum(dim).value();
      result = result ? std::min(*result, least) : least;
    }
    return result.value_or(0);
  }

  Graph& graph_;
  const schedule::Place& residence_;
  std::vector<FlowId> users_;
  std::vector<std::size_t> space_;    ///< The dim of each grid dimension.
  std::vector<std::size_t> indices_;  ///< The dim of each subscript.
  std::vector<poly::Affine> at_;      ///< Over the dims as indices.
  std::vector<std::size_t> own_;
  std::vector<std::optional<poly::Affine>> value_, point_;  ///< Over the coordinates of the point, by dim.
};

}  // namespace

void add_residents(Graph& graph, const schedule::Schedule& schedule, const std::vector<FlowId>& operands,
                   std::vector<Holder>& holders, std::vector<Rule>& rules) {
  for (const auto& residence : schedule.places) {
    std::vector<FlowId> users;
    for (const auto flow : operands) {
      const bool read = !graph.at(graph.at(flow).space).domain.is_empty();
      if (read && graph.at(graph.at(flow).tensor).name == residence.tensor) users.push_back(flow);
    }
    if (!users.empty()) holders.push_back(Resident(graph, schedule, residence, std::move(users)).add(rules));
  }
}

}  // namespace cyclotron::dataflow::detail
