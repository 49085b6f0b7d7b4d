#include "control.hpp"

#include <algorithm>

namespace cyclotron::runtime {
namespace {

bool names(const Code& code, const Form& form, std::uint32_t variable) {
  const auto* first = code.terms.data() + form.first;
  return std::any_of(first, first + form.count, [&](const Term& t) { return t.variable == variable; });
}

bool names(const Code& code, Range limits, std::uint32_t variable) {
  const auto* first = code.limits.data() + limits.first;
  return std::any_of(first, first + limits.count,
                     [&](const Limit& limit) { return names(code, limit.numerator, variable); });
}

}  // namespace

bool depends_on(const Code& code, const Step& step, std::uint32_t variable) {
  if (step.kind == Step::Kind::branch) {
    for (std::uint32_t c = 0; c < step.lower.count; ++c) {
      const Range tests = code.conjunctions[step.lower.first + c];
      for (std::uint32_t t = 0; t < tests.count; ++t) {
        if (names(code, code.tests[tests.first + t].form, variable)) return true;
      }
    }
    return false;
  }
  if (step.kind == Step::Kind::receive) return names(code, step.sender, variable);
  const bool limited = step.kind == Step::Kind::loop || step.kind == Step::Kind::broadcast;
  return limited && (names(code, step.lower, variable) || names(code, step.upper, variable));
}

}  // namespace cyclotron::runtime
