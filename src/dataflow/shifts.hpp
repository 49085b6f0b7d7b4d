// Private to this layer: offsets between points, as numbers and as forms.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/dataflow/graph.hpp>

namespace cyclotron::dataflow::detail {

/// Equal forms on the domain, written as p + constant where they are that: isl may write a coordinate that
/// is fixed on a small domain as a constant, which hides the neighbour.
[[nodiscard]] std::vector<poly::Affine> as_shifts(const poly::Set& domain, std::vector<poly::Affine> forms);
/// A name for a space: the base, numbered where there are others of it.
[[nodiscard]] std::string unused_name(const Graph& graph, const std::string& base);
/// Writes as many coordinates of a space as possible in terms of the others, which become its own, by forms that vanish at
/// its points: inner ones of time first, the grid's last.
void choose_free_coordinates(const std::vector<poly::Affine>& equalities, Space& space);
/// The least and the greatest value of a form at points of any space.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> range_of(const Graph& graph, const poly::Affine& form);
/// p + offset as forms.
[[nodiscard]] std::vector<poly::Affine> shifted(std::size_t rank, const std::vector<std::int64_t>& offset);
/// The offset of the point `steps` further along a free coordinate; those that depend on it move with it.
[[nodiscard]] std::vector<std::int64_t> step_along(const Space& space, std::size_t dim, std::int64_t steps);
[[nodiscard]] std::vector<std::int64_t> unit(std::size_t rank, std::size_t dim, std::int64_t value);

}  // namespace cyclotron::dataflow::detail
