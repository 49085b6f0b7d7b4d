#include "last_writes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <cyclotron/support/error.hpp>

namespace cyclotron::recurrence::detail {

namespace {

poly::Affine widened(const poly::Affine& form, std::size_t variables) {
  poly::Affine result = form;
  result.coefficients.resize(variables, 0);
  return result;
}

/// The points at which `earlier` is lexicographically before `later`.
poly::Set before(const poly::Set& points, const std::vector<poly::Affine>& earlier,
                 const std::vector<poly::Affine>& later) {
  const auto variables = points.dimensions();
  auto result = poly::Set::empty(points.context(), variables);
  auto equal = points;
  for (std::size_t t = 0; t < earlier.size(); ++t) {
    const auto ahead = later[t] - earlier[t];
    if (poly::is_constant(ahead)) {
      if (ahead.constant > 0) return result.unite(equal);
      if (ahead.constant < 0) return result;
      continue;
    }
    result = result.unite(equal.intersect({ahead - poly::constant(variables, 1), false}));
    equal = equal.intersect({ahead, true});
  }
  return result;
}

/// True where `general` says on the points of `special` what that says.
bool covers(const Source& general, const Source& special) {
  if (general.divisor != special.divisor) return false;
  auto same = special.points;
  for (std::size_t f = 0; f < special.from.size(); ++f)
    same = same.intersect({general.from[f] - special.from[f], true});
  return special.points.is_subset(same);
}

/// The source, with the index of a loop that has one value instead of that value.
Source by_indices(const Source& source) {
  const auto variables = source.points.dimensions();
  auto result = source;
  for (std::size_t v = 0; v < std::min(variables, source.from.size()); ++v) {
    const auto value = source.divisor * poly::variable(variables, v);
    if (poly::is_constant(source.from[v]) && source.points.satisfies({value - source.from[v], true}))
      result.from[v] = value;
  }
  return result;
}

/// isl may split a function where a coordinate is fixed; fewer pieces make fewer equations.
std::vector<Source> merged(std::vector<Source> pieces) {
  for (std::size_t a = 0; a < pieces.size(); ++a) {
    std::optional<Source> general;
    for (std::size_t b = 0; b < pieces.size(); ++b) {
      if (a == b) continue;
      if (!covers(pieces[a], pieces[b])) {
        if (!general) general = by_indices(pieces[a]);
        if (!covers(*general, pieces[b])) continue;
        pieces[a].from = general->from;
      }
      pieces[a].points = pieces[a].points.unite(pieces[b].points).coalesce();
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(b));
      return merged(std::move(pieces));
    }
  }
  return pieces;
}

/// The index of two values on which the iteration of a loop around it depends where no subscript of the element tells
/// that: one value is of this iteration, the other of the one before. isl makes one function of both, in which the indices
/// depend on each other. `told`: by loop of the writer, whether its element tells the iteration.
std::optional<std::size_t> index_of_two(const Source& source, const std::vector<bool>& told) {
  const auto of = [&](std::size_t f, std::size_t v) {
    return v < source.from[f].coefficients.size() ? source.from[f].coefficients[v] : 0;
  };
  for (std::size_t v = 1; v < source.points.dimensions(); ++v) {
    const bool is_other = v < source.from.size() && of(v, v) == -1;
    bool depends = false;
    for (std::size_t f = 0; f < std::min(v, source.from.size()); ++f)
      depends = depends || (of(f, v) != 0 && (is_other || !told[f]));
    if (!depends) continue;
    const auto last = source.points.maximum(v);
    if (last && source.points.minimum(v) == *last - 1) return v;
  }
  return std::nullopt;
}

/// The sources with one for each value of such indices.
std::vector<Source> apart(std::vector<Source> pieces, const std::vector<bool>& told) {
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto index = index_of_two(pieces[p], told);
    if (!index) continue;
    const auto variables = pieces[p].points.dimensions();
    const auto first = *pieces[p].points.minimum(*index);
    auto second = pieces[p];
    const auto fix = [&](Source& one, std::int64_t value) {
      one.points =
          one.points.intersect({poly::variable(variables, *index) - poly::constant(variables, value), true});
      for (auto& form : one.from) form.constant += value * std::exchange(form.coefficients[*index], 0);
    };
    fix(pieces[p], first);
    fix(second, first + 1);
    pieces.push_back(std::move(second));
  }
  return pieces;
}

}  // namespace

poly::Affine Source::times_divisor(const poly::Affine& form, std::size_t variables) const {
  auto result = poly::substitute(form, from, variables);
  result.constant += (divisor - 1) * form.constant;
  return result;
}

LastWrites::LastWrites(const poly::Context& context, const Nest& nest) : context_(context), nest_(nest) {
  CYC_CHECK(nest.positions.size() == nest.system.equations.size());
  for (std::size_t s = 0; s < nest.positions.size(); ++s) {
    const auto& equation = nest.system.equations[s];
    CYC_CHECK(nest.positions[s].text.size() == equation.indices.size() + 1);
    CYC_CHECK(nest.positions[s].descending.size() == equation.indices.size());
    times_ = std::max(times_, 2 * equation.indices.size() + 1);
    domains_.push_back(domain_of(context, equation));
  }
}

bool LastWrites::is_assigned(TensorId tensor) const {
  return std::ranges::any_of(nest_.system.equations, [&](const Equation& e) { return e.target == tensor; });
}

/// Time of the statement at the point of the first variables.
std::vector<poly::Affine> LastWrites::time(std::size_t statement, std::size_t variables) const {
  const auto& place = nest_.positions[statement];
  std::vector<poly::Affine> result{poly::constant(variables, place.text[0])};
  for (std::size_t loop = 0; loop < place.descending.size(); ++loop) {
    result.push_back((place.descending[loop] ? -1 : 1) * poly::variable(variables, loop));
    result.push_back(poly::constant(variables, place.text[loop + 1]));
  }
  result.resize(times_, poly::constant(variables, 0));
  return result;
}

/// The statement's point, where the time is the variables from `offset` on.
std::vector<poly::Affine> LastWrites::point_at(std::size_t statement, std::size_t offset,
                                               std::size_t variables) const {
  const auto& descending = nest_.positions[statement].descending;
  std::vector<poly::Affine> result;
  for (std::size_t loop = 0; loop < descending.size(); ++loop)
    result.push_back((descending[loop] ? -1 : 1) * poly::variable(variables, offset + 2 * loop + 1));
  return result;
}

/// { (p, time) : the statement writes element(p) at that time }
poly::Set LastWrites::writes(std::size_t statement, std::size_t scope,
                             const std::vector<poly::Affine>& element) const {
  const auto& equation = nest_.system.equations[statement];
  const auto total = scope + times_;
  const auto point = point_at(statement, scope, total);
  auto result = domains_[statement].preimage(point, total);
  const auto at = time(statement, point.size());
  for (std::size_t t = 0; t < times_; ++t) {
    if (poly::is_constant(at[t]))
      result =
          result.intersect({poly::variable(total, scope + t) - poly::constant(total, at[t].constant), true});
  }
  const auto target = to_poly(equation.index, point.size());
  for (std::size_t d = 0; d < target.size(); ++d) {
    result = result.intersect({poly::substitute(target[d], point, total) - widened(element[d], total), true});
  }
  return result;
}

std::vector<Read> LastWrites::reads(std::size_t statement) const {
  std::vector<Read> result;
  for_each_expr(nest_.system, nest_.system.equations[statement], domains_[statement],
                [&](ExprId id, const Scope& scope) {
                  const Expr& expr = nest_.system.at(id);
                  const auto* access = std::get_if<Access>(&expr.node);
                  if (access == nullptr || !is_assigned(access->tensor)) return;
                  result.push_back({id, scope, sources(statement, expr, *access, scope)});
                });
  return result;
}

std::vector<Source> LastWrites::sources(std::size_t reader, const Expr& expr, const Access& access,
                                        const Scope& scope) const {
  const auto variables = scope.names.size();
  const auto total = variables + times_;
  std::vector<poly::Affine> earlier, later;
  for (std::size_t t = 0; t < times_; ++t) earlier.push_back(poly::variable(total, variables + t));
  for (const auto& form : time(reader, variables)) later.push_back(widened(form, total));
  std::vector<poly::Affine> first;
  for (std::size_t v = 0; v < variables; ++v) first.push_back(poly::variable(total, v));
  const auto here = scope.points.preimage(first, total);

  auto candidates = poly::Set::empty(context_, total);
  for (std::size_t w = 0; w < nest_.positions.size(); ++w) {
    if (nest_.system.equations[w].target != access.tensor) continue;
    // The writer's text positions are constants, which most comparisons of the order need.
    auto when = earlier;
    const auto fixed = time(w, nest_.positions[w].descending.size());
    for (std::size_t t = 0; t < times_; ++t) {
      if (poly::is_constant(fixed[t])) when[t] = poly::constant(total, fixed[t].constant);
    }
    const auto pairs = writes(w, variables, to_poly(access.index, variables)).intersect(here);
    candidates = candidates.unite(before(pairs, when, later));
  }
  const auto last = poly::Map::from_pairs(candidates.coalesce(), variables).lexmax();
  const auto undefined = scope.points.subtract(last.domain()).lexmin_point();
  if (undefined) {
    std::vector<std::int64_t> element;
    for (const auto& form : to_poly(access.index, variables))
      element.push_back(poly::evaluate(form, *undefined));
    const auto& tensor = nest_.system.at(access.tensor);
    throw LegalityError(
        {.code = "CYC215",
         .span = expr.span,
         .message =
             fmt::format("`{}` reads `{}[{}]` at {}, to which nothing is assigned yet",
                         access_text(nest_.system.at(access.tensor).user_name(), access.index, scope.names),
                         tensor.user_name(), fmt::join(element, ", "), point_text(scope.names, *undefined)),
         .notes = {{tensor.span, "the tensor is declared here"}},
         .help = "assign the element before it is read, or declare the tensor by cy.zeros"});
  }
  std::vector<Source> result;
  for (std::size_t w = 0; w < nest_.positions.size(); ++w) {
    if (nest_.system.equations[w].target != access.tensor) continue;
    const auto pieces = pieces_of(last, w, expr, access, scope);
    result.insert(result.end(), pieces.begin(), pieces.end());
  }
  return result;
}

/// A function to the writer's times as affine functions to its points, each on plain conjunctions.
std::optional<std::vector<Source>> LastWrites::affine_pieces(const poly::Map& last, std::size_t writer,
                                                             const Scope& scope) const {
  const auto pieces = last.pieces();
  if (!pieces) return std::nullopt;
  std::vector<Source> result;
  for (const auto& piece : *pieces) {
    const auto points = piece.domain.coalesce();
    const auto parts = points.conjunctions();
    if (!parts) return std::nullopt;
    std::vector<poly::Affine> from;
    for (const auto& form : point_at(writer, 0, times_))
      from.push_back(poly::substitute(form, piece.forms, scope.names.size()));
    result.push_back({writer, points, std::move(from)});
  }
  std::vector<bool> told;
  for (const auto& count : counts(writer)) told.push_back(count.has_value());
  return apart(merged(std::move(result)), told);
}

std::vector<std::optional<Count>> LastWrites::counts(std::size_t statement) const {
  const auto& equation = nest_.system.equations[statement];
  const auto loops = equation.indices.size();
  std::vector<std::optional<Count>> result(loops);
  for (std::size_t d = 0; d < equation.index.size(); ++d) {
    const auto subscript = to_poly(equation.index[d], loops);
    for (std::size_t v = 0; v < loops; ++v) {
      const auto stride = subscript.coefficients[v];
      const bool alone =
          subscript - stride * poly::variable(loops, v) == poly::constant(loops, subscript.constant);
      if (!result[v] && stride != 0 && alone) result[v] = Count{d, stride};
    }
  }
  return result;
}

/// The points that read what the writer made, where some of its loops count along an axis with a stride: there the
/// element tells when it was made. The others are affine functions of the points.
std::optional<std::vector<Source>> LastWrites::of_a_stride(const poly::Map& last, std::size_t writer,
                                                           const Access& access, const Scope& scope) const {
  const auto& equation = nest_.system.equations[writer];
  const auto loops = equation.indices.size(), variables = scope.names.size();
  const auto counted = counts(writer);
  const auto at = point_at(writer, 0, times_);
  std::int64_t divisor = 1;
  std::vector<poly::Affine> others;
  for (std::size_t v = 0; v < loops; ++v) {
    if (counted[v])
      divisor = std::lcm(divisor, counted[v]->stride);
    else
      others.push_back(at[v]);
  }
  if (others.size() == loops) return std::nullopt;
  std::vector<poly::Map::Piece> pieces{{last.domain(), {}}};
  if (!others.empty()) {
    auto found = last.then(poly::Map::function(last.range(), others)).pieces();
    if (!found) return std::nullopt;
    pieces = std::move(*found);
  }
  std::vector<Source> result;
  for (const auto& piece : pieces) {
    Source one{writer, piece.domain.coalesce(), {}, divisor};
    if (!one.points.conjunctions()) return std::nullopt;
    auto other = piece.forms.begin();
    for (const auto& count : counted) {
      if (!count) {
        one.from.push_back(divisor * *other++);
        continue;
      }
      const auto& first = equation.index[count->axis].constant;
      const auto form = to_poly(access.index[count->axis], variables) - poly::constant(variables, first);
      one.from.push_back(divisor / count->stride * form);
    }
    const auto is_whole = [&](const Affine& subscript) {
      const auto element = one.times_divisor(to_poly(subscript, loops), variables);
      return element.constant % divisor == 0 &&
             std::ranges::all_of(element.coefficients, [&](auto c) { return c % divisor == 0; });
    };
    if (!std::ranges::all_of(equation.index, is_whole)) return std::nullopt;
    result.push_back(std::move(one));
  }
  return merged(std::move(result));
}

/// The points that read what the writer made, as affine functions to its points.
std::vector<Source> LastWrites::pieces_of(const poly::Map& last, std::size_t writer, const Expr& expr,
                                          const Access& access, const Scope& scope) const {
  // The cases of one statement stand at one place; what tells them apart is their domains.
  auto own = domains_[writer].preimage(point_at(writer, 0, times_), times_);
  const auto fixed = time(writer, nest_.positions[writer].descending.size());
  for (std::size_t t = 0; t < times_; ++t) {
    if (poly::is_constant(fixed[t]))
      own = own.intersect({poly::variable(times_, t) - poly::constant(times_, fixed[t].constant), true});
  }
  const auto mine = last.restrict_range(own);
  if (mine.is_empty()) return {};
  if (auto whole = affine_pieces(mine, writer, scope)) return *whole;
  // Where a function over few points looks to isl as one of stride 2, its conjunctions do not.
  std::vector<Source> result;
  bool affine = true;
  for (const auto& part : mine.conjunctions()) {
    const auto pieces = affine_pieces(part, writer, scope);
    affine = affine && pieces;
    if (pieces) result.insert(result.end(), pieces->begin(), pieces->end());
  }
  if (affine) return merged(std::move(result));
  if (auto strided = of_a_stride(mine, writer, access, scope)) return *strided;
  const auto& text = access_text(nest_.system.at(access.tensor).user_name(), access.index, scope.names);
  throw LegalityError(
      {.code = "CYC216",
       .obstacle = Obstacle::not_affine,
       .span = expr.span,
       .message = fmt::format("what `{}` reads was written at a point that is no affine function of {}", text,
                              fmt::join(scope.names, ", ")),
       .notes = {{nest_.system.equations[writer].span, "it was written here"}},
       .help = "assign elements one stride apart in loops of their own, so that no division is needed"});
}

bool LastWrites::hands_on(std::size_t statement) const {
  const auto* access = std::get_if<Access>(&nest_.system.at(nest_.system.equations[statement].expr).node);
  return access != nullptr && is_assigned(access->tensor);
}

void LastWrites::read_through(std::vector<std::vector<Read>>& reads, const std::vector<bool>& through) {
  for (auto& of_statement : reads) {
    for (auto& read : of_statement) {
      const auto is_handed_on = [&](const Source& source) { return through[source.statement]; };
      // What is handed on was read before, so this ends.
      while (std::ranges::any_of(read.sources, is_handed_on)) {
        std::map<std::size_t, std::vector<Source>> all;
        for (const auto& source : read.sources) {
          if (!is_handed_on(source)) {
            all[source.statement].push_back(source);
            continue;
          }
          for (const auto& origin : reads[source.statement].front().sources) {
            auto points =
                source.points.intersect(origin.points.preimage(source.from, read.scope.names.size()));
            if (points.is_empty()) continue;
            Source earlier{origin.statement, std::move(points), {}, origin.divisor};
            for (const auto& form : origin.from)
              earlier.from.push_back(poly::substitute(form, source.from, read.scope.names.size()));
            all[origin.statement].push_back(std::move(earlier));
          }
        }
        read.sources.clear();
        for (auto& [statement, pieces] : all) {
          for (auto& piece : merged(std::move(pieces))) read.sources.push_back(std::move(piece));
        }
      }
    }
  }
}

poly::Set LastWrites::last_points(std::size_t statement) const {
  const auto& equation = nest_.system.equations[statement];
  const auto rank = nest_.system.at(equation.target).shape.size();
  std::vector<poly::Affine> element;
  for (std::size_t d = 0; d < rank; ++d) element.push_back(poly::variable(rank, d));
  // Over (p, element): the writes after the one at p, of this statement or another.
  const auto variables = equation.indices.size();
  const auto total = variables + times_;
  auto overwritten = poly::Set::empty(context_, variables);
  std::vector<std::size_t> keep;
  std::vector<poly::Affine> first;
  for (std::size_t v = 0; v < variables; ++v) {
    keep.push_back(v);
    first.push_back(poly::variable(total, v));
  }
  std::vector<poly::Affine> now;
  for (const auto& form : time(statement, variables)) now.push_back(widened(form, total));
  const auto here = domains_[statement].preimage(first, total);
  for (std::size_t w = 0; w < nest_.positions.size(); ++w) {
    if (nest_.system.equations[w].target != equation.target) continue;
    auto when = std::vector<poly::Affine>{};
    const auto fixed = time(w, nest_.positions[w].descending.size());
    for (std::size_t t = 0; t < times_; ++t) {
      when.push_back(poly::is_constant(fixed[t]) ? poly::constant(total, fixed[t].constant)
                                                 : poly::variable(total, variables + t));
    }
    const auto pairs = writes(w, variables, to_poly(equation.index, variables)).intersect(here);
    overwritten = overwritten.unite(before(pairs, now, when).project(keep));
  }
  return domains_[statement].subtract(overwritten).coalesce();
}

}  // namespace cyclotron::recurrence::detail
