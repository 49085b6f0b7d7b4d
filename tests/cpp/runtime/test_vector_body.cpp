// Operation by operation, loops leave in memory what their iterations in turn leave.
#include "../../../src/runtime/engine/vectorize/vector_body.hpp"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

namespace cyclotron::runtime {
namespace {

using Operation = VectorOperation;
using Memory = std::vector<std::uint64_t>;  // that wraps, as the kernels' integers do

/// A scalar of the memory, in elements.
struct Cells {
  std::ptrdiff_t first, advance;
  std::uint16_t region = 0;
};
struct Step {
  Op op;  ///< `copy`: no kernel.
  std::vector<Cells> in;
  Cells out;
};

void in_turn(const std::vector<Step>& steps, std::int64_t first, std::int64_t iterations, Memory& memory) {
  for (std::int64_t n = first; n < iterations; ++n) {
    const auto at = [&](const Cells& cells) -> std::uint64_t& {
      return memory.at(static_cast<std::size_t>(cells.first + n * cells.advance));
    };
    for (const auto& [op, in, out] : steps) {
      switch (op) {
        case Op::add: at(out) = at(in[0]) + at(in[1]); break;
        case Op::subtract: at(out) = at(in[0]) - at(in[1]); break;
        case Op::multiply: at(out) = at(in[0]) * at(in[1]); break;
        case Op::multiply_add: at(out) = at(in[0]) + at(in[1]) * at(in[2]); break;
        default: at(out) = at(in[0]); break;
      }
    }
  }
}

std::vector<Operation> operations_of(const std::vector<Step>& steps, Memory& memory) {
  constexpr std::ptrdiff_t width = sizeof(std::int64_t);
  const auto scalar = [&](const Cells& cells) {
    return Scalar{reinterpret_cast<std::byte*>(memory.data() + cells.first), cells.advance * width, width,
                  cells.region};
  };
  std::vector<Operation> operations;
  for (const auto& [op, in, out] : steps) {
    auto& operation = operations.emplace_back();
    operation.kernel = op == Op::copy ? nullptr : vector_kernel(op, 0, DType::int64);
    operation.operands = static_cast<std::uint8_t>(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) operation.in[i] = scalar(in[i]);
    operation.out = scalar(out);
  }
  return operations;
}

Memory numbers(std::size_t count) {
  Memory memory(count);
  for (std::size_t n = 0; n < count; ++n) memory[n] = (n * n * 7 + n) % 101;
  return memory;
}

/// Tells whether they ran together; if so, all memory is as they leave it in turn, and as it was else.
bool agrees(VectorBody& body, const std::vector<Step>& steps, std::int64_t iterations, std::size_t size) {
  auto expected = numbers(size), found = expected;
  const bool ran = body.run(operations_of(steps, found), iterations);
  if (ran) in_turn(steps, iterations - 1, iterations, found);  // the last one, which is left
  if (ran) in_turn(steps, 0, iterations, expected);
  EXPECT_EQ(found, expected);
  return ran;
}

bool agrees(const std::vector<Step>& steps, std::int64_t iterations, std::size_t size) {
  VectorBody body;
  return agrees(body, steps, iterations, size);
}

constexpr std::int64_t many = 700;  // more than run together

TEST(VectorBody, TemporariesBecomeVectors) {
  // t = u[n] + u[n+2]; s = t; v[n] = s - u[n+1]: t and s are left as the last iteration leaves them.
  const std::vector<Step> steps{{Op::add, {{10, 1}, {12, 1}}, {0, 0}},
                                {Op::copy, {{0, 0}}, {1, 0}},
                                {Op::subtract, {{1, 0}, {11, 1}}, {1000, 1}}};
  EXPECT_TRUE(agrees(steps, many, 2000));
  EXPECT_TRUE(agrees(steps, VectorPlan::least_iterations, 2000));
  EXPECT_FALSE(agrees(steps, VectorPlan::least_iterations - 1, 2000));
}

TEST(VectorBody, SumsStayInOrder) {
  EXPECT_TRUE(agrees({{Op::multiply_add, {{0, 0}, {10, 1}, {11, 1}}, {0, 0}}}, many, 1000));
  // Its partial sums are used in the loop as well.
  EXPECT_FALSE(agrees({{Op::add, {{0, 0}, {10, 1}}, {0, 0}}, {Op::copy, {{0, 0}}, {1000, 1}}}, many, 2000));
}

TEST(VectorBody, RecurrencesKeepTheirDistance) {
  // v[n+d] = t + u[n]; t = v[n] before: what comes from an iteration d earlier.
  const auto distant = [](std::ptrdiff_t d) {
    return std::vector<Step>{{Op::copy, {{100, 1}}, {0, 0}}, {Op::add, {{0, 0}, {5000, 1}}, {100 + d, 1}}};
  };
  EXPECT_FALSE(agrees(distant(1), many, 9000));
  EXPECT_FALSE(agrees(distant(VectorPlan::least_iterations - 1), many, 9000));
  EXPECT_TRUE(agrees(distant(VectorPlan::least_iterations), many, 9000));
  EXPECT_TRUE(agrees(distant(100), many, 9000));
  EXPECT_TRUE(agrees(distant(-1), many, 9000));
  EXPECT_TRUE(agrees(distant(0), many, 9000));
  // An operation by itself runs in order anyway.
  EXPECT_TRUE(agrees({{Op::add, {{100, 1}, {5000, 1}}, {101, 1}}}, many, 9000));
}

TEST(VectorBody, CopiesOfWhatChangesAreMade) {
  // t = u[n]; u[n] = v[n]; v[n] = t.
  EXPECT_TRUE(agrees(
      {{Op::copy, {{100, 1}}, {0, 0}}, {Op::copy, {{2000, 1}}, {100, 1}}, {Op::copy, {{0, 0}}, {2000, 1}}},
      many, 3000));
}

TEST(VectorBody, CopiesAreReadWhereTheyAreUntilThatIsWritten) {
  // t = u[n]; s = t; r = s - w[n]; u[n-d] = r: t and s are left as the last iteration finds them.
  for (const std::ptrdiff_t d : {0, 1, 30, 3000}) {
    const std::vector<Step> steps{{Op::copy, {{4000, 1}}, {0, 0}},
                                  {Op::copy, {{0, 0}}, {1, 0}},
                                  {Op::subtract, {{1, 0}, {8000, 1}}, {2, 0}},
                                  {Op::copy, {{2, 0}}, {4000 - d, 1}}};
    EXPECT_TRUE(agrees(steps, many, 9000)) << d;
    // It is used once more, after that.
    auto again = steps;
    again.push_back({Op::add, {{1, 0}, {8000, 1}}, {6000, 1}});
    EXPECT_TRUE(agrees(again, many, 9000)) << d;
    // It has been written, so many iterations before.
    auto late = steps;
    late.back().out.first = 4000 + 20 + d;
    EXPECT_TRUE(agrees(late, many, 9000)) << d;
  }
}

TEST(VectorBody, ResultsAreWrittenWhereTheyAreCopiedTo) {
  // t = u[n] + u[n+1]; v[n] = t; w[n] = t + v[n]: v is written at once, and t is left all the same.
  EXPECT_TRUE(agrees({{Op::add, {{100, 1}, {101, 1}}, {0, 0}},
                      {Op::copy, {{0, 0}}, {1000, 1}},
                      {Op::add, {{0, 0}, {1000, 1}}, {2000, 1}}},
                     many, 3000));
  // v[n] is read between, or written again: it has to wait.
  EXPECT_TRUE(agrees({{Op::add, {{100, 1}, {101, 1}}, {0, 0}},
                      {Op::add, {{1000, 1}, {100, 1}}, {2000, 1}},
                      {Op::copy, {{0, 0}}, {1000, 1}}},
                     many, 3000));
  EXPECT_TRUE(agrees({{Op::add, {{100, 1}, {101, 1}}, {0, 0}},
                      {Op::copy, {{0, 0}}, {1000, 1}},
                      {Op::subtract, {{1000, 1}, {100, 1}}, {1000, 1}},
                      {Op::add, {{0, 0}, {1000, 1}}, {2000, 1}}},
                     many, 3000));
}

std::size_t kernels_of(const std::vector<Step>& steps) {
  Memory memory(9000);
  return plan_vectors(operations_of(steps, memory), many)->operations.size();
}

TEST(VectorBody, TwoOperationsBecomeOne) {
  // t = u[n] - v[n]; s = w[n] * t; r = s + u[n+1]; w[n] = r: two kernels, of which the second writes w.
  const std::vector<Step> chain{{Op::subtract, {{100, 1}, {1000, 1}}, {0, 0}},
                                {Op::multiply, {{2000, 1}, {0, 0}}, {1, 0}},
                                {Op::add, {{1, 0}, {101, 1}}, {2, 0}},
                                {Op::copy, {{2, 0}}, {2000, 1}}};
  EXPECT_TRUE(agrees(chain, many, 9000));
  EXPECT_EQ(kernels_of(chain), 2);
  // Not what is used twice,
  auto twice = chain;
  twice[2].in[1] = {0, 0};
  EXPECT_TRUE(agrees(twice, many, 9000));
  EXPECT_EQ(kernels_of(twice), 2);  // s and r
  // nor what is written before it would be read,
  std::vector<Step> early{{Op::subtract, {{100, 1}, {1000, 1}}, {0, 0}},
                          {Op::copy, {{3000, 1}}, {100, 1}},
                          {Op::multiply, {{2000, 1}, {0, 0}}, {2000, 1}}};
  EXPECT_TRUE(agrees(early, many, 9000));
  EXPECT_EQ(kernels_of(early), 3);
  // also by the reader itself, some elements away.
  const std::vector<Step> itself{{Op::subtract, {{100, 1}, {1000, 1}}, {0, 0}},
                                 {Op::multiply, {{2000, 1}, {0, 0}}, {92, 1}}};
  EXPECT_TRUE(agrees(itself, many, 9000));
  EXPECT_EQ(kernels_of(itself), 2);
}

/// A loop of six scalars that stay (region 0) and of two arrays (region 1).
std::vector<Step> random_loop(std::mt19937& random) {
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const auto draw_cells = [&]() -> Cells {
    if (draw(0, 2) == 0) return {draw(0, 5), 0, 0};
    const std::ptrdiff_t advance = draw(0, 3) == 0 ? draw(-2, 3) : 1;
    return {100 + 100 * draw(0, 1) + draw(0, 12), advance, 1};
  };
  std::vector<Step> steps;
  for (int n = draw(1, 6); n > 0; --n) {
    const Op op = std::vector{Op::copy, Op::add, Op::subtract, Op::multiply, Op::multiply_add}[draw(0, 4)];
    std::vector<Cells> in(op == Op::copy ? 1 : op == Op::multiply_add ? 3 : 2);
    for (auto& one : in) one = draw_cells();
    steps.push_back({op, std::move(in), draw_cells()});
  }
  return steps;
}

/// Copies there and back, mostly.
std::vector<Step> random_copies(std::mt19937& random) {
  auto steps = random_loop(random);
  for (auto& [op, in, out] : steps) {
    if (random() % 3 == 0) continue;
    op = Op::copy;
    in.resize(1);
    if (random() % 2 == 0) in[0] = {100 + static_cast<std::ptrdiff_t>(random() % 4), 1, 1};
  }
  return steps;
}

TEST(VectorBody, RandomCopies) {
  std::mt19937 random(23);
  int ran = 0;
  for (int round = 0; round < 4000; ++round)
    ran += agrees(random_copies(random), 8 + static_cast<std::int64_t>(random() % 30), 500) ? 1 : 0;
  EXPECT_GT(ran, 400);
}

TEST(VectorBody, RandomLoops) {
  std::mt19937 random(7);
  int ran = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::int64_t iterations =
        std::uniform_int_distribution<std::int64_t>(VectorPlan::least_iterations, 40)(random);
    ran += agrees(random_loop(random), iterations, 500) ? 1 : 0;
  }
  EXPECT_GT(ran, 400);
  EXPECT_LT(ran, 3900);
}

TEST(VectorBody, PlansHoldWhereRegionsMove) {
  std::mt19937 random(11);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  int ran = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto steps = random_loop(random);
    VectorBody body;
    for (int run = 0; run < 4; ++run) {
      auto moved = steps;
      const std::array<int, 2> by{draw(0, 10), draw(0, 80)};
      const auto move = [&](Cells& cells) { cells.first += by[cells.region]; };
      for (auto& [op, in, out] : moved) {
        for (auto& one : in) move(one);
        move(out);
      }
      // Now and then one scalar comes to lie otherwise: the plan is another one.
      if (draw(0, 3) == 0) moved[0].out.first += draw(0, 2);
      ran += agrees(body, moved, draw(VectorPlan::least_iterations, 40), 500) ? 1 : 0;
    }
  }
  EXPECT_GT(ran, 1000);
}

template <class T>
void expect_compositions(DType dtype) {
  constexpr std::int64_t count = 37;
  std::mt19937 random(5);
  std::array<std::vector<T>, 3> in;
  for (auto& numbers : in) {
    for (int n = 0; n < 3 * count; ++n)
      numbers.push_back(static_cast<T>(static_cast<int>(random() % 2000) - 999) / T{7});
  }
  const std::array<const void*, 3> first{in[0].data(), in[1].data(), in[2].data()};
  for (const std::ptrdiff_t stride : {1, 3}) {
    std::array<std::ptrdiff_t, 3> advances{};
    advances.fill(stride * static_cast<std::ptrdiff_t>(sizeof(T)));
    for (const auto outer : {Op::add, Op::subtract, Op::multiply}) {
      for (const auto inner : {Op::add, Op::subtract, Op::multiply}) {
        for (const std::size_t operand : {0U, 1U}) {
          std::vector<T> between(3 * count), expected(3 * count), found(3 * count);
          const auto make = vector_kernel(inner, 0, dtype), use = vector_kernel(outer, 0, dtype);
          make(between.data(), advances[0], &first[operand], advances.data(), count);
          const std::array<const void*, 2> operands{operand == 0 ? between.data() : first[0],
                                                    operand == 0 ? first[2] : between.data()};
          use(expected.data(), advances[0], operands.data(), advances.data(), count);
          const auto both = composed_kernel(use, operand, make);
          ASSERT_NE(both, nullptr);
          both(found.data(), advances[0], first.data(), advances.data(), count);
          EXPECT_EQ(found, expected);
        }
      }
    }
  }
}

TEST(VectorKernels, ComposeToTheSameBits) {
  expect_compositions<std::int64_t>(DType::int64);
  expect_compositions<float>(DType::float32);
  expect_compositions<double>(DType::float64);
  const auto sum = vector_kernel(Op::add, 0, DType::float64);
  EXPECT_EQ(composed_kernel(sum, 0, vector_kernel(Op::add, 0, DType::float32)), nullptr);
  EXPECT_EQ(composed_kernel(sum, 1, vector_kernel(Op::divide, 0, DType::float64)), nullptr);
}

template <class T>
void expect_complex_as_scalars(DType dtype) {
  constexpr std::size_t count = 101;
  std::mt19937 random(9);
  std::normal_distribution<typename T::value_type> part;
  std::array<std::vector<T>, 3> in;
  for (auto& numbers : in) {
    for (std::size_t n = 0; n < count; ++n) numbers.emplace_back(part(random), part(random));
  }
  for (const auto op : {Op::multiply, Op::multiply_add, Op::multiply_subtract, Op::divide}) {
    std::vector<T> expected(count), found(count);
    const auto one = scalar_kernel(op, operators::no_flags, dtype);
    for (std::size_t n = 0; n < count; ++n) {
      const std::array<const void*, 3> at{&in[0][n], &in[1][n], &in[2][n]};
      one(&expected[n], at.data());
    }
    const std::array<const void*, 3> first{in[0].data(), in[1].data(), in[2].data()};
    std::array<std::ptrdiff_t, 3> advances{};
    advances.fill(sizeof(T));
    vector_kernel(op, 0, dtype)(found.data(), sizeof(T), first.data(), advances.data(), count);
    EXPECT_EQ(found, expected) << operators::info(op).name;
  }
}

TEST(VectorKernels, RoundComplexProductsAsScalars) {
  expect_complex_as_scalars<std::complex<float>>(DType::complex64);
  expect_complex_as_scalars<std::complex<double>>(DType::complex128);
}

TEST(VectorKernels, AreThoseOfScalars) {
  std::mt19937 random(3);
  const std::vector<Op> operators{Op::add,          Op::subtract,        Op::multiply,      Op::divide,
                                  Op::maximum,      Op::minimum,         Op::negative,      Op::absolute,
                                  Op::multiply_add, Op::matmul_subtract, Op::first_maximum, Op::sqrt,
                                  Op::floor_divide, Op::remainder};
  constexpr std::int64_t count = 37;
  for (const auto op : operators) {
    const auto one = scalar_kernel(op, operators::no_flags, DType::float64);
    const auto all = vector_kernel(op, 0, DType::float64);
    ASSERT_NE(all, nullptr);
    for (const std::ptrdiff_t stride : {1, 2, -1, 0}) {
      std::vector<double> in(400), expected(400), found(400);
      for (auto& x : in) x = std::normal_distribution<double>()(random);
      in[150] = std::numeric_limits<double>::quiet_NaN();
      in[151] = -0.0;
      in[152] = std::numeric_limits<double>::infinity();
      std::array<const void*, 3> first{&in[140], &in[150], &in[145]};
      std::array<std::ptrdiff_t, 3> advances{};
      advances.fill(stride * 8);
      for (std::int64_t n = 0; n < count; ++n) {
        std::array<const void*, 3> at{};
        for (std::size_t i = 0; i < 3; ++i) at[i] = static_cast<const double*>(first[i]) + n * stride;
        one(&expected[static_cast<std::size_t>(100 + n * stride)], at.data());
      }
      all(&found[100], stride * 8, first.data(), advances.data(), count);
      EXPECT_EQ(std::memcmp(found.data(), expected.data(), 400 * sizeof(double)), 0)
          << operators::info(op).name << " " << stride;
    }
  }
  EXPECT_EQ(vector_kernel(Op::power, 0, DType::float64), nullptr);  // it may fail
  EXPECT_EQ(vector_kernel(Op::cholesky, 0, DType::float64), nullptr);
}

}  // namespace
}  // namespace cyclotron::runtime
