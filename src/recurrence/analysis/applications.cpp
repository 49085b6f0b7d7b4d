#include "applications.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::recurrence {

namespace {

/// The same system with each tile as small as the tensor's smallest.
System with_smallest_tiles(System system) {
  for (auto& tensor : system.tensors) {
    for (std::size_t d = 0; tensor.blocked && d < tensor.shape.size(); ++d) {
      const auto rest = tensor.shape[d] % std::max<std::int64_t>(tensor.tile[d], 1);
      if (rest != 0) tensor.shape[d] = tensor.tile[d] = rest;
    }
  }
  return system;
}

}  // namespace

Applications::Applications(const System& system) : small_(with_smallest_tiles(system)) {}

std::vector<Application> Applications::ways(ExprId id) const {
  const auto* apply = std::get_if<Apply>(&small_.at(id).node);
  if (apply == nullptr || operators::info(apply->op).flops_per_element == 0 || may_fuse(*apply)) return {};
  if (product(id) != nullptr) return product_ways(id, *apply);
  return {{apply->op, apply->flags, shapes(apply->operands)}};
}

std::vector<Application> Applications::ways_of_terms(const Reduce& reduce) const {
  const auto* body = product(reduce.body);
  if (body == nullptr || reduce.kind != Reduction::sum) return {};
  return product_ways(reduce.body, *body);
}

Application Applications::joining(const Reduce& reduce) const {
  return {combining(reduce.kind), operators::no_flags, {shape(reduce.body), shape(reduce.body)}};
}

operators::Shape Applications::shape(ExprId id) const {
  try {
    return tile_shape(small_, id);
  } catch (const ShapeError&) {  // tiles of several sizes meet, which the smallest do not tell
    return {1, 1};
  }
}

std::vector<operators::Shape> Applications::shapes(const std::vector<ExprId>& operands) const {
  std::vector<operators::Shape> result;
  for (const auto operand : operands) result.push_back(shape(operand));
  return result;
}

const Apply* Applications::product(ExprId id) const {
  const auto* apply = std::get_if<Apply>(&small_.at(id).node);
  return apply != nullptr && operators::accumulating(apply->op) ? apply : nullptr;
}

/// The product and the operators that add it to a sum at once.
std::vector<Application> Applications::product_ways(ExprId id, const Apply& product) const {
  const auto operands = shapes(product.operands);
  std::vector<Application> result{{product.op, product.flags, operands}};
  const auto [added, subtracted] = operators::accumulating(product.op).value();
  for (const auto op : {added, subtracted}) {
    auto with_sum = operands;
    with_sum.insert(with_sum.begin(), shape(id));
    result.push_back({op, product.flags, std::move(with_sum)});
  }
  return result;
}

/// A sum of a product of tiles may be one operator with it, and one that goes on with a reduction's terms is none.
bool Applications::may_fuse(const Apply& apply) const {
  if (apply.op != Op::add && apply.op != Op::subtract) return false;
  const bool goes_onward = (apply.flags & operators::onward) != 0;
  return std::ranges::any_of(apply.operands, [&](ExprId operand) {
    const auto* factors = product(operand);
    return (factors != nullptr && factors->op != Op::multiply) ||
           (goes_onward && std::holds_alternative<Reduce>(small_.at(operand).node));
  });
}

}  // namespace cyclotron::recurrence
