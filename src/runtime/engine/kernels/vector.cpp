// Elementwise operators on many scalars that lie evenly apart.
#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "functions.hpp"

namespace cyclotron::runtime {
namespace {

template <class T>
const T& scalar(const void* first, std::ptrdiff_t distance) {
  return *reinterpret_cast<const T*>(static_cast<const std::byte*>(first) + distance);
}

#if defined(__x86_64__) && defined(__GNUC__)
#define CYC_VECTOR_AVX2 __attribute__((target("avx2")))
#ifdef __clang__  // which knows no preferences there
#define CYC_VECTOR_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define CYC_VECTOR_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#else
#define CYC_VECTOR_AVX2
#define CYC_VECTOR_AVX512
#endif

/// Targets that the loops are compiled for: all processors, and those with wide registers.
enum class Width : std::uint8_t { any, avx2, avx512 };

Width find_width() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return Width::avx512;
  if (__builtin_cpu_supports("avx2")) return Width::avx2;
#endif
  return Width::any;
}
const Width widest = find_width();

/// Scalars side by side.
template <class F, class R, class... T>
void each(R* out, std::int64_t count, const T*... in) {
  for (std::int64_t n = 0; n < count; ++n) out[n] = F{}(in[n]...);
}
template <class F, class R, class... T>
CYC_VECTOR_AVX2 void each_avx2(R* out, std::int64_t count, const T*... in) {
  for (std::int64_t n = 0; n < count; ++n) out[n] = F{}(in[n]...);
}
template <class F, class R, class... T>
CYC_VECTOR_AVX512 void each_avx512(R* out, std::int64_t count, const T*... in) {
  for (std::int64_t n = 0; n < count; ++n) out[n] = F{}(in[n]...);
}
template <class F, Width width, class R, class... T>
constexpr auto loop_of() {
  switch (width) {
    case Width::avx512: return each_avx512<F, R, T...>;
    case Width::avx2: return each_avx2<F, R, T...>;
    case Width::any: break;
  }
  return each<F, R, T...>;
}

template <class F, Width width, class R, class... T, std::size_t... I>
void run(void* result, std::ptrdiff_t advance, const void* const* operands, const std::ptrdiff_t* advances,
         std::int64_t count, R (F::*)(T...) const, std::index_sequence<I...>) {
  const auto side_by_side = [](std::ptrdiff_t bytes, std::size_t element) {
    return bytes == static_cast<std::ptrdiff_t>(element);
  };
  if (side_by_side(advance, sizeof(R)) && (side_by_side(advances[I], sizeof(T)) && ...)) {
    loop_of<F, width, R, T...>()(static_cast<R*>(result), count, static_cast<const T*>(operands[I])...);
    return;
  }
  auto* out = static_cast<std::byte*>(result);
  for (std::int64_t n = 0; n < count; ++n, out += advance)
    *reinterpret_cast<R*>(out) = F{}(scalar<T>(operands[I], n * advances[I])...);
}

template <class F, Width width>
void run(void* result, std::ptrdiff_t advance, const void* const* operands, const std::ptrdiff_t* advances,
         std::int64_t count) {
  const auto typed = [&]<class R, class... T>(R (F::*call)(T...) const) {
    run<F, width>(result, advance, operands, advances, count, call, std::index_sequence_for<T...>{});
  };
  typed(&F::operator());
}

/// The kernel of a function without state, for registers no wider than that.
template <class F, Width most = Width::avx512>
VectorKernel kernel() {
  static_assert(most != Width::any);
  switch (widest) {
    case Width::avx512: return run<F, most>;
    case Width::avx2: return run<F, Width::avx2>;
    case Width::any: break;
  }
  return run<F, Width::any>;
}

template <class T>
VectorKernel kernel(Op op) {
  return functions::visit<T>(op, []<class F>(F) -> VectorKernel {
    if constexpr (std::is_same_v<F, std::nullptr_t>) {
      return nullptr;
    } else {
      // AVX-512 brings fused multiply-adds, of which GCC makes products of complex numbers, asked or not.
      return kernel<F, arithmetic::is_complex<T> ? Width::avx2 : Width::avx512>();
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

template <class T, class Outer, class Inner, std::size_t operand>
struct Composed {
  T operator()(T a, T b, T c) const {
    if constexpr (operand == 0) return Outer{}(Inner{}(a, b), c);
    return Outer{}(a, Inner{}(b, c));
  }
};

struct Composition {
  VectorKernel outer, inner;
  std::size_t operand;
  VectorKernel kernel;
};

/// Of sums, differences and products, of which most formulas are.
template <class T>
void add_compositions(DType dtype, std::vector<Composition>& all) {
  const auto each_op = [](auto use) {
    use(Op::add, [](T a, T b) { return arithmetic::add(a, b); });
    use(Op::subtract, [](T a, T b) { return arithmetic::subtract(a, b); });
    use(Op::multiply, [](T a, T b) { return arithmetic::multiply(a, b); });
  };
  each_op([&]<class Outer>(Op outer, Outer) {
    each_op([&]<class Inner>(Op inner, Inner) {
      const auto first = vector_kernel(inner, 0, dtype), second = vector_kernel(outer, 0, dtype);
      all.push_back({second, first, 0, kernel<Composed<T, Outer, Inner, 0>>()});
      all.push_back({second, first, 1, kernel<Composed<T, Outer, Inner, 1>>()});
    });
  });
}

bool may_fail(Op op) { return op == Op::power || op == Op::normalize_index; }

}  // namespace

VectorKernel vector_kernel(Op op, Flags flags, DType dtype) {
  op = on_scalars(op);
  if (!operators::is_elementwise(op) || may_fail(op) || (flags & operators::checked) != 0) return nullptr;
  return with_type(dtype, [&]<class T>() { return kernel<T>(op); });
}

VectorKernel composed_kernel(VectorKernel outer, std::size_t operand, VectorKernel inner) {
  static const auto all = [] {
    std::vector<Composition> result;
    add_compositions<std::int64_t>(DType::int64, result);
    add_compositions<float>(DType::float32, result);
    add_compositions<double>(DType::float64, result);
    return result;
  }();
  const auto found = std::ranges::find_if(all, [&](const Composition& one) {
    return one.outer == outer && one.inner == inner && one.operand == operand;
  });
  return found == all.end() ? nullptr : found->kernel;
}

VectorKernel copy_kernel(std::uint8_t bytes) {
  switch (bytes) {
    case 1: return kernel<std::uint8_t>(Op::copy);
    case 2: return kernel<Float16>(Op::copy);
    case 4: return kernel<std::int32_t>(Op::copy);
    case 8: return kernel<std::int64_t>(Op::copy);
    default: return kernel<std::complex<double>>(Op::copy);
  }
}

}  // namespace cyclotron::runtime
