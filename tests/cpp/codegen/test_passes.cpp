// Each pass of the code generator alone, on what the passes before it made of a graph.
#include <gtest/gtest.h>

#include <cyclotron/codegen/add_exits.hpp>
#include <cyclotron/codegen/choose_storage.hpp>
#include <cyclotron/codegen/generate.hpp>
#include <cyclotron/codegen/sink_receives.hpp>
#include <cyclotron/codegen/wind.hpp>
#include <cyclotron/codegen/write_code.hpp>
#include <cyclotron/mapping/map_to_grid.hpp>

#include "mapped_inputs.hpp"

namespace cyclotron::testing {
namespace {

mapping::Mapping mapped(const PassInput& input) {
  return mapping::map_to_grid(dataflow::parse(input.text), schedule_of(input), machine_of(input));
}

std::vector<codegen::ExitFlag> flags_of(const PassInput& input, const dataflow::Graph& graph) {
  if (!input.keys.contains("flag")) return {};
  const auto tensor = std::ranges::find(graph.tensors, input.keys.at("flag"), &dataflow::Tensor::name);
  CYC_CHECK(tensor != graph.tensors.end(), input.keys.at("flag"));
  return {{dataflow::TensorId(static_cast<std::size_t>(tensor - graph.tensors.begin())),
           input.keys.at("loop"), 0, std::stoll(input.keys.at("steps")),
           std::stoll(input.keys.at("settle"))}};
}

TEST(Passes, ChooseStorage) {
  expect_golden_pass("codegen", "choose_storage", [](const PassInput& input) {
    const auto mapping = mapped(input);
    return before_and_after(to_string(mapping), to_string(mapping, codegen::choose_storage(mapping)));
  });
}

TEST(Passes, AddExits) {
  expect_golden_pass("codegen", "add_exits", [](const PassInput& input) {
    const auto mapping = mapped(input);
    const auto flags = flags_of(input, mapping.graph);
    const auto code =
        codegen::write_code(mapping, machine_of(input), codegen::choose_storage(mapping), flags);
    return before_and_after(to_string(code.program), to_string(codegen::add_exits(code, flags)));
  });
}

TEST(Passes, SinkReceives) {
  expect_golden_pass("codegen", "sink_receives", [](const PassInput& input) {
    const auto mapping = mapped(input);
    const auto code = codegen::write_code(mapping, machine_of(input), codegen::choose_storage(mapping), {});
    return before_and_after(to_string(code.program), to_string(codegen::sink_receives(code.program)));
  });
}

TEST(Passes, Wind) {
  expect_golden_pass("codegen", "wind", [](const PassInput& input) {
    auto machine = machine_of(input);
    machine.grid = {std::stoll(input.keys.at("rows")), std::stoll(input.keys.at("columns"))};
    const auto line = codegen::generate(mapped(input), *machine::line_of(machine));
    return before_and_after(to_string(line), to_string(codegen::wind(line, machine).program));
  });
}

TEST(Passes, NoFolderIsUnused) {
  expect_folders("codegen", {"add_exits", "choose_storage", "sink_receives", "wind"});
}

}  // namespace
}  // namespace cyclotron::testing
