// Nested reductions that change places: which, their values, and what is refused.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/stage_reductions.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "evaluate.hpp"
#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using recurrence::stage_reductions;

/// s[i] = x[i, k, m] reduced over k, which is outside, and over m.
System nested(Reduction outer, Reduction inner, const std::string& of_m) {
  SystemBuilder b("nested");
  b.input("x", {2, 4, 5}).output("s", {2}).names({"i", "k", "m"});
  const auto within = b.reduce(inner, "m", of_m, b.at("x", {"i", "k", "m"}));
  b.names({"i", "k"});
  return b.equation("s", {"i"}, 1, range("i", 2), b.reduce(outer, "k", range("k", 4), within)).build();
}

TEST(StageReductions, ChangesPlaces) {
  const auto system = nested(Reduction::sum, Reduction::sum, range("m", 5));
  EXPECT_NE(to_string(system).find("Σ_{0 <= k <= 3} Σ_{0 <= m <= 4} x[i, k, m]"), std::string::npos);
  const auto staged = stage_reductions(system, {"k", "m"});
  EXPECT_NE(to_string(staged).find("Σ_{0 <= m <= 4} Σ_{0 <= k <= 3} x[i, k, m]"), std::string::npos)
      << to_string(staged);
  EXPECT_EQ(to_string(stage_reductions(system, {"m", "k"})), to_string(system));
  EXPECT_EQ(stage_reductions(system, {}), system);
}

TEST(StageReductions, KeepsValues) {
  for (const auto kind : {Reduction::sum, Reduction::product, Reduction::maximum, Reduction::minimum}) {
    for (const std::string of_m : {"0 <= m < 5", "i <= m < 5", "m = i"}) {
      const auto system = nested(kind, kind, of_m);
      const auto staged = stage_reductions(system, {"k", "m"});
      EXPECT_NO_THROW(recurrence::verify(staged)) << to_string(staged);
      EXPECT_EQ(outputs(staged, "s"), outputs(system, "s")) << to_string(staged);
      EXPECT_NE(to_string(staged), to_string(system));
    }
  }
}

TEST(StageReductions, Refuses) {
  const auto refused = [](const System& system, const std::vector<std::string>& indices) {
    const auto diagnostic = error_of<ScheduleError>([&] { (void)stage_reductions(system, indices); });
    EXPECT_EQ(diagnostic.code, "CYC318");
    return diagnostic.message;
  };
  const auto triangle = nested(Reduction::sum, Reduction::sum, "0 <= m <= k");
  EXPECT_NE(refused(triangle, {"k", "m"}).find("the range of `m` depends on"), std::string::npos);
  EXPECT_NO_THROW((void)stage_reductions(triangle, {"m", "k"}));
  const auto mixed = nested(Reduction::sum, Reduction::maximum, range("m", 5));
  EXPECT_NE(refused(mixed, {"k", "m"}).find("no two of these"), std::string::npos);
  EXPECT_NE(refused(matmul(2, 2, 2), {"k", "j"}).find("no two of these"), std::string::npos);
}

}  // namespace
}  // namespace cyclotron::testing
