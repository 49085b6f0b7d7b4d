#include <cyclotron/operators/operators.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::operators {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
  char kind;
  Op cast;
};

// In the order of `DType`, so that a dtype indexes its own entry.
constexpr std::array dtypes{
    DTypeInfo{DType::boolean, "bool", 1, 'b', Op::to_bool},
    DTypeInfo{DType::int8, "int8", 1, 'i', Op::to_int8},
    DTypeInfo{DType::int16, "int16", 2, 'i', Op::to_int16},
    DTypeInfo{DType::int32, "int32", 4, 'i', Op::to_int32},
    DTypeInfo{DType::int64, "int64", 8, 'i', Op::to_int64},
    DTypeInfo{DType::uint8, "uint8", 1, 'u', Op::to_uint8},
    DTypeInfo{DType::uint16, "uint16", 2, 'u', Op::to_uint16},
    DTypeInfo{DType::uint32, "uint32", 4, 'u', Op::to_uint32},
    DTypeInfo{DType::uint64, "uint64", 8, 'u', Op::to_uint64},
    DTypeInfo{DType::float8_e4m3, "float8_e4m3", 1, 'f', Op::to_float8_e4m3},
    DTypeInfo{DType::float8_e4m3fn, "float8_e4m3fn", 1, 'f', Op::to_float8_e4m3fn},
    DTypeInfo{DType::float8_e5m2, "float8_e5m2", 1, 'f', Op::to_float8_e5m2},
    DTypeInfo{DType::bfloat16, "bfloat16", 2, 'f', Op::to_bfloat16},
    DTypeInfo{DType::float16, "float16", 2, 'f', Op::to_float16},
    DTypeInfo{DType::float32, "float32", 4, 'f', Op::to_float32},
    DTypeInfo{DType::float64, "float64", 8, 'f', Op::to_float64},
    DTypeInfo{DType::complex64, "complex64", 8, 'c', Op::to_complex64},
    DTypeInfo{DType::complex128, "complex128", 16, 'c', Op::to_complex128},
};

constexpr std::array<std::pair<Flag, std::string_view>, 7> flag_names{{{transpose_a, "transpose_a"},
                                                                       {transpose_b, "transpose_b"},
                                                                       {lower, "lower"},
                                                                       {right_side, "right_side"},
                                                                       {unit_diagonal, "unit_diagonal"},
                                                                       {checked, "checked"},
                                                                       {onward, "onward"}}};

constexpr auto same = Typing::same;
constexpr auto truth = Typing::truth;
constexpr auto part = Typing::part;
constexpr auto cast = Typing::cast;
constexpr auto elementwise = Family::elementwise;

// In the order of `Op`, so that an operator indexes its own entry.
constexpr std::array<Info, operator_count> registry{{
    {Op::add, "add", 2, "+", "a + b", "add", "biufc", same, elementwise, 1},
    {Op::subtract, "subtract", 2, "-", "a - b", "sub", "iufc", same, elementwise, 1},
    {Op::multiply, "multiply", 2, "·", "a * b", "mul", "biufc", same, elementwise, 1},
    {Op::divide, "divide", 2, "/", "a / b", "div", "fc", same, elementwise, 1},
    {Op::maximum, "maximum", 2, "", "np.maximum(a, b)", "max", "biufc", same, elementwise, 1},
    {Op::minimum, "minimum", 2, "", "np.minimum(a, b)", "min", "biufc", same, elementwise, 1},
    {Op::power, "power", 2, "**", "a ** b", "pow", "iufc", same, elementwise, 1},
    {Op::first_maximum, "first_maximum", 2, "", "np.where(b > a, b, a)", "max", "fc", same, elementwise, 1},
    {Op::first_minimum, "first_minimum", 2, "", "np.where(b < a, b, a)", "min", "fc", same, elementwise, 1},
    {Op::floor_divide, "floor_divide", 2, "", "a // b", "div", "iuf", same, elementwise, 1},
    {Op::remainder, "remainder", 2, "", "a % b", "mod", "iuf", same, elementwise, 1},
    {Op::arctan2, "arctan2", 2, "", "np.arctan2(a, b)", "arctan2", "f", same, elementwise, 1},
    {Op::hypot, "hypot", 2, "", "np.hypot(a, b)", "hypot", "f", same, elementwise, 1},
    {Op::normalize_index, "normalize_index", 2, "", "np.arange(n)[i]", "index", "i", same, elementwise, 1},
    {Op::negative, "negative", 1, "", "-a", "neg", "iufc", same, elementwise, 1},
    {Op::sqrt, "sqrt", 1, "", "np.sqrt(a)", "sqrt", "fc", same, elementwise, 1},
    {Op::exp, "exp", 1, "", "np.exp(a)", "exp", "fc", same, elementwise, 1},
    {Op::log, "log", 1, "", "np.log(a)", "log", "fc", same, elementwise, 1},
    {Op::absolute, "absolute", 1, "", "np.abs(a)", "abs", "biufc", part, elementwise, 1},
    {Op::sign, "sign", 1, "", "np.sign(a)", "sign", "iuf", same, elementwise, 1},
    {Op::floor, "floor", 1, "", "np.floor(a)", "floor", "f", same, elementwise, 1},
    {Op::ceil, "ceil", 1, "", "np.ceil(a)", "ceil", "f", same, elementwise, 1},
    {Op::sin, "sin", 1, "", "np.sin(a)", "sin", "fc", same, elementwise, 1},
    {Op::cos, "cos", 1, "", "np.cos(a)", "cos", "fc", same, elementwise, 1},
    {Op::sinh, "sinh", 1, "", "np.sinh(a)", "sinh", "fc", same, elementwise, 1},
    {Op::cosh, "cosh", 1, "", "np.cosh(a)", "cosh", "fc", same, elementwise, 1},
    {Op::tanh, "tanh", 1, "", "np.tanh(a)", "tanh", "fc", same, elementwise, 1},
    {Op::log1p, "log1p", 1, "", "np.log1p(a)", "log1p", "f", same, elementwise, 1},
    {Op::expm1, "expm1", 1, "", "np.expm1(a)", "expm1", "f", same, elementwise, 1},
    {Op::cbrt, "cbrt", 1, "", "np.cbrt(a)", "cbrt", "f", same, elementwise, 1},
    {Op::arctan, "arctan", 1, "", "np.arctan(a)", "arctan", "f", same, elementwise, 1},
    {Op::conj, "conj", 1, "", "np.conj(a)", "conj", "iufc", same, elementwise, 0},
    {Op::real, "real", 1, "", "np.real(a)", "real", "biufc", part, elementwise, 0},
    {Op::imag, "imag", 1, "", "np.imag(a)", "imag", "biufc", part, elementwise, 0},
    {Op::copy, "copy", 1, "", "np.copy(a)", "register", "biufc", same, elementwise, 0},
    {Op::equal, "equal", 2, "", "a == b", "compare", "biufc", truth, elementwise, 1},
    {Op::not_equal, "not_equal", 2, "", "a != b", "compare", "biufc", truth, elementwise, 1},
    {Op::less, "less", 2, "", "a < b", "compare", "biufc", truth, elementwise, 1},
    {Op::less_equal, "less_equal", 2, "", "a <= b", "compare", "biufc", truth, elementwise, 1},
    {Op::greater, "greater", 2, "", "a > b", "compare", "biufc", truth, elementwise, 1},
    {Op::greater_equal, "greater_equal", 2, "", "a >= b", "compare", "biufc", truth, elementwise, 1},
    {Op::is_nan, "is_nan", 1, "", "np.isnan(a)", "compare", "biufc", truth, elementwise, 1},
    {Op::is_finite, "is_finite", 1, "", "np.isfinite(a)", "compare", "biufc", truth, elementwise, 1},
    {Op::logical_and, "logical_and", 2, "", "np.logical_and(a, b)", "logic", "biufc", truth, elementwise, 0},
    {Op::logical_or, "logical_or", 2, "", "np.logical_or(a, b)", "logic", "biufc", truth, elementwise, 0},
    {Op::logical_xor, "logical_xor", 2, "", "np.logical_xor(a, b)", "logic", "biufc", truth, elementwise, 0},
    {Op::logical_not, "logical_not", 1, "", "np.logical_not(a)", "logic", "biufc", truth, elementwise, 0},
    {Op::bit_and, "bit_and", 2, "", "a & b", "logic", "biu", same, elementwise, 0},
    {Op::bit_or, "bit_or", 2, "", "a | b", "logic", "biu", same, elementwise, 0},
    {Op::bit_xor, "bit_xor", 2, "", "a ^ b", "logic", "biu", same, elementwise, 0},
    {Op::bit_not, "bit_not", 1, "", "~a", "logic", "biu", same, elementwise, 0},
    {Op::left_shift, "left_shift", 2, "", "a << b", "logic", "iu", same, elementwise, 0},
    {Op::right_shift, "right_shift", 2, "", "a >> b", "logic", "iu", same, elementwise, 0},
    {Op::where, "where", 3, "", "np.where(c, a, b)", "where", "biufc", Typing::select, elementwise, 0},
    {Op::to_bool, "to_bool", 1, "", "a.astype(bool)", "cast", "biufc", cast, elementwise, 0},
    {Op::to_int8, "to_int8", 1, "", "a.astype(np.int8)", "cast", "biuf", cast, elementwise, 0},
    {Op::to_int16, "to_int16", 1, "", "a.astype(np.int16)", "cast", "biuf", cast, elementwise, 0},
    {Op::to_int32, "to_int32", 1, "", "a.astype(np.int32)", "cast", "biuf", cast, elementwise, 0},
    {Op::to_int64, "to_int64", 1, "", "a.astype(np.int64)", "cast", "biuf", cast, elementwise, 0},
    {Op::to_uint8, "to_uint8", 1, "", "a.astype(np.uint8)", "cast", "biuf", cast, elementwise, 0},
    {Op::to_uint16, "to_uint16", 1, "", "a.astype(np.uint16)", "cast", "biuf", cast, elementwise, 0},
    {Op::to_uint32, "to_uint32", 1, "", "a.astype(np.uint32)", "cast", "biuf", cast, elementwise, 0},
    {Op::to_uint64, "to_uint64", 1, "", "a.astype(np.uint64)", "cast", "biuf", cast, elementwise, 0},
    {Op::to_float8_e4m3, "to_float8_e4m3", 1, "", "a.astype(ml_dtypes.float8_e4m3)", "cast", "biuf", cast,
     elementwise, 0},
    {Op::to_float8_e4m3fn, "to_float8_e4m3fn", 1, "", "a.astype(ml_dtypes.float8_e4m3fn)", "cast", "biuf",
     cast, elementwise, 0},
    {Op::to_float8_e5m2, "to_float8_e5m2", 1, "", "a.astype(ml_dtypes.float8_e5m2)", "cast", "biuf", cast,
     elementwise, 0},
    {Op::to_bfloat16, "to_bfloat16", 1, "", "a.astype(ml_dtypes.bfloat16)", "cast", "biuf", cast, elementwise,
     0},
    {Op::to_float16, "to_float16", 1, "", "a.astype(np.float16)", "cast", "biuf", cast, elementwise, 0},
    {Op::to_float32, "to_float32", 1, "", "a.astype(np.float32)", "cast", "biuf", cast, elementwise, 0},
    {Op::to_float64, "to_float64", 1, "", "a.astype(np.float64)", "cast", "biuf", cast, elementwise, 0},
    {Op::to_complex64, "to_complex64", 1, "", "a.astype(np.complex64)", "cast", "biufc", cast, elementwise,
     0},
    {Op::to_complex128, "to_complex128", 1, "", "a.astype(np.complex128)", "cast", "biufc", cast, elementwise,
     0},
    {Op::transpose, "transpose", 1, "", "a.T", "transpose", "biufc", same, Family::transpose},
    {Op::matmul, "matmul", 2, "@", "a @ b", "gemm", "biufc", same, Family::product},
    {Op::syrk, "syrk", 1, "", "a @ a.T", "syrk", "biufc", same, Family::self_product},
    {Op::solve_triangular, "solve_triangular", 2, "", "scipy.linalg.solve_triangular(a, b)", "trsm", "fc",
     same, Family::solve},
    {Op::inv_triangular, "inv_triangular", 1, "", "np.linalg.inv(a)", "trtri", "fc", same, Family::solve},
    {Op::cholesky, "cholesky", 1, "", "np.linalg.cholesky(a)", "potrf", "fc", same, Family::factorization},
    {Op::lu, "lu", 1, "", "L - I + U, where L @ U == a", "getrf", "fc", same, Family::factorization},
    {Op::ldl, "ldl", 1, "", "L - I + D, where L @ D @ L.conj().T == a", "sytrf", "fc", same,
     Family::factorization},
    {Op::row_sum, "row_sum", 1, "", "np.sum(a, axis=-1, keepdims=True)", "row_sum", "biufc", same,
     Family::reduction},
    {Op::row_max, "row_max", 1, "", "np.max(a, axis=-1, keepdims=True)", "row_max", "biufc", same,
     Family::reduction},
    {Op::row_min, "row_min", 1, "", "np.min(a, axis=-1, keepdims=True)", "row_min", "biufc", same,
     Family::reduction},
    {Op::column_sum, "column_sum", 1, "", "np.sum(a, axis=0, keepdims=True)", "column_sum", "biufc", same,
     Family::reduction},
    {Op::column_max, "column_max", 1, "", "np.max(a, axis=0, keepdims=True)", "column_max", "biufc", same,
     Family::reduction},
    {Op::column_min, "column_min", 1, "", "np.min(a, axis=0, keepdims=True)", "column_min", "biufc", same,
     Family::reduction},
    {Op::multiply_add, "multiply_add", 3, "", "acc + a * b", "mul", "biufc", same, elementwise, 2, true},
    {Op::multiply_subtract, "multiply_subtract", 3, "", "acc - a * b", "mul", "iufc", same, elementwise, 2,
     true},
    {Op::matmul_add, "matmul_add", 3, "", "acc + a @ b", "gemm", "biufc", same, Family::product, {}, true},
    {Op::matmul_subtract,
     "matmul_subtract",
     3,
     "",
     "acc - a @ b",
     "gemm",
     "iufc",
     same,
     Family::product,
     {},
     true},
    {Op::syrk_add, "syrk_add", 2, "", "acc + a @ a.T", "syrk", "biufc", same, Family::self_product, {}, true},
    {Op::syrk_subtract,
     "syrk_subtract",
     2,
     "",
     "acc - a @ a.T",
     "syrk",
     "iufc",
     same,
     Family::self_product,
     {},
     true},
    {Op::join, "join", 2, "", "np.vstack((a, b))", "join", "biufc", same, Family::join},
    {Op::correlate_add,
     "correlate_add",
     3,
     "",
     "acc[r, c] + sum(b[p, q] * a[r + p, c + q])",
     "conv",
     "iufc",
     same,
     Family::correlation,
     {},
     true},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < registry.size(); ++i) {
        if (registry[i].op != static_cast<Op>(i)) return false;
      }
      return true;
    }(),
    "the registry is in the order of Op");
static_assert(
    [] {
      for (std::size_t i = 0; i < dtypes.size(); ++i) {
        if (dtypes[i].dtype != static_cast<DType>(i)) return false;
      }
      return true;
    }(),
    "dtypes are in the order of DType");
static_assert(std::ranges::all_of(registry, [](const Info& info) {
  return (info.family == elementwise) == info.flops_per_element.has_value();
}));
static_assert(std::ranges::all_of(registry, [](const Info& info) {
  return (info.typing == cast) == (std::ranges::find(dtypes, info.op, &DTypeInfo::cast) != dtypes.end());
}));

const DTypeInfo& entry(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  CYC_CHECK(index < dtypes.size());
  return dtypes[index];
}

DType real_part(DType dtype) {
  if (dtype == DType::complex64) return DType::float32;
  if (dtype == DType::complex128) return DType::float64;
  return dtype;
}

}  // namespace

std::string_view name(DType dtype) { return entry(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const auto& candidate : dtypes) {
    if (candidate.name == name) return candidate.dtype;
  }
  return std::nullopt;
}

std::span<const DType> all_dtypes() {
  static constexpr auto all = [] {
    std::array<DType, dtypes.size()> result{};
    std::ranges::transform(dtypes, result.begin(), &DTypeInfo::dtype);
    return result;
  }();
  return all;
}

std::string dtype_names() {
  std::string result;
  for (const auto& one : dtypes) {
    const bool last = &one == &dtypes.back();
    result += fmt::format("{}{}", result.empty() ? "" : last ? " or " : ", ", one.name);
  }
  return result;
}

std::size_t size_bytes(DType dtype) { return entry(dtype).bytes; }

std::int64_t alignment_bytes(DType dtype) {
  const auto& found = entry(dtype);
  if (found.kind == 'b') return 2;
  return static_cast<std::int64_t>(found.kind == 'c' ? found.bytes / 2 : found.bytes);
}

bool is_floating(DType dtype) {
  const char kind = entry(dtype).kind;
  return kind == 'f' || kind == 'c';
}

bool is_complex(DType dtype) { return entry(dtype).kind == 'c'; }

bool is_neutral(const Number& number, DType dtype) {
  const auto negative_zero = [](double value) { return value == 0 && std::signbit(value); };
  if (number.rest != 0) return false;
  if (!is_floating(dtype)) return number.real == 0 && number.imaginary == 0;
  return negative_zero(number.real) && (!is_complex(dtype) || negative_zero(number.imaginary));
}

std::optional<Limits> integer_limits(DType dtype) {
  const auto& found = entry(dtype);
  const bool has_sign = found.kind == 'i';
  const auto bits = 8 * found.bytes;
  constexpr auto all = std::numeric_limits<std::int64_t>::max();
  if ((!has_sign && found.kind != 'u') || (has_sign && bits == 64)) return std::nullopt;
  const std::int64_t most = bits == 64 ? all : (std::int64_t{1} << (bits - (has_sign ? 1 : 0))) - 1;
  return Limits{has_sign ? -most - 1 : 0, most};
}

bool holds_index(DType dtype) {
  const char kind = entry(dtype).kind;
  return kind == 'i' || kind == 'u' || kind == 'f';
}

std::string_view name(Typing typing) {
  switch (typing) {
    case Typing::same: return "same";
    case Typing::truth: return "truth";
    case Typing::select: return "select";
    case Typing::part: return "part";
    case Typing::cast: return "cast";
  }
  check_failed("typing is a Typing", __FILE__, __LINE__, {});
}

std::string_view name(Family family) {
  switch (family) {
    case Family::elementwise: return "elementwise";
    case Family::transpose: return "transpose";
    case Family::product: return "product";
    case Family::self_product: return "self_product";
    case Family::solve: return "solve";
    case Family::factorization: return "factorization";
    case Family::reduction: return "reduction";
    case Family::join: return "join";
    case Family::correlation: return "correlation";
  }
  check_failed("family is a Family", __FILE__, __LINE__, {});
}

std::optional<Flag> flag_from_name(std::string_view name) {
  for (const auto& [flag, own] : flag_names) {
    if (own == name) return flag;
  }
  return std::nullopt;
}

const Info& info(Op op) {
  const auto index = static_cast<std::size_t>(op);
  CYC_CHECK(index < registry.size());
  return registry[index];
}

std::optional<Op> op_from_name(std::string_view name) {
  for (const auto& candidate : registry) {
    if (candidate.name == name) return candidate.op;
  }
  return std::nullopt;
}

bool is_elementwise(Op op) { return info(op).family == Family::elementwise; }

bool is_accumulating(Op op) { return info(op).accumulating; }

std::optional<Accumulating> accumulating(Op op) {
  switch (op) {
    case Op::multiply: return Accumulating{Op::multiply_add, Op::multiply_subtract};
    case Op::matmul: return Accumulating{Op::matmul_add, Op::matmul_subtract};
    case Op::syrk: return Accumulating{Op::syrk_add, Op::syrk_subtract};
    default: return std::nullopt;
  }
}

bool is_reduction(Op op) { return info(op).family == Family::reduction; }

bool is_defined(Op op, DType dtype) {
  const auto family = info(op).family;
  const bool divides = family == Family::solve || family == Family::factorization;
  if (divides && entry(dtype).kind == 'f' && entry(dtype).bytes < 4) return false;
  return info(op).kinds.find(entry(dtype).kind) != std::string_view::npos;
}

DType operand_dtype(Op op, std::size_t operand, DType dtype) {
  return info(op).typing == Typing::select && operand == 0 ? DType::boolean : dtype;
}

DType result_dtype(Op op, DType dtype) {
  switch (info(op).typing) {
    case Typing::same:
    case Typing::select: return dtype;
    case Typing::truth: return DType::boolean;
    case Typing::part: return real_part(dtype);
    case Typing::cast: return std::ranges::find(dtypes, op, &DTypeInfo::cast)->dtype;
  }
  check_failed("typing is a Typing", __FILE__, __LINE__, {});
}

std::optional<DType> result_dtype(Op op, std::optional<DType> dtype) {
  const auto typing = info(op).typing;
  if (!dtype && typing != Typing::truth && typing != Typing::cast) return std::nullopt;
  return result_dtype(op, dtype.value_or(DType::complex128));
}

std::optional<DType> common_dtype(Op op, std::span<const std::optional<DType>> operands) {
  const auto mixes = [&](DType first, DType second, const char* help) {
    throw ShapeError(
        {.code = "CYC206",
         .span = {},
         .message = fmt::format("`{}` mixes {} and {}", info(op).name, name(first), name(second)),
         .notes = {},
         .help = help});
  };
  std::optional<DType> common;
  for (std::size_t n = 0; n < operands.size(); ++n) {
    if (!operands[n]) continue;
    if (n == 0 && info(op).typing == Typing::select) {
      if (*operands[n] != DType::boolean) mixes(*operands[n], DType::boolean, "the condition is bool");
      continue;
    }
    if (common && *common != *operands[n])
      mixes(*common, *operands[n], "convert the inputs to one dtype with `astype` first");
    common = operands[n];
  }
  return common;
}

DType working_dtype(Op op, std::span<const std::optional<DType>> operands, DType result) {
  const auto common = common_dtype(op, operands);
  if (common) return *common;
  // A number converts at once: 64-bit integers are not all doubles.
  if (!result_dtype(op, std::nullopt) || info(op).typing == Typing::cast) return result;
  return is_defined(op, DType::complex128) ? DType::complex128 : DType::float64;
}

Op cast_to(DType dtype) { return entry(dtype).cast; }

}  // namespace cyclotron::operators
