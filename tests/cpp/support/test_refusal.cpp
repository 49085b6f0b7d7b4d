// Stages that may be tried again: refusals keep the error and say which way may mend it.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <cyclotron/support/refusal.hpp>

namespace cyclotron {
namespace {

Diagnostic diagnostic(Obstacle obstacle) {
  return {.code = "CYC000", .obstacle = obstacle, .span = {}, .message = "no", .notes = {}, .help = "yes"};
}

TEST(Attempt, GivesTheResultOfTheStage) {
  auto result = attempt([] { return std::make_unique<int>(3); });  // a value that is only moved
  ASSERT_TRUE(result);
  EXPECT_EQ(**result, 3);
}

/// Runs a stage that throws, and throws again what its refusal stands for.
template <class E>
Refusal refused(Obstacle obstacle) {
  const auto result = attempt([&]() -> int { throw E(diagnostic(obstacle)); });
  EXPECT_FALSE(result);
  EXPECT_EQ(result.error().diagnostic.message, "no");
  EXPECT_THROW(throw_error(result.error()), E);
  return result.error();
}

TEST(Attempt, TellsWhatTheObstacleIs) {
  EXPECT_EQ(refused<LegalityError>(Obstacle::late_value).obstacle(), Obstacle::late_value);
  EXPECT_EQ(refused<LegalityError>(Obstacle::effort).obstacle(), Obstacle::effort);
  EXPECT_TRUE(refused<LegalityError>(Obstacle::other).is_illegal());
  EXPECT_EQ(refused<ScheduleError>(Obstacle::other).obstacle(), Obstacle::schedule);
  EXPECT_FALSE(refused<ScheduleError>(Obstacle::other).is_illegal());
  EXPECT_EQ(refused<CapacityError>(Obstacle::other).obstacle(), Obstacle::capacity);
  EXPECT_FALSE(refused<CapacityError>(Obstacle::other).is_illegal());
}

TEST(Attempt, LetsOtherErrorsPass) {
  EXPECT_THROW((void)attempt([]() -> int { throw InternalError(diagnostic(Obstacle::other)); }),
               InternalError);
}

}  // namespace
}  // namespace cyclotron
