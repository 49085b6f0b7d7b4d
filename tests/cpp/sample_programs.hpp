// Small programs for the tests of several layers.
#pragma once
#include <limits>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <cyclotron/program/program.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::testing {

using namespace program;

inline Affine form(std::vector<std::int64_t> coefficients, std::int64_t constant = 0) {
  return {std::move(coefficients), constant};
}
inline SlotRef slot(std::size_t index) { return {SlotId(index), {}}; }
inline Instruction at(Action action, int line = 0) {
  return {std::move(action), line == 0 ? Span{} : Span{"matmul.py", line, 4, line, 20}};
}
inline Instruction loop(std::string name, std::int64_t first, std::int64_t last) {
  return at(Loop{std::move(name), {{form({}, first), 1}}, {{form({}, last), 1}}, 1});
}
inline Slot scalar(std::string name) {
  Slot result;
  result.name = std::move(name);
  return result;
}

/// The interior class of a weight-stationary matmul (the paper's Fig. 14) on a 4x4 grid, 5 columns of B.
inline Program matmul() {
  Program result;
  result.kernel = "matmul";
  result.grid = {4, 4};
  result.machine.grid = {4, 4};
  result.grid_names = {"i", "k"};
  result.tensors = {{"A", DType::float64, Role::input, {4, 4}, {1, 1}, false},
                    {"B", DType::float64, Role::input, {4, 5}, {1, 1}, false},
                    {"C", DType::float64, Role::output, {4, 5}, {1, 1}, false}};
  Channel channel;
  channel.name = "B.i+1";
  channel.offset = {1, 0};
  result.channels.push_back(channel);
  channel.name = "C.k+1";
  channel.offset = {0, 1};
  result.channels.push_back(channel);

  PeClass interior;
  interior.name = "class 0";
  interior.region = {{{Condition::Kind::non_negative, form({1}, -1), 0},
                      {Condition::Kind::non_negative, form({-1}, 2), 0},
                      {Condition::Kind::non_negative, form({0, 1}, -1), 0},
                      {Condition::Kind::non_negative, form({0, -1}, 2), 0}}};
  interior.region_text = "{ [i, k] : 0 < i <= 2 and 0 < k <= 2 }";
  interior.slots = {scalar("W"), scalar("B"), scalar("C")};
  interior.slots[0].persistent = true;
  interior.code = {
      at(Load{slot(0), TensorId(0), {form({1}), form({0, 1})}}, 9),
      loop("j", 0, 4),
      at(Receive{ChannelId(0), slot(1), {}}, 9),
      at(Receive{ChannelId(1), slot(2), {}}, 9),
      at(Send{ChannelId(0), slot(1)}, 9),
      at(Compute{Op::multiply_add, 0, {slot(2), slot(0), slot(1)}, slot(2)}, 9),
      at(Send{ChannelId(1), slot(2)}, 9),
      at(End{}),
  };
  result.classes.push_back(interior);

  PeClass last = interior;
  last.name = "class 1";
  last.region = {{{Condition::Kind::zero, form({0, 1}, -3), 0}}};
  last.region_text = "{ [i, k] : k = 3 }";
  last.code[6] = at(Store{TensorId(2), {form({1}), form({0, 0, 1})}, slot(2)}, 10);
  result.classes.push_back(last);
  result.notes = {{"schedule", "space i, k; time j"}};
  return result;
}

/// One of every instruction and field, with values that are hard to write: not sensible to run.
inline Program everything() {
  Program result = matmul();
  result.kernel = "all \"of\" it ✓";
  result.machine.topology = {machine::Topology::torus};
  result.machine.pe.cycles = {{"matmul", 3}, {"move", 0}};
  result.machine.pe.matrix = machine::Unit{{4, 4, 2}, 3};
  result.machine.pe.scalar = machine::Unit{{}, 2};
  result.machine.pe.registers = 6;
  result.machine.pe.banks = 3;
  result.machine.clock_hz = 1.5e9;
  result.machine.links[{1, 0}] = {.latency_cycles = 4, .depth = 3};
  Channel network;
  network.name = "X";
  network.kind = Channel::Kind::network;
  network.tile = {8, 8};
  network.axis = 1;
  network.depth = 4;
  result.channels.push_back(network);
  result.tensors.push_back({"T", DType::float64, Role::input, {10}, {4}, true});
  PeClass other;
  other.name = "class 2";
  other.region = {{{Condition::Kind::divisible, form({1, 0}, -7), 2}}, {}};
  Slot tiles = scalar("T");
  tiles.tile = {8, 4};
  tiles.count = 3;
  other.slots = {tiles, scalar("x"), scalar("y")};
  const double infinity = std::numeric_limits<double>::infinity();
  other.code = {
      at(Loop{"t", {{form({1}, 1), 2}, {form({}, 0), 1}}, {{form({0, 1}, 9), 1}, {form({}, 30), 4}}, 2}, 3),
      at(If{{{{Condition::Kind::divisible, form({1, 0, 1}), 3}, {Condition::Kind::zero, form({1, -1}), 0}},
             {}}}),
      at(Receive{ChannelId(2), slot(1), {form({0, 0, 1}, -1)}}),
      at(Broadcast{ChannelId(2), slot(1), {{form({}, 1), 1}}, {{form({0, 1}), 2}}}),
      at(End{}),
      at(Move{slot(2), Constant{-0.0, infinity}}),
      at(Move{slot(2), Constant{0.1, -infinity}}),
      at(Compute{Op::solve_triangular,
                 operators::lower | operators::right_side | operators::unit_diagonal | operators::transpose_a,
                 {slot(1), Constant{5e-324, 0}},
                 slot(2)}),
      at(Compute{Op::matmul,
                 operators::transpose_b,
                 {SlotRef{SlotId(0), form({1}), {form({0, 0, 1}, 1), 3, 2}}, slot(1)},
                 slot(2)}),
      at(Send{ChannelId(0), slot(2)}),
      at(End{}),
  };
  other.code[2].span = {"other.py", 1, 2, 3, 4};
  result.classes.push_back(other);
  result.notes["empty"] = "";
  return result;
}

/// A loop in one PE that computes in those of its iterations that a number leaves.
inline Program bounded_by_a_number() {
  Program result;
  result.kernel = "part";
  result.machine.grid = result.grid = {1};
  result.grid_names = {"i"};
  Slot number = scalar("n");
  number.dtype = DType::int64;
  result.classes.push_back({"class 0", {{}}, "", {number, scalar("x")}, {}, 0});
  result.classes[0].code = {
      at(Loop{"t", {{form({}, 0), 1}}, {{form({}, 7), 1}}, 1}),
      at(If{{{}}, {{slot(0), form({0, 1}, 1), true}, {slot(0), form({}, 9), false}}}),
      at(Compute{Op::add, 0, {slot(1), slot(1)}, slot(1)}),
      at(End{}),
      at(End{}),
  };
  return result;
}

/// The diagnostic of the error that the call throws; a test failure where it throws none.
template <class E, class F>
Diagnostic thrown(F call) {
  try {
    call();
  } catch (const E& error) {
    return error.diagnostic();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace cyclotron::testing
