// Passes over placed graphs, text in and text out; the values stay the same.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>
#include <string>

#include <cyclotron/dataflow/distribute.hpp>
#include <cyclotron/dataflow/receive_at_first_use.hpp>
#include <cyclotron/dataflow/route.hpp>
#include <cyclotron/dataflow/share_arrivals.hpp>

#include "evaluate.hpp"
#include "golden.hpp"

namespace cyclotron::testing {
namespace {

using dataflow::Placed;

Placed placed(const PassInput& input) {
  auto graph = dataflow::parse(input.text);
  dataflow::verify(graph);
  Placed result{std::move(graph), input.words("space"), input.words("time"), 0};
  if (input.keys.contains("within")) result.within = std::stoul(input.keys.at("within"));
  return result;
}

/// Numbers that tell all elements of all inputs apart.
Tensors numbered_inputs(const dataflow::Graph& graph) {
  Tensors result;
  double next = 1;
  for (const auto& tensor : graph.tensors) {
    if (tensor.role != dataflow::Role::input) continue;
    Point point(tensor.shape.size(), 0);
    for (std::size_t d = point.size();;) {
      result[tensor.name].emplace(point, next++);
      for (d = point.size(); d > 0 && point[d - 1] + 1 == tensor.shape[d - 1]; --d) point[d - 1] = 0;
      if (d == 0) break;
      ++point[d - 1];
    }
  }
  return result;
}

/// The text of a pass's result, which is a graph that gives the same values.
std::string checked_text(const Placed& before, const Placed& after) {
  dataflow::verify(after.graph);
  const auto inputs = numbered_inputs(before.graph);
  EXPECT_EQ(GraphEvaluator(after.graph, inputs).run(), GraphEvaluator(before.graph, inputs).run());
  return fmt::format("# space: {}\n# time: {}\n{}", fmt::join(after.space, ", "), fmt::join(after.time, ", "),
                     to_string(after.graph));
}

TEST(Passes, ShareArrivals) {
  expect_golden_pass("dataflow", "share_arrivals", [](const PassInput& input) {
    const auto before = placed(input);
    const auto after = dataflow::share_arrivals(before, input.keys.at("later") == "yes");
    return after ? checked_text(before, *after) : std::string("nothing is shared\n");
  });
}

TEST(Passes, Route) {
  expect_golden_pass("dataflow", "route", [](const PassInput& input) {
    const auto before = placed(input);
    dataflow::Neighbours neighbours{[](const std::vector<std::int64_t>& offset) {
      std::int64_t hops = 0;
      for (const auto steps : offset) hops += std::abs(steps);
      return hops <= 1;
    }};
    for (const auto& word : input.words("rings")) neighbours.rings.emplace_back(std::stoll(word));
    const auto after = dataflow::route(before, neighbours);
    return after ? checked_text(before, *after) : std::string("links join everything\n");
  });
}

TEST(Passes, ReceiveAtFirstUse) {
  expect_golden_pass("dataflow", "receive_at_first_use", [](const PassInput& input) {
    const auto before = placed(input);
    return checked_text(before, dataflow::receive_at_first_use(before));
  });
}

/// Numbers, or the name of the way to choose them.
std::vector<std::int64_t> parts_of(const Placed& points, std::size_t level, const PassInput& input) {
  const auto& parts = input.keys.at("parts");
  if (parts == "when made") return dataflow::parts(points, level, dataflow::DistributionPolicy::when_made);
  if (parts == "when needed")
    return dataflow::parts(points, level, dataflow::DistributionPolicy::when_needed);
  if (parts == "finest") return dataflow::finest_parts(points, level);
  if (parts == "input stages") return dataflow::input_stages(points.graph);
  std::vector<std::int64_t> result;
  for (const auto& word : input.words("parts")) result.push_back(std::stoll(word));
  return result;
}

TEST(Passes, Distribute) {
  expect_golden_pass("dataflow", "distribute", [](const PassInput& input) {
    const auto before = placed(input);
    const auto level = std::stoul(input.keys.at("level"));
    const auto parts = parts_of(before, level, input);
    const auto text = checked_text(before, dataflow::distribute(before, level, parts));
    return fmt::format("# parts: {}\n{}", fmt::join(parts, ", "), text);
  });
}

// Each folder of golden files is a pass's that is run above.
TEST(Passes, NoFolderIsUnused) {
  std::set<std::string> folders;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(CYCLOTRON_GOLDEN_DIR) / "dataflow")) {
    if (entry.is_directory()) folders.insert(entry.path().filename());
  }
  EXPECT_EQ(folders,
            (std::set<std::string>{"distribute", "receive_at_first_use", "route", "share_arrivals"}));
}

}  // namespace
}  // namespace cyclotron::testing
