#include <cyclotron/proof/terms.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

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

std::uint32_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return static_cast<std::uint32_t>(hash ^ (hash >> 32U));
}

}  // namespace

TermTable::TermTable(const std::vector<program::Tensor>& tensors)
    : tensors_(tensors), buckets_(1024, no_term) {}

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
  Node node;
  node.first = tensor;
  node.linear = linear;
  node.hash = mix(mix(1, tensor), static_cast<std::uint64_t>(linear));
  const auto& of = tensors_[tensor];
  if (of.blocked) node.shape = tile_shape(of, linear);
  return intern(node, {});
}

TermId TermTable::constant(double real, double imaginary) {
  // By bits: 0 and -0 differ, and a NaN is itself.
  const auto key = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  const auto known = std::ranges::find_if(constants_, [&](const auto& other) {
    return key(other.first) == key(real) && key(other.second) == key(imaginary);
  });
  Node node;
  node.kind = Kind::constant;
  node.first = static_cast<std::uint32_t>(known - constants_.begin());
  node.hash = mix(2, node.first);
  if (known == constants_.end()) constants_.emplace_back(real, imaginary);
  return intern(node, {});
}

TermId TermTable::apply(Op op, Flags flags, std::span<const TermId> operands) {
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

TermId TermTable::literal(Op op, Flags flags, std::span<const TermId> given) {
  std::array<Shape, 8> shapes;
  std::array<TermId, 8> ordered;
  CYC_CHECK(given.size() <= shapes.size());
  bool scalars = true;
  for (std::size_t i = 0; i < given.size(); ++i) {
    ordered[i] = given[i];
    shapes[i] = shape(given[i]);
    scalars = scalars && shapes[i] == Shape{};
  }
  if (commutes(op) && ordered[1] < ordered[0]) std::swap(ordered[0], ordered[1]);
  Node node;
  node.kind = Kind::apply;
  node.op = op;
  node.arity = static_cast<std::uint16_t>(given.size());
  node.flags = flags;
  if (!scalars) node.shape = operators::result_shape(op, flags, std::span(shapes.data(), given.size()));
  node.hash = mix(mix(3, static_cast<std::uint64_t>(op)), flags);
  for (std::size_t i = 0; i < given.size(); ++i) node.hash = mix(node.hash, ordered[i]);
  return intern(node, std::span(ordered.data(), given.size()));
}

bool TermTable::same(const Node& a, const Node& b, std::span<const TermId> operands_of_b) const {
  if (a.hash != b.hash || a.kind != b.kind) return false;
  if (a.kind != Kind::apply) return a.first == b.first && a.linear == b.linear;
  return a.op == b.op && a.flags == b.flags && std::ranges::equal(operands(a), operands_of_b);
}

TermId TermTable::intern(Node node, std::span<const TermId> operands_of_node) {
  const std::size_t mask = buckets_.size() - 1;
  std::size_t at = node.hash & mask;
  for (; buckets_[at] != no_term; at = (at + 1) & mask) {
    if (same(nodes_[buckets_[at]], node, operands_of_node)) return buckets_[at];
  }
  if (node.kind == Kind::apply) {
    node.first = static_cast<std::uint32_t>(operands_.size());
    operands_.insert(operands_.end(), operands_of_node.begin(), operands_of_node.end());
  }
  const auto id = static_cast<TermId>(nodes_.size());
  nodes_.push_back(node);
  buckets_[at] = id;
  if (nodes_.size() * 2 > buckets_.size()) grow();
  return id;
}

void TermTable::grow() {
  buckets_.assign(buckets_.size() * 4, no_term);
  const std::size_t mask = buckets_.size() - 1;
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    std::size_t at = nodes_[id].hash & mask;
    while (buckets_[at] != no_term) at = (at + 1) & mask;
    buckets_[at] = static_cast<TermId>(id);
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
    case Kind::element: text += element_text(tensors_[node.first], node.linear); return;
    case Kind::constant: {
      const auto [real, imaginary] = constants_[node.first];
      text += imaginary == 0 ? fmt::format("{}", real) : fmt::format("({}{:+}j)", real, imaginary);
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
