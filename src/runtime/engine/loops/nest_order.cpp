#include "nest_order.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>

#include <cyclotron/support/division.hpp>

#include "scalar_text.hpp"

namespace cyclotron::runtime {

namespace {

bool same_terms(const Code& code, const Form& one, const Form& other) {
  const auto terms = [&](const Form& form) { return std::span(code.terms).subspan(form.first, form.count); };
  return std::ranges::equal(terms(one), terms(other), [](const Term& a, const Term& b) {
    return a.coefficient == b.coefficient && a.variable == b.variable;
  });
}

/// Of two loops in each other.
class OrderedNest {
 public:
  OrderedNest(const Code& code, const std::vector<TensorAccess>& tensors, std::uint32_t opener)
      : code_(code),
        tensors_(tensors),
        outer_(code.steps[opener]),
        inner_(code.steps[opener + 1]),
        body_(std::span(code.steps).subspan(opener + 2, inner_.target - opener - 3)) {}

  [[nodiscard]] bool always_succeeds() const {
    return std::ranges::all_of(body_, [](const Step& step) {
      return is_work(step) && step.kind != Step::Kind::exit && step.indexed == Step::not_indexed &&
             (step.kind != Step::Kind::compute || c_failure(step.op, step.flags, step.dtype).empty());
    });
  }

  [[nodiscard]] bool has_fixed_limits() const {
    const auto fixed = [&](Range limits) {
      return std::ranges::all_of(
          std::span(code_.limits).subspan(limits.first, limits.count),
          [&](const Limit& limit) { return coefficient(code_, limit.numerator, outer_.variable) == 0; });
    };
    return fixed(inner_.lower) && fixed(inner_.upper);
  }

  /// Tells whether the inner loop goes from line to line of memory, and the outer one along them.
  [[nodiscard]] bool crosses_lines() const {
    constexpr std::int64_t line = 64;  // bytes
    return std::ranges::any_of(body_, [&](const Step& step) {
      if (!is_of_tensor(step)) return false;
      Pace bytes;
      for (std::uint32_t d = 0; d < step.operands.count; ++d) {
        const Pace pace = pace_of(code_.forms[step.operands.first + d]);
        bytes.outer += pace.outer * tensors_[step.tensor].stride(d);
        bytes.inner += pace.inner * tensors_[step.tensor].stride(d);
      }
      return std::abs(bytes.inner) >= line && bytes.outer != 0 && std::abs(bytes.outer) < line;
    });
  }

  [[nodiscard]] bool keeps_numbers() const {
    for (std::size_t at = 0; at < body_.size(); ++at) {
      const Step& step = body_[at];
      if (step.kind == Step::Kind::store) {
        if (!stores_in_order(step)) return false;
      } else if (!keeps_slot(at)) {
        return false;
      }
    }
    return true;
  }

 private:
  /// Of an index, by an iteration of each loop.
  struct Pace {
    std::int64_t outer = 0, inner = 0;
  };

  static bool is_of_tensor(const Step& step) {
    return step.kind == Step::Kind::load || step.kind == Step::Kind::store;
  }

  [[nodiscard]] Pace pace_of(const Form& form) const {
    return {coefficient(code_, form, outer_.variable) * outer_.step,
            coefficient(code_, form, inner_.variable) * inner_.step};
  }

  /// Tells whether iterations that share an element come in the same order in blocks: none is of a later iteration of the
  /// outer loop and an earlier one of the inner loop. A scalar has many such.
  static bool stays_in_order(Pace pace) {
    return (pace.outer != 0 || pace.inner != 0) &&
           (pace.outer == 0 || pace.inner == 0 || (pace.outer > 0) != (pace.inner > 0));
  }

  [[nodiscard]] bool stores_in_order(const Step& store) const {
    const auto forms = std::span(code_.forms).subspan(store.operands.first, store.operands.count);
    return std::ranges::any_of(forms, [&](const Form& form) { return stays_in_order(pace_of(form)); }) &&
           std::ranges::count_if(body_, [&](const Step& step) {
             return is_of_tensor(step) && step.tensor == store.tensor;
           }) == 1;
  }

  /// Of what a step writes into a slot, and all that is of the same bytes: the same element in each iteration; of scalars, what
  /// the iteration has written before.
  [[nodiscard]] bool keeps_slot(std::size_t at) const {
    const SlotAccess& written = code_.accesses[body_[at].access];
    const bool in_order = stays_in_order(pace_of(written.index));
    for (std::size_t other = 0; other < body_.size(); ++other) {
      const Step& step = body_[other];
      const auto agrees = [&](std::uint32_t number, bool reads) {
        const SlotAccess& access = code_.accesses[number];
        if (access.wrap != SlotAccess::no_wrap) return false;
        if (!overlap(written, access)) return true;
        if (in_order) return is_same(written, access);
        return is_single(written) && is_single(access) && (!reads || is_written_before(other, access));
      };
      if (step.kind == Step::Kind::store) {
        if (!agrees(step.access, true)) return false;
        continue;
      }
      if (!agrees(step.access, false)) return false;
      if (step.kind == Step::Kind::load) continue;
      for (const Source& source :
           std::span(code_.sources).subspan(step.operands.first, step.operands.count)) {
        if (!source.constant && !agrees(source.index, true)) return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool is_written_before(std::size_t at, const SlotAccess& access) const {
    return std::ranges::any_of(body_.first(at), [&](const Step& step) {
      return step.kind != Step::Kind::store && is_same(code_.accesses[step.access], access);
    });
  }

  [[nodiscard]] static bool is_single(const SlotAccess& access) { return access.index.count == 0; }

  [[nodiscard]] static bool overlap(const SlotAccess& one, const SlotAccess& other) {
    return one.address < other.address + other.count * other.stride &&
           other.address < one.address + one.count * one.stride;
  }

  [[nodiscard]] bool is_same(const SlotAccess& one, const SlotAccess& other) const {
    return one.address == other.address && one.stride == other.stride &&
           one.index.constant == other.index.constant && same_terms(code_, one.index, other.index);
  }

  const Code& code_;
  const std::vector<TensorAccess>& tensors_;
  const Step& outer_;
  const Step& inner_;
  std::span<const Step> body_;
};

}  // namespace

bool is_work(const Step& step) {
  return step.kind == Step::Kind::load || step.kind == Step::Kind::store || step.kind == Step::Kind::move ||
         step.kind == Step::Kind::compute || step.kind == Step::Kind::exit;
}

std::map<std::uint32_t, Neighbour> neighbours_of(const Code& code, std::span<const std::uint32_t> wraps) {
  std::map<std::uint32_t, Neighbour> result;
  for (std::size_t n = 0; n < wraps.size(); ++n) {
    const Wrapped& one = code.wraps[wraps[n]];
    for (const auto other : wraps.first(n)) {
      const auto& [form, modulus, stride] = code.wraps[other];
      if (result.contains(other) || one.modulus != modulus || !same_terms(code, one.form, form)) continue;
      const auto ahead = floor_modulo(one.form.constant - form.constant, modulus);
      result[wraps[n]] = {other, ahead > modulus / 2 ? ahead - modulus : ahead};
      break;
    }
  }
  return result;
}

std::uint32_t depth_of(const Code& code, std::uint32_t opener) {
  std::uint32_t open = 0, most = 0;
  for (std::uint32_t at = opener; at < code.steps[opener].target; ++at) {
    if (code.steps[at].kind == Step::Kind::loop) most = std::max(most, ++open);
    if (code.steps[at].kind == Step::Kind::repeat) --open;
  }
  return most;
}

bool follows(const Code& code, std::uint32_t read, std::uint32_t written, const Step& loop) {
  const SlotAccess &one = code.accesses[read], &other = code.accesses[written];
  const bool wraps = one.wrap != SlotAccess::no_wrap;
  const auto by = [&](const Form& form) { return coefficient(code, form, loop.variable) * loop.step; };
  if (one.address != other.address || one.stride != other.stride ||
      wraps != (other.wrap != SlotAccess::no_wrap) || !same_terms(code, one.index, other.index) ||
      one.index.constant != other.index.constant - by(other.index))
    return false;
  if (!wraps) return true;
  const Wrapped &first = code.wraps[one.wrap], &second = code.wraps[other.wrap];
  return first.modulus == second.modulus && first.stride == second.stride &&
         same_terms(code, first.form, second.form) &&
         (first.form.constant - second.form.constant + by(second.form)) % first.modulus == 0;
}

bool gains_from_blocks(const Code& code, const std::vector<TensorAccess>& tensors, std::uint32_t opener) {
  const auto end = code.steps[opener].target - 1;
  if (opener + 1 >= end || code.steps[opener + 1].kind != Step::Kind::loop ||
      code.steps[opener + 1].target != end || code.steps[opener + 1].operands.count > 0)
    return false;
  const OrderedNest nest(code, tensors, opener);
  return nest.always_succeeds() && nest.has_fixed_limits() && nest.crosses_lines() && nest.keeps_numbers();
}

}  // namespace cyclotron::runtime
