#include "resident.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <cyclotron/memory/footprint.hpp>
#include <cyclotron/runtime/runtime.hpp>
#include <cyclotron/support/error.hpp>

#include "engine/each_access.hpp"
#include "engine/tensors.hpp"

namespace cyclotron::runtime {
namespace {

/// The elements of resident tensors in a PE.
class Room {
 public:
  explicit Room(const program::Program& program) : tensors_(access_tensors(program, {}, false)) {
    for (const auto& tensor : tensors_) seen_.emplace_back(tensor.tiles(), 0);
  }

  /// Bytes of each tensor in a PE.
  std::vector<std::int64_t> of(Pe& pe) {
    ++pe_;
    std::vector<std::int64_t> bytes(tensors_.size(), 0);
    const VisitAccess add = [&](const Step& step, const std::int64_t* index) {
      const TensorAccess& tensor = tensors_[step.tensor];
      if (!step.resident || !tensor.contains(index)) return;
      if (std::exchange(seen_[step.tensor][tensor.linear(index)], pe_) == pe_) return;
      bytes[step.tensor] += tensor.size(index).words() * step.element;
    };
    each_access(pe, Step::Kind::load, add);
    each_access(pe, Step::Kind::store, add);
    return bytes;
  }

 private:
  std::vector<TensorAccess> tensors_;
  std::vector<std::vector<std::uint32_t>> seen_;  // By tensor and tile: the last PE that has it.
  std::uint32_t pe_ = 0;
};

[[noreturn]] void no_room(const program::Program& program, const std::string& pe, std::int64_t slots,
                          const std::vector<std::int64_t>& bytes, std::int64_t needed) {
  std::vector<Note> notes{{{}, fmt::format("the program takes {} bytes", slots)}};
  for (std::size_t t = 0; t < bytes.size(); ++t) {
    if (bytes[t] > 0)
      notes.push_back({{}, fmt::format("`{}` takes {} bytes", program.tensors[t].name, bytes[t])});
  }
  throw CapacityError(
      {.code = "CYC505",
       .span = {},
       .message = fmt::format("{} has {} bytes of memory, and its program and what stays in it "
                              "between runs take {}",
                              pe, program.machine.pe.memory_bytes, needed),
       .notes = std::move(notes),
       .help = "take more PEs, or cy.run, which keeps nothing in them"});
}

}  // namespace

program::Program with_resident(const program::Program& program, const std::vector<std::size_t>& tensors) {
  program::Program result = program;
  for (const std::size_t tensor : tensors) result.tensors.at(tensor).resident = true;
  return result;
}

/// A STORE of an element takes it from where a LOAD of it, which is free, has put it: so tiles have their sizes.
program::Program stores_alone(const program::Program& program, std::size_t output) {
  program::Program result = program;
  const program::TensorId source(result.tensors.size());
  program::Tensor& own = result.tensors.emplace_back(program.tensors.at(output));
  own.name += " in its PE";  // no name in Python
  own.role = program::Role::input;
  own.resident = true;
  result.exit_plans.clear();
  for (auto& pe_class : result.classes) {
    std::vector<program::Instruction> code;
    for (const auto& instruction : pe_class.code) {
      const auto* const store = std::get_if<program::Store>(&instruction.action);
      if (store != nullptr && store->tensor.index() == output) {
        code.push_back({program::Load{store->source, source, store->index}, instruction.span});
        code.push_back(instruction);
      } else if (std::holds_alternative<program::Loop>(instruction.action) ||
                 std::holds_alternative<program::If>(instruction.action) ||
                 std::holds_alternative<program::End>(instruction.action)) {
        code.push_back(instruction);
      }
    }
    pe_class.code = std::move(code);
  }
  return result;
}

std::int64_t fetch_cycles(const program::Program& program, std::size_t tensor, const Progress& progress) {
  return simulate(stores_alone(program, tensor), {}, {.functional = false, .event_limit = 0}, progress)
      .cycles;
}

void require_room(const program::Program& program, const std::vector<std::size_t>& resident) {
  const program::Program kept = with_resident(program, resident);
  std::int64_t slots = 0;
  std::int64_t most = 0;                      // a PE has no more than all of each
  std::vector<std::int64_t> code_and_queues;  // by class, where the memory holds them
  for (std::size_t c = 0; c < kept.classes.size(); ++c) {
    const std::int64_t own = kept.classes[c].memory_bytes;
    code_and_queues.push_back(memory::footprint(kept, c, {}).held.value_or(own) - own);
    slots = std::max(slots, own + code_and_queues.back());
  }
  for (const std::size_t tensor : resident) {
    most += static_cast<std::int64_t>(program::scalar_bytes(kept.tensors[tensor]).value_or(0));
  }
  if (slots + most <= kept.machine.pe.memory_bytes) return;
  PeArray array(kept, false);
  Room room(kept);
  const auto classes = kept.class_map();
  for (const Pe& pe : array.pes()) {
    const auto bytes = room.of(array.pe(pe.ordinal));
    const std::int64_t own = pe.code->memory_bytes + code_and_queues[classes[pe.index]];
    std::int64_t needed = own;
    for (const std::int64_t some : bytes) needed += some;
    if (needed > kept.machine.pe.memory_bytes) no_room(kept, array.name(pe.index), own, bytes, needed);
  }
}

}  // namespace cyclotron::runtime
