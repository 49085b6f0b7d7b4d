// Each pass of the mapping alone, on what the passes before it made of a graph.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cyclotron/mapping/delay_sends.hpp>
#include <cyclotron/mapping/find_skew.hpp>
#include <cyclotron/mapping/make_grid.hpp>
#include <cyclotron/mapping/make_statements.hpp>
#include <cyclotron/mapping/map_to_grid.hpp>
#include <cyclotron/mapping/merge_channels.hpp>
#include <cyclotron/mapping/order_steps.hpp>
#include <cyclotron/mapping/rank_spaces.hpp>
#include <cyclotron/mapping/share_channels.hpp>
#include <cyclotron/mapping/split_short_lived.hpp>
#include <cyclotron/mapping/wait_cycles.hpp>

#include "mapped_inputs.hpp"

namespace cyclotron::testing {
namespace {

using mapping::Mapping;

Mapping on_grid(const PassInput& input) {
  auto graph = dataflow::parse(input.text);
  auto grid = mapping::make_grid(graph, schedule_of(input), machine_of(input));
  return {std::move(graph), std::move(grid), {}, {}, {}, {}, {}, {}, {}, {}};
}

Mapping ordered(const PassInput& input) {
  const auto ranked = mapping::rank_spaces(on_grid(input));
  return mapping::order_steps(mapping::make_statements(ranked, machine_of(input)));
}

Mapping delayed(const PassInput& input) { return mapping::delay_sends(ordered(input), machine_of(input)); }

std::string wire_text(const Mapping& mapping, const mapping::Wire& wire) {
  std::string text;
  for (const auto& message : wire) {
    std::vector<std::string> later;
    for (const auto& steps : message.later) later.push_back(poly::to_string(steps, mapping.graph.dims));
    text += fmt::format("message {} comes ({}) later\n", mapping.statements[message.receive].message,
                        fmt::join(later, ", "));
  }
  return text;
}

/// Expects of all golden files of a pass the mapping before it and after it.
template <class Before, class Pass>
void expect_pass(const std::string& name, Before before_pass, Pass pass) {
  expect_golden_pass("mapping", name, [&](const PassInput& input) {
    const Mapping before = before_pass(input);
    return before_and_after(to_string(before), to_string(pass(before, input)));
  });
}

TEST(Passes, RankSpaces) {
  expect_pass("rank_spaces", on_grid,
              [](const Mapping& before, const PassInput&) { return mapping::rank_spaces(before); });
}

TEST(Passes, FindSkew) {
  expect_golden_pass("mapping", "find_skew", [](const PassInput& input) -> std::string {
    const auto mapping = on_grid(input);
    const auto skew = mapping::find_skew(mapping, mapping::dependences(mapping.graph), 0);
    if (!skew) return "no constant skew\n";
    const auto text = mapping::skew_text(mapping, *skew);
    return text.empty() ? "all PEs together\n" : "each PE " + text + "\n";
  });
}

TEST(Passes, WaitCycles) {
  expect_golden_pass("mapping", "wait_cycles", [](const PassInput& input) {
    const auto mapping = ordered(input);
    const auto wires = mapping::late_messages(mapping);
    auto text = to_string(mapping);
    for (const auto& wire : wires) text += wire_text(mapping, wire);
    const bool may = mapping::may_deadlock(mapping, machine_of(input), wires);
    return before_and_after(text, may ? "may deadlock\n" : "no cycle of waits\n");
  });
}

TEST(Passes, DelaySends) {
  expect_pass("delay_sends", ordered, [](const Mapping& before, const PassInput& input) {
    return mapping::delay_sends(before, machine_of(input));
  });
}

TEST(Passes, MergeChannels) {
  expect_pass("merge_channels", delayed,
              [](const Mapping& before, const PassInput&) { return mapping::merge_channels(before); });
}

TEST(Passes, SplitShortLived) {
  const auto merged = [](const PassInput& input) { return mapping::merge_channels(delayed(input)); };
  expect_pass("split_short_lived", merged,
              [](const Mapping& before, const PassInput&) { return mapping::split_short_lived(before); });
}

TEST(Passes, ShareChannels) {
  const auto mapped = [](const PassInput& input) {
    return mapping::map_to_grid(dataflow::parse(input.text), schedule_of(input), machine_of(input));
  };
  expect_pass("share_channels", mapped, [](const Mapping& before, const PassInput& input) {
    return mapping::share_channels(before, std::stoul(input.keys.at("channels")));
  });
}

TEST(Passes, NoFolderIsUnused) {
  expect_folders("mapping", {"delay_sends", "find_skew", "merge_channels", "rank_spaces", "share_channels",
                             "split_short_lived", "wait_cycles"});
}

}  // namespace
}  // namespace cyclotron::testing
