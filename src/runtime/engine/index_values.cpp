#include "index_values.hpp"

#include <cstring>

#include <cyclotron/support/error.hpp>

#include "kernels/float16.hpp"

namespace cyclotron::runtime {

using operators::DType;

void write_indices(DType dtype, std::int64_t first, std::int64_t step, std::int64_t count, std::byte* to) {
  const auto write = [&]<class T>(T) {
    auto value = static_cast<std::uint64_t>(first);
    for (std::int64_t n = 0; n < count; ++n, value += static_cast<std::uint64_t>(step)) {
      const auto number = static_cast<T>(static_cast<std::int64_t>(value));
      std::memcpy(to + n * static_cast<std::int64_t>(sizeof number), &number, sizeof number);
    }
  };
  switch (dtype) {
    case DType::int32: return write(std::int32_t{});
    case DType::int64: return write(std::int64_t{});
    case DType::float16: return write(Float16{});
    case DType::float32: return write(float{});
    case DType::float64: return write(double{});
    case DType::boolean:
    case DType::complex64:
    case DType::complex128: CYC_CHECK(false, "no index has such a dtype");
  }
}

}  // namespace cyclotron::runtime
