#include <cyclotron/proof/terms.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::proof {
namespace {

/// acc `outer` (a `inner` b), for the operators that accumulate.
struct Fused {
  Op outer;
  Op inner;
};

std::optional<Fused> fused(Op op) {
  switch (op) {
    case Op::multiply_add: return Fused{Op::add, Op::multiply};
    case Op::multiply_subtract: return Fused{Op::subtract, Op::multiply};
    case Op::matmul_add: return Fused{Op::add, Op::matmul};
    case Op::matmul_subtract: return Fused{Op::subtract, Op::matmul};
    case Op::syrk_add: return Fused{Op::add, Op::syrk};
    case Op::syrk_subtract: return Fused{Op::subtract, Op::syrk};
    default: return std::nullopt;
  }
}

bool commutes(Op op) { return op == Op::add || op == Op::multiply; }

}  // namespace

TermTable::TermTable(const std::vector<program::Tensor>& tensors)
    : tensors_(tensors), buckets_(1024), zero_(constant({0, 0, 0})), one_(constant({1, 0, 0})) {}

Shape TermTable::tile_shape(const program::Tensor& tensor, std::int64_t linear) {
  Shape shape;
  const auto extents = tensor.extents();
  for (std::size_t d = extents.size(); d-- > 0;) {
    const std::int64_t index = linear % extents[d];
    linear /= extents[d];
    const std::int64_t length = std::min(tensor.tile[d], tensor.shape[d] - index * tensor.tile[d]);
    (d + 1 == extents.size() && d > 0 ? shape.columns : shape.rows) *= length;
  }
  return shape;
}

std::string TermTable::element_text(const program::Tensor& tensor, std::int64_t linear) {
  const auto extents = tensor.extents();
  std::vector<std::int64_t> index(extents.size());
  for (std::size_t d = extents.size(); d-- > 0;) {
    index[d] = linear % extents[d];
    linear /= extents[d];
  }
  return fmt::format("{}[{}]", tensor.name, fmt::join(index, ", "));
}

TermId TermTable::element(std::uint32_t tensor, std::int64_t linear) {
  const auto number = static_cast<std::uint64_t>(linear);
  Node node;
  node.parts = {tensor, static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32U)};
  const auto& of = tensors_[tensor];
  if (of.blocked) {
    const Shape shape = tile_shape(of, linear);
    node.rows = static_cast<std::int32_t>(shape.rows);
    node.columns = static_cast<std::int32_t>(shape.columns);
  }
  return intern(node);
}

TermId TermTable::constant(const Number& value) {
  // By bits: 0 and -0 differ, and a NaN is itself.
  const auto key = [](const Number& number) {
    return std::tuple(std::bit_cast<std::uint64_t>(number.real),
                      std::bit_cast<std::uint64_t>(number.imaginary), number.rest);
  };
  const auto known =
      std::ranges::find_if(constants_, [&](const Number& other) { return key(other) == key(value); });
  Node node;
  node.kind = Kind::constant;
  node.parts[0] = static_cast<std::uint32_t>(known - constants_.begin());
  if (known == constants_.end()) constants_.push_back(value);
  return intern(node);
}

TermId TermTable::index(std::int64_t value, DType dtype) {
  const auto number = static_cast<std::uint64_t>(value);
  Node node;
  node.kind = Kind::index;
  node.parts = {static_cast<std::uint32_t>(dtype), static_cast<std::uint32_t>(number),
                static_cast<std::uint32_t>(number >> 32U)};
  return intern(node);
}

TermId TermTable::apply(Op op, Flags flags, std::span<const TermId> operands) {
  // 0 and 1 are the same in every dtype: what a sum over nothing is, where it has to have one.
  const bool converts = operators::info(op).typing == operators::Typing::cast;
  if (converts && (operands[0] == zero_ || operands[0] == one_)) return operands[0];
  const auto parts = fused(op);
  if (!parts) return literal(op, flags, operands);
  const TermId inner = literal(parts->inner, flags, operands.subspan(1));
  // The accumulator has the result's shape; an elementwise one broadcasts.
  const std::array<TermId, 2> both{operands[0], inner};
  if (parts->inner != Op::multiply && shape(both[0]) != shape(inner)) {
    std::vector<Shape> shapes;
    for (const auto operand : operands) shapes.push_back(shape(operand));
    (void)operators::result_shape(op, flags, shapes);  // throws
  }
  return literal(parts->outer, 0, both);
}

std::optional<TermTable::Choice> TermTable::choice(TermId id) const {
  const auto is = [](const Node& node, Op op) { return node.kind == Kind::apply && node.op == op; };
  const Node& node = nodes_[id];
  if (!is(node, Op::where) || nodes_[node.parts[2]].kind != Kind::constant) return std::nullopt;
  const auto& other = constants_[nodes_[node.parts[2]].parts[0]];
  const Node& test = nodes_[node.parts[0]];
  if (other.real != 0 || other.imaginary != 0 || other.rest != 0 || !is(test, Op::equal)) return std::nullopt;
  const Node& key = nodes_[test.parts[1]];
  if (key.kind != Kind::index) return std::nullopt;
  return Choice{test.parts[0], number_in(key)};
}

bool TermTable::is_apply(TermId id, Op op) const {
  return nodes_[id].kind == Kind::apply && nodes_[id].op == op;
}

bool TermTable::is_no_index(TermId id) const {
  constexpr auto least = static_cast<double>(std::numeric_limits<std::int64_t>::min());
  return nodes_[id].kind == Kind::constant && constants_[nodes_[id].parts[0]] == Number{least, 0, 0};
}

std::vector<TermId> TermTable::choices(TermId sum) const {
  std::vector<TermId> result;
  std::optional<Choice> after;
  for (TermId rest = sum; rest != no_term;) {
    const Node& node = nodes_[rest];
    TermId last = std::exchange(rest, no_term);
    if (node.kind == Kind::apply && node.op == Op::add) {
      const auto first = choice(node.parts[0]), second = choice(node.parts[1]);
      const bool is_second = second && (!first || first->key < second->key);
      last = node.parts[is_second ? 1 : 0];
      rest = node.parts[is_second ? 0 : 1];
    }
    const auto found = choice(last);
    if (!found || (after && (found->number != after->number || found->key >= after->key))) return {};
    after = found;
    result.push_back(last);
  }
  std::ranges::reverse(result);
  return result;
}

TermId TermTable::literal(Op op, Flags flags, std::span<const TermId> given) {
  CYC_CHECK(given.size() <= most_operands);
  if (op == Op::greater) return literal(Op::less, flags, std::array{given[1], given[0]});
  if (op == Op::less_equal) return literal(Op::greater_equal, flags, std::array{given[1], given[0]});
  if (op == Op::add && nodes_[given[1]].kind == Kind::apply && nodes_[given[1]].op == Op::add) {
    TermId total = given[0];
    const auto terms = choices(given[1]);
    for (const auto term : terms) total = literal(op, flags, std::array{total, term});
    if (!terms.empty()) return total;
  }
  // A choice between a value and itself.
  if (op == Op::where && given[1] == given[2] && shape(given[0]) == Shape{}) return given[1];
  // A choice with a flag of a choice by a number is one by both.
  if (op == Op::where && is_apply(given[1], Op::where) && nodes_[given[1]].parts[2] == given[2] &&
      is_apply(nodes_[given[1]].parts[0], Op::equal)) {
    if (given[0] == constant({1, 0, 0})) return given[1];
    const Node inner = nodes_[given[1]];
    const TermId both = literal(Op::logical_and, 0, std::array{given[0], inner.parts[0]});
    return literal(op, flags, std::array{both, inner.parts[1], given[2]});
  }
  // The number of no element where a flag fails: it is an element's with the flag.
  if (op == Op::equal && is_apply(given[0], Op::where) && nodes_[given[1]].kind == Kind::index &&
      is_no_index(nodes_[given[0]].parts[2])) {
    const Node number = nodes_[given[0]];
    const TermId found = literal(op, flags, std::array{number.parts[1], given[1]});
    return literal(Op::logical_and, 0, std::array{number.parts[0], found});
  }
  Node node;
  node.kind = Kind::apply;
  node.op = op;
  node.arity = static_cast<std::uint8_t>(given.size());
  node.flags = flags;
  std::array<Shape, most_operands> shapes;
  bool scalars = true;
  for (std::size_t i = 0; i < given.size(); ++i) {
    node.parts[i] = given[i];
    shapes[i] = shape(given[i]);
    scalars = scalars && shapes[i] == Shape{};
  }
  if (commutes(op) && node.parts[1] < node.parts[0]) std::swap(node.parts[0], node.parts[1]);
  if (!scalars) {
    const Shape result = operators::result_shape(op, flags, std::span(shapes.data(), given.size()));
    node.rows = static_cast<std::int32_t>(result.rows);
    node.columns = static_cast<std::int32_t>(result.columns);
  }
  return intern(node);
}

std::uint32_t TermTable::hash(const Node& node) {
  std::uint64_t hash = static_cast<std::uint64_t>(node.kind) << 16U | static_cast<std::uint64_t>(node.op)
                                                                          << 8U;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32U;
  };
  mix(node.flags);
  mix(static_cast<std::uint64_t>(node.parts[0]) << 32U | node.parts[1]);
  mix(node.parts[2]);
  return static_cast<std::uint32_t>(hash);
}

TermId TermTable::intern(const Node& node) {
  const std::uint32_t key = hash(node);
  const std::size_t mask = buckets_.size() - 1;
  std::size_t at = key & mask;
  for (; buckets_[at].id != no_term; at = (at + 1) & mask) {
    if (buckets_[at].hash == key && nodes_[buckets_[at].id] == node) return buckets_[at].id;
  }
  const auto id = static_cast<TermId>(nodes_.size());
  nodes_.push_back(node);
  buckets_[at] = {id, key};
  if (nodes_.size() * 2 > buckets_.size()) grow();
  return id;
}

void TermTable::grow() {
  const auto old = std::exchange(buckets_, std::vector<Bucket>(buckets_.size() * 4));
  const std::size_t mask = buckets_.size() - 1;
  for (const Bucket& bucket : old) {
    if (bucket.id == no_term) continue;
    std::size_t at = bucket.hash & mask;
    while (buckets_[at].id != no_term) at = (at + 1) & mask;
    buckets_[at] = bucket;
  }
}

std::pair<TermId, TermId> TermTable::difference(TermId a, TermId b) const {
  while (true) {
    const Node& left = nodes_[a];
    const Node& right = nodes_[b];
    if (left.kind != Kind::apply || right.kind != Kind::apply || left.op != right.op ||
        left.flags != right.flags || left.arity != right.arity) {
      return {a, b};
    }
    std::size_t i = 0;
    const auto of_left = operands(left);
    const auto of_right = operands(right);
    if (commutes(left.op)) {  // pair off what both have
      if (of_left[0] == of_right[1]) return difference(of_left[1], of_right[0]);
      if (of_left[1] == of_right[0]) return difference(of_left[0], of_right[1]);
    }
    while (i < of_left.size() && of_left[i] == of_right[i]) ++i;
    if (i == of_left.size()) return {a, b};
    a = of_left[i];
    b = of_right[i];
  }
}

std::string TermTable::text(TermId id, int budget) const {
  std::string result;
  write(id, budget, false, result);
  return result;
}

void TermTable::write(TermId id, int& budget, bool nested, std::string& text) const {
  if (--budget < 0) {
    text += "…";
    return;
  }
  const Node& node = nodes_[id];
  switch (node.kind) {
    case Kind::element: text += element_text(tensors_[node.parts[0]], number_in(node)); return;
    case Kind::index: text += fmt::format("{}", number_in(node)); return;
    case Kind::constant: {
      const auto& value = constants_[node.parts[0]];
      text += value.rest != 0        ? value.integer_text()
              : value.imaginary == 0 ? fmt::format("{}", value.real)
                                     : fmt::format("({}{:+}j)", value.real, value.imaginary);
      return;
    }
    case Kind::apply: break;
  }
  const auto& info = operators::info(node.op);
  const bool infix = !info.symbol.empty() && node.arity == 2;
  text += infix ? (nested ? "(" : "") : fmt::format("{}(", info.name);
  for (std::size_t i = 0; i < node.arity; ++i) {
    if (i > 0) text += infix ? fmt::format(" {} ", info.symbol) : ", ";
    write(operands(node)[i], budget, infix, text);
  }
  if (!infix || nested) text += ")";
}

}  // namespace cyclotron::proof
