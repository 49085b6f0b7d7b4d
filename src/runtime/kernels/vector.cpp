// Elementwise operators on many scalars that lie evenly apart.
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "functions.hpp"

namespace cyclotron::runtime {
namespace {

template <class T>
const T& scalar(const void* first, std::ptrdiff_t distance) {
  return *reinterpret_cast<const T*>(static_cast<const std::byte*>(first) + distance);
}

template <class F, class R, class... T, std::size_t... I>
VectorKernel elementwise(R (F::*)(T...) const, std::index_sequence<I...>) {
  return [](void* result, std::ptrdiff_t advance, const void* const* operands, const std::ptrdiff_t* advances,
            std::int64_t count) {
    const auto side_by_side = [](std::ptrdiff_t bytes, std::size_t element) {
      return bytes == static_cast<std::ptrdiff_t>(element);
    };
    if (side_by_side(advance, sizeof(R)) && (side_by_side(advances[I], sizeof(T)) && ...)) {
      auto* const out = static_cast<R*>(result);
      const std::tuple<const T*...> in{static_cast<const T*>(operands[I])...};
      for (std::int64_t n = 0; n < count; ++n) out[n] = F{}(std::get<I>(in)[n]...);
      return;
    }
    auto* out = static_cast<std::byte*>(result);
    for (std::int64_t n = 0; n < count; ++n, out += advance)
      *reinterpret_cast<R*>(out) = F{}(scalar<T>(operands[I], n * advances[I])...);
  };
}

template <class T>
VectorKernel kernel(Op op) {
  return functions::visit<T>(op, []<class F>(F) -> VectorKernel {
    if constexpr (std::is_same_v<F, std::nullptr_t>) {
      return nullptr;
    } else {
      const auto make = []<class R, class... A>(R (F::*call)(A...) const) {
        return elementwise(call, std::index_sequence_for<A...>{});
      };
      return make(&F::operator());
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
