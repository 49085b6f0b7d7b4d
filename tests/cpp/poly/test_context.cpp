// isl stops with an error where an analysis takes too long.
#include <cyclotron/poly/set.hpp>
#include <cyclotron/support/error.hpp>

#include <gtest/gtest.h>

#include "golden.hpp"

namespace cyclotron::poly {
namespace {

TEST(Context, StopsBeyondItsOperations) {
  const Context context(200);
  try {
    auto set = Set::universe(context, 3);
    for (std::int64_t n = 1; n < 20; ++n) {
      Affine form = variable(3, 0) + n * variable(3, 1) - variable(3, 2);
      form.constant = n;
      set = set.subtract(Set::where(context, 3, {{form, false}, {-1 * form, true}}));
    }
    (void)set.lexmin_point();
    FAIL();
  } catch (const LegalityError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC299");
    cyclotron::testing::expect_golden_refusal("analysis-that-takes-too-long", error.diagnostic());
  }
}

}  // namespace
}  // namespace cyclotron::poly
