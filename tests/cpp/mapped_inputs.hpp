// Inputs of the passes that come after the schedule: a placed graph, its indices and a machine.
#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <cyclotron/dataflow/graph.hpp>
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/schedule/schedule.hpp>

#include "golden.hpp"

namespace cyclotron::testing {

/// A single PE where no index is in space.
inline schedule::Schedule schedule_of(const PassInput& input) {
  const auto space = input.keys.contains("space") ? input.words("space") : std::vector<std::string>{};
  return {space, input.words("time"), {}};
}

/// As by default, but for the depth of its links and the channels of a PE.
inline machine::Machine machine_of(const PassInput& input) {
  machine::Machine result;
  if (input.keys.contains("depth")) result.link.depth = std::stoll(input.keys.at("depth"));
  if (input.keys.contains("channels")) result.pe.channels = std::stoll(input.keys.at("channels"));
  return result;
}

/// Both texts, one below the other.
inline std::string before_and_after(const std::string& before, const std::string& after) {
  return before + "---\n" + after;
}

/// Expects that each folder of a layer's golden files is one of these passes'.
inline void expect_folders(const std::string& layer, const std::set<std::string>& passes) {
  std::set<std::string> folders;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(CYCLOTRON_GOLDEN_DIR) / layer)) {
    if (entry.is_directory()) folders.insert(entry.path().filename());
  }
  EXPECT_EQ(folders, passes);
}

}  // namespace cyclotron::testing
