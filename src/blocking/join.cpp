// Joins terms and pieces that one form spells on different points.
#include <algorithm>
#include <optional>

#include "simplify.hpp"

namespace cyclotron::blocking {

namespace {

/// The forms of an index with each sum of a term in the place of another's.
Factor with_sums(const Factor& factor, std::size_t rank, const std::vector<std::size_t>& order) {
  const auto variables = rank + order.size();
  auto forms = identity_forms(variables, rank);
  for (const auto place : order) forms.push_back(poly::variable(variables, rank + place));
  auto result = factor;
  for (auto& form : result.index) form = poly::substitute(form, forms, variables);
  return result;
}

/// Pairs all factors of `a` with factors of `b` that are the same element on `points`; `b` is not longer.
bool same_factors(const NormalForm& form, const poly::Set& points, const std::vector<Factor>& a,
                  const std::vector<Factor>& b) {
  if (a.size() != b.size()) return false;
  std::vector<bool> used(b.size());
  for (const auto& left : a) {
    std::size_t match = 0;
    while (match < b.size() && (used[match] || !same_element(form, points, left, b[match]))) ++match;
    if (match == b.size()) return false;
    used[match] = true;
  }
  return true;
}

/// The place in `a` of a sum of `b` that `a` has none for.
struct MissingSum {
  std::size_t variable = 0;
  poly::Affine value;
};

/// `a`, of fewer sums by one, as a summand of `b`: where the sum that it has not is.
std::optional<MissingSum> summand(const NormalForm& form, const Term& a, const Term& b, std::size_t rank) {
  if (a.sums.size() + 1 != b.sums.size() || a.factors.size() != b.factors.size()) return std::nullopt;
  const auto variables = rank + a.sums.size();
  for (auto missing = rank; missing < rank + b.sums.size(); ++missing) {
    for (const auto& from : b.factors) {
      for (std::size_t d = 0; d < from.index.size(); ++d) {
        const auto step = from.index[d].coefficients[missing];
        if (step != 1 && step != -1) continue;
        for (const auto& to : a.factors) {
          if (to.tensor != from.tensor) continue;
          auto rest = from.index[d];
          rest.coefficients.erase(rest.coefficients.begin() + static_cast<std::ptrdiff_t>(missing));
          auto value = step * (to.index[d] - rest);
          auto forms = identity_forms(variables, variables);
          forms.insert(forms.begin() + static_cast<std::ptrdiff_t>(missing), value);
          auto moved = b.factors;
          for (auto& factor : moved) {
            for (auto& index : factor.index) index = poly::substitute(index, forms, variables);
          }
          if (same_factors(form, a.points, a.factors, moved)) return MissingSum{missing, std::move(value)};
        }
      }
    }
  }
  return std::nullopt;
}

/// Adds the points of `a` to those of `b`, whose form it has there too, if both have no point in common.
bool join_term(const NormalForm& form, const Term& a, Term& b, std::size_t rank) {
  if (a.coefficient != b.coefficient) return false;
  poly::Set points = a.points;
  if (a.sums.size() == b.sums.size()) {
    std::vector<std::size_t> order(a.sums.size());
    for (std::size_t s = 0; s < order.size(); ++s) order[s] = s;
    bool same = false;
    do {
      auto moved = a.factors;
      for (auto& factor : moved) factor = with_sums(factor, rank, order);
      auto back = identity_forms(rank + order.size(), rank);
      for (const auto place : order) back.push_back(poly::variable(rank + order.size(), rank + place));
      points = a.points.preimage(back, rank + order.size());
      same = same_factors(form, points, moved, b.factors);
    } while (!same && std::ranges::next_permutation(order).found);
    if (!same) return false;
  } else {
    const auto place = summand(form, a, b, rank);
    if (!place) return false;
    const auto here = poly::variable(rank + b.sums.size(), place->variable) -
                      insert_variables(place->value, place->variable, 1);
    points = insert_coordinates(a.points, place->variable, 1).intersect({here, true});
  }
  if (!points.intersect(b.points).is_empty()) return false;
  b.points = b.points.unite(points).coalesce();
  return true;
}

bool join_terms(const NormalForm& form, std::vector<Term>& terms, std::size_t rank) {
  for (std::size_t a = 0; a < terms.size(); ++a) {
    for (std::size_t b = 0; b < terms.size(); ++b) {
      if (a == b || !join_term(form, terms[a], terms[b], rank)) continue;
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(a));
      return true;
    }
  }
  return false;
}

/// The divisors of an element's terms, if all have the same: those without sums.
std::optional<std::vector<Factor>> divisors(const NormalForm& form, const Piece& piece) {
  const auto rank = piece.points.dimensions();
  std::optional<std::vector<Factor>> common;
  for (const auto& term : piece.terms) {
    std::vector<Factor> own;
    for (auto factor : term.factors) {
      if (!factor.inverse) continue;
      for (auto& index : factor.index) {
        for (auto v = rank; v < index.coefficients.size(); ++v) {
          if (index.coefficients[v] != 0) return std::nullopt;
        }
        index.coefficients.resize(rank);
      }
      own.push_back(std::move(factor));
    }
    if (!common)
      common = own;
    else if (!same_factors(form, project_first(term.points, rank), own, *common))
      return std::nullopt;
  }
  return common;
}

bool join_piece(const NormalForm& form, const Piece& a, Piece& b) {
  if (a.function != b.function || a.terms.empty() != b.terms.empty()) return false;
  const auto left = divisors(form, a), right = divisors(form, b);
  if (left.has_value() != right.has_value()) return false;
  if (left && !same_factors(form, a.points, *left, *right) && !same_factors(form, b.points, *left, *right))
    return false;
  if (!left && !a.terms.empty()) return false;
  auto joined = b;
  joined.points = b.points.unite(a.points).coalesce();
  joined.terms.insert(joined.terms.end(), a.terms.begin(), a.terms.end());
  while (join_terms(form, joined.terms, joined.points.dimensions())) {
  }
  // More terms than either has: two forms side by side, which match a definition only apart.
  if (joined.terms.size() > std::max(a.terms.size(), b.terms.size())) return false;
  b = std::move(joined);
  return true;
}

}  // namespace

bool same_element(const NormalForm& form, const poly::Set& points, const Factor& a, const Factor& b) {
  if (a.inverse != b.inverse || a.conjugate != b.conjugate) return false;
  if (a.tensor == b.tensor) {
    for (std::size_t d = 0; d < a.index.size(); ++d) {
      if (!equal_on(points, a.index[d], b.index[d])) return false;
    }
    return true;
  }
  const auto is_copy = [&](const Factor& source, const Factor& result) {
    const auto elements = points.image(result.index);
    for (const auto& piece : form.pieces[result.tensor.index()]) {
      if (piece.function || !elements.is_subset(piece.points)) continue;
      const auto rank = piece.points.dimensions();
      const auto here = [&](const Term& term) {
        return !term.points.intersect(insert_coordinates(elements, rank, term.sums.size())).is_empty();
      };
      const auto only = std::ranges::find_if(piece.terms, here);
      if (std::ranges::count_if(piece.terms, here) != 1) continue;
      const auto& term = *only;
      if (term.coefficient != 1 || !term.sums.empty() || term.factors.size() != 1) continue;
      const auto& factor = term.factors.front();
      if (factor.tensor != source.tensor || factor.inverse || factor.conjugate ||
          !elements.is_subset(term.points))
        continue;
      bool equal = true;
      for (std::size_t d = 0; d < source.index.size(); ++d) {
        const auto value = poly::substitute(factor.index[d], result.index, points.dimensions());
        equal = equal && equal_on(points, value, source.index[d]);
      }
      if (equal) return true;
    }
    return false;
  };
  return is_copy(a, b) || is_copy(b, a);
}

void join_pieces(NormalForm& form, TensorId tensor) {
  auto& pieces = form.pieces[tensor.index()];
  for (auto& piece : pieces) {
    while (join_terms(form, piece.terms, piece.points.dimensions())) {
    }
  }
  for (std::size_t a = 0; a < pieces.size();) {
    bool joined = false;
    for (std::size_t b = 0; b < pieces.size() && !joined; ++b)
      joined = a != b && join_piece(form, pieces[a], pieces[b]);
    if (joined)
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(a));
    else
      ++a;
  }
}

}  // namespace cyclotron::blocking
