// Programs written by hand, and arrays to run them on.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <cyclotron/memory/layout.hpp>
#include <cyclotron/program/program.hpp>
#include <cyclotron/runtime/runtime.hpp>

namespace cyclotron::runtime::testing {

using namespace program;
using operators::Shape;
using program::Action;  // not the kind that is counted

inline Affine constant(std::int64_t value) { return {{}, value}; }
/// The environment's variable `v`, plus a constant.
inline Affine variable(std::size_t v, std::int64_t plus = 0) {
  Affine result{std::vector<std::int64_t>(v + 1, 0), plus};
  result.coefficients[v] = 1;
  return result;
}
inline Affine minus(std::size_t v, std::int64_t plus = 0) {
  Affine result = variable(v, plus);
  result.coefficients[v] = -1;
  return result;
}
inline SlotRef slot(std::size_t s, Affine index = {}) { return {SlotId(s), std::move(index)}; }

/// Builds a class's code; line numbers count the instructions.
class Code {
 public:
  Code& add(Action action) {
    const int line = static_cast<int>(code.size()) + 1;
    code.push_back({std::move(action), Span{"kernel.py", line, 0, line, 1}});
    return *this;
  }
  Code& loop(std::string name, Affine lower, Affine upper, std::int64_t step = 1) {
    return add(Loop{std::move(name), {{std::move(lower), 1}}, {{std::move(upper), 1}}, step});
  }
  Code& if_zero(Affine form) { return add(If{{{{Condition::Kind::zero, std::move(form), 0}}}}); }
  Code& if_not_negative(Affine form) {
    return add(If{{{{Condition::Kind::non_negative, std::move(form), 0}}}});
  }
  Code& end() { return add(End{}); }
  Code& load(SlotRef to, std::size_t tensor, std::vector<Affine> index) {
    return add(Load{std::move(to), TensorId(tensor), std::move(index)});
  }
  Code& store(std::size_t tensor, std::vector<Affine> index, SlotRef from) {
    return add(Store{TensorId(tensor), std::move(index), std::move(from)});
  }
  Code& send(std::size_t channel, SlotRef from) { return add(Send{ChannelId(channel), std::move(from)}); }
  Code& receive(std::size_t channel, SlotRef to) {
    return add(Receive{ChannelId(channel), std::move(to), {}});
  }
  Code& receive_from(std::size_t channel, SlotRef to, Affine sender) {
    return add(Receive{ChannelId(channel), std::move(to), {std::move(sender)}});
  }
  Code& broadcast(std::size_t channel, SlotRef from, Affine lower, Affine upper) {
    return add(
        Broadcast{ChannelId(channel), std::move(from), {{std::move(lower), 1}}, {{std::move(upper), 1}}});
  }
  Code& move(SlotRef to, Move::Source from) { return add(Move{std::move(to), std::move(from)}); }
  Code& compute(Op op, SlotRef to, std::vector<Operand> operands, Flags flags = 0) {
    return add(Compute{op, flags, std::move(operands), std::move(to)});
  }

  std::vector<Instruction> code;
};

/// A program with one class on the whole grid, unit operator cost and no slots yet.
inline Program make_program(std::vector<std::int64_t> grid) {
  Program result;
  result.kernel = "test";
  result.grid = result.machine.grid = grid;
  for (std::size_t d = 0; d < grid.size(); ++d) result.grid_names.push_back("ij" + std::to_string(d));
  result.classes.push_back(
      {.name = "class 0", .region = {{}}, .region_text = "all", .slots = {}, .code = {}, .memory_bytes = 0});
  result.machine.pe.memory_bytes = 1 << 26;
  return result;
}

inline std::size_t add_slot(PeClass& pe_class, std::string name, Shape tile = {},
                            DType dtype = DType::float64, std::int64_t count = 1) {
  const auto bytes =
      tile.rows * tile.columns * count * static_cast<std::int64_t>(operators::size_bytes(dtype));
  pe_class.slots.push_back({std::move(name), dtype, tile, count, pe_class.memory_bytes, false});
  pe_class.memory_bytes += (bytes + 15) / 16 * 16;
  return pe_class.slots.size() - 1;
}

inline Channel link(std::string name, std::vector<std::int64_t> offset, Shape tile = {},
                    DType dtype = DType::float64, std::int64_t depth = 0) {
  return {std::move(name), Channel::Kind::link, dtype, tile, std::move(offset), 0, depth};
}
inline Channel network(std::string name, std::uint32_t axis, Shape tile = {}, DType dtype = DType::float64) {
  return {std::move(name), Channel::Kind::network, dtype, tile, {}, axis, 0};
}

/// A row-major array of T with its view.
template <class T>
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<T> data;

  explicit Array(std::vector<std::int64_t> s) : shape(std::move(s)) {
    std::size_t size = 1;
    for (const auto n : shape) size *= static_cast<std::size_t>(n);
    data.resize(size);
  }
  [[nodiscard]] ArrayView view() {
    ArrayView result{data.data(), std::vector<std::int64_t>(shape.size(), sizeof(T))};
    for (std::size_t d = shape.size(); d-- > 1;) result.strides[d - 1] = result.strides[d] * shape[d];
    return result;
  }
  T& operator()(std::int64_t i, std::int64_t j) { return data[static_cast<std::size_t>(i * shape[1] + j)]; }
};

/// C = A @ B, output-stationary: A flows along j, B along i, PE (i, j) keeps C[i, j].
/// Extents count tiles of `tile` scalars; the shapes are in scalars and may end in smaller tiles.
struct Matmul {
  std::int64_t rows, columns, inner;
  std::int64_t tile = 1;
  DType dtype = DType::float64;
};

inline Program output_stationary(const Matmul& m) {
  const auto tiles = [&](std::int64_t n) { return (n + m.tile - 1) / m.tile; };
  Program result = make_program({tiles(m.rows), tiles(m.columns)});
  const bool blocked = m.tile > 1;
  const std::vector<std::int64_t> tile{m.tile, m.tile};
  result.tensors = {{"A", m.dtype, Role::input, {m.rows, m.inner}, tile, blocked},
                    {"B", m.dtype, Role::input, {m.inner, m.columns}, tile, blocked},
                    {"C", m.dtype, Role::output, {m.rows, m.columns}, tile, blocked}};
  const Shape shape{m.tile, m.tile};
  result.channels = {link("A.j+1", {0, 1}, shape, m.dtype), link("B.i+1", {1, 0}, shape, m.dtype)};
  PeClass& all = result.classes[0];
  const auto a = add_slot(all, "a", shape, m.dtype), b = add_slot(all, "b", shape, m.dtype),
             c = add_slot(all, "c", shape, m.dtype);
  const auto last_i = result.grid[0] - 1, last_j = result.grid[1] - 1;
  const auto step = [&](Code& code, bool first) {
    code.if_zero(variable(1)).load(slot(a), 0, {variable(0), variable(2)}).end();
    code.if_not_negative(variable(1, -1)).receive(0, slot(a)).end();
    code.if_not_negative(minus(1, last_j - 1)).send(0, slot(a)).end();
    code.if_zero(variable(0)).load(slot(b), 1, {variable(2), variable(1)}).end();
    code.if_not_negative(variable(0, -1)).receive(1, slot(b)).end();
    code.if_not_negative(minus(0, last_i - 1)).send(1, slot(b)).end();
    if (first) {
      code.compute(Op::matmul, slot(c), {slot(a), slot(b)});
    } else {
      code.compute(Op::matmul_add, slot(c), {slot(c), slot(a), slot(b)});
    }
  };
  Code code;
  code.loop("k", constant(0), constant(0));
  step(code, true);
  code.end().loop("k", constant(1), constant(tiles(m.inner) - 1));
  step(code, false);
  code.end().store(2, {variable(0), variable(1)}, slot(c));
  all.code = code.code;
  return result;
}

/// Small integers, so that sums of products are exact in every dtype.
template <class T>
void fill(Array<T>& array, int seed) {
  for (std::size_t n = 0; n < array.data.size(); ++n) {
    array.data[n] = static_cast<T>(static_cast<int>((n * 7 + static_cast<std::size_t>(seed) * 5) % 11) - 5);
  }
}

}  // namespace cyclotron::runtime::testing
