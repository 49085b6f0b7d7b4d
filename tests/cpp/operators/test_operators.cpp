#include <cyclotron/operators/operators.hpp>

#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::operators {
namespace {

std::vector<Op> all_ops() {
  std::vector<Op> result;
  for (std::size_t op = 0; op < operator_count; ++op) result.push_back(static_cast<Op>(op));
  return result;
}

Shape shape(Op op, Flags flags, std::initializer_list<Shape> operands) {
  return result_shape(op, flags, std::span(operands.begin(), operands.size()));
}
std::int64_t count(Op op, Flags flags, std::initializer_list<Shape> operands) {
  return flops(op, flags, std::span(operands.begin(), operands.size()));
}

TEST(DTypes, NamesAreNumPys) {
  EXPECT_EQ(name(DType::boolean), "bool");
  EXPECT_EQ(name(DType::complex128), "complex128");
  EXPECT_EQ(name(DType::uint16), "uint16");
  for (int i = 0; i <= static_cast<int>(DType::complex128); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(all_dtypes()[static_cast<std::size_t>(i)], dtype);
    EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_from_name("float128"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

TEST(DTypes, SizesAndKinds) {
  EXPECT_EQ(size_bytes(DType::boolean), 1U);
  EXPECT_EQ(size_bytes(DType::int32), 4U);
  EXPECT_EQ(size_bytes(DType::float64), 8U);
  EXPECT_EQ(size_bytes(DType::complex128), 16U);
  EXPECT_FALSE(is_floating(DType::int64));
  EXPECT_TRUE(is_floating(DType::float32));
  EXPECT_TRUE(is_floating(DType::complex64));
  EXPECT_EQ(size_bytes(DType::uint8), 1U);
  EXPECT_FALSE(is_floating(DType::uint64));
}

TEST(DTypes, LimitsAreOfWhatA64BitIntegerMayExceed) {
  EXPECT_EQ(integer_limits(DType::int8)->least, -128);
  EXPECT_EQ(integer_limits(DType::int8)->most, 127);
  EXPECT_EQ(integer_limits(DType::uint32)->most, 4294967295);
  EXPECT_EQ(integer_limits(DType::uint64)->least, 0);
  EXPECT_EQ(integer_limits(DType::uint64)->most, std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(integer_limits(DType::int64));
  EXPECT_FALSE(integer_limits(DType::float16));
}

TEST(Registry, EveryOperatorHasAUniqueNameThatLeadsBack) {
  std::set<std::string_view> names;
  for (const Op op : all_ops()) {
    EXPECT_EQ(info(op).op, op);
    EXPECT_TRUE(names.insert(info(op).name).second) << info(op).name;
    EXPECT_EQ(op_from_name(info(op).name), op);
    EXPECT_FALSE(info(op).space_name.empty());
    EXPECT_FALSE(info(op).numpy.empty());
  }
  EXPECT_EQ(op_from_name("nonsense"), std::nullopt);
}

TEST(Registry, FamiliesAndFlagsHaveNames) {
  EXPECT_EQ(name(info(Op::expm1).family), "elementwise");
  EXPECT_EQ(name(info(Op::matmul_add).family), name(info(Op::matmul).family));
  EXPECT_EQ(name(info(Op::column_min).family), "reduction");
  EXPECT_EQ(name(info(Op::where).typing), "select");
  EXPECT_EQ(flag_from_name("lower"), lower);
  EXPECT_EQ(flag_from_name("unit_diagonal"), unit_diagonal);
  EXPECT_EQ(flag_from_name("upper"), std::nullopt);
}

TEST(Registry, SpacesAreNamedLikeThePaper) {
  EXPECT_EQ(info(Op::subtract).space_name, "sub");
  EXPECT_EQ(info(Op::multiply_add).space_name, "mul");
  EXPECT_EQ(info(Op::matmul_subtract).space_name, "gemm");
  EXPECT_EQ(info(Op::solve_triangular).space_name, "trsm");
  EXPECT_EQ(info(Op::cholesky).space_name, "potrf");
  EXPECT_EQ(info(Op::multiply_add).name, "multiply_add");
}

TEST(Registry, OperatorsOnScalarsGiveScalars) {
  const std::vector<Shape> scalars(3);
  for (const Op op : all_ops()) {
    if (op == Op::join) continue;  // of two there are two
    const std::span operands(scalars.data(), static_cast<std::size_t>(info(op).arity));
    EXPECT_EQ(result_shape(op, no_flags, operands), Shape{}) << info(op).name;
    EXPECT_GE(flops(op, no_flags, operands), 0) << info(op).name;
  }
}

TEST(Typing, ResultsFollowTheDtypeThatAnOperatorWorksOn) {
  EXPECT_EQ(result_dtype(Op::add, DType::int32), DType::int32);
  EXPECT_EQ(result_dtype(Op::less, DType::float32), DType::boolean);
  EXPECT_EQ(result_dtype(Op::absolute, DType::complex64), DType::float32);
  EXPECT_EQ(result_dtype(Op::absolute, DType::int64), DType::int64);
  EXPECT_EQ(result_dtype(Op::where, DType::int64), DType::int64);
  EXPECT_EQ(operand_dtype(Op::where, 0, DType::int64), DType::boolean);
  EXPECT_EQ(operand_dtype(Op::where, 1, DType::int64), DType::int64);
  for (int d = 0; d <= static_cast<int>(DType::complex128); ++d) {
    const auto dtype = static_cast<DType>(d);
    EXPECT_EQ(result_dtype(cast_to(dtype), DType::int32), dtype);
    EXPECT_EQ(info(cast_to(dtype)).name, "to_" + std::string(name(dtype)));
  }
}

TEST(Typing, OperandsAgreeAndNumbersAdopt) {
  using Dtypes = std::vector<std::optional<DType>>;
  EXPECT_EQ(common_dtype(Op::add, Dtypes{std::nullopt, DType::int32}), DType::int32);
  EXPECT_EQ(common_dtype(Op::add, Dtypes{std::nullopt, std::nullopt}), std::nullopt);
  EXPECT_EQ(common_dtype(Op::where, Dtypes{DType::boolean, std::nullopt, DType::float32}), DType::float32);
  EXPECT_THROW((void)common_dtype(Op::add, Dtypes{DType::int64, DType::int32}), ShapeError);
  EXPECT_THROW((void)common_dtype(Op::where, Dtypes{DType::int32, DType::int32, DType::int32}), ShapeError);
  // Numbers alone: what they are added to, or the largest dtype where the result has one of its own.
  EXPECT_EQ(working_dtype(Op::add, Dtypes{std::nullopt, std::nullopt}, DType::int32), DType::int32);
  EXPECT_EQ(working_dtype(Op::less, Dtypes{std::nullopt, std::nullopt}, DType::boolean), DType::complex128);
  EXPECT_EQ(working_dtype(Op::to_int32, Dtypes{std::nullopt}, DType::int32), DType::int32);
}

TEST(Typing, KindsAreNumPys) {
  for (const Op op : all_ops()) {
    const auto kinds = info(op).kinds;
    const bool of_integers = kinds == "biu" || kinds == "iu" || kinds == "i";
    EXPECT_TRUE(is_defined(op, DType::float64) || of_integers) << info(op).name;
    for (const auto dtype : {DType::int8, DType::int16, DType::int32})
      EXPECT_EQ(is_defined(op, dtype), is_defined(op, DType::int64));
    for (const auto dtype : {DType::uint8, DType::uint16, DType::uint32})
      EXPECT_EQ(is_defined(op, dtype), is_defined(op, DType::uint64));
  }
  EXPECT_FALSE(is_defined(Op::divide, DType::int64));
  EXPECT_FALSE(is_defined(Op::negative, DType::boolean));
  EXPECT_FALSE(is_defined(Op::floor, DType::complex64));
  EXPECT_FALSE(is_defined(Op::bit_and, DType::float32));
  EXPECT_TRUE(is_defined(Op::matmul, DType::float16));
  EXPECT_FALSE(is_defined(Op::cholesky, DType::float16));
}

TEST(Shapes, ElementwiseOperandsBroadcast) {
  EXPECT_EQ(shape(Op::add, 0, {{3, 4}, {3, 4}}), (Shape{3, 4}));
  EXPECT_EQ(shape(Op::add, 0, {{3, 1}, {1, 4}}), (Shape{3, 4}));
  EXPECT_EQ(shape(Op::multiply_add, 0, {{3, 4}, {1, 1}, {3, 1}}), (Shape{3, 4}));
  EXPECT_THROW((void)shape(Op::add, 0, {{3, 4}, {3, 2}}), ShapeError);
}

TEST(Shapes, ProductsFollowTheirFlags) {
  EXPECT_EQ(shape(Op::matmul, 0, {{2, 3}, {3, 5}}), (Shape{2, 5}));
  EXPECT_EQ(shape(Op::matmul, transpose_a, {{3, 2}, {3, 5}}), (Shape{2, 5}));
  EXPECT_EQ(shape(Op::matmul, transpose_b, {{2, 3}, {5, 3}}), (Shape{2, 5}));
  EXPECT_EQ(shape(Op::matmul, transpose_a | transpose_b, {{3, 2}, {5, 3}}), (Shape{2, 5}));
  EXPECT_EQ(shape(Op::matmul_add, 0, {{2, 5}, {2, 3}, {3, 5}}), (Shape{2, 5}));
  EXPECT_EQ(shape(Op::syrk, 0, {{2, 3}}), (Shape{2, 2}));
  EXPECT_EQ(shape(Op::syrk_subtract, 0, {{2, 2}, {2, 3}}), (Shape{2, 2}));
  EXPECT_THROW((void)shape(Op::matmul_add, 0, {{2, 4}, {2, 3}, {3, 5}}), ShapeError);
  EXPECT_THROW((void)shape(Op::syrk_add, 0, {{3, 3}, {2, 3}}), ShapeError);
}

TEST(Shapes, SolvesAndFactors) {
  EXPECT_EQ(shape(Op::solve_triangular, lower, {{3, 3}, {3, 2}}), (Shape{3, 2}));
  EXPECT_EQ(shape(Op::solve_triangular, right_side, {{3, 3}, {2, 3}}), (Shape{2, 3}));
  EXPECT_THROW((void)shape(Op::solve_triangular, right_side, {{3, 3}, {3, 2}}), ShapeError);
  EXPECT_THROW((void)shape(Op::solve_triangular, 0, {{3, 2}, {3, 2}}), ShapeError);
  EXPECT_EQ(shape(Op::cholesky, 0, {{4, 4}}), (Shape{4, 4}));
  EXPECT_THROW((void)shape(Op::cholesky, 0, {{4, 3}}), ShapeError);
  EXPECT_EQ(shape(Op::row_sum, 0, {{4, 3}}), (Shape{4, 1}));
  EXPECT_EQ(shape(Op::transpose, 0, {{4, 3}}), (Shape{3, 4}));
  EXPECT_EQ(shape(Op::column_max, 0, {{4, 3}}), (Shape{1, 3}));
  for (const Op op : {Op::lu, Op::ldl, Op::inv_triangular}) {
    EXPECT_EQ(shape(op, 0, {{4, 4}}), (Shape{4, 4}));
    EXPECT_THROW((void)shape(op, 0, {{4, 3}}), ShapeError);
  }
  EXPECT_EQ(shape(Op::where, 0, {{4, 1}, {1, 3}, {1, 1}}), (Shape{4, 3}));
}

TEST(Shapes, ErrorsNameBothShapes) {
  try {
    (void)shape(Op::matmul, 0, {{2, 3}, {4, 5}});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC206");
    EXPECT_EQ(error.diagnostic().message, "`matmul` cannot multiply a 2x3 tile by a 4x5 tile");
  }
  EXPECT_THROW((void)shape(Op::add, 0, {{1, 1}}), ShapeError);
}

TEST(Products, HaveThreeExtents) {
  const auto size = [](Op op, Flags flags, std::vector<Shape> operands) {
    const auto found = product_size(op, flags, operands);
    return found ? std::vector{found->rows, found->columns, found->depth} : std::vector<std::int64_t>{};
  };
  EXPECT_EQ(size(Op::matmul, 0, {{2, 3}, {3, 5}}), (std::vector<std::int64_t>{2, 5, 3}));
  EXPECT_EQ(size(Op::matmul, transpose_b, {{2, 3}, {5, 3}}), (std::vector<std::int64_t>{2, 5, 3}));
  EXPECT_EQ(size(Op::matmul_add, transpose_a, {{2, 5}, {3, 2}, {3, 5}}),
            (std::vector<std::int64_t>{2, 5, 3}));
  EXPECT_EQ(size(Op::syrk, 0, {{2, 3}}), (std::vector<std::int64_t>{2, 2, 3}));
  EXPECT_EQ(size(Op::syrk_subtract, 0, {{2, 2}, {2, 3}}), (std::vector<std::int64_t>{2, 2, 3}));
  EXPECT_EQ(size(Op::multiply_add, 0, {{2, 2}, {2, 2}, {2, 2}}), std::vector<std::int64_t>{});
}

TEST(Reductions, AreThoseOfRowsAndColumns) {
  std::vector<std::string_view> names;
  for (std::size_t n = 0; n < operator_count; ++n) {
    if (is_reduction(static_cast<Op>(n))) names.push_back(info(static_cast<Op>(n)).name);
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{"row_sum", "row_max", "row_min", "column_sum", "column_max",
                                                  "column_min"}));
}

TEST(Accumulators, AreTheFirstOperandsOfUpdates) {
  std::vector<std::string_view> names;
  for (const Op op : all_ops()) {
    if (is_accumulating(op)) names.push_back(info(op).name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string_view>{"multiply_add", "multiply_subtract", "matmul_add",
                                           "matmul_subtract", "syrk_add", "syrk_subtract", "correlate_add"}));
}

TEST(Families, OfTileAlgorithmsHaveNoHalfPrecision) {
  for (const Op op : all_ops()) {
    const Family family = info(op).family;
    const bool divides = family == Family::solve || family == Family::factorization;
    const bool real = info(op).kinds.find('f') != std::string_view::npos;
    EXPECT_EQ(is_defined(op, DType::float16), real && !divides) << info(op).name;
  }
}

TEST(Flops, AreLapacksCounts) {
  EXPECT_EQ(count(Op::add, 0, {{3, 1}, {1, 4}}), 12);
  EXPECT_EQ(count(Op::multiply_add, 0, {{1, 1}, {1, 1}, {1, 1}}), 2);
  EXPECT_EQ(count(Op::matmul, 0, {{2, 3}, {3, 5}}), 60);
  EXPECT_EQ(count(Op::matmul_add, transpose_a, {{2, 5}, {3, 2}, {3, 5}}), 60);
  EXPECT_EQ(count(Op::syrk, 0, {{2, 3}}), 18);
  EXPECT_EQ(count(Op::correlate_add, 0, {{2, 3}, {4, 4}, {3, 2}}), 72);
  EXPECT_EQ(count(Op::join, 0, {{2, 3}, {4, 3}}), 0);
  EXPECT_EQ(count(Op::solve_triangular, 0, {{3, 3}, {3, 2}}), 18);
  EXPECT_EQ(count(Op::solve_triangular, unit_diagonal, {{3, 3}, {3, 2}}), 12);
  EXPECT_EQ(count(Op::solve_triangular, right_side, {{3, 3}, {2, 3}}), 18);
  EXPECT_EQ(count(Op::cholesky, 0, {{1, 1}}), 1);
  EXPECT_EQ(count(Op::cholesky, 0, {{3, 3}}), 14);
  EXPECT_EQ(count(Op::row_sum, 0, {{4, 3}}), 8);
  EXPECT_EQ(count(Op::transpose, 0, {{4, 3}}), 0);
  EXPECT_EQ(count(Op::lu, 0, {{3, 3}}), 3 + 10);  // divisions, then products and differences
  EXPECT_EQ(count(Op::ldl, 0, {{3, 3}}), 3 + 8);
  EXPECT_EQ(count(Op::inv_triangular, 0, {{3, 3}}), 11);
  EXPECT_EQ(count(Op::column_sum, 0, {{4, 3}}), 9);
  EXPECT_EQ(count(Op::where, 0, {{4, 3}, {4, 3}, {4, 3}}), 0);
}

}  // namespace
}  // namespace cyclotron::operators
