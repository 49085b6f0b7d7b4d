#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <complex>
#include <limits>

#include "../../../src/runtime/engine/kernels/kernels.hpp"

namespace cyclotron::runtime {
namespace {

using Complex = std::complex<double>;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class R, class... T>
R scalar(Op op, DType dtype, T... operands) {
  const std::array<const void*, sizeof...(T)> in{&operands...};
  R result{};
  scalar_kernel(op, 0, dtype)(&result, in.data());
  return result;
}

TEST(Functions, TheRegistrySaysWhichDtypesHaveAKernel) {
  for (std::size_t o = 0; o < operators::operator_count; ++o) {
    for (int d = 0; d <= static_cast<int>(DType::complex128); ++d) {
      const auto op = static_cast<Op>(o);
      const auto dtype = static_cast<DType>(d);
      EXPECT_EQ(scalar_kernel(op, 0, dtype) != nullptr, operators::is_defined(op, dtype))
          << operators::info(op).name << " on " << operators::name(dtype);
    }
  }
}

TEST(Functions, TilesGiveTheBitsOfScalars) {
  const std::vector<double> a{1.5, -2.25, 0, 7, not_a_number, -0.0}, b{4, 3, -0.25, 7, 1, 2};
  Scratch scratch;
  for (std::size_t o = 0; o < operators::operator_count; ++o) {
    const auto op = static_cast<Op>(o);
    if (!operators::is_elementwise(op) || !operators::is_defined(op, DType::float64)) continue;
    if (op == Op::sqrt || op == Op::where) continue;  // not of negatives; another first operand
    const auto arity = static_cast<std::size_t>(operators::info(op).arity);
    const auto result = operators::result_dtype(op, DType::float64);
    const auto size = operators::size_bytes(result);
    std::vector<std::byte> tile(a.size() * size), one(size);
    const std::array<ConstTile, 3> in{ConstTile{a.data(), {2, 3}}, ConstTile{b.data(), {2, 3}},
                                      ConstTile{a.data(), {2, 3}}};
    apply({op, 0, DType::float64}, std::span(in.data(), arity), {tile.data(), {2, 3}}, scratch);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::array<const void*, 3> operands{&a[i], &b[i], &a[i]};
      scalar_kernel(op, 0, DType::float64)(one.data(), operands.data());
      EXPECT_TRUE(std::equal(one.begin(), one.end(), tile.begin() + static_cast<std::ptrdiff_t>(i * size)))
          << operators::info(op).name << " of element " << i;
    }
  }
}

TEST(Functions, ComparisonsWithNanAreFalse) {
  for (const Op op : {Op::equal, Op::less, Op::less_equal, Op::greater, Op::greater_equal}) {
    EXPECT_EQ((scalar<std::uint8_t>(op, DType::float64, not_a_number, 1.0)), 0);
    EXPECT_EQ((scalar<std::uint8_t>(op, DType::complex128, Complex{1, not_a_number}, Complex{2, 0})), 0);
  }
  EXPECT_EQ((scalar<std::uint8_t>(Op::not_equal, DType::float64, not_a_number, not_a_number)), 1);
  EXPECT_EQ((scalar<std::uint8_t>(Op::equal, DType::float64, 0.0, -0.0)), 1);
}

TEST(Functions, IntegerDivisionRoundsDownAndByZeroIsZero) {
  const std::int32_t least = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ((scalar<std::int32_t>(Op::floor_divide, DType::int32, -7, 2)), -4);
  EXPECT_EQ((scalar<std::int32_t>(Op::remainder, DType::int32, -7, 2)), 1);
  EXPECT_EQ((scalar<std::int32_t>(Op::floor_divide, DType::int32, least, -1)), least);
  EXPECT_EQ((scalar<std::int32_t>(Op::remainder, DType::int32, least, -1)), 0);
  EXPECT_EQ((scalar<std::int32_t>(Op::floor_divide, DType::int32, 1, 0)), 0);
  EXPECT_EQ((scalar<std::int32_t>(Op::remainder, DType::int32, 1, 0)), 0);
}

TEST(Functions, CheckedOperatorsReportWhatHasNoResult) {
  const auto fails = [](Op op, DType dtype, const auto... operands) {
    const std::array<const void*, sizeof...(operands)> in{&operands...};
    std::array<std::byte, 16> result{};
    EXPECT_EQ(vector_kernel(op, operators::checked, dtype), nullptr);
    try {
      scalar_kernel(op, operators::checked, dtype)(result.data(), in.data());
    } catch (const KernelFailure& failure) {
      return failure.code == "CYC701";
    }
    return false;
  };
  for (const Op op : {Op::floor_divide, Op::remainder}) {
    EXPECT_TRUE(fails(op, DType::int64, std::int64_t{3}, std::int64_t{0}));
    EXPECT_FALSE(fails(op, DType::int64, std::int64_t{3}, std::int64_t{2}));
    EXPECT_TRUE(fails(op, DType::float64, 3.0, -0.0));
  }
  EXPECT_TRUE(fails(Op::divide, DType::float64, 3.0, 0.0));
  EXPECT_TRUE(fails(Op::divide, DType::complex128, Complex{1, 1}, Complex{}));
  EXPECT_FALSE(fails(Op::divide, DType::float64, 0.0, not_a_number));
  EXPECT_TRUE(fails(Op::sqrt, DType::float64, -1.0));
  EXPECT_FALSE(fails(Op::sqrt, DType::float64, not_a_number));
  EXPECT_TRUE(fails(Op::log, DType::float64, 0.0));
  EXPECT_FALSE(fails(Op::log, DType::float64, 2.0));
}

TEST(Functions, MaximaOfPythonGoOnFromTheFirst) {
  EXPECT_EQ((scalar<double>(Op::first_maximum, DType::float64, 1.0, not_a_number)), 1.0);
  EXPECT_TRUE(std::isnan(scalar<double>(Op::first_maximum, DType::float64, not_a_number, 1.0)));
  EXPECT_TRUE(std::isnan(scalar<double>(Op::maximum, DType::float64, 1.0, not_a_number)));
  EXPECT_EQ((scalar<double>(Op::first_minimum, DType::float64, 1.0, 0.5)), 0.5);
  EXPECT_TRUE(std::signbit(scalar<double>(Op::first_maximum, DType::float64, -0.0, 0.0)));
}

TEST(Functions, ConversionsOfWhatDoesNotFit) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ((scalar<std::int64_t>(Op::to_int64, DType::float64, not_a_number)), least);
  EXPECT_EQ((scalar<std::int64_t>(Op::to_int64, DType::float64, 1e300)), least);
  EXPECT_EQ((scalar<std::int64_t>(Op::to_int64, DType::float64, -2.75)), -2);
  EXPECT_EQ((scalar<std::uint8_t>(Op::to_bool, DType::float64, not_a_number)), 1);
  EXPECT_EQ((scalar<float>(Op::to_float32, DType::float64, 1e300)), std::numeric_limits<float>::infinity());
}

TEST(Functions, PartsOfComplexNumbersAreReal) {
  EXPECT_EQ((scalar<double>(Op::absolute, DType::complex128, Complex{3, 4})), 5);
  EXPECT_EQ((scalar<double>(Op::imag, DType::complex128, Complex{3, 4})), 4);
  EXPECT_EQ((scalar<std::int64_t>(Op::real, DType::int64, (std::int64_t{1} << 53) + 1)),
            (std::int64_t{1} << 53) + 1);
}

TEST(Functions, FactorsOfTiles) {
  Scratch scratch;
  // [[2, 1, 0], [4, 5, 1], [-2, 2, 6]] = L U, packed.
  std::vector<double> a{2, 1, 0, 4, 5, 1, -2, 2, 6};
  const ConstTile in{a.data(), {3, 3}};
  apply({Op::lu, 0, DType::float64}, std::span(&in, 1), {a.data(), {3, 3}}, scratch);
  EXPECT_EQ(a, (std::vector<double>{2, 1, 0, 2, 3, 1, -1, 1, 5}));
  // L D L^H with D = (2, 3), L21 = 1 - i; the upper triangle is not read.
  std::vector<Complex> h{2, {99, 99}, {2, -2}, 7};
  const ConstTile hermitian{h.data(), {2, 2}};
  apply({Op::ldl, 0, DType::complex128}, std::span(&hermitian, 1), {h.data(), {2, 2}}, scratch);
  EXPECT_EQ(h, (std::vector<Complex>{2, 0, {1, -1}, 3}));
  std::vector<double> inverse(4), t{2, 99, 1, 4};
  const ConstTile triangle{t.data(), {2, 2}};
  apply({Op::inv_triangular, operators::lower, DType::float64}, std::span(&triangle, 1),
        {inverse.data(), {2, 2}}, scratch);
  EXPECT_EQ(inverse, (std::vector<double>{0.5, 0, -0.125, 0.25}));
}

}  // namespace
}  // namespace cyclotron::runtime
