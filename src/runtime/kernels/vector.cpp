// Elementwise operators on many scalars that lie evenly apart.
#include <cstddef>
#include <type_traits>
#include <utility>

#include "functions.hpp"

namespace cyclotron::runtime {
namespace {

template <class T>
const T& scalar(const void* first, std::ptrdiff_t distance) {
  return *reinterpret_cast<const T*>(static_cast<const std::byte*>(first) + distance);
}

#if defined(__x86_64__) && defined(__GNUC__)
#define CYC_VECTOR_AVX2 __attribute__((target("avx2")))
const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
#else
#define CYC_VECTOR_AVX2
constexpr bool has_avx2 = false;
#endif

/// Scalars side by side, compiled for all processors and for those with AVX2.
template <class F, class R, class... T>
void each(R* out, std::int64_t count, const T*... in) {
  for (std::int64_t n = 0; n < count; ++n) out[n] = F{}(in[n]...);
}
template <class F, class R, class... T>
CYC_VECTOR_AVX2 void each_avx2(R* out, std::int64_t count, const T*... in) {
  for (std::int64_t n = 0; n < count; ++n) out[n] = F{}(in[n]...);
}

template <class F, bool avx2, class R, class... T, std::size_t... I>
void run(void* result, std::ptrdiff_t advance, const void* const* operands, const std::ptrdiff_t* advances,
         std::int64_t count, R (F::*)(T...) const, std::index_sequence<I...>) {
  const auto side_by_side = [](std::ptrdiff_t bytes, std::size_t element) {
    return bytes == static_cast<std::ptrdiff_t>(element);
  };
  if (side_by_side(advance, sizeof(R)) && (side_by_side(advances[I], sizeof(T)) && ...)) {
    const auto loop = avx2 ? each_avx2<F, R, T...> : each<F, R, T...>;
    loop(static_cast<R*>(result), count, static_cast<const T*>(operands[I])...);
    return;
  }
  auto* out = static_cast<std::byte*>(result);
  for (std::int64_t n = 0; n < count; ++n, out += advance)
    *reinterpret_cast<R*>(out) = F{}(scalar<T>(operands[I], n * advances[I])...);
}

template <class F, bool avx2>
void run(void* result, std::ptrdiff_t advance, const void* const* operands, const std::ptrdiff_t* advances,
         std::int64_t count) {
  const auto typed = [&]<class R, class... T>(R (F::*call)(T...) const) {
    run<F, avx2>(result, advance, operands, advances, count, call, std::index_sequence_for<T...>{});
  };
  typed(&F::operator());
}

template <class T>
VectorKernel kernel(Op op) {
  return functions::visit<T>(op, []<class F>(F) -> VectorKernel {
    if constexpr (std::is_same_v<F, std::nullptr_t>) {
      return nullptr;
    } else {
      return has_avx2 ? run<F, true> : run<F, false>;
    }
  });
}

/// The elementwise operator that this one is on scalars.
Op on_scalars(Op op) {
  switch (op) {
    case Op::matmul: return Op::multiply;
    case Op::matmul_add: return Op::multiply_add;
    case Op::matmul_subtract: return Op::multiply_subtract;
    default: return op;
  }
}

bool may_fail(Op op) {
  return op == Op::sqrt || op == Op::power || op == Op::floor_divide || op == Op::remainder;
}

}  // namespace

VectorKernel vector_kernel(Op op, DType dtype) {
  op = on_scalars(op);
  if (!operators::is_elementwise(op) || may_fail(op)) return nullptr;
  switch (dtype) {
    case DType::boolean: return kernel<arithmetic::Boolean>(op);
    case DType::int32: return kernel<std::int32_t>(op);
    case DType::int64: return kernel<std::int64_t>(op);
    case DType::float32: return kernel<float>(op);
    case DType::float64: return kernel<double>(op);
    case DType::complex64: return kernel<std::complex<float>>(op);
    case DType::complex128: return kernel<std::complex<double>>(op);
  }
  return nullptr;
}

}  // namespace cyclotron::runtime
