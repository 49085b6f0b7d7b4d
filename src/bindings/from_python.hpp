// Parts of a system as the Python tracer hands them over: spans, numbers, flags, affine forms and regions.
#pragma once
#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <cyclotron/operators/operators.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::bindings {

using PyAffine = std::pair<std::vector<std::int64_t>, std::int64_t>;
using PyConstraint = std::pair<PyAffine, std::variant<std::string, std::int64_t>>;  // ">=", "==" or a modulus
using PyRegion = std::vector<std::vector<PyConstraint>>;
using PyNumber = std::variant<std::int64_t, std::uint64_t, std::complex<double>>;
using PySpan = std::tuple<std::string, int, int, int, int, int>;  ///< The last is the block.

inline Span to_span(const PySpan& span) {
  return std::apply([](const auto& file, auto... rest) { return Span{file, rest...}; }, span);
}
inline Number to_number(const PyNumber& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return Number::of(*integer);
  if (const auto* integer = std::get_if<std::uint64_t>(&value)) return Number::of(*integer);
  const auto number = std::get<std::complex<double>>(value);
  return {number.real(), number.imag(), 0};
}
inline operators::Flags to_flags(const std::vector<std::string>& names) {
  operators::Flags flags = operators::no_flags;
  for (const auto& name : names) flags |= operators::flag_from_name(name).value();
  return flags;
}
inline recurrence::Affine to_affine(const PyAffine& form) { return {form.first, form.second}; }
inline std::vector<recurrence::Affine> to_affines(const std::vector<PyAffine>& forms) {
  std::vector<recurrence::Affine> result;
  for (const auto& form : forms) result.push_back(to_affine(form));
  return result;
}
inline recurrence::Region to_region(const PyRegion& region) {
  recurrence::Region result;
  for (const auto& conjunction : region) {
    auto& all = result.emplace_back();
    for (const auto& [form, relation] : conjunction) {
      const auto* modulus = std::get_if<std::int64_t>(&relation);
      const bool equality = modulus == nullptr && std::get<std::string>(relation) == "==";
      all.push_back({to_affine(form), equality, modulus == nullptr ? 0 : *modulus});
    }
  }
  return result;
}

inline std::optional<PyRegion> to_python(const std::optional<recurrence::Region>& region) {
  if (!region) return std::nullopt;
  PyRegion result;
  for (const auto& conjunction : *region) {
    auto& all = result.emplace_back();
    for (const auto& [form, equality, modulus, most] : conjunction) {
      PyConstraint constraint{{form.coefficients, form.constant}, equality ? "==" : ">="};
      if (modulus != 0) constraint.second = modulus;
      all.push_back(std::move(constraint));
    }
  }
  return result;
}

}  // namespace cyclotron::bindings
