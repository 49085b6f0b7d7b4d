#include <cyclotron/recurrence/sets.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence {

std::vector<std::int64_t> Tensor::extents() const {
  std::vector<std::int64_t> result;
  for (std::size_t d = 0; d < shape.size(); ++d) result.push_back((shape[d] + tile.at(d) - 1) / tile.at(d));
  return result;
}

poly::Affine to_poly(const Affine& form, std::size_t variables) {
  CYC_CHECK(form.coefficients.size() <= variables);
  poly::Affine result = poly::constant(variables, form.constant);
  std::ranges::copy(form.coefficients, result.coefficients.begin());
  return result;
}

std::vector<poly::Affine> to_poly(const std::vector<Affine>& forms, std::size_t variables) {
  std::vector<poly::Affine> result;
  for (const auto& form : forms) result.push_back(to_poly(form, variables));
  return result;
}

namespace {

/// The numbers whose remainders are at most that of the constraint.
poly::Set remainders(const poly::Context& context, const Constraint& constraint) {
  const auto text = fmt::format("n mod {} <= {}", constraint.modulus, constraint.most);
  const auto result = poly::Set::parse(context, {"n"}, text);
  CYC_CHECK(result.has_value(), text);
  return *result;
}

}  // namespace

poly::Set to_set(const poly::Context& context, const Region& region, std::size_t variables) {
  poly::Set result = poly::Set::empty(context, variables);
  for (const auto& conjunction : region) {
    poly::Conjunction all;
    std::vector<poly::Set> others;
    for (const auto& constraint : conjunction) {
      const auto form = to_poly(constraint.form, variables);
      if (constraint.modulus == 0) {
        all.constraints.push_back({form, constraint.equality});
      } else if (constraint.most == 0) {
        all.divisible.emplace_back(form, constraint.modulus);
      } else {
        others.push_back(remainders(context, constraint).preimage({form}, variables));
      }
    }
    auto points = poly::Set::where(context, variables, all);
    for (const auto& other : others) points = points.intersect(other);
    result = result.unite(points);
  }
  return result.coalesce();
}

std::optional<Region> to_region(const poly::Set& set) {
  const auto pieces = set.conjunctions();
  if (!pieces) return std::nullopt;
  Region result;
  for (const auto& piece : *pieces) {
    auto& all = result.emplace_back();
    for (const auto& [form, equality] : piece.constraints)
      all.push_back({{form.coefficients, form.constant}, equality});
    for (const auto& [form, modulus] : piece.divisible)
      all.push_back({{form.coefficients, form.constant}, false, modulus});
  }
  return result;
}

Region intersection(const Region& a, const Region& b) {
  Region result;
  for (const auto& left : a) {
    for (const auto& right : b) {
      auto& all = result.emplace_back(left);
      all.insert(all.end(), right.begin(), right.end());
    }
  }
  return result;
}

poly::Set domain_of(const poly::Context& context, const Equation& equation) {
  return to_set(context, equation.domain, equation.indices.size());
}

poly::Set elements_of(const poly::Context& context, const Tensor& tensor) {
  const auto extents = tensor.extents();
  std::vector<poly::Constraint> all;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const auto index = poly::variable(extents.size(), d);
    all.push_back({index, false});
    all.push_back({poly::constant(extents.size(), extents[d] - 1) - index, false});
  }
  return poly::Set::where(context, extents.size(), all);
}

namespace {

void visit_expr(const System& system, ExprId id, const Scope& scope,
                const std::function<void(ExprId, const Scope&)>& visit) {
  visit(id, scope);
  std::visit(Overloaded{[](const Constant&) {}, [](const Index&) {}, [](const Access&) {},
                        [&](const Apply& apply) {
                          for (const auto operand : apply.operands) visit_expr(system, operand, scope, visit);
                        },
                        [&](const Reduce& reduce) {
                          const auto outer = scope.names.size();
                          std::vector<poly::Affine> drop;
                          for (std::size_t v = 0; v < outer; ++v)
                            drop.push_back(poly::variable(outer + 1, v));
                          Scope inner{scope.names, scope.points.preimage(drop, outer + 1)
                                                       .intersect(to_set(scope.points.context(),
                                                                         reduce.domain, outer + 1))};
                          inner.names.push_back(reduce.index);
                          visit_expr(system, reduce.body, inner, visit);
                        }},
             system.at(id).node);
}

}  // namespace

void for_each_expr(const System& system, const Equation& equation, const poly::Set& domain,
                   const std::function<void(ExprId, const Scope&)>& visit) {
  visit_expr(system, equation.expr, {equation.indices, domain}, visit);
}

std::optional<std::vector<std::string>> consistent_order(const std::vector<std::vector<std::string>>& nests) {
  std::map<std::string, std::set<std::string>> outer;
  std::vector<std::string> left;
  for (const auto& names : nests) {
    for (std::size_t n = 0; n < names.size(); ++n) {
      if (outer.emplace(names[n], std::set<std::string>{}).second) left.push_back(names[n]);
      outer[names[n]].insert(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(n));
    }
  }
  std::vector<std::string> order;
  while (!left.empty()) {
    const auto next = std::ranges::find_if(left, [&](const std::string& name) {
      return std::ranges::none_of(left,
                                  [&](const std::string& other) { return outer[name].contains(other); });
    });
    if (next == left.end()) return std::nullopt;
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

std::vector<std::string> nesting_order(std::vector<std::vector<std::string>> nests) {
  std::ranges::stable_sort(nests, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<std::string> order;
  for (const auto& names : nests) {
    for (std::size_t n = 0; n < names.size(); ++n) {
      if (std::ranges::find(order, names[n]) != order.end()) continue;
      auto place = order.end();
      for (std::size_t later = n + 1; later < names.size() && place == order.end(); ++later) {
        place = std::ranges::find(order, names[later]);
      }
      order.insert(place, names[n]);
    }
  }
  const auto agrees = [&](const std::vector<std::string>& names) {
    return std::ranges::is_sorted(names, {},
                                  [&](const std::string& name) { return std::ranges::find(order, name); });
  };
  if (std::ranges::all_of(nests, agrees)) return order;
  return consistent_order(nests).value_or(order);
}

std::vector<std::string> listed_names(const System& system) {
  std::map<std::string, int> alike;
  for (const auto& tensor : system.tensors) ++alike[tensor.user_name()];
  std::map<std::string, int> numbers;
  std::vector<std::string> names;
  for (const auto& tensor : system.tensors) {
    auto name = tensor.user_name();
    const bool alone = alike.at(name) == 1;
    if (tensor.role != Role::local || (!alone && tensor.span.line == 0)) {
      name = tensor.name;
    } else if (!alone) {
      name += fmt::format("@{}", tensor.span.line);
      if (const auto number = ++numbers[name]; number > 1) name += fmt::format("_{}", number);
    }
    std::ranges::replace(name, ' ', '_');  // of the words for a loop's flag
    names.push_back(std::move(name));
  }
  return names;
}

std::string access_text(const std::string& tensor, const std::vector<Affine>& index,
                        const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const auto& form : index) parts.push_back(to_string(to_poly(form, names.size()), names));
  return fmt::format("{}[{}]", tensor, fmt::join(parts, ", "));
}

std::string point_text(const std::vector<std::string>& names, const std::vector<std::int64_t>& point) {
  std::vector<std::string> parts;
  for (std::size_t v = 0; v < point.size(); ++v)
    parts.push_back(fmt::format("{} = {}", names.at(v), point[v]));
  return parts.empty() ? "the only point" : fmt::format("{}", fmt::join(parts, ", "));
}

operators::Shape tile_shape(const Tensor& tensor) {
  std::vector<std::int64_t> sizes;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    sizes.push_back(std::clamp<std::int64_t>(tensor.shape[d], 1, tensor.tile.at(d)));
  }
  if (!tensor.blocked) return {1, 1};
  if (sizes.size() == 1) return {sizes[0], 1};
  // Tiles are matrices: only the last two dimensions may be larger than one.
  for (std::size_t d = 0; d + 2 < sizes.size(); ++d) {
    if (sizes[d] != 1) {
      throw ShapeError({.code = "CYC206",
                        .span = tensor.span,
                        .message = fmt::format("tile of `{}` is {} in dimension {}, and tiles are matrices",
                                               tensor.user_name(), sizes[d], d),
                        .notes = {},
                        .help = "use tile size 1 in all but the last two dimensions"});
    }
  }
  return {sizes[sizes.size() - 2], sizes.back()};
}

operators::Shape tile_shape(const System& system, ExprId id) {
  const Expr& expr = system.at(id);
  return std::visit(Overloaded{[](const Constant&) { return operators::Shape{1, 1}; },
                               [](const Index&) { return operators::Shape{1, 1}; },
                               [&](const Access& access) { return tile_shape(system.at(access.tensor)); },
                               [&](const Apply& apply) {
                                 std::vector<operators::Shape> shapes;
                                 for (const auto operand : apply.operands)
                                   shapes.push_back(tile_shape(system, operand));
                                 try {
                                   return operators::result_shape(apply.op, apply.flags, shapes);
                                 } catch (const ShapeError& error) {
                                   Diagnostic diagnostic = error.diagnostic();
                                   diagnostic.code = "CYC206";
                                   diagnostic.span = expr.span;
                                   throw ShapeError(std::move(diagnostic));
                                 }
                               },
                               [&](const Reduce& reduce) { return tile_shape(system, reduce.body); }},
                    expr.node);
}

std::optional<DType> dtype_of(const System& system, ExprId id) {
  using Result = std::optional<DType>;
  const Expr& expr = system.at(id);
  return std::visit(Overloaded{[](const Constant&) -> Result { return std::nullopt; },
                               [](const Index& index) -> Result { return index.dtype; },
                               [&](const Access& access) -> Result { return system.at(access.tensor).dtype; },
                               [&](const Apply& apply) -> Result {
                                 std::vector<Result> operands;
                                 for (const auto operand : apply.operands)
                                   operands.push_back(dtype_of(system, operand));
                                 try {
                                   return operators::result_dtype(
                                       apply.op, operators::common_dtype(apply.op, operands));
                                 } catch (const ShapeError& error) {
                                   Diagnostic diagnostic = error.diagnostic();
                                   diagnostic.span = expr.span;
                                   throw ShapeError(std::move(diagnostic));
                                 }
                               },
                               [&](const Reduce& reduce) -> Result { return dtype_of(system, reduce.body); }},
                    expr.node);
}

DType dtype_of(const System& system, ExprId id, DType fallback) {
  return dtype_of(system, id).value_or(fallback);
}

}  // namespace cyclotron::recurrence
