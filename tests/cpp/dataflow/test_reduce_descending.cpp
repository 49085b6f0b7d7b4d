// Reductions from the last term to the first: which turn, values, and what is refused.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/reduce_descending.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "evaluate.hpp"
#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using recurrence::reduce_descending;

TEST(ReduceDescending, TurnsReductionsOverTheIndex) {
  const auto system = matmul(3, 2, 7);
  const auto text = to_string(reduce_descending(system, {"k"}));
  EXPECT_NE(text.find("Σ_{0 <= k <= 6, descending} (A[i, k] · B[k, j])"), std::string::npos) << text;
  EXPECT_EQ(reduce_descending(system, {}), system);
  EXPECT_EQ(reduce_descending(reduce_descending(system, {"k"}), {"k"}), reduce_descending(system, {"k"}));
}

TEST(ReduceDescending, KeepsValues) {
  for (const auto& [system, index, output] :
       {std::tuple{matmul(2, 3, 5), "k", "C"}, {trsm(5, 2), "j", "X"}, {cholesky(5), "k", "L"}}) {
    const auto descending = reduce_descending(system, {index});
    EXPECT_NO_THROW(recurrence::verify(descending)) << to_string(descending);
    EXPECT_EQ(outputs(descending, output), outputs(system, output)) << to_string(descending);
  }
}

TEST(ReduceDescending, RefusesAnIndexWithoutReductions) {
  const auto diagnostic = error_of<ScheduleError>([&] { (void)reduce_descending(matmul(2, 2, 2), {"i"}); });
  EXPECT_EQ(diagnostic.code, "CYC318");
  EXPECT_EQ(diagnostic.message,
            "the schedule reduces over `i` in descending order, over which the kernel has no reduction");
  EXPECT_EQ(diagnostic.help, "it reduces over: k");
}

}  // namespace
}  // namespace cyclotron::testing
