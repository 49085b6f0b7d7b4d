#include <cyclotron/codegen/generate.hpp>

#include <cstdint>
#include <set>
#include <string>

#include <cyclotron/codegen/add_exits.hpp>
#include <cyclotron/codegen/bound_iterations.hpp>
#include <cyclotron/codegen/choose_storage.hpp>
#include <cyclotron/codegen/index_selections.hpp>
#include <cyclotron/codegen/sink_receives.hpp>
#include <cyclotron/codegen/split_sums.hpp>
#include <cyclotron/codegen/terms_first.hpp>
#include <cyclotron/codegen/write_code.hpp>

namespace cyclotron::codegen {

namespace {

/// The share of a PE's memory that copies of a tensor may take where a ring of its rows would do.
constexpr std::int64_t share_of_copies = 4;

}  // namespace

program::Program generate(const mapping::Mapping& mapping, const machine::Machine& machine,
                          const std::vector<ExitFlag>& flags) {
  std::set<std::string> ending;
  for (const auto& flag : flags) ending.insert(flag.loop);
  const auto storage = choose_storage(mapping, ending, machine.pe.memory_bytes / share_of_copies);
  const auto code = write_code(mapping, machine, storage, flags);
  return terms_first(bound_iterations(split_sums(index_selections(sink_receives(add_exits(code, flags))))));
}

}  // namespace cyclotron::codegen
