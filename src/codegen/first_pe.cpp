#include <cyclotron/codegen/first_pe.hpp>

#include <utility>

#include <cyclotron/poly/set.hpp>

#include "to_program.hpp"

namespace cyclotron::codegen {
namespace {

poly::Set on_grid(const poly::Context& context, const std::vector<std::int64_t>& grid, const Boxes& boxes) {
  poly::Set result = poly::Set::empty(context, grid.size());
  for (const auto& box : boxes) {
    poly::Conjunction all;
    for (std::size_t d = 0; d < grid.size(); ++d) {
      const auto [first, last, step] = machine::on_axis(d < box.size() ? box[d] : machine::Slice{}, grid[d]);
      const auto form = [&](std::int64_t coefficient, std::int64_t constant) {
        poly::Affine one{std::vector<std::int64_t>(grid.size()), constant};
        one.coefficients[d] = coefficient;
        return one;
      };
      all.constraints.push_back({form(1, -first), false});
      all.constraints.push_back({form(-1, *last - 1), false});
      if (step > 1) all.divisible.emplace_back(form(1, -first), step);
    }
    result = result.unite(poly::Set::where(context, grid.size(), all));
  }
  return result;
}

}  // namespace

std::optional<std::vector<std::int64_t>> first_pe(const program::Program& program,
                                                  std::optional<std::size_t> pe_class, const Boxes& inside,
                                                  const Boxes& outside) {
  const poly::Context context;
  const std::size_t rank = program.grid.size();
  poly::Set left = on_grid(context, program.grid, inside);
  if (pe_class) left = left.intersect(to_set(context, rank, program.classes.at(*pe_class).region));
  left = left.subtract(on_grid(context, program.grid, outside));
  while (auto pe = left.lexmin_point()) {
    const std::size_t own = program.class_of(*pe);
    if (!pe_class || own == *pe_class) return pe;
    left =
        left.subtract(to_set(context, rank, program.classes[own].region));  // it has the PE before this one
  }
  return std::nullopt;
}

}  // namespace cyclotron::codegen
