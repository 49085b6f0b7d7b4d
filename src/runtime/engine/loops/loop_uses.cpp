#include "loop_uses.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "scalar_text.hpp"

namespace cyclotron::runtime {

namespace {

constexpr std::size_t most_terms = 4;

bool is_single(const SlotAccess& access) {
  return access.count == 1 && access.index.count == 0 && access.index.constant == 0 &&
         access.wrap == SlotAccess::no_wrap;
}

}  // namespace

/// Looks at each step of a loop.
class UseFinder {
 public:
  UseFinder(const Code& code, const std::vector<TensorAccess>& tensors, LoopNest nest)
      : code_(code), tensors_(tensors), nest_(nest) {}

  std::optional<LoopUses> find() {
    if (!add_all() || !uses_.find_regions()) return std::nullopt;
    return std::move(uses_);
  }

 private:
  [[nodiscard]] const Step& step(std::uint32_t at) const { return code_.steps[at]; }

  [[nodiscard]] bool is_small(const Form& form) const {
    const auto terms = std::span(code_.terms).subspan(form.first, form.count);
    const auto below = [](std::int64_t number, std::int64_t limit) {
      return -limit < number && number < limit;
    };
    return form.count <= most_terms && below(form.constant, std::int64_t{1} << 59) &&
           std::ranges::all_of(terms, [&](const Term& t) { return below(t.coefficient, coefficient_limit); });
  }

  [[nodiscard]] bool are_small(Range limits) const {
    return std::ranges::all_of(std::span(code_.limits).subspan(limits.first, limits.count),
                               [&](const Limit& limit) { return is_small(limit.numerator); });
  }

  bool add_use(std::uint32_t access, DType dtype, bool writes) {
    const SlotAccess& at = code_.accesses[access];
    if (c_type(dtype).empty() || !at.scalar || !is_small(at.index)) return false;
    if (at.wrap != SlotAccess::no_wrap) {
      const Wrapped& wrap = code_.wraps[at.wrap];
      if (!is_small(wrap.form) || wrap.modulus >= coefficient_limit ||
          std::abs(wrap.stride) >= coefficient_limit)
        return false;
    }
    uses_.uses_.push_back({&at, dtype, writes});
    return true;
  }

  bool add_sources(const Step& one) {
    for (std::uint32_t n = 0; n < one.operands.count; ++n) {
      const Source& source = code_.sources[one.operands.first + n];
      const DType dtype =
          one.kind == Step::Kind::move ? one.dtype : operators::operand_dtype(one.op, n, one.dtype);
      if (c_type(dtype).empty()) return false;
      if (source.form && !is_small(code_.forms[source.index])) return false;
      if (!source.constant && !add_use(source.index, dtype, false)) return false;
    }
    return true;
  }

  static bool has_text(const Step& one) {
    return operators::is_elementwise(one.op) && (one.flags & ~Flags{operators::checked}) == 0 &&
           (c_expression(one.op, one.dtype) || c_function(one.op, one.dtype) != nullptr);
  }

  bool add_indexed(const Step& one) {
    if (one.indexed == Step::not_indexed) return true;
    const IndexedElement& at = code_.indexed[one.indexed];
    return is_small(at.lower) && is_small(at.upper) && std::abs(at.stride) < coefficient_limit &&
           add_use(at.number, DType::int64, false);
  }

  bool add_element(const Step& one) {
    const TensorAccess& tensor = tensors_[one.tensor];
    const auto width = static_cast<std::int64_t>(operators::size_bytes(one.dtype));
    for (std::uint32_t d = 0; d < one.operands.count; ++d) {
      if (!is_small(code_.forms[one.operands.first + d]) || tensor.stride(d) % width != 0 ||
          tensor.extent(d) > variable_limit)
        return false;
    }
    const bool stores = one.kind == Step::Kind::store;
    return (!stores || stands_alone(one.tensor)) && add_use(one.access, one.dtype, !stores);
  }

  /// The numbers that bound iterations, which lie in their slots whatever the variables are.
  bool add_within(Range limits) {
    return std::ranges::all_of(
        std::span(code_.within).subspan(limits.first, limits.count), [&](const NumberLimit& limit) {
          const SlotAccess& at = code_.accesses[limit.number];
          const bool lies_inside = at.wrap == SlotAccess::no_wrap && at.index.count == 0 &&
                                   0 <= at.index.constant && at.index.constant < at.count;
          return lies_inside && is_small(limit.form) && add_use(limit.number, DType::int64, false);
        });
  }

  /// Tells whether no other tensor of the run has bytes of this one.
  [[nodiscard]] bool stands_alone(std::uint32_t tensor) const {
    const auto [first, end] = tensors_[tensor].bytes();
    for (std::uint32_t t = 0; t < tensors_.size(); ++t) {
      const auto [other, other_end] = tensors_[t].bytes();
      if (t != tensor && other < end && first < other_end) return false;
    }
    return true;
  }

  bool add_all() {
    for (std::uint32_t at = nest_.opener; at <= nest_.end; ++at) {
      const Step& one = step(at);
      switch (one.kind) {
        case Step::Kind::loop:
          if (!add_within(one.operands) || !are_small(one.lower) || !are_small(one.upper) ||
              one.step >= coefficient_limit)
            return false;
          break;
        case Step::Kind::branch:
          if (!add_within(one.upper) || !is_small_branch(one)) return false;
          break;
        case Step::Kind::exit:
          if (one.variable != step(nest_.opener).variable || !add_use(one.access, DType::boolean, false))
            return false;
          break;
        case Step::Kind::repeat:
        case Step::Kind::skip: break;
        case Step::Kind::load:
        case Step::Kind::store:
          if (!one.scalar || !add_element(one)) return false;
          break;
        case Step::Kind::move:
          if (!one.scalar || !add_sources(one) || !add_use(one.access, one.dtype, true)) return false;
          break;
        case Step::Kind::compute:
          if (!one.scalar || !has_text(one) || !add_sources(one) || !add_indexed(one) ||
              !add_use(one.access, operators::result_dtype(one.op, one.dtype), true))
            return false;
          break;
        default: return false;
      }
      if (one.begins_call) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_small_branch(const Step& branch) const {
    for (std::uint32_t c = 0; c < branch.lower.count; ++c) {
      const Range tests = code_.conjunctions[branch.lower.first + c];
      for (std::uint32_t t = 0; t < tests.count; ++t) {
        const Test& test = code_.tests[tests.first + t];
        if (!is_small(test.form) || test.modulus >= coefficient_limit) return false;
      }
    }
    return true;
  }

  const Code& code_;
  const std::vector<TensorAccess>& tensors_;
  LoopNest nest_;
  LoopUses uses_;
};

std::optional<LoopUses> LoopUses::of(const Code& code, const std::vector<TensorAccess>& tensors,
                                     LoopNest nest) {
  return UseFinder(code, tensors, nest).find();
}

bool LoopUses::find_regions() {
  std::ranges::sort(uses_, {}, [](const Use& use) { return use.access->address; });
  for (const auto& [access, dtype, writes] : uses_) {
    if (regions_.empty() || access->address >= regions_.back().end)
      regions_.push_back({access->address, access->address, dtype});
    Region& region = regions_.back();
    region.end = std::max(region.end, access->address + access->count * access->stride);
    region.scalars = region.scalars && is_single(*access);
    region.uniform =
        region.uniform && region.dtype == dtype && (access->address - region.first) % access->stride == 0;
  }
  for (const auto& [access, dtype, writes] : uses_) {
    if (!regions_[region_of(*access)].scalars) continue;
    const auto known = local_of(*access, dtype);
    if (known == locals_.size()) locals_.push_back({access->address, dtype, false, {}});
    locals_[known].written = locals_[known].written || writes;
  }
  for (auto& one : locals_) {
    for (std::size_t other = 0; other < locals_.size(); ++other) {
      const Local& that = locals_[other];
      if (&that != &one && that.written && that.address < one.end() && one.address < that.end())
        one.others.push_back(other);
    }
  }
  return std::ranges::all_of(regions_, [](const Region& region) { return region.scalars || region.uniform; });
}

std::size_t LoopUses::region_of(const SlotAccess& access) const {
  const auto after = std::ranges::upper_bound(regions_, access.address, {}, &Region::first);
  return static_cast<std::size_t>(after - regions_.begin()) - 1;
}

std::size_t LoopUses::local_of(const SlotAccess& access, DType dtype) const {
  const auto found = std::ranges::find_if(
      locals_, [&](const Local& local) { return local.address == access.address && local.dtype == dtype; });
  return static_cast<std::size_t>(found - locals_.begin());
}

}  // namespace cyclotron::runtime
