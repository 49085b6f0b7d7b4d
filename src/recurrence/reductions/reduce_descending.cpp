#include <cyclotron/recurrence/reduce_descending.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include <cyclotron/support/overloaded.hpp>

#include <cyclotron/recurrence/reduced_indices.hpp>

namespace cyclotron::recurrence {

namespace {

std::int64_t coefficient(const Affine& form, std::size_t variable) {
  return variable < form.coefficients.size() ? form.coefficients[variable] : 0;
}

/// The variable that a form has alone, and its coefficient.
std::optional<std::pair<std::size_t, std::int64_t>> alone(const Affine& form) {
  std::optional<std::pair<std::size_t, std::int64_t>> result;
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] == 0) continue;
    if (result) return std::nullopt;
    result.emplace(v, form.coefficients[v]);
  }
  return result;
}

bool is_same(const Affine& one, const Affine& other, std::size_t variables) {
  for (std::size_t v = 0; v < variables; ++v) {
    if (coefficient(one, v) != coefficient(other, v)) return false;
  }
  return one.constant == other.constant;
}

/// Finds the reductions of one equation that begin with the newest of its own values.
class NewestFirst {
 public:
  NewestFirst(const System& system, const Equation& equation, std::vector<std::string>& found)
      : system_(system), equation_(equation), found_(found) {}

  void visit(ExprId id) {
    std::visit(Overloaded{[](const auto&) {}, [&](const Access& access) { look_at(access); },
                          [&](const Apply& apply) {
                            for (const auto operand : apply.operands) visit(operand);
                          },
                          [&](const Reduce& reduce) {
                            around_.push_back(&reduce);
                            visit(reduce.body);
                            around_.pop_back();
                          }},
               system_.at(id).node);
  }

 private:
  void look_at(const Access& access) {
    for (const auto& other : system_.equations) {
      if (other.target != access.tensor || other.indices != equation_.indices) continue;
      if (other.target != equation_.target && !is_copy(other)) continue;
      for (std::size_t r = 0; r < around_.size(); ++r) {
        const auto& index = around_[r]->index;
        if (!around_[r]->descending && runs_back(access, other, equation_.indices.size() + r) &&
            std::ranges::find(found_, index) == found_.end())
          found_.push_back(index);
      }
    }
  }

  /// True where it hands on what the equation makes.
  [[nodiscard]] bool is_copy(const Equation& other) const {
    const auto* access = std::get_if<Access>(&system_.at(other.expr).node);
    return access != nullptr && access->tensor == equation_.target;
  }

  /// Along one dimension another equation makes its values the other way than the reduction reads them; along the others
  /// they are the same.
  [[nodiscard]] static bool runs_back(const Access& access, const Equation& other, std::size_t variable) {
    bool result = false;
    for (std::size_t d = 0; d < access.index.size(); ++d) {
      const auto step = coefficient(access.index[d], variable);
      const auto own = alone(other.index[d]);
      if (step != 0 && own && (step < 0) != (own->second < 0))
        result = true;
      else if (!is_same(access.index[d], other.index[d], variable + 1))
        return false;
    }
    return result;
  }

  const System& system_;
  const Equation& equation_;
  std::vector<std::string>& found_;
  std::vector<const Reduce*> around_;
};

}  // namespace

System reduce_descending(const System& system, const std::vector<std::string>& indices) {
  for (const auto& index : indices)
    require_reduction(system, index,
                      fmt::format("the schedule reduces over `{}` in descending order", index));
  System result = system;
  for (auto& expr : result.exprs) {
    auto* reduce = std::get_if<Reduce>(&expr.node);
    if (reduce != nullptr && std::ranges::find(indices, reduce->index) != indices.end())
      reduce->descending = true;
  }
  return result;
}

std::vector<std::string> indices_with_newest_first(const System& system) {
  std::vector<std::string> result;
  for (const auto& equation : system.equations) NewestFirst(system, equation, result).visit(equation.expr);
  return result;
}

}  // namespace cyclotron::recurrence
