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
    default: return std::nullopt;
  }
}

std::optional<std::string_view> of_integers(Op op, bool is_long) {
  switch (op) {
    case Op::add: return is_long ? "(i64)((u64)a + (u64)b)" : "(int)((u32)a + (u32)b)";
    case Op::subtract: return is_long ? "(i64)((u64)a - (u64)b)" : "(int)((u32)a - (u32)b)";
    case Op::multiply: return is_long ? "(i64)((u64)a * (u64)b)" : "(int)((u32)a * (u32)b)";
    case Op::negative: return is_long ? "(i64)(0 - (u64)a)" : "(int)(0 - (u32)a)";
    case Op::multiply_add:
      return is_long ? "(i64)((u64)a + (u64)b * (u64)c)" : "(int)((u32)a + (u32)b * (u32)c)";
    case Op::multiply_subtract:
      return is_long ? "(i64)((u64)a - (u64)b * (u64)c)" : "(int)((u32)a - (u32)b * (u32)c)";
    case Op::maximum: return "a >= b ? a : b";
    case Op::minimum: return "b >= a ? a : b";
    case Op::bit_and: return "a & b";
    case Op::bit_or: return "a | b";
    case Op::bit_xor: return "a ^ b";
    default: return std::nullopt;
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
    case DType::boolean: return "unsigned char";
    case DType::int32: return "int";
    case DType::int64: return "i64";
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
    case DType::int64: return fmt::format("(i64){}ull", bits);
    case DType::int32: return fmt::format("(int){}u", bits);
    default: return fmt::format("(unsigned char){}", bits);
  }
}

std::optional<std::string_view> c_expression(Op op, DType dtype) {
  if (op == Op::copy) return "a";
  if (op == Op::where) return "a ? b : c";
  if (const auto truth = of_truth(op)) return truth;
  if (op == Op::to_float64) return "(double)a";
  if (op == Op::to_float32) return "(float)a";
  switch (dtype) {
    case DType::float32: return of_floats(op, false);
    case DType::float64: return of_floats(op, true);
    case DType::int32: return of_integers(op, false);
    case DType::int64: return of_integers(op, true);
    default: return std::nullopt;
  }
}

}  // namespace cyclotron::runtime
