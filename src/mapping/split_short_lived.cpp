// Values that no later step uses, apart from those that are kept: a slot that is indexed by the steps' points holds the
// latter alone.
#include <algorithm>

#include <cyclotron/mapping/kept.hpp>

#include "detail.hpp"

namespace cyclotron::mapping::detail {

namespace {

class Separator {
 public:
  explicit Separator(Mapping& mapping) : mapping_(mapping) {}

  void run() {
    const std::size_t flows = mapping_.graph.flows.size();
    for (std::size_t f = 0; f < flows; ++f) {
      if (const auto kept = points_worth_keeping(FlowId(f))) separate(FlowId(f), *kept);
    }
  }

 private:
  /// Where a flow's values are that later steps use, if its slot is smaller for those alone.
  [[nodiscard]] std::optional<poly::Set> points_worth_keeping(FlowId flow) const {
    if (mapping_.graph.at(flow).prefetched || is_broadcast(flow)) return std::nullopt;
    const auto across = kept_across(mapping_, {&flow, 1});
    if (!across.outermost) return std::nullopt;
    const auto dims = varying_dims(mapping_, flow, *across.outermost + 1);
    if (dims.empty()) return std::nullopt;
    const auto made = points_made(mapping_, {&flow, 1});
    const auto kept = points_kept(flow);
    const auto stored = kept.intersect(made);
    if (stored.is_empty()) return std::nullopt;
    const bool smaller = std::ranges::any_of(dims, [&](std::size_t d) {
      return stored.minimum(d) != made.minimum(d) || stored.maximum(d) != made.maximum(d);
    });
    return smaller ? std::optional(kept) : std::nullopt;
  }

  /// The receivers of a broadcast are those of one statement.
  [[nodiscard]] bool is_broadcast(FlowId flow) const {
    return std::ranges::any_of(mapping_.statements, [&](const Statement& statement) {
      if (!is_message(statement.kind) || !mapping_.channels[statement.channel].network) return false;
      return defines(statement, flow) ||
             std::ranges::find(statement.sources, flow, &Value::flow) != statement.sources.end();
    });
  }

  /// The points whose values are used in later steps, or stay for the points of later steps.
  [[nodiscard]] poly::Set points_kept(FlowId flow) const {
    const auto& graph = mapping_.graph;
    auto result = poly::Set::empty(graph.context, graph.dims.size());
    for (const auto& statement : mapping_.statements) {
      if (statement.target.point.empty()) continue;
      for (const auto& source : statement.sources) {
        if (source.flow != flow) continue;
        std::vector<poly::Affine> later;
        for (const auto d : mapping_.grid.time) later.push_back(statement.target.point[d] - source.point[d]);
        result = result.unite(lex_positive(statement.domain, later).image(source.point));
      }
    }
    for (std::size_t r = 0; r < graph.rules.size(); ++r) {
      const auto& rule = graph.rules[r];
      const auto* transfer = std::get_if<dataflow::Transfer>(&rule.action);
      const bool stays =
          transfer != nullptr && rule.flow == flow && transfer->source == flow &&
          std::ranges::find(mapping_.statements, r, &Statement::rule) == mapping_.statements.end();
      if (stays) result = result.unite(rule.domain).unite(rule.domain.image(transfer->from));
    }
    return result.coalesce();
  }

  /// Gives the other points' values a flow of their own.
  void separate(FlowId flow, const poly::Set& kept) {
    const FlowId transient(mapping_.graph.flows.size());
    mapping_.graph.flows.push_back(dataflow::Flow(mapping_.graph.at(flow)));
    std::vector<Statement> result;
    for (auto& statement : mapping_.statements) {
      std::vector<Statement> parts{std::move(statement)};
      if (defines(parts.front(), flow)) {
        parts =
            split(std::move(parts), kept, transient, [](Statement& part) -> Value& { return part.target; });
      }
      for (std::size_t n = 0; n < parts.front().sources.size(); ++n) {
        if (parts.front().sources[n].flow != flow) continue;
        parts = split(std::move(parts), kept, transient,
                      [n](Statement& part) -> Value& { return part.sources[n]; });
      }
      std::ranges::move(parts, std::back_inserter(result));
    }
    mapping_.statements = std::move(result);
  }

  /// Each part in two, by where the value is.
  template <class ValueOf>
  [[nodiscard]] std::vector<Statement> split(std::vector<Statement> parts, const poly::Set& kept,
                                             FlowId transient, ValueOf value_of) const {
    std::vector<Statement> result;
    const auto add = [&](Statement part, const poly::Set& domain) {
      if (domain.is_empty()) return;
      part.domain = domain.coalesce();
      result.push_back(std::move(part));
    };
    for (auto& part : parts) {
      const auto here = kept.preimage(value_of(part).point, mapping_.graph.dims.size());
      auto rest = part;
      value_of(rest).flow = transient;
      add(std::move(rest), part.domain.subtract(here));
      add(part, part.domain.intersect(here));
    }
    return result;
  }

  Mapping& mapping_;
};

}  // namespace

void separate_transients(Mapping& mapping) { Separator(mapping).run(); }

}  // namespace cyclotron::mapping::detail
