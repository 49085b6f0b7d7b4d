#include "values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence {

namespace {

void use(const Affine& form, std::size_t scope, Used& used) {
  for (std::size_t v = 0; v < std::min(form.coefficients.size(), scope); ++v) {
    if (form.coefficients[v] != 0) used.insert(v);
  }
}

std::string text(const Affine& form) {
  std::string result = fmt::format("{}", form.constant);
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] != 0) result += fmt::format("+{}v{}", form.coefficients[v], v);
  }
  return result;
}

}  // namespace

void use(const System& system, ExprId id, std::size_t scope, Used& used) {
  std::visit(Overloaded{[](const Constant&) {}, [&](const Index& index) { use(index.form, scope, used); },
                        [&](const Access& access) {
                          for (const auto& form : access.index) use(form, scope, used);
                        },
                        [&](const Apply& apply) {
                          for (const auto operand : apply.operands) use(system, operand, scope, used);
                        },
                        [&](const Reduce& reduce) {
                          for (const auto& all : reduce.domain) {
                            for (const auto& one : all) use(one.form, scope, used);
                          }
                          use(system, reduce.body, scope, used);
                        }},
             system.at(id).node);
}

std::string text_of(const System& system, ExprId id) {
  return std::visit(
      Overloaded{[&](const Constant&) { return fmt::format("#{}", id.index()); },
                 [&](const Index& index) { return "i" + text(index.form); },
                 [&](const Access& access) {
                   auto result = fmt::format("t{}[", access.tensor.index());
                   for (const auto& form : access.index) result += text(form) + ",";
                   return result + "]";
                 },
                 [&](const Apply& apply) {
                   auto result = fmt::format("o{}.{}(", static_cast<int>(apply.op), apply.flags);
                   for (const auto operand : apply.operands) result += text_of(system, operand) + ",";
                   return result + ")";
                 },
                 [&](const Reduce& reduce) {
                   auto result = fmt::format("r{}{}(", static_cast<int>(reduce.kind), reduce.index);
                   for (const auto& all : reduce.domain) {
                     for (const auto& one : all)
                       result +=
                           fmt::format("{}:{}:{}:{};", text(one.form), one.equality, one.modulus, one.most);
                     result += "|";
                   }
                   return result + text_of(system, reduce.body) + ")";
                 }},
      system.at(id).node);
}

}  // namespace cyclotron::recurrence
