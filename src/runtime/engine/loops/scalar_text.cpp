#include "scalar_text.hpp"

#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace cyclotron::runtime {

namespace {

std::optional<std::string_view> of_floats(Op op, bool is_double) {
  switch (op) {
    case Op::add: return "a + b";
    case Op::subtract: return "a - b";
    case Op::multiply: return "a * b";
    case Op::divide: return "a / b";
    case Op::negative: return "-a";
    case Op::multiply_add: return "a + b * c";
    case Op::multiply_subtract: return "a - b * c";
    case Op::maximum: return "(a >= b) | (a != a) ? a : b";
    case Op::minimum: return "(b >= a) | (a != a) ? a : b";
    case Op::first_maximum: return "a < b ? b : a";
    case Op::first_minimum: return "b < a ? b : a";
    case Op::sqrt: return is_double ? "__builtin_sqrt(a)" : "__builtin_sqrtf(a)";
    case Op::absolute: return is_double ? "__builtin_fabs(a)" : "__builtin_fabsf(a)";
    case Op::is_nan: return "a != a";
    case Op::is_finite: return "__builtin_isfinite(a)";
    default: return std::nullopt;
  }
}

/// Unsigned, so that they wrap; what the result is put into cuts it.
std::optional<std::string_view> of_integers(Op op, bool is_long) {
  switch (op) {
    case Op::add: return is_long ? "(u64)a + (u64)b" : "(u32)a + (u32)b";
    case Op::subtract: return is_long ? "(u64)a - (u64)b" : "(u32)a - (u32)b";
    case Op::multiply: return is_long ? "(u64)a * (u64)b" : "(u32)a * (u32)b";
    case Op::negative: return is_long ? "0 - (u64)a" : "0 - (u32)a";
    case Op::absolute: return is_long ? "a < 0 ? 0 - (u64)a : (u64)a" : "a < 0 ? 0 - (u32)a : (u32)a";
    case Op::multiply_add: return is_long ? "(u64)a + (u64)b * (u64)c" : "(u32)a + (u32)b * (u32)c";
    case Op::multiply_subtract: return is_long ? "(u64)a - (u64)b * (u64)c" : "(u32)a - (u32)b * (u32)c";
    case Op::maximum: return "a >= b ? a : b";
    case Op::minimum: return "b >= a ? a : b";
    case Op::bit_and: return "a & b";
    case Op::bit_or: return "a | b";
    case Op::bit_xor: return "a ^ b";
    case Op::bit_not: return "~a";
    case Op::normalize_index: return "a < 0 ? a + b : a";
    case Op::to_int8: return "(signed char)a";
    case Op::to_int16: return "(short)a";
    case Op::to_int32: return "(int)a";
    case Op::to_int64: return "(i64)a";
    case Op::to_uint8: return "(unsigned char)a";
    case Op::to_uint16: return "(unsigned short)a";
    case Op::to_uint32: return "(u32)a";
    case Op::to_uint64: return "(u64)a";
    default: return std::nullopt;
  }
}

std::optional<std::string_view> of_booleans(Op op) {
  switch (op) {
    case Op::add: return "(a | b) != 0";
    case Op::multiply: return "(a != 0) & (b != 0)";
    case Op::maximum: return "a >= b ? a : b";
    case Op::minimum: return "b >= a ? a : b";
    case Op::bit_and: return "a & b";
    case Op::bit_or: return "a | b";
    case Op::bit_xor: return "a ^ b";
    case Op::bit_not: return "a == 0";
    default: return op >= Op::to_int8 && op <= Op::to_uint64 ? of_integers(op, true) : std::nullopt;
  }
}

std::optional<std::string_view> of_truth(Op op) {
  switch (op) {
    case Op::equal: return "a == b";
    case Op::not_equal: return "a != b";
    case Op::less: return "a < b";
    case Op::less_equal: return "b >= a";
    case Op::greater: return "b < a";
    case Op::greater_equal: return "a >= b";
    case Op::logical_and: return "(a != 0) & (b != 0)";
    case Op::logical_or: return "(a != 0) | (b != 0)";
    case Op::logical_xor: return "(a != 0) != (b != 0)";
    case Op::logical_not: return "a == 0";
    default: return std::nullopt;
  }
}

}  // namespace

std::string_view c_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8: return "unsigned char";
    case DType::int8: return "signed char";
    case DType::int16: return "short";
    case DType::uint16: return "unsigned short";
    case DType::int32: return "int";
    case DType::uint32: return "u32";
    case DType::int64: return "i64";
    case DType::uint64: return "u64";
    case DType::float32: return "float";
    case DType::float64: return "double";
    default: return {};
  }
}

std::string c_constant(DType dtype, const std::byte* number) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, number, operators::size_bytes(dtype));
  switch (dtype) {
    case DType::float64: return fmt::format("((union {{ u64 i; double d; }}){{ {}ull }}).d", bits);
    case DType::float32: return fmt::format("((union {{ u32 i; float d; }}){{ {}u }}).d", bits);
    default: return fmt::format("({}){}ull", c_type(dtype), bits);
  }
}

std::optional<std::string_view> c_expression(Op op, DType dtype) {
  if (op == Op::copy) return "a";
  if (op == Op::where) return "a ? b : c";
  if (const auto truth = of_truth(op)) return truth;
  if (op == Op::to_float64) return "(double)a";
  if (op == Op::to_float32) return "(float)a";
  if (op == Op::to_bool) return "a != 0";
  switch (dtype) {
    case DType::boolean: return of_booleans(op);
    case DType::float32: return of_floats(op, false);
    case DType::float64: return of_floats(op, true);
    case DType::int64:
    case DType::uint64: return of_integers(op, true);
    default: return c_type(dtype).empty() ? std::nullopt : of_integers(op, false);
  }
}

std::string_view c_failure(Op op, Flags flags, DType dtype) {
  const bool is_integer = operators::integer_limits(dtype).has_value() || dtype == DType::int64;
  if (op == Op::power && is_integer) return "b < 0";
  const bool checked = (flags & operators::checked) != 0;
  if (op == Op::normalize_index) return checked ? "a < 0 || a >= b" : "!(a >= -b && a < b)";
  if (!checked) return {};
  switch (op) {
    case Op::divide:
    case Op::floor_divide:
    case Op::remainder: return "b == 0";
    case Op::sqrt: return "a < 0";
    case Op::log: return "a <= 0";
    default: return {};
  }
}

}  // namespace cyclotron::runtime
