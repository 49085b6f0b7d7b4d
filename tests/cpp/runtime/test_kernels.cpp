#include "../../../src/runtime/engine/kernels/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>

#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime {
namespace {

using Complex = std::complex<double>;
using ComplexFloat = std::complex<float>;

template <class T>
constexpr DType dtype_of = DType::float64;
template <>
constexpr DType dtype_of<std::uint8_t> = DType::boolean;
template <>
constexpr DType dtype_of<std::int32_t> = DType::int32;
template <>
constexpr DType dtype_of<std::int64_t> = DType::int64;
template <>
constexpr DType dtype_of<float> = DType::float32;
template <>
constexpr DType dtype_of<ComplexFloat> = DType::complex64;
template <>
constexpr DType dtype_of<Complex> = DType::complex128;

/// A row-major matrix.
template <class T>
struct Matrix {
  Shape shape;
  std::vector<T> data;
  explicit Matrix(Shape s) : shape(s), data(static_cast<std::size_t>(s.rows * s.columns)) {}
  T& operator()(std::int64_t i, std::int64_t j) {
    return data[static_cast<std::size_t>(i * shape.columns + j)];
  }
  const T& operator()(std::int64_t i, std::int64_t j) const {
    return data[static_cast<std::size_t>(i * shape.columns + j)];
  }
  bool operator==(const Matrix&) const = default;
};

template <class T>
T small(std::mt19937& random) {
  const int value = static_cast<int>(random() % 9) - 4;
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    return value > 0;
  } else if constexpr (std::is_same_v<T, Complex> || std::is_same_v<T, ComplexFloat>) {
    return T(static_cast<typename T::value_type>(value), static_cast<typename T::value_type>(random() % 5));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
Matrix<T> matrix(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  Matrix<T> result(shape);
  for (auto& x : result.data) x = small<T>(random);
  return result;
}

template <class T>
Matrix<T> run(Op op, Flags flags, const std::vector<Matrix<T>>& operands) {
  std::vector<ConstTile> in;
  std::vector<Shape> shapes;
  for (const auto& operand : operands) {
    in.push_back({operand.data.data(), operand.shape});
    shapes.push_back(operand.shape);
  }
  Matrix<T> result(operators::result_shape(op, flags, shapes));
  Scratch scratch;
  apply({op, flags, dtype_of<T>}, in, {result.data.data(), result.shape}, scratch);
  return result;
}

template <class T>
T plus(T a, T b) {
  if constexpr (std::is_same_v<T, std::uint8_t>) return a | b;
  return static_cast<T>(a + b);
}

template <class T>
T times(T a, T b) {
  return static_cast<T>(a * b);
}

template <class T>
Matrix<T> transposed(const Matrix<T>& a) {
  Matrix<T> result({a.shape.columns, a.shape.rows});
  for (std::int64_t i = 0; i < a.shape.rows; ++i)
    for (std::int64_t j = 0; j < a.shape.columns; ++j) result(j, i) = a(i, j);
  return result;
}

template <class T>
Matrix<T> naive(const Matrix<T>& a, const Matrix<T>& b) {
  Matrix<T> result({a.shape.rows, b.shape.columns});
  for (std::int64_t i = 0; i < a.shape.rows; ++i)
    for (std::int64_t j = 0; j < b.shape.columns; ++j)
      for (std::int64_t k = 0; k < a.shape.columns; ++k)
        result(i, j) = plus(result(i, j), times(a(i, k), b(k, j)));
  return result;
}

template <class T>
class Products : public ::testing::Test {};
using AllTypes =
    ::testing::Types<std::uint8_t, std::int32_t, std::int64_t, float, double, ComplexFloat, Complex>;
TYPED_TEST_SUITE(Products, AllTypes);

TYPED_TEST(Products, MatmulWithAllTransposes) {
  using T = TypeParam;
  for (const auto [m, n, k] : {std::array{1, 1, 1}, std::array{3, 4, 5}, std::array{1, 6, 2},
                               std::array{7, 1, 3}, std::array{17, 9, 33}}) {
    const auto a = matrix<T>({m, k}, 1), b = matrix<T>({k, n}, 2), c = matrix<T>({m, n}, 3);
    const auto product = naive(a, b);
    for (const Flags flags : {0U, 1U, 2U, 3U}) {
      const auto x = (flags & operators::transpose_a) != 0 ? transposed(a) : a;
      const auto y = (flags & operators::transpose_b) != 0 ? transposed(b) : b;
      EXPECT_EQ(run<T>(Op::matmul, flags, {x, y}), product);
      Matrix<T> sum(c.shape);
      for (std::size_t i = 0; i < sum.data.size(); ++i) sum.data[i] = plus(c.data[i], product.data[i]);
      EXPECT_EQ(run<T>(Op::matmul_add, flags, {c, x, y}), sum);
      if constexpr (!std::is_same_v<T, std::uint8_t>) {
        Matrix<T> difference(c.shape);
        for (std::size_t i = 0; i < sum.data.size(); ++i) difference.data[i] = c.data[i] - product.data[i];
        EXPECT_EQ(run<T>(Op::matmul_subtract, flags, {c, x, y}), difference);
      }
    }
  }
}

TYPED_TEST(Products, SyrkIsTheWholeProductAndKeepsAnUnsymmetricAccumulator) {
  using T = TypeParam;
  for (const auto [n, k] : {std::array{1, 1}, std::array{1, 4}, std::array{5, 3}, std::array{20, 20}}) {
    const auto a = matrix<T>({n, k}, 1), c = matrix<T>({n, n}, 2);
    const auto product = naive(a, transposed(a));
    EXPECT_EQ(run<T>(Op::syrk, 0, {a}), product);
    Matrix<T> sum(c.shape);
    for (std::size_t i = 0; i < sum.data.size(); ++i) sum.data[i] = plus(c.data[i], product.data[i]);
    EXPECT_EQ(run<T>(Op::syrk_add, 0, {c, a}), sum);
    if constexpr (!std::is_same_v<T, std::uint8_t>) {
      for (std::size_t i = 0; i < sum.data.size(); ++i) sum.data[i] = c.data[i] - product.data[i];
      EXPECT_EQ(run<T>(Op::syrk_subtract, 0, {c, a}), sum);
    }
  }
}

TYPED_TEST(Products, TransposeAndRowReductions) {
  using T = TypeParam;
  const auto a = matrix<T>({3, 5}, 1);
  EXPECT_EQ(run<T>(Op::transpose, 0, {a}), transposed(a));
  Matrix<T> sums({3, 1});
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 5; ++j) sums(i, 0) = plus(sums(i, 0), a(i, j));
  EXPECT_EQ(run<T>(Op::row_sum, 0, {a}), sums);
}

TYPED_TEST(Products, TilesAreJoinedBelowAndBesideEachOther) {
  using T = TypeParam;
  const auto a = matrix<T>({2, 3}, 1), below = matrix<T>({4, 3}, 2), beside = matrix<T>({2, 5}, 3);
  Matrix<T> rows({6, 3}), columns({2, 8});
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 3; ++j) rows(i, j) = i < 2 ? a(i, j) : below(i - 2, j);
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 8; ++j) columns(i, j) = j < 3 ? a(i, j) : beside(i, j - 3);
  EXPECT_EQ(run<T>(Op::join, 0, {a, below}), rows);
  EXPECT_EQ(run<T>(Op::join, operators::right_side, {a, beside}), columns);
  EXPECT_THROW((void)run<T>(Op::join, 0, {a, beside}), ShapeError);
}

TYPED_TEST(Products, CorrelationsAddSumsOverWindows) {
  using T = TypeParam;
  if constexpr (!std::is_same_v<T, std::uint8_t>) {
    for (const auto shape : {Shape{5, 7}, Shape{3, 4}, Shape{1, 2}, Shape{4, 1}}) {
      const auto total = matrix<T>({3, 4}, 1), of = matrix<T>(shape, 2), weights = matrix<T>({2, 3}, 3);
      auto expected = total;
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 4; ++j)
          for (std::int64_t p = 0; p < 2 && i + p < shape.rows; ++p)
            for (std::int64_t q = 0; q < 3 && j + q < shape.columns; ++q)
              expected(i, j) += weights(p, q) * of(i + p, j + q);
      EXPECT_EQ(run<T>(Op::correlate_add, 0, {total, of, weights}), expected);
    }
  }
}

template <class T>
class Solvers : public ::testing::Test {};
using FloatingTypes = ::testing::Types<float, double, ComplexFloat, Complex>;
TYPED_TEST_SUITE(Solvers, FloatingTypes);

template <class T>
double distance(const Matrix<T>& a, const Matrix<T>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i)
    most = std::max(most, static_cast<double>(std::abs(a.data[i] - b.data[i])));
  return most;
}

TYPED_TEST(Solvers, SolveTriangularWithAllFlags) {
  using T = TypeParam;
  // The larger ones are solved in panels, some of their last ones in part.
  for (const auto& [n, sides] :
       {std::pair<std::int64_t, std::int64_t>{1, 3}, {2, 3}, {9, 3}, {48, 48}, {51, 61}, {50, 73}}) {
    for (Flags flags = 0; flags < 32; ++flags) {
      if ((flags & operators::transpose_b) != 0) continue;
      const bool lower = (flags & operators::lower) != 0, right = (flags & operators::right_side) != 0;
      auto a = matrix<T>({n, n}, 4);
      for (auto& x : a.data) x *= T(0.5F / static_cast<float>(n));
      for (std::int64_t i = 0; i < n; ++i) a(i, i) = T(2);
      auto triangle = a;  // what the solve may read
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          if (lower ? j > i : j < i) triangle(i, j) = T(0);
        }
        if ((flags & operators::unit_diagonal) != 0) triangle(i, i) = T(1);
      }
      if ((flags & operators::transpose_a) != 0) triangle = transposed(triangle);
      const auto b = matrix<T>(right ? Shape{sides, n} : Shape{n, sides}, 5);
      const auto x = run<T>(Op::solve_triangular, flags, {a, b});
      EXPECT_LT(distance(right ? naive(x, triangle) : naive(triangle, x), b), 1e-4) << n << " " << flags;
    }
  }
}

TYPED_TEST(Solvers, CholeskyIsLowerWithZerosAbove) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 11}) {
    auto a = matrix<T>({n, n}, 6);
    Matrix<T> adjoint = transposed(a);
    if constexpr (!std::is_floating_point_v<T>) {
      for (auto& x : adjoint.data) x = std::conj(x);
    }
    auto spd = naive(a, adjoint);
    for (std::int64_t i = 0; i < n; ++i) spd(i, i) += T(1);
    const auto factor = run<T>(Op::cholesky, 0, {spd});
    adjoint = transposed(factor);
    if constexpr (!std::is_floating_point_v<T>) {
      for (auto& x : adjoint.data) x = std::conj(x);
    }
    EXPECT_LT(distance(naive(factor, adjoint), spd), 2e-4 * static_cast<double>(n * n));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j) EXPECT_EQ(factor(i, j), T(0));
  }
}

TYPED_TEST(Solvers, ReportsSingularAndIndefiniteMatrices) {
  using T = TypeParam;
  const auto message = [](Op op, const std::vector<Matrix<T>>& operands) {
    try {
      (void)run<T>(op, operators::lower, operands);
    } catch (const KernelFailure& failure) {
      EXPECT_EQ(failure.code, "CYC701");
      return failure.message;
    }
    return std::string();
  };
  for (const std::int64_t n : {1, 3}) {
    Matrix<T> a({n, n});
    for (std::int64_t i = 0; i < n; ++i) a(i, i) = T(1);
    a(n - 1, n - 1) = T(0);
    EXPECT_EQ(message(Op::solve_triangular, {a, Matrix<T>({n, 1})}),
              "the triangular matrix is singular: diagonal element " + std::to_string(n) + " is 0");
    a(n - 1, n - 1) = T(-1);
    EXPECT_EQ(message(Op::cholesky, {a}),
              "the matrix is not positive definite: its pivot " + std::to_string(n) + " is not positive");
    for (const double value : {std::numeric_limits<double>::infinity(), std::nan("")}) {
      a(0, 0) = T(static_cast<float>(value));  // the last pivot is not positive, the first is told
      EXPECT_EQ(message(Op::cholesky, {a}), "the matrix is not positive definite: its pivot 1 is not finite");
    }
    a(0, 0) = T(1);
    a(n - 1, n - 1) = T(0);
    EXPECT_EQ(message(Op::inv_triangular, {a}),
              "the triangular matrix is singular: diagonal element " + std::to_string(n) + " is 0");
    for (const Op op : {Op::lu, Op::ldl})
      EXPECT_EQ(message(op, {a}), "the factorization has a zero pivot: pivot " + std::to_string(n) + " is 0");
  }
}

template <class T>
std::vector<T> elementwise(Op op, std::initializer_list<std::vector<T>> operands) {
  std::vector<Matrix<T>> columns;
  for (const auto& operand : operands) {
    columns.emplace_back(Shape{static_cast<std::int64_t>(operand.size()), 1});
    columns.back().data = operand;
  }
  const auto tiled = run<T>(op, 0, columns).data;
  // One by one: the scalar kernels give the same bits.
  for (std::size_t i = 0; i < tiled.size(); ++i) {
    std::array<const void*, 3> in{};
    for (std::size_t o = 0; o < operands.size(); ++o) in[o] = &operands.begin()[o][i];
    T result{};
    scalar_kernel(op, 0, dtype_of<T>)(&result, in.data());
    EXPECT_EQ(std::memcmp(&result, &tiled[i], sizeof(T)), 0)
        << operators::info(op).name << " of element " << i;
  }
  return tiled;
}

TEST(Elementwise, Floats) {
  using V = std::vector<double>;
  const V a{1, -2, 0.5, 7}, b{4, 3, -0.25, 7};
  EXPECT_EQ(elementwise(Op::add, {a, b}), (V{5, 1, 0.25, 14}));
  EXPECT_EQ(elementwise(Op::subtract, {a, b}), (V{-3, -5, 0.75, 0}));
  EXPECT_EQ(elementwise(Op::multiply, {a, b}), (V{4, -6, -0.125, 49}));
  EXPECT_EQ(elementwise(Op::divide, {a, b}), (V{0.25, -2.0 / 3, -2, 1}));
  EXPECT_EQ(elementwise(Op::maximum, {a, b}), (V{4, 3, 0.5, 7}));
  EXPECT_EQ(elementwise(Op::minimum, {a, b}), (V{1, -2, -0.25, 7}));
  EXPECT_EQ(elementwise(Op::power, {a, V{2, 3, 2, 0}}), (V{1, -8, 0.25, 1}));
  EXPECT_EQ(elementwise(Op::negative, {a}), (V{-1, 2, -0.5, -7}));
  EXPECT_EQ(elementwise(Op::absolute, {a}), (V{1, 2, 0.5, 7}));
  EXPECT_EQ(elementwise(Op::sqrt, {V{4, 0.25}}), (V{2, 0.5}));
  EXPECT_EQ(elementwise(Op::exp, {V{0, 1}}), (V{1, std::exp(1.0)}));
  EXPECT_EQ(elementwise(Op::log, {V{1, 10}}), (V{0, std::log(10.0)}));
  EXPECT_EQ(elementwise(Op::multiply_add, {a, b, b}), (V{17, 7, 0.5625, 56}));
  EXPECT_EQ(elementwise(Op::multiply_subtract, {a, b, b}), (V{-15, -11, 0.4375, -42}));
}

TEST(Elementwise, FollowsIeeeAndPropagatesNan) {
  using V = std::vector<double>;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(elementwise(Op::divide, {V{1, -1}, V{0, 0}}), (V{inf, -inf}));
  EXPECT_EQ(elementwise(Op::log, {V{0, 1}}), (V{-inf, 0}));
  for (const auto op : {Op::maximum, Op::minimum}) {
    for (const double x : elementwise(op, {V{nan, 1, nan}, V{1, nan, nan}})) EXPECT_TRUE(std::isnan(x));
  }
  EXPECT_TRUE(std::isnan(elementwise(Op::sqrt, {V{nan, 1}})[0]));
  EXPECT_TRUE(std::isnan(elementwise(Op::sqrt, {V{-1, -4}})[1]));
  Matrix<double> row({1, 3});
  row.data = {1, nan, 3};
  EXPECT_TRUE(std::isnan(run<double>(Op::row_max, 0, {row}).data[0]));
}

TEST(Elementwise, MultiplyAddRoundsTwice) {
  const double a = 1 + std::ldexp(1.0, -30);
  EXPECT_EQ(elementwise(Op::multiply_add, {std::vector{-1.0}, {a}, {a}})[0], std::ldexp(1.0, -29));
}

TEST(Elementwise, IntegersWrap) {
  using V = std::vector<std::int32_t>;
  const std::int32_t most = std::numeric_limits<std::int32_t>::max(),
                     least = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(elementwise(Op::add, {V{most, 2}, V{1, 3}}), (V{least, 5}));
  EXPECT_EQ(elementwise(Op::subtract, {V{least, 2}, V{1, 3}}), (V{most, -1}));
  EXPECT_EQ(elementwise(Op::multiply, {V{1 << 20, 2}, V{1 << 20, 3}}), (V{0, 6}));
  EXPECT_EQ(elementwise(Op::negative, {V{least, 2}}), (V{least, -2}));
  EXPECT_EQ(elementwise(Op::absolute, {V{least, -2}}), (V{least, 2}));
  EXPECT_EQ(elementwise(Op::power, {V{3, -2, 2}, V{4, 3, 40}}), (V{81, -8, 0}));
  EXPECT_THROW(
      run<std::int32_t>(Op::power, 0, {matrix<std::int32_t>({3, 3}, 1), matrix<std::int32_t>({3, 3}, 1)}),
      KernelFailure);
  EXPECT_EQ(scalar_kernel(Op::divide, 0, DType::int64), nullptr);
}

TEST(Elementwise, ComplexAsNumpy) {
  using V = std::vector<Complex>;
  EXPECT_EQ(elementwise(Op::multiply, {V{{1, 2}}, V{{3, -1}}}), (V{{5, 5}}));
  EXPECT_EQ(elementwise(Op::divide, {V{{5, 5}, {1, 0}}, V{{3, -1}, {0, 2}}})[1], (Complex{0, -0.5}));
  EXPECT_EQ(elementwise(Op::maximum, {V{{1, 2}, {1, 5}}, V{{2, 0}, {1, 3}}}), (V{{2, 0}, {1, 5}}));
  EXPECT_EQ(elementwise(Op::power, {V{{0, 1}, {0, 2}}, V{{3, 0}, {-1, 0}}}), (V{{0, -1}, {0, -0.5}}));
}

TEST(Elementwise, BroadcastsSizesOfOne) {
  const auto column = matrix<double>({3, 1}, 1), row = matrix<double>({1, 4}, 2),
             one = matrix<double>({1, 1}, 3);
  const auto all = run<double>(Op::multiply_add, 0, {one, column, row});
  ASSERT_EQ(all.shape, (Shape{3, 4}));
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j) EXPECT_EQ(all(i, j), one(0, 0) + column(i, 0) * row(0, j));
}

TEST(Elementwise, DestinationMayBeAnyOperand) {
  Scratch scratch;
  for (const std::size_t alias : {0U, 1U, 2U}) {
    std::vector<Matrix<double>> in{matrix<double>({4, 4}, 1), matrix<double>({4, 4}, 2),
                                   matrix<double>({4, 4}, 3)};
    const auto expected = run<double>(Op::matmul_subtract, 0, in);
    std::vector<ConstTile> tiles;
    for (const auto& operand : in) tiles.push_back({operand.data.data(), operand.shape});
    apply({Op::matmul_subtract, 0, DType::float64}, tiles, {in[alias].data.data(), {4, 4}}, scratch);
    EXPECT_EQ(in[alias], expected);
  }
  // A scalar that a larger result overwrites.
  Matrix<double> small({2, 2});
  small.data = {3, 0, 0, 0};
  const auto b = matrix<double>({2, 2}, 2);
  const std::array<ConstTile, 2> tiles{ConstTile{small.data.data(), {1, 1}},
                                       ConstTile{b.data.data(), {2, 2}}};
  apply({Op::multiply, 0, DType::float64}, tiles, {small.data.data(), {2, 2}}, scratch);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(small.data[i], 3 * b.data[i]);
  auto square = b;
  const std::array<ConstTile, 1> same{ConstTile{square.data.data(), {2, 2}}};
  apply({Op::transpose, 0, DType::float64}, same, {square.data.data(), {2, 2}}, scratch);
  EXPECT_EQ(square, transposed(b));
}

TEST(ScalarKernels, EveryOperatorOnOneByOneIsTheObviousScalar) {
  const double a = 3, b = 5, c = 7;
  const auto value = [&](Op op, Flags flags, std::array<const void*, 3> in) {
    double result = 0;
    scalar_kernel(op, flags, DType::float64)(&result, in.data());
    return result;
  };
  EXPECT_EQ(value(Op::matmul, 0, {&a, &b}), 15);
  EXPECT_EQ(value(Op::matmul_add, 0, {&c, &a, &b}), 22);
  EXPECT_EQ(value(Op::matmul_subtract, 0, {&c, &a, &b}), -8);
  EXPECT_EQ(value(Op::syrk, 0, {&a}), 9);
  EXPECT_EQ(value(Op::syrk_add, 0, {&c, &a}), 16);
  EXPECT_EQ(value(Op::syrk_subtract, 0, {&c, &a}), -2);
  EXPECT_EQ(value(Op::solve_triangular, 0, {&a, &b}), 5.0 / 3);
  EXPECT_EQ(value(Op::solve_triangular, operators::unit_diagonal, {&a, &b}), 5);
  EXPECT_EQ(value(Op::transpose, 0, {&a}), 3);
  EXPECT_EQ(value(Op::row_sum, 0, {&a}), 3);
  EXPECT_EQ(value(Op::row_max, 0, {&a}), 3);
  EXPECT_EQ(value(Op::cholesky, 0, {&a}), std::sqrt(3.0));
}

}  // namespace
}  // namespace cyclotron::runtime
