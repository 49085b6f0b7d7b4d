// A slot that is indexed by the steps' points holds the values that later steps use alone.
#include <cyclotron/mapping/split_short_lived.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include <cyclotron/mapping/live_range.hpp>

namespace cyclotron::mapping {

namespace {

class LifetimeSplitter {
 public:
  explicit LifetimeSplitter(const Mapping& mapping) : mapping_(mapping) {}

  Mapping run() {
    const std::size_t flows = mapping_.graph.flows.size();
    for (std::size_t f = 0; f < flows; ++f) {
      if (const auto live = worth_splitting(FlowId(f))) separate(FlowId(f), *live);
    }
    return std::move(mapping_);
  }

 private:
  /// The points of a flow whose values later steps use, if its slot is smaller for those alone.
  [[nodiscard]] std::optional<poly::Set> worth_splitting(FlowId flow) const {
    if (mapping_.graph.at(flow).prefetched || is_broadcast(flow)) return std::nullopt;
    const auto across = live_across(mapping_, {&flow, 1});
    if (!across.outermost) return std::nullopt;
    const auto dims = varying_dims(mapping_, flow, *across.outermost + 1);
    if (dims.empty()) return std::nullopt;
    const auto defined = points_defined(mapping_, {&flow, 1});
    const auto live = points_live_later(flow);
    const auto stored = live.intersect(defined);
    if (stored.is_empty()) return std::nullopt;
    const bool smaller = std::ranges::any_of(dims, [&](std::size_t d) {
      return stored.minimum(d) != defined.minimum(d) || stored.maximum(d) != defined.maximum(d);
    });
    return smaller ? std::optional(live) : std::nullopt;
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
  [[nodiscard]] poly::Set points_live_later(FlowId flow) const {
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
  void separate(FlowId flow, const poly::Set& live) {
    const FlowId short_lived(mapping_.graph.flows.size());
    mapping_.graph.flows.push_back(dataflow::Flow(mapping_.graph.at(flow)));
    std::vector<Statement> result;
    for (auto& statement : mapping_.statements) {
      std::vector<Statement> parts{std::move(statement)};
      if (defines(parts.front(), flow)) {
        parts =
            split(std::move(parts), live, short_lived, [](Statement& part) -> Value& { return part.target; });
      }
      for (std::size_t n = 0; n < parts.front().sources.size(); ++n) {
        if (parts.front().sources[n].flow != flow) continue;
        parts = split(std::move(parts), live, short_lived,
                      [n](Statement& part) -> Value& { return part.sources[n]; });
      }
      std::ranges::move(parts, std::back_inserter(result));
    }
    mapping_.statements = std::move(result);
  }

  /// Each part in two, by where the value is.
  template <class ValueOf>
  [[nodiscard]] std::vector<Statement> split(std::vector<Statement> parts, const poly::Set& live,
                                             FlowId short_lived, ValueOf value_of) const {
    std::vector<Statement> result;
    const auto add = [&](Statement part, const poly::Set& domain) {
      if (domain.is_empty()) return;
      part.domain = domain.coalesce();
      result.push_back(std::move(part));
    };
    for (auto& part : parts) {
      const auto here = live.preimage(value_of(part).point, mapping_.graph.dims.size());
      auto rest = part;
      value_of(rest).flow = short_lived;
      add(std::move(rest), part.domain.subtract(here));
      add(part, part.domain.intersect(here));
    }
    return result;
  }

  Mapping mapping_;
};

}  // namespace

Mapping split_short_lived(const Mapping& mapping) { return LifetimeSplitter(mapping).run(); }

}  // namespace cyclotron::mapping
