// Elements of arrays that a kernel changes in place: those that stay as they were, and quotients.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "simplify.hpp"

namespace cyclotron::blocking {

namespace {

poly::Set elements_of(const std::vector<Piece>& pieces) {
  auto all = pieces.front().points;
  for (const auto& piece : pieces) all = all.unite(piece.points);
  return all.coalesce();
}

/// The tensor of whose elements a piece has those at its own subscripts, as one of its terms.
std::optional<TensorId> base_of(const NormalForm& form, TensorId tensor) {
  const auto rank = rank_of(form.system, tensor);
  const auto own = identity_forms(rank, rank);
  for (const auto& piece : form.pieces[tensor.index()]) {
    if (piece.function) continue;
    for (const auto& term : piece.terms) {
      if (term.coefficient != 1 || !term.sums.empty()) continue;
      // The base of a quotient is divided, too.
      const auto base = std::ranges::find_if(term.factors, [&](const Factor& factor) {
        return factor.tensor != tensor && !factor.inverse && !factor.conjugate && factor.index == own;
      });
      if (base != term.factors.end() &&
          std::ranges::count_if(term.factors, [](const Factor& factor) { return !factor.inverse; }) == 1)
        return base->tensor;
    }
  }
  return std::nullopt;
}

/// An element that is read to be divided by another: the forms of the divisor over the element's subscripts.
struct Quotient {
  Factor divisor;
  poly::Set elements;
};

/// The subscripts of a divisor in those of an element that it divides.
std::optional<Factor> divisor_of(const Term& term, const Factor& element, const Factor& divisor) {
  const auto back = element_of_source(term.points, element.index);
  const auto variables = term.points.dimensions(), rank = element.index.size();
  std::vector<poly::Affine> forms;
  if (back) {
    forms = substituted(divisor.index, *back, rank);
  } else {
    // Of a product only some indices are the element's: a divisor's are plain ones.
    for (const auto& form : divisor.index) {
      const auto same = std::ranges::find_if(
          element.index, [&](const auto& own) { return equal_on(term.points, own, form); });
      if (same == element.index.end()) return std::nullopt;
      forms.push_back(poly::variable(rank, static_cast<std::size_t>(same - element.index.begin())));
    }
  }
  for (std::size_t d = 0; d < forms.size(); ++d) {
    if (!equal_on(term.points, poly::substitute(forms[d], element.index, variables), divisor.index[d]))
      return std::nullopt;
  }
  Factor result{divisor.tensor, std::move(forms)};
  result.inverse = true;
  result.conjugate = divisor.conjugate;
  return result;
}

/// The place of the divisor of an element among the factors of a term that reads it.
std::optional<std::size_t> place_of(const Term& term, std::size_t element, const Factor& divisor) {
  const auto variables = term.points.dimensions();
  for (std::size_t f = 0; f < term.factors.size(); ++f) {
    const auto& factor = term.factors[f];
    if (!factor.inverse || factor.tensor != divisor.tensor || factor.conjugate != divisor.conjugate) continue;
    bool same = true;
    for (std::size_t d = 0; d < factor.index.size(); ++d)
      same = same && equal_on(term.points, factor.index[d],
                              poly::substitute(divisor.index[d], term.factors[element].index, variables));
    if (same) return f;
  }
  return std::nullopt;
}

bool meets(const Term& term, const Factor& factor, const poly::Set& elements) {
  return !elements.preimage(factor.index, term.points.dimensions()).intersect(term.points).is_empty();
}

/// Tells whether all that reads some elements divides them by the divisor.
bool is_divided(const NormalForm& form, TensorId tensor, const Quotient& quotient) {
  for (const auto& pieces : form.pieces) {
    for (const auto& piece : pieces) {
      for (const auto& term : piece.terms) {
        for (std::size_t f = 0; f < term.factors.size(); ++f) {
          const auto& factor = term.factors[f];
          if (factor.tensor != tensor || !meets(term, factor, quotient.elements)) continue;
          if (factor.inverse || factor.conjugate || is_among_all(piece.function) ||
              !term.points.image(factor.index).is_subset(quotient.elements) ||
              !place_of(term, f, quotient.divisor))
            return false;
        }
      }
    }
  }
  return true;
}

/// Puts the quotients times the divisor in the place of elements, and leaves out what is divided by it again.
void put_quotients(Term& term, TensorId tensor, const Quotient& quotient) {
  std::vector<Factor> multiplied;
  for (std::size_t f = 0; f < term.factors.size(); ++f) {
    const auto factor = term.factors[f];
    if (factor.tensor != tensor || factor.inverse || !meets(term, factor, quotient.elements)) continue;
    if (const auto place = place_of(term, f, quotient.divisor)) {
      term.factors.erase(term.factors.begin() + static_cast<std::ptrdiff_t>(*place));
      if (*place < f) --f;
    } else {
      auto again = quotient.divisor;
      again.inverse = false;
      again.index = substituted(again.index, factor.index, term.points.dimensions());
      multiplied.push_back(std::move(again));
    }
  }
  std::ranges::move(multiplied, std::back_inserter(term.factors));
}

/// The elements of a tensor that products read and divide, of these factors of terms.
std::optional<Quotient> quotient_in(const NormalForm& form, TensorId tensor, bool last_axis) {
  for (const auto& piece : form.pieces[tensor.index()]) {
    for (const auto& term : piece.terms) {
      const auto first_sum = piece.points.dimensions();
      for (const auto& element : term.factors) {
        if (element.tensor != tensor || element.inverse || element.conjugate) continue;
        const bool summed = std::ranges::any_of(
            element.index.back().coefficients.begin() + static_cast<std::ptrdiff_t>(first_sum),
            element.index.back().coefficients.end(), [](auto c) { return c != 0; });
        if (summed != last_axis) continue;
        for (const auto& divisor : term.factors) {
          if (!divisor.inverse) continue;
          const auto forms = divisor_of(term, element, divisor);
          if (!forms) continue;
          Quotient quotient{*forms, term.points.image(element.index).coalesce()};
          if (is_divided(form, tensor, quotient)) return quotient;
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

bool hold_unchanged(NormalForm& form, TensorId array) {
  auto& system = form.system;
  const auto base = base_of(form, array);
  if (!base || system.at(*base).dtype != system.at(array).dtype) return false;
  const auto rank = rank_of(system, array);
  const auto held = elements_of(form.pieces[array.index()]);
  std::optional<poly::Set> kept;
  each_factor(form, [&](TensorId, const Term& term, Factor& factor) {
    if (factor.tensor != *base || meets(term, factor, held)) return;
    const auto elements = term.points.image(factor.index);
    kept = kept ? kept->unite(elements) : elements;
    factor.tensor = array;
  });
  if (!kept) return false;
  const auto points = kept->coalesce();
  if (points.is_empty()) return false;
  auto& shape = system.tensors[array.index()].shape;
  for (std::size_t d = 0; d < rank; ++d) shape[d] = std::max(shape[d], *points.maximum(d) + 1);
  const auto& like = form.pieces[array.index()].front();
  Piece piece{
      points, {{1, {{*base, identity_forms(rank, rank)}}, {}, points}}, std::nullopt, like.span, like.names};
  form.pieces[array.index()].push_back(std::move(piece));
  return true;
}

bool hold_quotients(NormalForm& form, TensorId tensor) {
  auto& pieces = form.pieces[tensor.index()];
  if (form.system.at(tensor).role != recurrence::Role::local || pieces.empty() ||
      rank_of(form.system, tensor) < 2)
    return false;
  // As in `A = L U` the factor whose columns are summed over has the quotients.
  auto quotient = quotient_in(form, tensor, true);
  if (!quotient) quotient = quotient_in(form, tensor, false);
  if (!quotient) return false;
  for (const auto& piece : pieces) {
    if (piece.function && !piece.points.intersect(quotient->elements).is_empty()) return false;
  }
  for (auto& all : form.pieces) {
    for (auto& piece : all) {
      for (auto& term : piece.terms) put_quotients(term, tensor, *quotient);
    }
  }
  std::vector<Piece> result;
  for (auto& piece : pieces) {
    const auto rank = piece.points.dimensions();
    const auto part = [&](const poly::Set& points, bool divided) {
      if (points.is_empty()) return;
      auto some = piece;
      some.points = points;
      for (auto& term : some.terms) {
        const auto sums = term.sums.size();
        term.points = term.points.intersect(insert_coordinates(points, rank, sums));
        if (!divided) continue;
        term.factors.push_back(quotient->divisor);
        for (auto& index : term.factors.back().index) index = insert_variables(index, rank, sums);
      }
      std::erase_if(some.terms, [](const Term& term) { return term.points.is_empty(); });
      result.push_back(std::move(some));
    };
    part(piece.points.subtract(quotient->elements).coalesce(), false);
    part(piece.points.intersect(quotient->elements).coalesce(), true);
  }
  pieces = std::move(result);
  return true;
}

}  // namespace cyclotron::blocking
