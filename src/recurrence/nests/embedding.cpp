#include "embedding.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <cyclotron/support/error.hpp>

namespace cyclotron::recurrence::detail {

Embedding::Embedding(const Nest& nest, const LastWrites& writes, const std::vector<std::vector<Read>>& reads,
                     std::vector<bool> live, std::vector<bool> copies)
    : nest_(nest), writes_(writes), live_(std::move(live)), copies_(std::move(copies)) {
  for (const auto& equation : nest.system.equations)
    taken_.insert(equation.indices.begin(), equation.indices.end());
  for (const auto& expr : nest.system.exprs) {
    if (const auto* reduce = std::get_if<Reduce>(&expr.node)) taken_.insert(reduce->index);
  }
  // Loops that compute have the first choice of names, then those that copy, then sums.
  nests_.resize(nest.positions.size());
  for (const bool copying : {false, true}) {
    for (std::size_t s = 0; s < nest.positions.size(); ++s) {
      if (live_[s] && copies_[s] == copying) name_loops(s);
    }
  }
  for (std::size_t s = 0; s < nest.positions.size(); ++s) {
    if (live_[s]) name_reductions(s);
  }
  name_orders();
  do embed();
  while (add_orders(reads));
}

Embedding::Loop Embedding::loop_of(std::size_t statement, std::size_t depth) const {
  const auto& text = nest_.positions[statement].text;
  return {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(depth) + 1};
}

std::vector<ExprId> Embedding::reductions(std::size_t statement) const {
  std::vector<ExprId> result;
  for_each_expr(nest_.system, nest_.system.equations[statement], writes_.domain(statement),
                [&](ExprId id, const Scope&) {
                  if (std::holds_alternative<Reduce>(nest_.system.at(id).node)) result.push_back(id);
                });
  return result;
}

/// All indices of an embedded statement, those of its reductions last; without any that run around it.
std::vector<std::string> Embedding::nest_of(std::size_t statement) const {
  auto names = statements_[statement].names;
  for (const auto id : reductions(statement)) {
    const auto& name = reduction_names_.at(id);
    if (!outer_sums_.contains(id) && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> Embedding::names(std::size_t statement, const Scope& scope) const {
  auto result = statements_[statement].names;
  for (auto n = nest_.positions[statement].descending.size(); n < scope.names.size(); ++n) {
    for (const auto id : reductions(statement)) {
      if (std::get<Reduce>(nest_.system.at(id).node).index != scope.names[n]) continue;
      result.push_back(reduction_names_.at(id));
      break;
    }
  }
  return result;
}

std::string Embedding::unused(const std::string& name) const {
  if (!taken_.contains(name)) return name;
  for (int n = 2;; ++n) {
    auto text = fmt::format("{}_{}", name, n);
    if (!taken_.contains(text)) return text;
  }
}

/// The name, or one like it, that a statement's nest can have next.
std::string Embedding::fitting(std::size_t statement, const std::string& name, bool descending) const {
  const auto& nest = nests_[statement];
  const auto fits = [&](const std::string& candidate) {
    const auto known = directions_.find(candidate);
    if (known != directions_.end() && known->second != descending) return false;
    if (std::ranges::find(nest, candidate) != nest.end()) return false;
    auto trial = nests_;
    trial[statement].push_back(candidate);
    return consistent_order(trial).has_value();
  };
  auto result = name;
  for (int n = 2; !fits(result); ++n) result = fmt::format("{}_{}", name, n);
  return result;
}

/// True where a loop's index tells how far from a place of the target's elements lie, so that they run backwards.
bool Embedding::is_mirrored(std::size_t statement, std::size_t depth) const {
  const auto& equation = nest_.system.equations[statement];
  bool result = false;
  for (const auto& subscript : equation.index) {
    const auto factor = to_poly(subscript, equation.indices.size()).coefficients[depth];
    if (factor > 0) return false;
    result = result || factor < 0;
  }
  return result;
}

/// Loops of one name share an index, unless they run in different directions or nest the other way round.
void Embedding::name_loops(std::size_t statement) {
  const auto& indices = nest_.system.equations[statement].indices;
  for (std::size_t depth = 0; depth < indices.size(); ++depth) {
    const bool descending = nest_.positions[statement].descending[depth];
    auto& name = loop_names_[loop_of(statement, depth)];
    if (name.empty()) {
      const bool down = descending != is_mirrored(statement, depth);
      name = fitting(statement, indices[depth], down);
      taken_.insert(name);
      directions_[name] = down;
    }
    nests_[statement].push_back(name);
    if (name != indices[depth]) turned_.push_back({name, indices[depth]});
    if (!descending) continue;
    const auto last = writes_.domain(statement).maximum(depth).value_or(0);
    const auto [end, first] = ends_.emplace(name, last);
    end->second = std::max(end->second, last);
  }
}

/// Sums beside each other may share an index.
void Embedding::name_reductions(std::size_t statement) {
  std::map<std::string, std::string> known;
  for (const auto id : reductions(statement)) {
    const auto& index = std::get<Reduce>(nest_.system.at(id).node).index;
    const auto [name, is_new] = known.emplace(index, index);
    if (is_new) name->second = name_of_reduction(statement, index);
    reduction_names_[id] = name->second;
    const auto& nest = nests_[statement];
    if (std::ranges::find(nest, name->second) == nest.end()) outer_sums_.insert(id);
  }
}

std::string Embedding::name_of_reduction(std::size_t statement, const std::string& index) {
  auto& nest = nests_[statement];
  auto name = fitting(statement, index, false);
  // A sum may run around loops that it stands in, as one of another statement does.
  const auto direction = directions_.find(index);
  if (name != index && direction != directions_.end() && !direction->second &&
      std::ranges::find(nest, index) == nest.end())
    return index;
  taken_.insert(name);
  directions_[name] = false;
  nest.push_back(name);
  return name;
}

/// An index for each loop whose contents may have to run one after the other.
void Embedding::name_orders() {
  for (std::size_t s = 0; s < nest_.positions.size(); ++s) {
    for (std::size_t depth = 0; live_[s] && depth < nest_.positions[s].text.size(); ++depth) {
      const auto loop = depth == 0 ? Loop{} : loop_of(s, depth - 1);
      if (order_names_.contains(loop)) continue;
      // Loops that share an index share its order.
      order_names_[loop] = unused(depth == 0 ? "statement" : "statement_in_" + loop_names_.at(loop));
    }
  }
}

/// The order of all indices. Those of loops that run backwards come before the ones that they stand beside, if they can:
/// in that order the values go on.
std::vector<std::string> Embedding::order_of(std::vector<std::vector<std::string>> nests) const {
  for (const auto& pair : turned_) {
    nests.push_back(pair);
    if (!consistent_order(nests)) nests.pop_back();
  }
  return nesting_order(std::move(nests));
}

void Embedding::embed() {
  statements_.clear();
  std::vector<std::vector<std::string>> nests;
  for (std::size_t s = 0; s < nest_.positions.size(); ++s) {
    statements_.push_back(live_[s] ? embedded(s) : Embedded{});
    if (live_[s]) nests.push_back(nest_of(s));
  }
  const auto order = order_of(std::move(nests));
  for (std::size_t s = 0; s < nest_.positions.size(); ++s) {
    if (live_[s] && !copies_[s]) pin(s, order);
    if (live_[s]) invert(statements_[s], s);
  }
}

Embedded Embedding::embedded(std::size_t statement) const {
  const auto& place = nest_.positions[statement];
  const auto depth = place.descending.size();
  Embedded result;
  for (std::size_t level = 0; level <= depth; ++level) {
    const auto around = level == 0 ? Loop{} : loop_of(statement, level - 1);
    if (ordered_.contains(around)) {
      result.names.push_back(order_names_.at(around));
      result.loop.emplace_back();
      result.coordinates.push_back(poly::constant(depth, place.text[level]));
    }
    if (level == depth) break;
    const auto form = poly::variable(depth, level);
    result.names.push_back(loop_names_.at(loop_of(statement, level)));
    result.loop.emplace_back(level);
    const auto end = ends_.find(result.names.back());
    result.coordinates.push_back(end == ends_.end() ? form : poly::constant(depth, end->second) - form);
  }
  return result;
}

/// Places the statement beside the loops of others that assign the same elements.
void Embedding::pin(std::size_t statement, const std::vector<std::string>& order) {
  auto& own = statements_[statement];
  Embedded result;
  std::set<std::string> folded;  // an index of a reduction inside stands for itself
  for (const auto id : reductions(statement)) folded.insert(reduction_names_.at(id));
  for (const auto& name : order) {
    const auto known = std::ranges::find(own.names, name);
    if (known != own.names.end()) {
      const auto n = static_cast<std::size_t>(known - own.names.begin());
      result.names.push_back(name);
      result.loop.push_back(own.loop[n]);
      result.coordinates.push_back(own.coordinates[n]);
    } else if (folded.contains(name)) {
      continue;
    } else if (const auto form = beside(statement, name)) {
      result.names.push_back(name);
      result.loop.emplace_back();
      const bool free = unpinned_.contains({statement, name});
      result.coordinates.push_back(free ? poly::constant(form->coefficients.size(), 0) : *form);
    }
  }
  own = std::move(result);
}

/// The old indices in terms of the new ones.
void Embedding::invert(Embedded& embedded, std::size_t statement) const {
  const auto variables = embedded.names.size();
  embedded.point.resize(nest_.positions[statement].descending.size());
  for (std::size_t n = 0; n < variables; ++n) {
    if (!embedded.loop[n]) continue;
    const auto end = ends_.find(embedded.names[n]);
    const auto form = poly::variable(variables, n);
    embedded.point[*embedded.loop[n]] =
        end == ends_.end() ? form : poly::constant(variables, end->second) - form;
  }
}

/// The coordinate of an index that a statement lacks: what it has in the subscript in which another statement
/// has that index (an LU's `A[i, k] /= ...` stands at j = k, as others assign `A[i, j]`).
std::optional<poly::Affine> Embedding::beside(std::size_t statement, const std::string& name) const {
  const auto& own = nest_.system.equations[statement];
  for (std::size_t other = 0; other < nest_.positions.size(); ++other) {
    const auto& equation = nest_.system.equations[other];
    if (!live_[other] || copies_[other] || equation.target != own.target) continue;
    for (std::size_t level = 0; level < equation.indices.size(); ++level) {
      if (loop_names_.at(loop_of(other, level)) != name) continue;
      for (std::size_t d = 0; d < equation.index.size(); ++d) {
        const auto variables = equation.indices.size();
        const auto subscript = to_poly(equation.index[d], variables);
        auto form = to_poly(own.index[d], own.indices.size());
        if (subscript == poly::constant(variables, subscript.constant) - poly::variable(variables, level)) {
          form = poly::constant(own.indices.size(), subscript.constant) - form;
        } else if (subscript != poly::variable(variables, level)) {
          continue;
        }
        const auto end = ends_.find(name);
        return end == ends_.end() ? form : poly::constant(own.indices.size(), end->second) - form;
      }
    }
  }
  return std::nullopt;
}

/// Gives what the loop around a value's reader and its later maker holds an order, or, where it has one,
/// takes them from beside other loops. Returns true where this changed anything.
bool Embedding::add_orders(const std::vector<std::vector<Read>>& reads) {
  std::vector<std::vector<std::string>> nests;
  for (std::size_t s = 0; s < statements_.size(); ++s) {
    if (live_[s]) nests.push_back(nest_of(s));
  }
  const auto order = order_of(std::move(nests));
  const auto before = ordered_;
  bool changed = false;
  for (std::size_t s = 0; s < reads.size(); ++s) {
    if (!live_[s]) continue;
    for (const auto& read : reads[s]) {
      for (const auto& source : read.sources) {
        if (copies_[source.statement]) continue;
        const auto wrong = goes_back(order, s, read, source);
        if (!wrong) continue;
        const auto &mine = nest_.positions[s].text, &its = nest_.positions[source.statement].text;
        const auto common = static_cast<std::size_t>(std::ranges::mismatch(mine, its).in1 - mine.begin());
        const auto around = common == 0 ? Loop{} : loop_of(s, common - 1);
        if (source.statement != s && !before.contains(around)) {
          changed |= ordered_.insert(around).second;
          continue;
        }
        for (const auto statement : {s, source.statement})
          changed |= unpinned_.insert({statement, *wrong}).second;
      }
    }
  }
  return changed;
}

/// The first index in which a point of the source lies behind one that reads it; none where it lies before all, or at the
/// same point.
std::optional<std::string> Embedding::goes_back(const std::vector<std::string>& order, std::size_t reader,
                                                const Read& read, const Source& source) const {
  const auto variables = read.scope.names.size();
  const auto coordinate = [&](const Source& at, const std::string& name) {
    const auto& embedded = statements_[at.statement];
    const auto place = std::ranges::find(embedded.names, name);
    if (place == embedded.names.end()) return poly::constant(variables, 0);
    const auto& form = embedded.coordinates[static_cast<std::size_t>(place - embedded.names.begin())];
    return at.times_divisor(form, variables);
  };
  Source here{reader, source.points, {}, source.divisor};
  for (std::size_t v = 0; v < nest_.positions[reader].descending.size(); ++v)
    here.from.push_back(source.divisor * poly::variable(variables, v));
  auto equal = source.points;
  for (const auto& name : order) {
    const auto step = coordinate(here, name) - coordinate(source, name);
    if (!equal.intersect({-1 * step - poly::constant(variables, 1), false}).is_empty()) return name;
    equal = equal.intersect({step, true});
    if (equal.is_empty()) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace cyclotron::recurrence::detail
