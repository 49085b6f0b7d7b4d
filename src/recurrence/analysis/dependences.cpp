#include <cyclotron/recurrence/dependences.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include <cyclotron/support/error.hpp>

#include "directions.hpp"
#include "statements.hpp"

namespace cyclotron::recurrence {

namespace {

using detail::Chain;
using detail::Instance;
using detail::leading;
using detail::Statements;
using detail::Touch;
using detail::Writer;

std::string tuple_text(const std::string& name, const std::vector<std::string>& parts) {
  return fmt::format("{}[{}]", name, fmt::join(parts, ", "));
}

std::string forms_text(const std::string& name, const std::vector<poly::Affine>& forms,
                       const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const auto& form : forms) parts.push_back(to_string(form, names));
  return tuple_text(name, parts);
}

/// ` : 0 <= i <= 3`, nothing where every point is meant.
std::string where_text(const poly::Set& set, const std::vector<std::string>& names) {
  const auto text = set.constraints_text(names);
  return text == "true" ? "" : " : " + text;
}

class Analysis {
 public:
  explicit Analysis(const System& system) : statements_(detail::statements(system, context_)) {}

  Dependences run() {
    Dependences result;
    for (std::size_t s = 0; s < statements_.instances.size(); ++s) result.statements.push_back(statement(s));
    for (const auto& chain : statements_.chains) add_chain(chain);
    for (std::size_t s = 0; s < statements_.instances.size(); ++s) {
      for (const auto& read : statements_.instances[s].reads) add_read(s, read);
    }
    std::ranges::stable_sort(found_, {}, [](const Dependence& d) {
      static constexpr std::array order{0, 2, 3, 1};  // flow, anti, output, read
      return order.at(static_cast<std::size_t>(d.kind));
    });
    result.dependences = std::move(found_);
    return result;
  }

 private:
  static std::string name_of(std::size_t statement) { return fmt::format("S{}", statement); }

  [[nodiscard]] Statement statement(std::size_t s) const {
    const auto& instance = statements_.instances[s];
    const auto& names = instance.names;
    const auto tuple = tuple_text(name_of(s), names);
    Statement result{name_of(s),
                     instance.kind,
                     names,
                     fmt::format("{{ {}{} }}", tuple, where_text(instance.domain, names)),
                     fmt::format("{{ {} -> [{}] }}", tuple, fmt::join(names, ", ")),
                     {},
                     instance.span};
    const auto refer = [&](const Touch& touch, bool write) {
      const auto text = forms_text(touch.cell, touch.index, names);
      result.references.push_back(
          {touch.cell, write, text,
           fmt::format("{{ {} -> {}{} }}", tuple, text, where_text(instance.domain, names)), touch.span});
    };
    for (const auto& read : instance.reads) refer(read, false);
    if (instance.kind == StatementKind::accumulate) refer(instance.write, false);
    refer(instance.write, true);
    return result;
  }

  /// Within a reduction: start -> first term -> ... -> last term -> the outer expression that overwrites it.
  void add_chain(const Chain& chain) {
    const auto& terms = statements_.instances[chain.accumulate].domain;
    const auto& cell = statements_.instances[chain.accumulate].write;
    const auto next = detail::next_term(statements_, chain);
    const auto first = terms.subtract(next.range()).coalesce();
    add(DependenceKind::flow, cell, chain.accumulate, chain.accumulate, next);
    const auto begin = poly::Map::function(first, leading(chain.outer + 1, chain.outer)).reverse();
    add(DependenceKind::flow, cell, chain.start, chain.accumulate, begin);
    add(DependenceKind::anti, cell, chain.accumulate, chain.accumulate, next);
    add(DependenceKind::output, cell, chain.accumulate, chain.accumulate, next);
    add(DependenceKind::output, cell, chain.start, chain.accumulate, begin);
    if (!chain.assign) return;
    for (const auto& total : detail::totals(statements_, chain)) {
      const auto end = to_outer(chain, total);
      if (total.statement == chain.accumulate)
        add(DependenceKind::anti, cell, total.statement, *chain.assign, end);
      add(DependenceKind::output, cell, total.statement, *chain.assign, end);
    }
  }

  [[nodiscard]] poly::Map to_outer(const Chain& chain, const Writer& total) const {
    return poly::Map::function(total.domain, leading(total.domain.dimensions(), chain.outer));
  }

  /// A value comes to the first point of each line that reads it, and goes on along the line.
  void add_read(std::size_t reader, const Touch& read) {
    const auto& instance = statements_.instances[reader];
    auto starts = instance.domain;
    for (const auto& direction : detail::reuse_directions(instance.domain, read.index)) {
      const auto further = instance.domain.intersect(instance.domain.translate(direction));
      auto step = leading(direction.size(), direction.size());
      for (std::size_t v = 0; v < direction.size(); ++v) step[v].constant = -direction[v];
      add(DependenceKind::read, read, reader, reader, poly::Map::function(further, step).reverse());
      starts = starts.subtract(further);
    }
    starts = starts.coalesce();
    if (read.total) {
      const auto& chain = statements_.chains[*read.total];
      for (const auto& total : detail::totals(statements_, chain))
        add(DependenceKind::flow, read, total.statement, reader, to_outer(chain, total));
      return;
    }
    const auto element = poly::Map::function(starts, read.index).reverse();
    for (const auto& writer : writers_of(*read.tensor)) {
      const auto& write = statements_.instances[writer.statement].write;
      add(DependenceKind::flow, read, writer.statement, reader,
          poly::Map::function(writer.domain, padded(write.index, writer.domain.dimensions())).then(element));
    }
  }

  static std::vector<poly::Affine> padded(std::vector<poly::Affine> forms, std::size_t rank) {
    for (auto& form : forms) form.coefficients.resize(rank, 0);
    return forms;
  }

  [[nodiscard]] std::vector<Writer> writers_of(TensorId tensor) const {
    std::vector<Writer> result;
    for (std::size_t s = 0; s < statements_.instances.size(); ++s) {
      const auto& instance = statements_.instances[s];
      if (instance.kind == StatementKind::assign && instance.write.tensor == tensor)
        result.push_back({s, instance.domain});
    }
    for (const auto& chain : statements_.chains) {
      if (chain.assign || statements_.instances[chain.start].write.tensor != tensor) continue;
      for (auto& total : detail::totals(statements_, chain)) result.push_back(std::move(total));
    }
    return result;
  }

  void add(DependenceKind kind, const Touch& touch, std::size_t source, std::size_t target,
           const poly::Map& relation) {
    if (relation.is_empty()) return;
    Dependence dependence{kind,      touch.cell, source, target, "", distances(source, target, relation),
                          touch.span};
    dependence.relation = relation_text(source, target, relation);
    found_.push_back(std::move(dependence));
  }

  [[nodiscard]] std::vector<Distance> distances(std::size_t source, std::size_t target,
                                                const poly::Map& relation) const {
    const auto& from = statements_.instances[source].names;
    const auto& to = statements_.instances[target].names;
    const auto pairs = relation.wrap();
    const auto rank = from.size() + to.size();
    std::vector<Distance> result;
    for (std::size_t v = 0; v < from.size(); ++v) {
      const auto at = static_cast<std::size_t>(std::ranges::find(to, from[v]) - to.begin());
      if (at == to.size()) continue;
      const auto steps = pairs.image({poly::variable(rank, from.size() + at) - poly::variable(rank, v)});
      const auto least = steps.minimum(0), greatest = steps.maximum(0);
      CYC_CHECK(least && greatest, "domains are bounded");
      result.push_back({from[v], *least, *greatest});
    }
    return result;
  }

  /// As functions of the source where they are that, else with the target's indices primed.
  [[nodiscard]] std::string relation_text(std::size_t source, std::size_t target,
                                          const poly::Map& relation) const {
    const auto& from = statements_.instances[source].names;
    const auto& to = statements_.instances[target].names;
    const auto left = tuple_text(name_of(source), from);
    const auto pieces = relation.is_single_valued() ? relation.pieces() : std::nullopt;
    if (!pieces) {
      auto names = from, primed = to;
      for (auto& name : primed) name += "'";
      names.insert(names.end(), primed.begin(), primed.end());
      return fmt::format("{{ {} -> {}{} }}", left, tuple_text(name_of(target), primed),
                         where_text(relation.wrap(), names));
    }
    std::vector<std::string> parts;
    for (const auto& piece : *pieces) {
      auto forms = piece.forms;
      for (std::size_t f = 0; f < forms.size(); ++f) write_as_step(piece.domain, forms[f], from, to[f]);
      parts.push_back(fmt::format("{} -> {}{}", left, forms_text(name_of(target), forms, from),
                                  where_text(piece.domain, from)));
    }
    return fmt::format("{{ {} }}", fmt::join(parts, "; "));
  }

  /// On a small domain isl may write a coordinate as a constant, which hides that it is a step.
  static void write_as_step(const poly::Set& domain, poly::Affine& form, const std::vector<std::string>& from,
                            const std::string& name) {
    const auto at = static_cast<std::size_t>(std::ranges::find(from, name) - from.begin());
    if (at == from.size()) return;
    auto step = poly::variable(from.size(), at);
    const auto steps = domain.image({form - step});
    const auto least = steps.minimum(0), greatest = steps.maximum(0);
    if (!least || least != greatest) return;
    step.constant = *least;
    form = std::move(step);
  }

  poly::Context context_;
  Statements statements_;
  std::vector<Dependence> found_;
};

}  // namespace

std::string_view name(StatementKind kind) {
  switch (kind) {
    case StatementKind::start: return "start";
    case StatementKind::accumulate: return "accumulate";
    case StatementKind::assign: return "assign";
  }
  return "";
}

std::string_view name(DependenceKind kind) {
  switch (kind) {
    case DependenceKind::flow: return "flow";
    case DependenceKind::anti: return "anti";
    case DependenceKind::output: return "output";
    case DependenceKind::read: return "read";
  }
  return "";
}

Dependences dependences(const System& system) { return Analysis(system).run(); }

poly::ScheduleTree schedule_tree(const System& system) {
  const auto found = dependences(system);
  std::vector<std::string> domains, validity, proximity;
  for (const auto& statement : found.statements) domains.push_back(statement.domain);
  for (const auto& dependence : found.dependences) {
    const bool input = std::ranges::any_of(system.tensors, [&](const Tensor& tensor) {
      return tensor.name == dependence.cell && tensor.role == Role::input;
    });
    if (!input) validity.push_back(dependence.relation);
    proximity.push_back(dependence.relation);
  }
  return poly::schedule_tree(poly::Context(), domains, validity, proximity);
}

}  // namespace cyclotron::recurrence
