#include "cycles.hpp"

#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime {

void too_long() {
  throw ExecutionError({.code = "CYC708",
                        .span = {},
                        .message = "the program runs for more than 2^61 cycles",
                        .notes = {},
                        .help = "give operators and links smaller costs"});
}

void repeat(std::int64_t& value, std::int64_t before, std::int64_t times) {
  std::int64_t change = 0;
  if (__builtin_mul_overflow(value - before, times, &change) || __builtin_add_overflow(value, change, &value))
    too_long();
}

}  // namespace cyclotron::runtime
