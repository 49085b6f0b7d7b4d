#include <gtest/gtest.h>

#include <cyclotron/driver/compile.hpp>

#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using schedule::MovementKind;
using schedule::Schedule;

TEST(Compile, ChoosesADefaultSchedule) {
  const auto compiled = driver::compile(matmul(4, 3, 5), std::nullopt, {});
  EXPECT_TRUE(compiled.schedule_chosen);
  EXPECT_EQ(compiled.schedule, (Schedule{{"i", "j"}, {"k"}, {}}));
  EXPECT_EQ(compiled.program.grid, (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(compiled.program.notes.at("schedule"), "space i, j; time k");
}

TEST(Compile, FallsBackToASmallerPlacement) {
  machine::Machine machine;
  machine.grid = {64};  // one dimension: a plane of PEs does not fit
  const auto compiled = driver::compile(matmul(4, 3, 5), std::nullopt, machine);
  EXPECT_TRUE(compiled.schedule_chosen);
  EXPECT_EQ(compiled.schedule.space_indices, (std::vector<std::string>{"i"}));
}

TEST(Compile, KeepsTheGivenSchedule) {
  const Schedule given{{"i", "k"}, {}, {{"A", MovementKind::prefetch, {}}}};
  const auto compiled = driver::compile(matmul(4, 3, 5), given, {});
  EXPECT_FALSE(compiled.schedule_chosen);
  EXPECT_EQ(compiled.schedule.space_indices, given.space_indices);
  EXPECT_EQ(compiled.schedule.time_indices, (std::vector<std::string>{"j"}));
  EXPECT_EQ(compiled.schedule.movements, given.movements);
}

TEST(Compile, ReassociatesReductions) {
  Schedule given{{"i", "j", "l"}, {"k"}, {}};
  given.reassociations = {{"k", 2, "l"}};
  const auto compiled = driver::compile(matmul(2, 3, 6), given, {});
  EXPECT_EQ(compiled.schedule, given);
  EXPECT_EQ(compiled.program.grid, (std::vector<std::int64_t>{2, 3, 2}));
  EXPECT_EQ(compiled.system, recurrence::reassociate(matmul(2, 3, 6), given.reassociations));
  EXPECT_EQ(compiled.program.notes.at("schedule"), "space i, j, l; time k; reassociate k into l, 2 parts");
  EXPECT_EQ(driver::compile(matmul(2, 3, 6), std::nullopt, {}).system, matmul(2, 3, 6));
}

TEST(Compile, ListsProofsAndStages) {
  for (const auto& system : {matmul(4, 3, 5), trsm(4, 2), trsv(3), trsm_right(4, 4, 2), cholesky(4),
                             cholesky(6, 2), prefix_sum(4), suffix_sum(4)}) {
    const auto compiled = driver::compile(system, std::nullopt, {});
    EXPECT_GE(compiled.proofs.size(), 6U) << system.kernel;
    for (const auto& proof : compiled.proofs) EXPECT_FALSE(proof.empty());
    ASSERT_FALSE(compiled.stages.empty());
    EXPECT_EQ(compiled.stages.front().name, "verify recurrences");
    EXPECT_EQ(compiled.stages.back().name, "prove");
    for (const auto& stage : compiled.stages) EXPECT_GE(stage.milliseconds, 0);
    EXPECT_NO_THROW(program::verify(compiled.program));
  }
}

TEST(Compile, IsRepeatable) {
  const Schedule schedule{{"i", "j"}, {}, {}};
  const auto once = driver::compile(cholesky(5), schedule, {}),
             again = driver::compile(cholesky(5), schedule, {});
  EXPECT_EQ(once.program, again.program);
  EXPECT_TRUE(equal(once.graph, again.graph));
}

TEST(Compile, ReportsTheStageThatRefuses) {
  EXPECT_EQ(error_of<ScheduleError>([] {
              (void)driver::compile(matmul(2, 2, 2), Schedule{{"x"}, {}, {}}, {});
            }).code,
            "CYC310");
  EXPECT_EQ(error_of<ScheduleError>([] {
              (void)driver::compile(matmul(2, 2, 2),
                                    Schedule{{"i"}, {}, {{"A", MovementKind::stream, {"i"}}}}, {});
            }).code,
            "CYC313");
  EXPECT_EQ(
      error_of<LegalityError>([] { (void)driver::compile(suffix_sum(4), Schedule{{}, {"i"}, {}}, {}); }).code,
      "CYC221");
  machine::Machine small;
  small.pe.memory_bytes = 8;
  EXPECT_FALSE(error_of<CapacityError>([&] {
                 (void)driver::compile(matmul(2, 2, 2), Schedule{{"i"}, {}, {}}, small);
               }).help.empty());
}

}  // namespace
}  // namespace cyclotron::testing
