// Recurrences as integer sets and affine forms: the bridge to poly.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Pads the omitted trailing zeros.
[[nodiscard]] poly::Affine to_poly(const Affine& form, std::size_t variables);
[[nodiscard]] std::vector<poly::Affine> to_poly(const std::vector<Affine>& forms, std::size_t variables);
[[nodiscard]] poly::Set to_set(const poly::Context& context, const Region& region, std::size_t variables);
/// As unions of conjunctions; none where existential variables remain that are no plain divisibility.
[[nodiscard]] std::optional<Region> to_region(const poly::Set& set);
/// The points in both.
[[nodiscard]] Region intersection(const Region& a, const Region& b);

/// Indices of the equation at its points.
[[nodiscard]] poly::Set domain_of(const poly::Context& context, const Equation& equation);
/// All elements of a tensor.
[[nodiscard]] poly::Set elements_of(const poly::Context& context, const Tensor& tensor);

/// The names and points in scope at an expression.
struct Scope {
  std::vector<std::string> names;
  poly::Set points;
};

/// One order of all indices that agrees with each nest's, from the outermost on, if there is one.
[[nodiscard]] std::optional<std::vector<std::string>> consistent_order(
    const std::vector<std::vector<std::string>>& nests);
/// An order of all indices: the deepest nest first, and the others fitted in before the first index that
/// follows them; where that disagrees with a nest, one that agrees with all if there is one.
[[nodiscard]] std::vector<std::string> nesting_order(std::vector<std::vector<std::string>> nests);

/// Calls `visit` for every expression of the equation, operands after their user, with what is in scope
/// there.
void for_each_expr(const System& system, const Equation& equation, const poly::Set& domain,
                   const std::function<void(ExprId, const Scope&)>& visit);

/// The name of each tensor in listings: of an input or output its own, of others the one that users know, with the
/// line of its statement (`u@36`) where that is not the name of one tensor alone, and a number within the line.
[[nodiscard]] std::vector<std::string> listed_names(const System& system);
/// `A[i, k-1]` for an access with these names in scope.
[[nodiscard]] std::string access_text(const std::string& tensor, const std::vector<Affine>& index,
                                      const std::vector<std::string>& names);
/// `i = 3, k = 0` for a point.
[[nodiscard]] std::string point_text(const std::vector<std::string>& names,
                                     const std::vector<std::int64_t>& point);

/// The largest tile of a tensor: its tile, clipped by its shape; a vector tile is a column.
[[nodiscard]] operators::Shape tile_shape(const Tensor& tensor);
/// Shape of an expression for largest tiles. Throws ShapeError CYC206 naming operator, operands and place.
[[nodiscard]] operators::Shape tile_shape(const System& system, ExprId id);
/// Dtype of an expression; nullopt for numbers, which adopt their neighbour's. Throws ShapeError CYC206 where
/// operands differ.
[[nodiscard]] std::optional<DType> dtype_of(const System& system, ExprId id);
/// The same; numbers adopt `fallback`.
[[nodiscard]] DType dtype_of(const System& system, ExprId id, DType fallback);

}  // namespace cyclotron::recurrence
