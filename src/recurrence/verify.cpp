#include <cyclotron/recurrence/verify.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>

#include "ragged_tiles.hpp"

namespace cyclotron::recurrence {

namespace {

struct Assignment {
  const Equation* equation;
  poly::Set domain;
  poly::Map target;  ///< point -> element
  poly::Set elements;
};

class Verifier {
 public:
  /// Statements, unlike equations, may assign an element several times.
  Verifier(const System& system, bool statements) : system_(system), statements_(statements) {}

  void run() {
    check_structure();
    find_assignments();
    for (const auto& assignment : assignments_) check_target(assignment);
    if (!statements_) {
      check_disjoint();
      check_cover();
    }
    for (const auto& assignment : assignments_) check_reads(assignment);
    for (const auto& assignment : assignments_) {
      check_types(*assignment.equation);
      check_ragged_tiles(system_, *assignment.equation, assignment.domain);
    }
  }

  [[nodiscard]] bool assigns_once() {
    find_assignments();
    for (std::size_t a = 0; a < assignments_.size(); ++a) {
      if (!assignments_[a].target.is_injective()) return false;
      for (std::size_t b = 0; b < a; ++b) {
        if (!twice(assignments_[a], assignments_[b]).is_empty()) return false;
      }
    }
    return true;
  }

 private:
  void find_assignments() {
    for (const auto& equation : system_.equations) {
      const auto domain = domain_of(context_, equation);
      auto target = poly::Map::function(domain, to_poly(equation.index, equation.indices.size()));
      auto elements = target.range();
      assignments_.push_back({&equation, domain, std::move(target), std::move(elements)});
    }
  }

  /// The elements that both assign.
  [[nodiscard]] poly::Set twice(const Assignment& first, const Assignment& second) const {
    if (first.equation->target == second.equation->target) return first.elements.intersect(second.elements);
    return poly::Set::empty(context_, first.elements.dimensions());
  }

  void check_structure() const {
    for (const auto& equation : system_.equations) {
      const auto& tensor = system_.at(equation.target);
      CYC_CHECK(equation.index.size() == tensor.shape.size());
      if (tensor.role == Role::input) {
        throw LegalityError(
            {.code = "CYC201",
             .span = equation.span,
             .message = fmt::format("`{}` is an input and cannot be assigned", tensor.user_name()),
             .notes = {{tensor.span, "it is declared here"}},
             .help = fmt::format("assign a tensor of your own, for example `X = cy.empty_like({})`",
                                 tensor.user_name())});
      }
    }
  }

  void check_target(const Assignment& assignment) const {
    const auto& equation = *assignment.equation;
    const auto text = access_text(system_.at(equation.target).user_name(), equation.index, equation.indices);
    const auto outside = assignment.elements.subtract(elements_of(context_, system_.at(equation.target)));
    if (!outside.is_empty()) {
      const auto point = assignment.target.restrict_range(outside).sample();
      throw_out_of_bounds(equation.span, text, equation.target, equation.indices, point->first,
                          point->second);
    }
    if (!statements_ && !assignment.target.is_injective()) {
      const auto twice = assignment.target.then(assignment.target.reverse())
                             .intersect(poly::Map::before(context_, equation.indices.size()))
                             .sample();
      throw LegalityError({.code = "CYC201",
                           .span = equation.span,
                           .message = fmt::format("`{}` is assigned twice: at {} and at {}", text,
                                                  point_text(equation.indices, twice->first),
                                                  point_text(equation.indices, twice->second)),
                           .notes = {},
                           .help = "give every element one equation; use `sum(...)` or `+=` to accumulate"});
    }
  }

  [[noreturn]] void throw_out_of_bounds(const Span& span, const std::string& text, TensorId tensor,
                                        const std::vector<std::string>& names,
                                        const std::vector<std::int64_t>& point,
                                        const std::vector<std::int64_t>& element) const {
    throw LegalityError({.code = "CYC203",
                         .span = span,
                         .message = fmt::format("`{}` is `{}[{}]` at {}, but `{}` has shape ({})", text,
                                                system_.at(tensor).user_name(), fmt::join(element, ", "),
                                                point_text(names, point), system_.at(tensor).user_name(),
                                                fmt::join(system_.at(tensor).extents(), ", ")),
                         .notes = {},
                         .help = "shrink the range of the index or shift the subscript"});
  }

  void check_disjoint() const {
    for (std::size_t a = 0; a < assignments_.size(); ++a) {
      for (std::size_t b = a + 1; b < assignments_.size(); ++b) {
        const auto &first = assignments_[a], &second = assignments_[b];
        const auto both = twice(first, second).sample();
        if (!both) continue;
        throw LegalityError(
            {.code = "CYC201",
             .span = second.equation->span,
             .message = fmt::format("`{}[{}]` is assigned twice, by two equations",
                                    system_.at(first.equation->target).user_name(), fmt::join(*both, ", ")),
             .notes = {{first.equation->span, "it is assigned here first"}},
             .help = "make the domains disjoint, for example with `if`"});
      }
    }
  }

  [[nodiscard]] poly::Set assigned(TensorId tensor) const {
    auto result = poly::Set::empty(context_, system_.at(tensor).shape.size());
    for (const auto& assignment : assignments_) {
      if (assignment.equation->target == tensor) result = result.unite(assignment.elements);
    }
    return result;
  }

  void check_cover() const {
    for (std::size_t t = 0; t < system_.tensors.size(); ++t) {
      const auto& tensor = system_.tensors[t];
      if (tensor.role != Role::output) continue;
      const auto missing = elements_of(context_, tensor).subtract(assigned(TensorId(t))).lexmin_point();
      if (!missing) continue;
      throw LegalityError(
          {.code = "CYC202",
           .span = tensor.span,
           .message = fmt::format("`{}[{}]` is never assigned, and `{}` is returned", tensor.user_name(),
                                  fmt::join(*missing, ", "), tensor.user_name()),
           .notes = {},
           .help = fmt::format("add an equation for it, or start from `{} = cy.zeros(...)`",
                               tensor.user_name())});
    }
  }

  void check_reads(const Assignment& assignment) const {
    for_each_expr(system_, *assignment.equation, assignment.domain, [&](ExprId id, const Scope& scope) {
      const Expr& expr = system_.at(id);
      if (const auto* access = std::get_if<Access>(&expr.node)) check_access(expr, *access, scope);
      if (const auto* index = std::get_if<Index>(&expr.node)) check_index(expr, *index, scope);
      if (const auto* reduce = std::get_if<Reduce>(&expr.node)) check_reduction(expr, *reduce, scope);
    });
  }

  void check_access(const Expr& expr, const Access& access, const Scope& scope) const {
    const auto& tensor = system_.at(access.tensor);
    const auto text = access_text(system_.at(access.tensor).user_name(), access.index, scope.names);
    const auto map = poly::Map::function(scope.points, to_poly(access.index, scope.names.size()));
    const auto elements = map.range();
    const auto outside = elements.subtract(elements_of(context_, tensor));
    if (!outside.is_empty()) {
      const auto point = map.restrict_range(outside).sample();
      throw_out_of_bounds(expr.span, text, access.tensor, scope.names, point->first, point->second);
    }
    if (tensor.role == Role::input || statements_) return;
    const auto undefined = elements.subtract(assigned(access.tensor));
    if (undefined.is_empty()) return;
    const auto point = map.restrict_range(undefined).sample();
    throw LegalityError({.code = "CYC204",
                         .span = expr.span,
                         .message = fmt::format("`{}` reads `{}[{}]` at {}, which no equation assigns", text,
                                                tensor.user_name(), fmt::join(point->second, ", "),
                                                point_text(scope.names, point->first)),
                         .notes = {{tensor.span, "the tensor is declared here"}},
                         .help = "add an equation for the missing elements or restrict the index"});
  }

  /// Of numbers those of few bits, and those without sign, may not hold what a form is.
  void check_index(const Expr& expr, const Index& index, const Scope& scope) const {
    CYC_CHECK(operators::holds_index(index.dtype));
    const auto limits = operators::integer_limits(index.dtype);
    if (!limits) return;
    const auto form = to_poly(index.form, scope.names.size());
    const auto values = scope.points.image({form});
    const auto low = values.minimum(0), high = values.maximum(0);
    const auto [least, most] = *limits;
    if (!low || !high || (*low >= least && *high <= most)) return;
    throw ShapeError({.code = "CYC206",
                      .span = expr.span,
                      .message = fmt::format("`{}` reaches {}, and {} ends at {}",
                                             to_string(form, scope.names), *low < least ? *low : *high,
                                             operators::name(index.dtype), *low < least ? least : most),
                      .notes = {},
                      .help = "convert the array with which it is combined, e.g. `x.astype(\"int64\")`"});
  }

  void check_reduction(const Expr& expr, const Reduce& reduce, const Scope& scope) const {
    CYC_CHECK(std::ranges::find(scope.names, reduce.index) == scope.names.end(), reduce.index);
    if (has_neutral(reduce.kind)) return;
    const auto outer = scope.names.size();
    std::vector<std::size_t> keep(outer);
    for (std::size_t v = 0; v < outer; ++v) keep[v] = v;
    const auto nonempty = to_set(context_, reduce.domain, outer + 1).project(keep);
    const auto empty = scope.points.subtract(nonempty).lexmin_point();
    if (!empty) return;
    throw LegalityError({.code = "CYC205",
                         .span = expr.span,
                         .message = fmt::format("the maximum or minimum over `{}` is empty at {}",
                                                reduce.index, point_text(scope.names, *empty)),
                         .notes = {},
                         .help = "give these points an equation of their own"});
  }

  void check_types(const Equation& equation) const {
    const auto& tensor = system_.at(equation.target);
    const auto shape = tile_shape(system_, equation.expr);
    const auto wanted = tile_shape(tensor);
    if (shape != wanted && !(shape == operators::Shape{1, 1})) {
      throw ShapeError(
          {.code = "CYC206",
           .span = equation.span,
           .message = fmt::format("a tile of {}x{} is assigned to `{}`, whose tiles are {}x{}", shape.rows,
                                  shape.columns, tensor.user_name(), wanted.rows, wanted.columns),
           .notes = {{tensor.span, "it is declared here"}},
           .help = "give the tensor the tile shape of the result, or transpose"});
    }
    const DType dtype = dtype_of(system_, equation.expr, tensor.dtype);
    if (dtype != tensor.dtype) {
      throw ShapeError(
          {.code = "CYC206",
           .span = equation.span,
           .message = fmt::format("a {} value is assigned to `{}`, which is {}", operators::name(dtype),
                                  tensor.user_name(), operators::name(tensor.dtype)),
           .notes = {{tensor.span, "it is declared here"}},
           .help = "declare it with that dtype"});
    }
    for_each_expr(system_, equation, poly::Set::empty(context_, equation.indices.size()),
                  [&](ExprId id, const Scope&) {
                    const auto* apply = std::get_if<Apply>(&system_.at(id).node);
                    if (apply == nullptr) return;
                    std::vector<std::optional<DType>> operands;
                    for (const auto operand : apply->operands) operands.push_back(dtype_of(system_, operand));
                    const DType result = dtype_of(system_, id).value_or(dtype);
                    const DType works_on = operators::working_dtype(apply->op, operands, result);
                    if (operators::is_defined(apply->op, works_on)) return;
                    throw ShapeError(
                        {.code = "CYC206",
                         .span = system_.at(id).span,
                         .message = fmt::format("`{}` is not defined on {}", operators::info(apply->op).name,
                                                operators::name(works_on)),
                         .notes = {},
                         .help = "convert the inputs to a dtype that has it, with `astype`"});
                  });
  }

  const System& system_;
  bool statements_;
  poly::Context context_;
  std::vector<Assignment> assignments_;
};

}  // namespace

void verify(const System& system) { Verifier(system, false).run(); }

bool assigns_once(const System& system) { return Verifier(system, false).assigns_once(); }

void verify_statements(const System& system) { Verifier(system, true).run(); }

}  // namespace cyclotron::recurrence
