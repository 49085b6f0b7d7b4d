#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cyclotron/schedule/schedule.hpp>

#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using schedule::complete;
using schedule::FoldKind;
using schedule::MovementKind;
using schedule::Schedule;

TEST(Schedule, IndicesInNestingOrder) {
  EXPECT_EQ(schedule::index_names(matmul(2, 2, 2)), (std::vector<std::string>{"i", "j", "k"}));
  EXPECT_EQ(schedule::index_names(trsm(3, 2)), (std::vector<std::string>{"i", "r", "j"}));
  EXPECT_EQ(schedule::index_names(cholesky(3)), (std::vector<std::string>{"j", "i", "k"}));
}

TEST(Schedule, UnmappedIndicesBecomeTime) {
  EXPECT_EQ(complete(matmul(2, 2, 2), {{"i", "k"}, {}, {}}), (Schedule{{"i", "k"}, {"j"}, {}}));
  EXPECT_EQ(complete(matmul(2, 2, 2), {}), (Schedule{{}, {"i", "j", "k"}, {}}));
  EXPECT_EQ(complete(matmul(2, 2, 2), {{}, {"k"}, {}}), (Schedule{{}, {"k", "i", "j"}, {}}));
  const Schedule full{{"i", "j"}, {"k"}, {{"A", MovementKind::stream, {"j"}}}};
  EXPECT_EQ(complete(matmul(2, 2, 2), full), full);
}

void expect_fault(const System& system, const Schedule& schedule, const std::string& code,
                  const std::string& message, const std::string& help) {
  const auto diagnostic = error_of<ScheduleError>([&] { (void)complete(system, schedule); });
  EXPECT_EQ(diagnostic.code, code);
  EXPECT_NE(diagnostic.message.find(message), std::string::npos) << diagnostic.message;
  EXPECT_NE(diagnostic.help.find(help), std::string::npos) << diagnostic.help;
}

TEST(Schedule, UnknownNames) {
  const auto system = matmul(2, 2, 2);
  expect_fault(system, {{"i", "x"}, {}, {}}, "CYC310", "index `x`", "it has: i, j, k");
  expect_fault(system, {{}, {"x"}, {}}, "CYC310", "index `x`", "it has: i, j, k");
  expect_fault(system, {{"i"}, {}, {{"D", MovementKind::stream, {}}}}, "CYC310", "tensor `D`",
               "it has: A, B, C");
  expect_fault(system, {{"i"}, {}, {{"A", MovementKind::stream, {"x"}}}}, "CYC310", "index `x`",
               "it has: i, j, k");
}

TEST(Schedule, Forms) {
  const std::vector<std::string> names{"i", "j", "k"};
  EXPECT_EQ(schedule::parse_affine("2*i - k + 1", names), (poly::Affine{{2, 0, -1}, 1}));
  EXPECT_EQ(schedule::parse_affine(" -j+3j", names), (poly::Affine{{0, 2, 0}, 0}));
  const auto system = matmul(2, 2, 2);
  for (const char* text : {"", "i*j", "i j", "2*", "i+", "--i", "i/2", "99999999999*i"})
    expect_fault(system, {{text}, {}, {}}, "CYC314", "is not an affine form", "whole factors");
}

TEST(Schedule, TimeIsCompletedUntilEachPointHasItsOwnStep) {
  const auto system = matmul(2, 2, 2);
  EXPECT_EQ(complete(system, {{"i-k", "j - k"}, {}, {}}).time_indices, (std::vector<std::string>{"k"}));
  EXPECT_EQ(complete(system, {{"i", "j"}, {"i+j+k"}, {}}).time_indices, (std::vector<std::string>{"i+j+k"}));
  // i+j and i-j leave every other point out.
  EXPECT_EQ(complete(system, {{"i+j", "i-j"}, {}, {}}).time_indices, (std::vector<std::string>{"j", "k"}));
  EXPECT_EQ(complete(system, {{"-i+j", "k"}, {"i+j+k"}, {}}).time_indices,
            (std::vector<std::string>{"i+j+k", "j"}));
}

TEST(Schedule, Completions) {
  const auto all = schedule::completions(matmul(2, 2, 2), {{"i"}, {}, {}});
  EXPECT_EQ(all.front().time_indices, (std::vector<std::string>{"j", "k"}));
  EXPECT_EQ(all.at(1).time_indices, (std::vector<std::string>{"-j", "k"}));
  EXPECT_EQ(all.back().time_indices, (std::vector<std::string>{"k", "j"}));
  EXPECT_EQ(all.size(), 5U);
  EXPECT_EQ(schedule::completions(matmul(2, 2, 2), {{"i"}, {"j", "k"}, {}}).size(), 1U);
}

TEST(Schedule, Wavefronts) {
  using Time = std::vector<std::string>;
  const auto times = [](const schedule::Schedule& given) {
    std::vector<Time> result;
    for (const auto& wavefront : schedule::wavefronts(matmul(2, 2, 2), given))
      result.push_back(wavefront.time_indices);
    return result;
  };
  EXPECT_EQ(times({{"i"}, {}, {}}), (std::vector<Time>{Time{"i+j", "k"}, Time{"i+k", "j"}}));
  EXPECT_EQ(times({{"i"}, {"k"}, {}}), (std::vector<Time>{Time{"k", "i+j"}}));
  EXPECT_EQ(times({{"-i", "j-k"}, {}, {}}), (std::vector<Time>{Time{"-i+j"}}));
  EXPECT_EQ(times({{"i", "j"}, {"k"}, {}}), std::vector<Time>{});
}

TEST(Schedule, FoldsAndRotations) {
  const auto system = matmul(2, 2, 2);
  expect_fault(system, {{"i"}, {}, {}, {{"k", FoldKind::block, 2}}}, "CYC315", "folds `k`",
               "the grid has: i");
  expect_fault(system, {{"i"}, {}, {}, {}, {{"j", {"i"}}}}, "CYC317", "not the index of a reduction",
               "rotate");
  EXPECT_NO_THROW((void)complete(system, {{"i"}, {}, {}, {}, {{"k", {"i"}}}}));
}

TEST(Schedule, EachIndexOnce) {
  const auto system = matmul(2, 2, 2);
  expect_fault(system, {{"i", "i"}, {}, {}}, "CYC311", "index `i` is mapped twice", "once");
  expect_fault(system, {{"i"}, {"j", "i"}, {}}, "CYC311", "index `i` is mapped twice", "once");
}

TEST(Schedule, ComputedTensorsAreNotPrefetched) {
  expect_fault(trsm(3, 2), {{"i"}, {}, {{"X", MovementKind::prefetch, {}}}}, "CYC312",
               "`X` is computed by the kernel", "stream(\"X\")");
  EXPECT_NO_THROW((void)complete(trsm(3, 2), {{"i"}, {}, {{"L", MovementKind::prefetch, {}}}}));
}

TEST(Schedule, DefaultsStartWithTheTarget) {
  const auto candidates = schedule::defaults(matmul(2, 2, 2), {});
  ASSERT_EQ(candidates.size(), 3U);
  EXPECT_EQ(candidates[0].space_indices, (std::vector<std::string>{"i", "j"}));
  EXPECT_EQ(candidates[1].space_indices, (std::vector<std::string>{"i"}));
  EXPECT_TRUE(candidates[2].space_indices.empty());
}

TEST(Schedule, DefaultsHaveTheDimensionsOfTheGrid) {
  const auto spaces = [](const std::vector<std::int64_t>& grid) {
    std::vector<std::vector<std::string>> result;
    for (const auto& candidate : schedule::defaults(matmul(2, 2, 2), grid))
      result.push_back(candidate.space_indices);
    return result;
  };
  using Spaces = std::vector<std::vector<std::string>>;
  EXPECT_EQ(spaces({4}), (Spaces{{"i"}, {}}));
  EXPECT_EQ(spaces({2, 8}), (Spaces{{"i", "j"}, {"0", "i"}, {"0", "0"}}));
  EXPECT_EQ(spaces({8, 2, 8}), (Spaces{{"i", "0", "j"}, {"i", "0", "0"}, {"0", "0", "0"}}));
}

TEST(Schedule, PlacementsOfTheLeastEstimateComeFirst) {
  // An 8x8x8 product: 8 terms a PE, and 8 places along each dimension of the grid.
  const auto placements = schedule::placements(matmul(8, 8, 8), {});
  ASSERT_EQ(placements.defaults.size(), 3U);
  EXPECT_EQ(placements.defaults[0].cycles, 8 + 8 + 8);
  EXPECT_EQ(placements.defaults[0].pes, 64);
  EXPECT_EQ(placements.defaults[1].cycles, 64 + 8);
  EXPECT_EQ(placements.defaults[2].cycles, 512);
  ASSERT_EQ(placements.others.size(), 4U);  // (i, k), (j, k), (j), (k)
  EXPECT_TRUE(std::ranges::is_sorted(placements.others, {}, &schedule::Placement::cycles));
  EXPECT_EQ(placements.others[0].schedule.space_indices, (std::vector<std::string>{"i", "k"}));
  EXPECT_FALSE(placements.others[0].in_turn);
}

TEST(Schedule, EquationsOfDifferentPointsAreInDifferentPEs) {
  // Of three rows each has an equation; along j no one has more than a point.
  SystemBuilder b("rows");
  b.input("x", {3, 4}).output("y", {3, 4}).names({"i", "j"});
  for (const auto* row : {"i = 0", "i = 1", "i = 2"}) {
    for (const auto* column : {"j = 0", "j = 1", "j = 2", "j = 3"}) {
      b.equation("y", {"i", "j"}, 2, fmt::format("{} and {}", row, column),
                 b.apply(Op::add, {b.at("x", {"i", "j"}), b.at("x", {"0", "j"})}));
    }
  }
  const auto placements = schedule::placements(b.build(), {});
  EXPECT_EQ(placements.defaults[0].schedule.space_indices, (std::vector<std::string>{"i", "j"}));
  EXPECT_EQ(placements.defaults[0].cycles, 1);
  EXPECT_EQ(placements.defaults[0].pes, 12);
  EXPECT_EQ(placements.defaults[1].cycles, 4);
  EXPECT_EQ(placements.defaults[2].cycles, 12);
}

TEST(Schedule, PlacementsOnAGridAreFolded) {
  const auto placements = schedule::placements(matmul(8, 8, 8), {4, 2});
  EXPECT_EQ(placements.defaults[0].cycles, 8 * 2 * 4 + 4 + 2);
  EXPECT_EQ(placements.defaults[0].pes, 8);
  EXPECT_EQ(placements.others.size(), 6U + 3U - 2U);  // in both orders; (i, j) and (i) are defaults
}

TEST(Schedule, Text) {
  EXPECT_EQ(to_string(Schedule{}), "space -; time -");
  EXPECT_EQ(to_string(Schedule{
                {"i", "j"}, {"k"}, {{"A", MovementKind::stream, {"j"}}, {"B", MovementKind::prefetch, {}}}}),
            "space i, j; time k; stream A along j; prefetch B");
}

}  // namespace
}  // namespace cyclotron::testing
