// Cycles of operators: by name, by the passes of a unit, by flops.
#include <cyclotron/program/timing.hpp>

#include <vector>

#include <gtest/gtest.h>

namespace cyclotron::program {
namespace {

using operators::Shape;

std::int64_t cycles(const machine::Pe& pe, Op op, std::vector<Shape> operands, Flags flags = 0) {
  return cycles_of(pe, op, flags, operands);
}

TEST(Timing, WithoutUnitsFlopsCount) {
  machine::Pe pe;
  pe.flops_per_cycle = 4;
  EXPECT_EQ(cycles(pe, Op::matmul, {{5, 7}, {7, 3}}), 53);  // 210 / 4
  EXPECT_EQ(cycles(pe, Op::add, {{1, 1}, {1, 1}}), 1);
  EXPECT_EQ(cycles(pe, Op::transpose, {{4, 4}}), 1);
}

TEST(Timing, ProductsTakeThePassesOfTheMatrixUnit) {
  machine::Pe pe;
  pe.matrix = machine::Unit{{2, 2, 4}, 3};
  EXPECT_EQ(cycles(pe, Op::matmul, {{5, 7}, {7, 3}}), 3 * 2 * 2 * 3);
  EXPECT_EQ(cycles(pe, Op::matmul_add, {{5, 3}, {7, 5}, {7, 3}}, operators::transpose_a), 3 * 2 * 2 * 3);
  EXPECT_EQ(cycles(pe, Op::syrk, {{5, 7}}), 3 * 3 * 2 * 3);
  EXPECT_EQ(cycles(pe, Op::add, {{4, 4}, {4, 4}}), 8);
}

TEST(Timing, TheVectorUnitTakesElementsAndReductions) {
  machine::Pe pe;
  pe.vector = machine::Unit{{8}, 2};
  EXPECT_EQ(cycles(pe, Op::add, {{5, 1}, {1, 7}}), 5 * 2);
  EXPECT_EQ(cycles(pe, Op::row_max, {{5, 7}}), 5 * 2);
  EXPECT_EQ(cycles(pe, Op::where, {{1, 1}, {1, 1}, {1, 1}}), 2);
  EXPECT_EQ(cycles(pe, Op::matmul, {{2, 2}, {2, 2}}), 8);
  pe.scalar = machine::Unit{{}, 5};
  EXPECT_EQ(cycles(pe, Op::where, {{1, 1}, {1, 1}, {1, 1}}), 5);
  EXPECT_EQ(cycles(pe, Op::row_max, {{1, 1}}), 2);
}

TEST(Timing, TheLargestProductsDoNotOverflow) {
  machine::Pe pe;
  pe.matrix = machine::Unit{{1, 1, 1}, std::int64_t{1} << 16};
  const Shape largest{std::int64_t{1} << 15, std::int64_t{1} << 15};
  EXPECT_EQ(cycles(pe, Op::matmul, {largest, largest}), std::int64_t{1} << 61);
}

TEST(Timing, NamesComeFirst) {
  machine::Pe pe;
  pe.cycles["matmul"] = 0;
  EXPECT_EQ(given_cycles(pe, Op::matmul), 0);
  EXPECT_EQ(given_cycles(pe, Op::add), std::nullopt);
}

}  // namespace
}  // namespace cyclotron::program
