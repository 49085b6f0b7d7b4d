// Terms: what a value is, as the tree of operations that made it. Equal trees have one number.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::proof {

using operators::DType;
using operators::Flags;
using operators::Op;
using operators::Shape;

using TermId = std::uint32_t;
inline constexpr TermId no_term = 0xffffffffU;  ///< Of bytes that hold no value.

/// Hash-consed terms. A fused operator is the tree that it means (`multiply_add(c, a, b)` is `c + a * b`), and
/// `a + b` is `b + a`, `a * b` is `b * a`; so is `a + (b + c)` of elements that one number chooses, since b or c is 0;
/// everything else is literal, since floating-point order is part
/// of the meaning. Terms have no dtype but their elements'; what is made of numbers alone is taken to have
/// one dtype in program and equations.
class TermTable {
 public:
  /// The tensors that elements name; kept by reference.
  explicit TermTable(const std::vector<program::Tensor>& tensors);

  /// Element (or tile) number `linear` of a tensor, row-major over its extents.
  TermId element(std::uint32_t tensor, std::int64_t linear);
  TermId constant(const Number& value);
  /// The value of an index, as a number of the dtype.
  TermId index(std::int64_t value, DType dtype);
  /// Throws ShapeError where the operands' shapes do not fit.
  TermId apply(Op op, Flags flags, std::span<const TermId> operands);

  [[nodiscard]] Shape shape(TermId id) const { return {nodes_[id].rows, nodes_[id].columns}; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  /// `A[0, 1] * B[1, 0] + …`, with at most about `budget` leaves and operators.
  [[nodiscard]] std::string text(TermId id, int budget = 12) const;
  /// The first place, from the left, where two terms differ: the smallest pair of unequal terms there.
  [[nodiscard]] std::pair<TermId, TermId> difference(TermId a, TermId b) const;

  /// Shape of a tensor's tile; the last tile of a dimension may be smaller.
  [[nodiscard]] static Shape tile_shape(const program::Tensor& tensor, std::int64_t linear);
  /// `A[0, 1]`
  [[nodiscard]] static std::string element_text(const program::Tensor& tensor, std::int64_t linear);

 private:
  static constexpr std::size_t most_operands = 3;
  enum class Kind : std::uint8_t { element, constant, index, apply };
  /// Half a cache line: looking terms up is what the checker does most.
  struct Node {
    Kind kind = Kind::element;
    Op op = Op::add;          // apply
    std::uint8_t arity = 0;   // apply
    std::uint32_t flags = 0;  // apply
    /// Operands; of an element the tensor and the two halves of its number; of a constant its number; of an index the
    /// dtype and the halves of its value.
    std::array<std::uint32_t, most_operands> parts{};
    std::int32_t rows = 1;
    std::int32_t columns = 1;
    bool operator==(const Node&) const = default;
  };
  struct Bucket {
    TermId id = no_term;
    std::uint32_t hash = 0;
  };

  static std::uint32_t hash(const Node& node);
  /// The number of which the second and third part of an element or index are the halves.
  static std::int64_t number_in(const Node& node) {
    return static_cast<std::int64_t>(std::uint64_t{node.parts[2]} << 32U | node.parts[1]);
  }
  TermId intern(const Node& node);
  TermId literal(Op op, Flags flags, std::span<const TermId> given);
  /// `where(number == key, a, 0)`
  struct Choice {
    TermId number;
    std::int64_t key;
  };
  [[nodiscard]] std::optional<Choice> choice(TermId id) const;
  [[nodiscard]] bool is_apply(TermId id, Op op) const;
  /// True of the least number of int64, which no index is.
  [[nodiscard]] bool is_no_index(TermId id) const;
  /// The terms of a sum of such choices of one number, by ascending keys; none of other sums.
  [[nodiscard]] std::vector<TermId> choices(TermId sum) const;
  [[nodiscard]] std::span<const TermId> operands(const Node& node) const {
    return {node.parts.data(), node.arity};
  }
  void write(TermId id, int& budget, bool nested, std::string& text) const;
  void grow();

  const std::vector<program::Tensor>& tensors_;
  std::vector<Node> nodes_;
  std::vector<Number> constants_;
  std::vector<Bucket> buckets_;  // Open addressing; a power of two of them.
  TermId zero_;
  TermId one_;
};

}  // namespace cyclotron::proof
