#include <cyclotron/recurrence/omit_determined.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "reductions/variable_map.hpp"

namespace cyclotron::recurrence {

namespace {

/// Dimensions of locals, of which the index of a block is the subscript.
using Dimensions = std::map<TensorId, std::size_t>;

std::optional<std::size_t> variable_of(const Equation& equation, const std::string& name) {
  const auto found = std::ranges::find(equation.indices, name);
  if (found == equation.indices.end()) return std::nullopt;
  return static_cast<std::size_t>(found - equation.indices.begin());
}

bool names(const Affine& form, std::size_t variable) {
  return variable < form.coefficients.size() && form.coefficients[variable] != 0;
}

bool is_variable(const Affine& form, std::size_t variable) {
  const auto others = std::ranges::count_if(form.coefficients, [](auto factor) { return factor != 0; });
  return form.constant == 0 && others == 1 && names(form, variable) && form.coefficients[variable] == 1;
}

bool names(const Region& region, std::size_t variable) {
  return std::ranges::any_of(region, [&](const auto& conjunction) {
    return std::ranges::any_of(
        conjunction, [&](const Constraint& constraint) { return names(constraint.form, variable); });
  });
}

std::vector<std::size_t> all_but(std::size_t count, std::size_t one) {
  std::vector<std::size_t> result(count);
  std::iota(result.begin(), result.end(), 0);
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(one));
  return result;
}

/// True where the other coordinates tell one of them.
bool is_determined(const poly::Set& points, std::size_t coordinate) {
  auto order = all_but(points.dimensions(), coordinate);
  order.push_back(coordinate);
  return poly::Map::from_pairs(points.project(order), order.size() - 1).is_single_valued();
}

/// Indices that go in steps, or whose multiples bound others: those of blocks do.
std::set<std::string> block_indices(const System& system) {
  std::set<std::string> result;
  for (const auto& equation : system.equations) {
    for (const auto& conjunction : equation.domain) {
      for (const auto& constraint : conjunction) {
        const auto& factors = constraint.form.coefficients;
        const auto count = std::ranges::count_if(factors, [](auto factor) { return factor != 0; });
        for (std::size_t v = 0; v < factors.size(); ++v) {
          const bool in_steps = constraint.modulus > 0 && factors[v] != 0;
          if (in_steps || (count > 1 && std::abs(factors[v]) > 1)) result.insert(equation.indices[v]);
        }
      }
    }
  }
  return result;
}

/// An index that may be left out of a system.
class Omission {
 public:
  Omission(const System& system, std::string name) : system_(system), name_(std::move(name)) {}

  /// None where something else needs the index.
  std::optional<System> run() {
    if (!find_dimensions() || !tell_apart()) return std::nullopt;
    auto result = system_;
    result.exprs.clear();
    for (auto& [tensor, dimension] : dimensions_) {
      auto& own = result.tensors[tensor.index()];
      own.shape.erase(own.shape.begin() + static_cast<std::ptrdiff_t>(dimension));
      own.tile.erase(own.tile.begin() + static_cast<std::ptrdiff_t>(dimension));
      own.holds.clear();
    }
    for (auto& equation : result.equations) {
      const auto variable = variable_of(equation, name_);
      if (variable && !omit(equation, *variable)) return std::nullopt;
      map_.resize(equation.indices.size() + (variable ? 1 : 0));
      std::iota(map_.begin(), map_.end(), 0);
      if (variable)
        std::for_each(map_.begin() + static_cast<std::ptrdiff_t>(*variable), map_.end(),
                      [](auto& to) { --to; });
      equation.index = mapped(equation.target, equation.index);
      equation.expr = copied(equation.expr, result.exprs);
    }
    return result;
  }

 private:
  /// The locals of which the index is a subscript; false where it is in any other use.
  bool find_dimensions() {
    for (const auto& equation : system_.equations) {
      const auto variable = variable_of(equation, name_);
      if (!variable) continue;
      for (std::size_t d = 0; d < equation.index.size(); ++d) {
        if (!names(equation.index[d], *variable)) continue;
        const auto [known, is_new] = dimensions_.try_emplace(equation.target, d);
        if (known->second != d || system_.at(equation.target).role != Role::local) return false;
      }
      written_.insert(equation.target);
    }
    return !dimensions_.empty() && std::ranges::all_of(system_.equations, [&](const Equation& equation) {
      const auto variable = variable_of(equation, name_);
      const auto own = dimensions_.find(equation.target);
      if (own != dimensions_.end() && (!variable || !names(equation.index[own->second], *variable)))
        return false;
      return !variable || !uses(equation.expr, *variable);
    });
  }

  /// True where an expression needs the value of the index.
  [[nodiscard]] bool uses(ExprId id, std::size_t variable) const {
    return std::visit(Overloaded{[](const Constant&) { return false; },
                                 [&](const Index& index) { return names(index.form, variable); },
                                 [&](const Access& access) { return uses(access, variable); },
                                 [&](const Apply& apply) {
                                   return std::ranges::any_of(apply.operands, [&](ExprId operand) {
                                     return uses(operand, variable);
                                   });
                                 },
                                 [&](const Reduce& reduce) {
                                   return names(reduce.domain, variable) || uses(reduce.body, variable);
                                 }},
                      system_.at(id).node);
  }

  /// An element of another block, or one that may be: such blocks are done in their order.
  [[nodiscard]] bool uses(const Access& access, std::size_t variable) const {
    const auto own = dimensions_.find(access.tensor);
    if (own == dimensions_.end() && written_.contains(access.tensor)) return true;
    for (std::size_t d = 0; d < access.index.size(); ++d) {
      const auto& form = access.index[d];
      const bool is_own = own != dimensions_.end() && own->second == d;
      if (is_own ? !is_variable(form, variable) : names(form, variable)) return true;
    }
    return false;
  }

  /// True where the other subscripts tell the index, of each local.
  [[nodiscard]] bool tell_apart() const {
    const poly::Context context;
    for (const auto& [tensor, dimension] : dimensions_) {
      auto elements = poly::Set::empty(context, system_.at(tensor).shape.size());
      for (const auto& equation : system_.equations) {
        if (equation.target != tensor) continue;
        const auto points = domain_of(context, equation);
        elements = elements.unite(points.image(to_poly(equation.index, equation.indices.size())));
      }
      if (!is_determined(elements, dimension)) return false;
    }
    return true;
  }

  /// False where the other indices do not tell it, or their domain is none without it.
  static bool omit(Equation& equation, std::size_t variable) {
    const auto points = domain_of(poly::Context(), equation);
    if (!is_determined(points, variable)) return false;
    auto domain = to_region(points.project(all_but(equation.indices.size(), variable)).coalesce().plain());
    if (!domain) return false;
    equation.domain = std::move(*domain);
    equation.indices.erase(equation.indices.begin() + static_cast<std::ptrdiff_t>(variable));
    return true;
  }

  [[nodiscard]] std::vector<Affine> mapped(TensorId tensor, const std::vector<Affine>& index) const {
    const auto omitted = dimensions_.find(tensor);
    std::vector<Affine> result;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (omitted == dimensions_.end() || omitted->second != d)
        result.push_back(map_variables(index[d], map_));
    }
    return result;
  }

  ExprId copied(ExprId id, std::vector<Expr>& to) {
    auto node = std::visit(
        Overloaded{
            [](const Constant& value) { return Node(value); },
            [&](const Index& index) { return Node(Index{map_variables(index.form, map_), index.dtype}); },
            [&](const Access& access) {
              return Node(Access{access.tensor, mapped(access.tensor, access.index)});
            },
            [&](Apply apply) {
              for (auto& operand : apply.operands) operand = copied(operand, to);
              return Node(std::move(apply));
            },
            [&](Reduce reduce) {
              map_.push_back(map_.empty() ? 0 : map_.back() + 1);
              reduce.domain = map_variables(std::move(reduce.domain), map_);
              reduce.body = copied(reduce.body, to);
              map_.pop_back();
              return Node(std::move(reduce));
            }},
        Expr(system_.at(id)).node);
    to.push_back({std::move(node), system_.at(id).span});
    return ExprId(to.size() - 1);
  }

  using Node = decltype(Expr::node);

  const System& system_;
  std::string name_;
  Dimensions dimensions_;
  std::set<TensorId> written_;  ///< By equations with the index.
  VariableMap map_;             ///< Of the scope at hand.
};

}  // namespace

System omit_determined(const System& system, const std::function<bool(const std::string&)>& is_kept) {
  auto result = system;
  for (const auto& name : block_indices(system)) {
    if (is_kept(name)) continue;
    if (auto shorter = Omission(result, name).run()) result = std::move(*shorter);
  }
  return result;
}

}  // namespace cyclotron::recurrence
