#include "simplify.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <cyclotron/poly/inverse.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::blocking {

namespace {

/// The element that a piece is a copy of, if it is one.
const Factor* copied(const Piece& piece) {
  if (piece.function || piece.terms.size() != 1) return nullptr;
  const auto& term = piece.terms.front();
  if (term.coefficient != 1 || !term.sums.empty() || term.factors.size() != 1) return nullptr;
  const auto& factor = term.factors.front();
  if (factor.inverse || factor.conjugate || !piece.points.is_subset(term.points)) return nullptr;
  return &factor;
}

bool reads(const Piece& piece, TensorId tensor) {
  return std::ranges::any_of(piece.terms, [&](const Term& term) {
    return std::ranges::any_of(term.factors, [&](const Factor& factor) { return factor.tensor == tensor; });
  });
}

/// A piece of a result that is a copy of local elements: the result's index in terms of the source's.
struct Copy {
  std::size_t piece = 0;
  TensorId source;
  std::vector<poly::Affine> back;
  poly::Set held;  ///< The source's elements.
};

std::vector<Copy> copies_in(const System& system, const NormalForm& form, TensorId result) {
  std::vector<Copy> copies;
  const auto& pieces = form.pieces[result.index()];
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto* factor = copied(pieces[p]);
    if (factor == nullptr || system.at(factor->tensor).role != recurrence::Role::local) continue;
    if (auto back = element_of_source(pieces[p].points, factor->index))
      copies.push_back({p, factor->tensor, std::move(*back), pieces[p].points.image(factor->index)});
  }
  return copies;
}

/// Puts results in the place of a factor whose elements they are copies of, if they are; terms are told apart where
/// they are in several pieces of the result at several subscripts.
std::vector<Term> with_copies(const std::vector<Copy>& copies, TensorId result, const Term& term,
                              std::size_t number) {
  const auto& factor = term.factors[number];
  const auto variables = term.points.dimensions();
  auto left = term.points;
  std::vector<Term> parts;
  for (const auto& copy : copies) {
    if (copy.source != factor.tensor) continue;
    const auto here = left.intersect(copy.held.preimage(factor.index, variables));
    if (here.is_empty()) continue;
    auto index = substituted(copy.back, factor.index, variables);
    left = left.subtract(here);
    const auto equal_at = [&](const poly::Set& points, const Term& part) {
      return std::ranges::equal(part.factors[number].index, index,
                                [&](const auto& a, const auto& b) { return equal_on(points, a, b); });
    };
    bool joined = false;
    for (auto& part : parts) {
      const bool is_part = equal_at(here, part);
      if (!is_part && !equal_at(part.points, part)) continue;
      if (!is_part) part.factors[number].index = index;
      part.points = part.points.unite(here).coalesce();
      joined = true;
      break;
    }
    if (joined) continue;
    auto part = term;
    part.points = here;
    part.factors[number].tensor = result;
    part.factors[number].index = std::move(index);
    parts.push_back(std::move(part));
  }
  if (!left.is_empty()) return {term};
  return parts;
}

/// Copies of local elements in results stand for them wherever they are read.
void forward_copies(const System& system, NormalForm& form) {
  for (std::size_t t = 0; t < form.pieces.size(); ++t) {
    if (system.tensors[t].role != recurrence::Role::output) continue;
    const auto copies = copies_in(system, form, TensorId(t));
    if (copies.empty()) continue;
    for (std::size_t u = 0; u < form.pieces.size(); ++u) {
      for (std::size_t q = 0; q < form.pieces[u].size(); ++q) {
        if (u == t && std::ranges::find(copies, q, &Copy::piece) != copies.end()) continue;
        auto& terms = form.pieces[u][q].terms;
        for (std::size_t i = 0; i < terms.size(); ++i) {
          for (std::size_t f = 0; f < terms[i].factors.size(); ++f) {
            if (system.at(terms[i].factors[f].tensor).role != recurrence::Role::local) continue;
            auto parts = with_copies(copies, TensorId(t), terms[i], f);
            if (parts.empty()) continue;
            terms[i] = std::move(parts.back());
            parts.pop_back();
            terms.insert(terms.end(), parts.begin(), parts.end());
          }
        }
      }
    }
  }
}

/// The value of a form that has one at all points: 0, 1 or -1 where it is no constant.
std::optional<std::int64_t> distance(const poly::Set& points, const poly::Affine& form) {
  if (poly::is_constant(form)) return form.constant;
  for (const std::int64_t value : {0, -1, 1}) {
    if (points.satisfies({form - poly::constant(form.coefficients.size(), value), true})) return value;
  }
  return std::nullopt;
}

/// An accumulator's pieces: those that go on from the element before, without the term that says so, and the rest.
struct Chain {
  Step step;
  std::optional<Function>
      function;  ///< Of all that is on the way: none of sums, or which of them all is meant.
  std::vector<Piece> steps;
  std::vector<Piece> bases;
};

/// Tells whether a piece is one element or number, or the function of such that a chain is.
bool starts(const Piece& piece, const std::optional<Function>& function) {
  if (piece.function || !is_among_all(function)) return piece.function == function;
  if (piece.terms.empty()) return true;
  const auto& term = piece.terms.front();
  return piece.terms.size() == 1 && term.sums.empty() &&
         (term.factors.empty() || (copied(piece) != nullptr && piece.points.is_subset(term.points)));
}

/// Tells whether all that a piece reads of a tensor is an element that it adds to: the end of another chain.
bool goes_on_at_most(const Piece& piece, TensorId tensor) {
  return std::ranges::count_if(piece.terms,
                               [&](const Term& term) {
                                 return std::ranges::any_of(
                                     term.factors, [&](const Factor& f) { return f.tensor == tensor; });
                               }) <= 1 &&
         std::ranges::all_of(piece.terms, [&](const Term& term) {
           const bool own =
               std::ranges::any_of(term.factors, [&](const Factor& f) { return f.tensor == tensor; });
           return !own || (term.coefficient == 1 && term.sums.empty() && term.factors.size() == 1 &&
                           !term.factors.front().inverse && !term.factors.front().conjugate);
         });
}

std::optional<Chain> chain_of(const std::vector<Piece>& pieces, TensorId tensor, std::size_t rank) {
  std::optional<Chain> chain;
  for (const auto& piece : pieces) {
    if (!reads(piece, tensor)) continue;
    for (const auto& term : piece.terms) {
      const auto step = step_of(term, tensor, rank);
      if (!step || (piece.function && !is_among_all(piece.function)) || !piece.points.is_subset(term.points))
        continue;
      if (chain && !(chain->step == *step && chain->function == piece.function)) return std::nullopt;
      chain = Chain{*step, piece.function, {}, {}};
    }
  }
  if (!chain) return std::nullopt;
  for (const auto& piece : pieces) {
    auto rest = piece;
    std::erase_if(rest.terms, [&](const Term& term) { return step_of(term, tensor, rank) == chain->step; });
    if (!goes_on_at_most(rest, tensor)) return std::nullopt;
    if (rest.terms.size() + 1 < piece.terms.size()) return std::nullopt;
    const bool steps = rest.terms.size() + 1 == piece.terms.size();
    if (!steps && rest.terms.size() != piece.terms.size()) return std::nullopt;
    if (steps ? piece.function != chain->function : !starts(piece, chain->function)) return std::nullopt;
    if (rest.terms.empty() && is_among_all(chain->function)) rest.terms.push_back({0, {}, {}, rest.points});
    (steps ? chain->steps : chain->bases).push_back(std::move(rest));
  }
  return chain;
}

/// Adds up the steps of an accumulator.
class Closer {
 public:
  Closer(Chain chain, std::size_t rank)
      : chain_(std::move(chain)), rank_(rank), stepping_(chain_.steps.front().points), elements_(stepping_) {
    for (const auto& piece : chain_.steps) stepping_ = stepping_.unite(piece.points);
    at_earlier_ = identity_forms(rank_ + 1, rank_);
    at_earlier_[chain_.step.coordinate] = poly::variable(rank_ + 1, rank_);
    elements_ = insert_coordinates(stepping_, rank_, 1);
  }

  /// None where an accumulator starts more than once on the way.
  std::optional<std::vector<Piece>> run() const {
    if (has_gaps()) return std::nullopt;
    std::vector<Piece> result = chain_.bases;
    for (const auto& base : chain_.bases) {
      const auto starts = poly::Map::from_pairs(starts_in(base), rank_).pieces();
      if (!starts) return std::nullopt;
      for (const auto& start : *starts) result.push_back(closed(base, start));
    }
    return result;
  }

 private:
  /// coordinate r comes before the element's own by at least `least` steps.
  [[nodiscard]] poly::Constraint before(std::int64_t least) const {
    const auto own = poly::variable(rank_ + 1, chain_.step.coordinate);
    const auto earlier = poly::variable(rank_ + 1, rank_);
    const auto ahead = chain_.step.offset < 0 ? own - earlier : earlier - own;
    return {ahead - poly::constant(rank_ + 1, least), false};
  }

  /// The elements with each one before them on whose way one is no step.
  [[nodiscard]] bool has_gaps() const {
    const auto all = elements_.intersect(before(0));
    const auto outside = all.subtract(stepping_.preimage(at_earlier_, rank_ + 1));
    const auto inside = all.intersect(stepping_.preimage(at_earlier_, rank_ + 1));
    // (x, r) outside, (x, s) inside, s before r
    const auto both =
        insert_coordinates(outside, rank_ + 1, 1).intersect(insert_coordinates(inside, rank_, 1));
    const auto first = poly::variable(rank_ + 2, rank_), second = poly::variable(rank_ + 2, rank_ + 1);
    const auto distance = chain_.step.offset < 0 ? first - second : second - first;
    return !both.intersect({distance - poly::constant(rank_ + 2, 1), false}).is_empty();
  }

  /// The elements with the place where they start, in this base.
  [[nodiscard]] poly::Set starts_in(const Piece& base) const {
    auto next = at_earlier_;
    auto& moved = next[chain_.step.coordinate];
    moved = moved - poly::constant(rank_ + 1, chain_.step.offset);
    return elements_.intersect(before(1))
        .intersect(base.points.preimage(at_earlier_, rank_ + 1))
        .intersect(stepping_.preimage(next, rank_ + 1));
  }

  [[nodiscard]] Piece closed(const Piece& base, const poly::Map::Piece& start) const {
    Piece piece{start.domain, {}, chain_.function, chain_.steps.front().span, chain_.steps.front().names};
    auto onto = identity_forms(rank_, rank_);
    onto[chain_.step.coordinate] = start.forms.front();
    for (const auto& term : base.terms) {
      auto forms = identity_forms(rank_ + term.sums.size(), rank_ + term.sums.size());
      for (std::size_t d = 0; d < rank_; ++d) forms[d] = insert_variables(onto[d], rank_, term.sums.size());
      Term moved = term;
      substitute_in(moved, forms, rank_ + term.sums.size());
      moved.points = moved.points.intersect(insert_coordinates(start.domain, rank_, term.sums.size()));
      piece.terms.push_back(std::move(moved));
    }
    for (const auto& steps : chain_.steps) {
      for (const auto& term : steps.terms) piece.terms.push_back(summed(term, steps, start.domain));
    }
    return piece;
  }

  /// The sum of a step's term over all steps up to the element.
  [[nodiscard]] Term summed(const Term& term, const Piece& steps, const poly::Set& elements) const {
    const auto variables = rank_ + 1 + term.sums.size();
    std::vector<poly::Affine> forms;
    for (const auto& form : at_earlier_) forms.push_back(insert_variables(form, rank_ + 1, term.sums.size()));
    for (std::size_t s = 0; s < term.sums.size(); ++s)
      forms.push_back(poly::variable(variables, rank_ + 1 + s));
    Term moved = term;
    substitute_in(moved, forms, variables);
    moved.points = moved.points.intersect(insert_coordinates(
        insert_coordinates(elements, rank_, 1).intersect(before(0)), rank_ + 1, term.sums.size()));
    moved.sums.insert(moved.sums.begin(), steps.names[chain_.step.coordinate]);
    return moved;
  }

  Chain chain_;
  std::size_t rank_;
  poly::Set stepping_;
  poly::Set elements_;  ///< That go on, with any other coordinate appended.
  std::vector<poly::Affine> at_earlier_;
};

/// The pieces of a tensor in other coordinates: the old ones in terms of the new, and the new ones of the old.
std::vector<Piece> in_coordinates(std::vector<Piece> pieces, TensorId tensor,
                                  const std::vector<poly::Affine>& old_of_new,
                                  const std::vector<poly::Affine>& new_of_old) {
  const auto rank = old_of_new.size();
  for (auto& piece : pieces) {
    piece.points = piece.points.preimage(old_of_new, rank);
    for (auto& term : piece.terms) {
      const auto sums = term.sums.size();
      std::vector<poly::Affine> forms;
      for (const auto& form : old_of_new) forms.push_back(insert_variables(form, rank, sums));
      for (std::size_t s = 0; s < sums; ++s) forms.push_back(poly::variable(rank + sums, rank + s));
      substitute_in(term, forms, rank + sums);
      for (auto& factor : term.factors) {
        if (factor.tensor == tensor) factor.index = substituted(new_of_old, factor.index, rank + sums);
      }
    }
  }
  return pieces;
}

/// The way from an element to the one that it goes on from, where that is along several coordinates at once.
std::optional<std::vector<std::int64_t>> diagonal_step(const std::vector<Piece>& pieces, TensorId tensor,
                                                       std::size_t rank) {
  for (const auto& piece : pieces) {
    for (const auto& term : piece.terms) {
      if (term.coefficient != 1 || !term.sums.empty() || term.factors.size() != 1) continue;
      const auto& factor = term.factors.front();
      if (factor.tensor != tensor || factor.inverse || factor.conjugate) continue;
      std::vector<std::int64_t> step;
      for (std::size_t d = 0; d < rank; ++d) {
        const auto difference = distance(term.points, factor.index[d] - poly::variable(rank, d));
        if (difference && std::abs(*difference) <= 1) step.push_back(*difference);
      }
      if (step.size() == rank && std::ranges::count(step, 0) + 1 < static_cast<std::ptrdiff_t>(rank))
        return step;
    }
  }
  return std::nullopt;
}

/// The pieces of an accumulator with its steps added up; none where it is none.
std::optional<std::vector<Piece>> added_up(const std::vector<Piece>& pieces, TensorId tensor,
                                           std::size_t rank) {
  auto chain = chain_of(pieces, tensor, rank);
  if (!chain) return std::nullopt;
  return Closer(std::move(*chain), rank).run();
}

/// The same of one whose steps are along several coordinates: in coordinates of which they change one.
std::optional<std::vector<Piece>> added_up_askew(const std::vector<Piece>& pieces, TensorId tensor,
                                                 std::size_t rank) {
  const auto step = diagonal_step(pieces, tensor, rank);
  if (!step) return std::nullopt;
  const auto along =
      static_cast<std::size_t>(std::ranges::find_if(*step, [](auto d) { return d != 0; }) - step->begin());
  auto old_of_new = identity_forms(rank, rank), new_of_old = old_of_new;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d == along || (*step)[d] == 0) continue;
    const auto slope = (*step)[d] * (*step)[along];
    new_of_old[d] = poly::variable(rank, d) - slope * poly::variable(rank, along);
    old_of_new[d] = poly::variable(rank, d) + slope * poly::variable(rank, along);
  }
  auto closed = added_up(in_coordinates(pieces, tensor, old_of_new, new_of_old), tensor, rank);
  if (!closed) return std::nullopt;
  return in_coordinates(std::move(*closed), tensor, new_of_old, old_of_new);
}

/// Leaves of a local tensor what is read of it.
bool drop_unread_elements(NormalForm& form, TensorId tensor) {
  std::optional<poly::Set> read;
  each_factor(form, [&](TensorId, const Term& term, const Factor& factor) {
    if (factor.tensor != tensor) return;
    const auto elements = term.points.image(factor.index);
    read = read ? read->unite(elements) : elements;
  });
  if (!read) return false;
  bool changed = false;
  const auto wanted = read->coalesce();
  for (auto& piece : form.pieces[tensor.index()]) {
    if (piece.points.is_subset(wanted)) continue;
    changed = true;
    piece.points = piece.points.intersect(wanted).coalesce();
    for (auto& term : piece.terms)
      term.points =
          term.points.intersect(insert_coordinates(piece.points, wanted.dimensions(), term.sums.size()));
    std::erase_if(piece.terms, [](const Term& term) { return term.points.is_empty(); });
  }
  std::erase_if(form.pieces[tensor.index()], [](const Piece& piece) { return piece.points.is_empty(); });
  return changed;
}

bool close_chains(const System& system, NormalForm& form) {
  bool changed = false;
  for (std::size_t t = 0; t < form.pieces.size(); ++t) {
    if (system.tensors[t].role != recurrence::Role::local || form.pieces[t].empty()) continue;
    const auto rank = rank_of(system, TensorId(t));
    // Of several versions each would be added up from the first on.
    const auto chain = chain_of(form.pieces[t], TensorId(t), rank);
    if (chain && !reads_one_version(form, TensorId(t), chain->step)) continue;
    auto pieces = added_up(form.pieces[t], TensorId(t), rank);
    if (!pieces) pieces = added_up_askew(form.pieces[t], TensorId(t), rank);
    if (!pieces) continue;
    form.pieces[t] = std::move(*pieces);
    drop_unread_elements(form, TensorId(t));
    changed = true;
  }
  return changed;
}

/// Leaves of local tensors that read themselves what is read of them: of sums in sums the ends of the inner ones.
bool drop_unread_elements(const System& system, NormalForm& form) {
  bool changed = false;
  for (std::size_t t = 0; t < form.pieces.size(); ++t) {
    const TensorId tensor(t);
    if (system.tensors[t].role == recurrence::Role::local &&
        std::ranges::any_of(form.pieces[t], [&](const Piece& piece) { return reads(piece, tensor); }))
      changed = drop_unread_elements(form, tensor) || changed;
  }
  return changed;
}

/// The products of a term, without one factor, with what that is in one of its pieces.
std::vector<Term> replaced(const Term& term, std::size_t number, const Piece& source, std::size_t rank) {
  std::vector<Term> result;
  const auto& factor = term.factors[number];
  for (const auto& inner : source.terms) {
    const auto sums = inner.sums.size(), own = term.points.dimensions(), from = factor.index.size();
    std::vector<poly::Affine> forms;
    for (const auto& form : factor.index) forms.push_back(insert_variables(form, own, sums));
    for (std::size_t s = 0; s < sums; ++s) forms.push_back(poly::variable(own + sums, own + s));
    CYC_CHECK(forms.size() == from + sums);
    Term moved = inner;
    substitute_in(moved, forms, own + sums);
    Term joined{term.coefficient * (factor.inverse ? 1 / inner.coefficient : inner.coefficient),
                {},
                term.sums,
                insert_coordinates(term.points, own, sums).intersect(moved.points)};
    if (joined.points.is_empty()) continue;
    for (std::size_t f = 0; f < term.factors.size(); ++f) {
      if (f == number) continue;
      auto kept = term.factors[f];
      for (auto& form : kept.index) form = insert_variables(form, own, sums);
      joined.factors.push_back(std::move(kept));
    }
    for (auto& other : moved.factors) {
      other.inverse = other.inverse != factor.inverse;
      other.conjugate = other.conjugate != factor.conjugate;
      joined.factors.push_back(std::move(other));
    }
    joined.sums.insert(joined.sums.end(), inner.sums.begin(), inner.sums.end());
    result.push_back(std::move(joined));
  }
  (void)rank;
  return result;
}

/// Tells whether all that reads a tensor reads other elements of it, each once.
bool is_read_once(const NormalForm& form, TensorId tensor) {
  bool once = true;
  std::optional<poly::Set> read;
  each_factor(form, [&](TensorId, const Term& term, const Factor& factor) {
    if (!once || factor.tensor != tensor) return;
    const auto elements = term.points.image(factor.index);
    once = poly::Map::function(term.points, factor.index).is_injective() &&
           (!read || read->intersect(elements).is_empty());
    read = read ? read->unite(elements) : elements;
  });
  return once;
}

/// Tells whether a tensor is sums that each stand for one element of another, and will.
bool is_accumulator(const NormalForm& form, TensorId tensor) {
  const auto& pieces = form.pieces[tensor.index()];
  const auto sums = [](const Piece& piece) {
    return std::ranges::any_of(piece.terms, [](const Term& term) { return !term.sums.empty(); });
  };
  return form.system.at(tensor).role == recurrence::Role::local && std::ranges::any_of(pieces, sums) &&
         std::ranges::none_of(pieces,
                              [&](const Piece& piece) { return piece.function || reads(piece, tensor); }) &&
         is_read_once(form, tensor);
}

/// Tells whether a local tensor can stand for what it is where this term reads it, without more work. Sums in products
/// stay sums, as in the text.
bool may_replace(const NormalForm& form, TensorId tensor, const Term& reader, const Factor& factor) {
  const auto& pieces = form.pieces[tensor.index()];
  const auto multiplied =
      std::ranges::count_if(reader.factors, [](const Factor& other) { return !other.inverse; });
  const bool in_product = multiplied > 1 && factor.index.size() <= most_axes(form.system);
  for (const auto& piece : pieces) {
    // The accumulators that it reads are replaced first: it may be read once by then.
    if (std::ranges::any_of(piece.terms, [&](const Term& term) {
          return term.sums.empty() && std::ranges::any_of(term.factors, [&](const Factor& other) {
                   return is_accumulator(form, other.tensor);
                 });
        }))
      return false;
    if (piece.function || reads(piece, tensor) || (in_product && piece.terms.size() > 1)) return false;
    if (factor.inverse && (piece.terms.size() != 1 || !piece.terms.front().sums.empty())) return false;
    const bool sums = std::ranges::any_of(piece.terms, [](const Term& term) { return !term.sums.empty(); });
    if (sums && (!reader.sums.empty() || !is_read_once(form, tensor))) return false;
  }
  return !pieces.empty();
}

/// The greater or less of an element and a number, as a function of the element, which may be any sum then.
void clip(const System& system, const NormalForm& form, Piece& piece) {
  if (!is_among_all(piece.function) || piece.terms.size() != 2) return;
  const std::size_t number = piece.terms[0].factors.empty() ? 0 : 1;
  const auto &value = piece.terms[number], &term = piece.terms[1 - number];
  if (!value.factors.empty() || !value.sums.empty() || term.factors.size() != 1 || !term.sums.empty() ||
      !piece.points.is_subset(value.points) || !piece.points.is_subset(term.points))
    return;
  const auto& factor = term.factors.front();
  if (system.at(factor.tensor).role != recurrence::Role::local ||
      !may_replace(form, factor.tensor, term, factor))
    return;
  piece.function = Function{piece.function->op, Number{value.coefficient}, number == 0};
  piece.terms = {term};
}

bool inline_locals(const System& system, NormalForm& form) {
  bool changed = false;
  for (auto& pieces : form.pieces) {
    for (auto& piece : pieces) {
      clip(system, form, piece);
      std::vector<Term> terms;
      for (const auto& term : piece.terms) {
        std::size_t number = 0;
        for (; number < term.factors.size(); ++number) {
          const auto& factor = term.factors[number];
          if (system.at(factor.tensor).role == recurrence::Role::local &&
              may_replace(form, factor.tensor, term, factor) &&
              (!is_among_all(piece.function) ||
               std::ranges::all_of(form.pieces[factor.tensor.index()], copied)))
            break;
        }
        if (number == term.factors.size()) {
          terms.push_back(term);
          continue;
        }
        changed = true;
        const auto& factor = term.factors[number];
        const auto sources = form.pieces[factor.tensor.index()];
        for (const auto& source : sources) {
          auto part = term;
          part.points = term.points.intersect(source.points.preimage(factor.index, term.points.dimensions()));
          if (part.points.is_empty()) continue;
          for (auto& product : replaced(part, number, source, piece.points.dimensions()))
            terms.push_back(std::move(product));
        }
      }
      piece.terms = std::move(terms);
    }
  }
  return changed;
}

/// Drops local tensors that nothing reads any more.
void drop_unread(const System& system, NormalForm& form) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t t = 0; t < form.pieces.size(); ++t) {
      if (system.tensors[t].role != recurrence::Role::local || form.pieces[t].empty()) continue;
      bool read = false;
      for (std::size_t u = 0; u < form.pieces.size(); ++u) {
        if (u == t) continue;
        for (const auto& piece : form.pieces[u]) read = read || reads(piece, TensorId(t));
      }
      if (read) continue;
      form.pieces[t].clear();
      changed = true;
    }
  }
}

/// Repeats what makes forms simpler until nothing changes.
void settle(NormalForm& form) {
  const auto& system = form.system;
  for (int round = 0; round < 8; ++round) {
    forward_copies(system, form);
    bool kept = false;
    for (std::size_t t = 0; t < form.pieces.size(); ++t) kept = keep_last_versions(form, TensorId(t)) || kept;
    const bool closed = close_chains(system, form);
    const bool replaced = inline_locals(system, form);
    drop_unread(system, form);
    const bool dropped = drop_unread_elements(system, form);
    const bool versions = drop_coordinates(form);
    if (!kept && !closed && !replaced && !dropped && !versions) break;
  }
}

/// Counts a sum by a subscript that it is in, where that is the sum's index from another start or from the end: a number,
/// or one that depends on the element, as `i - 1 - k` of a sum from the diagonal back does.
void count_by_subscript(Term& term, std::size_t rank) {
  const auto variables = term.points.dimensions();
  for (auto v = rank; v < variables; ++v) {
    std::optional<poly::Affine> counted;
    bool plain = false, from_number = false;
    for (const auto& factor : term.factors) {
      for (const auto& form : factor.index) {
        const auto step = form.coefficients[v];
        auto rest = form;
        rest.coefficients[v] = 0;
        const bool with_sums = std::any_of(rest.coefficients.begin() + static_cast<std::ptrdiff_t>(rank),
                                           rest.coefficients.end(), [](auto c) { return c != 0; });
        if (std::abs(step) != 1 || with_sums) continue;
        plain = plain || form == poly::variable(variables, v);
        if (counted && (from_number || !poly::is_constant(rest))) continue;
        counted = step * (poly::variable(variables, v) - rest);
        from_number = poly::is_constant(rest);
      }
    }
    if (plain || !counted) continue;
    auto forms = identity_forms(variables, variables);
    forms[v] = *counted;
    substitute_in(term, forms, variables);
  }
}

/// Leaves out sums over what a term does not depend on: as multiples, or of equal values among which one is greatest as one.
void leave_out_unused_sums(Term& term, std::size_t rank, bool adds) {
  for (auto v = term.points.dimensions(); v-- > rank;) {
    const bool used = std::ranges::any_of(term.factors, [v](const Factor& factor) {
      return std::ranges::any_of(factor.index, [v](const auto& form) { return form.coefficients[v] != 0; });
    });
    const auto first = term.points.minimum(v), last = term.points.maximum(v);
    if (used || !first || !last) continue;
    const auto variables = term.points.dimensions();
    std::vector<std::size_t> others;
    for (std::size_t w = 0; w < variables; ++w) {
      if (w != v) others.push_back(w);
    }
    const auto left = term.points.project(others);
    const auto at = poly::variable(variables, v);
    const auto all = insert_coordinates(left, v, 1)
                         .intersect({at - poly::constant(variables, *first), false})
                         .intersect({poly::constant(variables, *last) - at, false});
    if (!(all == term.points)) continue;
    if (adds) term.coefficient *= static_cast<double>(*last - *first + 1);
    term.sums.erase(term.sums.begin() + static_cast<std::ptrdiff_t>(v - rank));
    term.points = left;
    for (auto& factor : term.factors) {
      for (auto& form : factor.index)
        form.coefficients.erase(form.coefficients.begin() + static_cast<std::ptrdiff_t>(v));
    }
  }
}

}  // namespace

std::vector<poly::Affine> substituted(const std::vector<poly::Affine>& index,
                                      const std::vector<poly::Affine>& forms, std::size_t variables) {
  std::vector<poly::Affine> result;
  for (const auto& form : index) result.push_back(poly::substitute(form, forms, variables));
  return result;
}

std::optional<std::vector<poly::Affine>> element_of_source(const poly::Set& points,
                                                           const std::vector<poly::Affine>& index) {
  const auto rank = points.dimensions();
  auto forms = index;
  for (std::size_t d = 0; d < rank; ++d) {
    if (std::ranges::any_of(index, [d](const auto& form) { return form.coefficients[d] != 0; })) continue;
    const auto value = points.equality_for(d);
    if (!value) return std::nullopt;
    forms.push_back(poly::variable(rank, d) - *value);  // 0 at all points
  }
  auto back = poly::left_inverse(forms, rank);
  if (!back) return std::nullopt;
  auto onto = identity_forms(index.size(), index.size());
  onto.resize(forms.size(), poly::constant(index.size(), 0));
  return substituted(*back, onto, index.size());
}

void substitute_in(Term& term, const std::vector<poly::Affine>& forms, std::size_t variables) {
  for (auto& factor : term.factors) factor.index = substituted(factor.index, forms, variables);
  term.points = term.points.preimage(forms, variables);
}

std::optional<Step> step_of(const Term& term, TensorId tensor, std::size_t rank) {
  if (term.coefficient != 1 || !term.sums.empty() || term.factors.size() != 1) return std::nullopt;
  const auto& factor = term.factors.front();
  if (factor.tensor != tensor || factor.inverse || factor.conjugate) return std::nullopt;
  std::optional<Step> step;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto difference = distance(term.points, factor.index[d] - poly::variable(rank, d));
    if (!difference) return std::nullopt;
    if (*difference == 0) continue;
    if (step || std::abs(*difference) != 1) return std::nullopt;
    step = Step{d, *difference};
  }
  return step;
}

NormalForm simplify(NormalForm form) {
  settle(form);
  bool changed = false;
  for (const auto array : join_parts(form)) changed = hold_unchanged(form, array) || changed;
  for (std::size_t t = 0; changed && t < form.pieces.size(); ++t) join_pieces(form, TensorId(t));
  for (std::size_t t = 0; t < form.pieces.size(); ++t) changed = hold_quotients(form, TensorId(t)) || changed;
  if (changed) settle(form);
  for (std::size_t t = 0; t < form.pieces.size(); ++t) {
    for (auto& piece : form.pieces[t]) {
      std::erase_if(piece.terms, [](const Term& term) { return term.points.is_empty(); });
      for (auto& term : piece.terms) {
        count_by_subscript(term, piece.points.dimensions());
        leave_out_unused_sums(term, piece.points.dimensions(), !is_among_all(piece.function));
      }
    }
    join_pieces(form, TensorId(t));
  }
  return form;
}

}  // namespace cyclotron::blocking
