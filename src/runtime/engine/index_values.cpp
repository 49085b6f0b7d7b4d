#include "index_values.hpp"

#include <cstring>

#include <cyclotron/support/error.hpp>

#include "kernels/arithmetic.hpp"

namespace cyclotron::runtime {

using operators::DType;

void write_indices(DType dtype, std::int64_t first, std::int64_t step, std::int64_t count, std::byte* to) {
  CYC_CHECK(operators::holds_index(dtype));
  with_type(dtype, [&]<class T>() {
    if constexpr (arithmetic::is_integer<T> || arithmetic::is_real<T>) {
      auto value = static_cast<std::uint64_t>(first);
      for (std::int64_t n = 0; n < count; ++n, value += static_cast<std::uint64_t>(step)) {
        const auto number = static_cast<T>(static_cast<std::int64_t>(value));
        std::memcpy(to + n * static_cast<std::int64_t>(sizeof number), &number, sizeof number);
      }
    }
  });
}

}  // namespace cyclotron::runtime
