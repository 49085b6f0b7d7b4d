#include "kept_values.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "exit_loops.hpp"

namespace cyclotron::recurrence::exits {

namespace {

/// Subscripts; also the place of an element in a variable, by its own subscripts.
using Forms = std::vector<Affine>;

void add(Affine& sum, std::int64_t factor, const Affine& form) {
  if (sum.coefficients.size() < form.coefficients.size()) sum.coefficients.resize(form.coefficients.size());
  for (std::size_t v = 0; v < form.coefficients.size(); ++v)
    sum.coefficients[v] += factor * form.coefficients[v];
  sum.constant += factor * form.constant;
}

/// The place of an element.
Forms at(const Forms& place, const Forms& element) {
  Forms result;
  for (const Affine& form : place) {
    Affine& own = result.emplace_back(Affine{{}, form.constant});
    for (std::size_t d = 0; d < form.coefficients.size(); ++d)
      if (form.coefficients[d] != 0) add(own, form.coefficients[d], element[d]);
  }
  return result;
}

bool is_constant(const Affine& form) {
  return std::ranges::all_of(form.coefficients, [](auto factor) { return factor == 0; });
}

/// True where a form is 0 at the points of some constraints: by one of them, or as it is.
bool vanishes(const Affine& form, const std::vector<Constraint>& conjunction) {
  const auto is_zero = [](const Affine& one) { return one.constant == 0 && is_constant(one); };
  const auto by = [&](const Constraint& constraint) {
    if (!constraint.equality || constraint.modulus != 0) return false;
    Affine sum = form, difference = form;
    add(sum, 1, constraint.form);
    add(difference, -1, constraint.form);
    return is_zero(sum) || is_zero(difference);
  };
  return is_zero(form) || std::ranges::any_of(conjunction, by);
}

/// True where forms are equal at the points of an equation, where some indices may have one value, and more may hold.
bool same(const Equation& equation, const Forms& a, const Forms& b,
          const std::vector<Constraint>& more = {}) {
  return std::ranges::equal(a, b, [&](const Affine& one, const Affine& other) {
    Affine difference = one, known = one;
    add(difference, -1, other);
    add(known, -1, other);
    for (std::size_t v = 0; v < known.coefficients.size(); ++v) {
      const auto only = v < equation.indices.size() ? pinned(equation, v) : std::nullopt;
      if (only) known.constant += std::exchange(known.coefficients[v], 0) * *only;
    }
    return std::ranges::all_of(equation.domain, [&](const std::vector<Constraint>& conjunction) {
      return vanishes(known, conjunction) || vanishes(difference, conjunction) || vanishes(difference, more);
    });
  });
}

/// The values of a form at the points of some constraints, and perhaps more.
Interval values(const std::vector<Constraint>& conjunction, const Affine& form) {
  Interval result{form.constant, form.constant};
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    const std::int64_t factor = form.coefficients[v];
    if (factor == 0) continue;
    const auto [first, last] = interval_of(conjunction, v);
    if (first <= -far || last >= far) return {};
    result.first += factor * (factor > 0 ? first : last);
    result.last += factor * (factor > 0 ? last : first);
  }
  return result;
}

/// The one value of a form at the points of an equation, if it has one.
std::optional<std::int64_t> only_value(const Equation& equation, const Affine& form) {
  std::optional<std::int64_t> result;
  for (const auto& conjunction : equation.domain) {
    const auto [first, last] = values(conjunction, form);
    if (first != last || (result && *result != first)) return std::nullopt;
    result = first;
  }
  return result;
}

/// The remainder of a form, at the points of some constraints.
struct Remainder {
  std::int64_t modulus = 0, value = 0;  ///< Of modulus 0: the form is this value.
};

/// True where a form can be only what another cannot, by their remainders.
bool differ(const Remainder& a, const Remainder& b) {
  const std::int64_t common = std::gcd(a.modulus, b.modulus);
  return common == 0 ? a.value != b.value : (a.value - b.value) % common != 0;
}

/// The remainders that a form has by its factors, and by constraints of the same factors.
std::vector<Remainder> remainders(const std::vector<Constraint>& conjunction, const Affine& form) {
  std::vector<Remainder> result{{0, form.constant}};
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    const auto [first, last] = interval_of(conjunction, v);
    Remainder& by_factors = result.front();
    if (first == last)
      by_factors.value += form.coefficients[v] * first;
    else
      by_factors.modulus = std::gcd(by_factors.modulus, form.coefficients[v]);
  }
  for (const Constraint& constraint : conjunction) {
    Affine difference = form;
    add(difference, -1, constraint.form);
    if (constraint.modulus != 0 && constraint.most == 0 && is_constant(difference))
      result.push_back({constraint.modulus, difference.constant});
  }
  return result;
}

/// True where forms are never all the same at points of two equations.
bool are_apart(const Equation& here, const Forms& some, const Equation& there, const Forms& others) {
  const auto at_points = [&](const std::vector<Constraint>& one, const std::vector<Constraint>& other) {
    for (std::size_t d = 0; d < some.size(); ++d) {
      const Interval a = values(one, some[d]), b = values(other, others[d]);
      if (a.last < b.first || b.last < a.first) return true;
      const auto of_others = remainders(other, others[d]);
      for (const Remainder& remainder : remainders(one, some[d])) {
        if (std::ranges::any_of(of_others, [&](const auto& its) { return differ(remainder, its); }))
          return true;
      }
    }
    return false;
  };
  return std::ranges::all_of(here.domain, [&](const auto& one) {
    return std::ranges::all_of(there.domain, [&](const auto& other) { return at_points(one, other); });
  });
}

/// Forms of an equation's indices as forms of others, such as those of the element that it defines; none where these do
/// not tell the indices.
std::optional<Forms> in_terms_of(const Equation& equation, const Forms& others, const Forms& forms) {
  Forms result;
  for (const Affine& form : forms) {
    Affine& own = result.emplace_back(Affine{std::vector<std::int64_t>(others.size()), form.constant});
    for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
      const std::int64_t factor = form.coefficients[v];
      if (factor == 0) continue;
      const auto names = [&](const Affine& one) {  // in whole numbers
        return only_variable(one) == v && factor % coefficient(one, v) == 0;
      };
      const auto other = std::ranges::find_if(others, names);
      if (other == others.end()) {
        const auto only = pinned(equation, v);
        if (!only) return std::nullopt;
        own.constant += factor * *only;
        continue;
      }
      const std::int64_t times = factor / coefficient(*other, v);
      own.coefficients[static_cast<std::size_t>(other - others.begin())] += times;
      own.constant -= times * other->constant;
    }
  }
  return result;
}

/// The elements of tensors that hold a variable, which one of these names: an iteration that only copies has in each what
/// the iteration before left at the element's place in the variable. Each copy has a place of its own for its elements.
class KeptValues {
 public:
  using Copies = std::map<TensorId, std::vector<ElementCopy>>;

  KeptValues(const Copies& copies, TensorId variable) : copies_(copies), variable_(variable) {}

  /// Of a variable whose elements several tensors leave, with the place of each tensor's.
  KeptValues(const Copies& copies, const std::map<TensorId, Forms>& places) : copies_(copies) {
    for (const auto& [tensor, place] : places) {
      const auto own = copies.find(tensor);
      if (own == copies.end()) continue;
      for (const ElementCopy& copy : own->second) places_.emplace(&copy, place);
    }
  }

  /// The iterations from which on the elements that copies make keep their values.
  std::map<const ElementCopy*, std::int64_t> run() {
    while (variable_ && (add_places(false) || add_places(true))) {
    }
    while (drop_place()) {
    }
    const auto left = left_elements();
    if (!are_left_once(left)) return {};
    const bool is_alone = variable_ && std::ranges::all_of(left, [&](const ElementCopy* copy) {
                            return copy->of == *variable_;
                          });
    std::map<const ElementCopy*, std::int64_t> result;
    for (const auto& [copy, place] : places_) result[copy] = 1;
    if (!is_alone) return result;
    for (const ElementCopy& copy : copies_.at(*variable_)) {
      const auto place = places_.find(&copy);
      if (place != places_.end() && same(*copy.equation, at(place->second, copy.to), copy.to))
        result[&copy] = 0;
    }
    return result;
  }

 private:
  /// True where the variable's own tensor left what is copied: at the place that it names.
  [[nodiscard]] bool is_named(const ElementCopy& copy) const {
    return variable_ && copy.lag == 1 && copy.of == *variable_;
  }

  /// The copies that may make what another copies.
  [[nodiscard]] std::vector<const ElementCopy*> sources(const ElementCopy& copy) const {
    std::vector<const ElementCopy*> result;
    for (const ElementCopy& source : copies_.at(copy.of)) {
      const bool is_apart = are_apart(*copy.equation, copy.from, *source.equation, source.to);
      if ((copy.lag == 0 || copy.lag == 1) && !is_apart) result.push_back(&source);
    }
    return result;
  }

  /// Constraints where another copy makes what is copied: subscripts that have one value there, or depend on each other.
  static std::vector<Constraint> made_by(const ElementCopy& source, const ElementCopy& copy) {
    Forms zero;
    for (const Affine& form : source.to) {
      if (const auto value = only_value(*source.equation, form))
        add(zero.emplace_back(form), -1, {{}, *value});
    }
    const Region& domain = source.equation->domain;
    for (const Constraint& constraint : domain.size() == 1 ? domain.front() : std::vector<Constraint>()) {
      if (constraint.equality && constraint.modulus == 0) zero.push_back(constraint.form);
    }
    std::vector<Constraint> result;
    for (const Affine& form : zero) {
      if (const auto own = in_terms_of(*source.equation, source.to, {form}))
        result.push_back({at(*own, copy.from).front(), true});
    }
    return result;
  }

  /// True where what is copied comes from a place, as far as its sources have places or all of them.
  [[nodiscard]] bool comes_from(const ElementCopy& copy, const Forms& place, bool known_alone) const {
    const auto sources = this->sources(copy);
    return !sources.empty() && std::ranges::all_of(sources, [&](const ElementCopy* source) {
      const auto known = places_.find(source);
      if (known == places_.end()) return known_alone;
      return same(*copy.equation, at(known->second, copy.from), place, made_by(*source, copy));
    });
  }

  /// True where the elements that a copy makes have this place.
  [[nodiscard]] bool fits(const ElementCopy& copy, const Forms& place, bool known_alone) const {
    const auto to = at(place, copy.to);
    return is_named(copy) ? same(*copy.equation, copy.from, to) : comes_from(copy, to, known_alone);
  }

  /// Supposes places of copies that have none, from those known; false where there are no more. What many elements have in
  /// common says more than the place of one.
  bool add_places(bool also_of_single) {
    const std::size_t before = places_.size();
    for (const auto& [tensor, copies] : copies_) {
      for (const ElementCopy& copy : copies) {
        if (places_.contains(&copy)) continue;
        auto place = supposed(tensor, copy, also_of_single);
        if (place) places_.emplace(&copy, std::move(*place));
        if (also_of_single && places_.size() > before) return true;
      }
    }
    return places_.size() > before;
  }

  /// The place of a tensor's elements that a copy makes: that of what it copies, or the one that the variable's own name.
  [[nodiscard]] std::optional<Forms> supposed(TensorId tensor, const ElementCopy& copy,
                                              bool also_of_single) const {
    const auto fitting = [&](const Forms& forms) {
      auto place = in_terms_of(*copy.equation, copy.to, forms);
      return place && fits(copy, *place, true) ? place : std::nullopt;
    };
    if (is_named(copy)) return fitting(copy.from);
    const auto sources = this->sources(copy);
    bool any = false;
    for (const ElementCopy* source : sources) {
      const auto known = places_.find(source);
      if (known == places_.end() || (!also_of_single && sources.size() > 1 && is_single(*source))) continue;
      any = true;
      if (auto place = fitting(at(known->second, copy.from))) return place;
    }
    return any && tensor == variable_ ? fitting(copy.to) : std::nullopt;
  }

  [[nodiscard]] static bool is_single(const ElementCopy& copy) {
    return std::ranges::any_of(
        copy.to, [&](const Affine& form) { return only_value(*copy.equation, form).has_value(); });
  }

  /// Takes away a place that does not follow from the others. Those left hold by induction over the order in which an
  /// iteration computes its elements.
  bool drop_place() {
    const auto wrong =
        std::ranges::find_if(places_, [&](const auto& one) { return !fits(*one.first, one.second, false); });
    if (wrong == places_.end()) return false;
    places_.erase(wrong);
    return true;
  }

  /// Copies of elements that an iteration leaves to the next.
  [[nodiscard]] std::vector<const ElementCopy*> left_elements() const {
    std::vector<const ElementCopy*> result;
    for (const auto& [copy, place] : places_) {
      if (copy->lag == 1) result.push_back(copy);
    }
    return result;
  }

  /// True where each place is left by one element, so that all that copy it have the same value.
  [[nodiscard]] bool are_left_once(const std::vector<const ElementCopy*>& left) const {
    return std::ranges::all_of(left, [&](const ElementCopy* one) {
      if (is_named(*one) && !comes_from(*one, one->from, false)) return false;
      return std::ranges::all_of(left, [&](const ElementCopy* other) {
        return are_apart(*one->equation, place_left(*one), *other->equation, place_left(*other)) ||
               is_known_by_place(*one, *other) || is_known_by_place(*other, *one);
      });
    });
  }

  [[nodiscard]] Forms place_left(const ElementCopy& copy) const { return at(places_.at(&copy), copy.to); }

  /// True where both copy elements of one tensor, and the same where these are at one place.
  [[nodiscard]] bool is_known_by_place(const ElementCopy& one, const ElementCopy& other) const {
    if (one.of != other.of) return false;
    const auto element = in_terms_of(*one.equation, place_left(one), one.from);
    return element && same(*one.equation, at(*element, place_left(one)), one.from) &&
           same(*other.equation, at(*element, place_left(other)), other.from);
  }

  const Copies& copies_;
  std::optional<TensorId> variable_;  ///< None: the places are given.
  std::map<const ElementCopy*, Forms> places_;
};

}  // namespace

std::map<TensorId, std::int64_t> kept_values(const std::map<TensorId, std::vector<ElementCopy>>& copies,
                                             const HeldElements& held) {
  std::set<TensorId> carried;
  for (const auto& [tensor, own] : copies) {
    for (const ElementCopy& copy : own)
      if (copy.lag == 1) carried.insert(copy.of);
  }
  std::map<const ElementCopy*, std::int64_t> kept;
  const auto add_kept = [&](KeptValues values) {
    for (const auto& [copy, iteration] : values.run()) {
      const auto known = kept.try_emplace(copy, iteration).first;
      known->second = std::min(known->second, iteration);
    }
  };
  for (const TensorId of : carried) add_kept(KeptValues(copies, of));
  for (const auto& [variable, places] : held) add_kept(KeptValues(copies, places));
  std::map<TensorId, std::int64_t> result;
  for (const auto& [tensor, own] : copies) {
    const auto is_kept = [&](const ElementCopy& copy) { return kept.contains(&copy); };
    if (own.empty() || !std::ranges::all_of(own, is_kept)) continue;
    for (const ElementCopy& copy : own) result[tensor] = std::max(result[tensor], kept.at(&copy));
  }
  return result;
}

}  // namespace cyclotron::recurrence::exits
