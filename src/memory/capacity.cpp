#include "capacity.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <cyclotron/memory/channels.hpp>
#include <cyclotron/memory/footprint.hpp>
#include <cyclotron/support/error.hpp>

#include "space.hpp"

namespace cyclotron::memory {
namespace {

using program::PeClass;
using program::Program;
using program::Slot;

struct Alive {
  std::string text;
  std::int64_t bytes = 0;
  const Lifetime* live = nullptr;
};

std::string describe(const Slot& slot) {
  return fmt::format("`{}` takes {} bytes ({}{}x{} {}{})", slot.name, size_bytes(slot),
                     slot.count == 1 ? "" : fmt::format("{} tiles of ", slot.count), slot.tile.rows,
                     slot.tile.columns, operators::name(slot.dtype), slot.persistent ? ", persistent" : "");
}

/// The slots and tensors that live at the peak, the largest first, after code and queues.
std::vector<Note> notes_on_peak(const Program& program, std::size_t number,
                                const std::vector<TensorBlock>& blocks, const Footprint& bytes_of) {
  const std::size_t shown = program.machine.pe.holds.empty() ? 5 : 4;  // and code and queues
  const PeClass& pe_class = program.classes[number];
  const std::vector<Lifetime> live = lifetimes(pe_class);
  std::vector<Alive> all;
  for (std::size_t s = 0; s < live.size(); ++s)
    all.push_back({describe(pe_class.slots[s]), std::min(size_bytes(pe_class.slots[s]), beyond), &live[s]});
  for (const TensorBlock& block : blocks)
    all.push_back(
        {fmt::format("tensor `{}` takes {} bytes", program.tensors[block.tensor.index()].name, block.bytes),
         block.bytes, &block.live[number]});
  std::vector<Stay> stays;
  for (const Alive& one : all) stays.push_back({one.live, one.bytes});
  const std::size_t peak = find_peak(stays).at;
  std::erase_if(all, [&](const Alive& one) { return !meet(*one.live, {{peak, peak}}); });
  std::int64_t bytes = 0;
  for (const Alive& one : all) bytes = std::min(bytes + one.bytes, beyond);
  std::ranges::stable_sort(all, std::ranges::greater{}, &Alive::bytes);
  std::vector<Note> notes{{peak < pe_class.code.size() ? pe_class.code[peak].span : Span{},
                           fmt::format("most is live here: {} values of {} bytes", all.size(), bytes)}};
  if (machine::holds(program.machine.pe, machine::held_code)) {
    notes.push_back(
        {{}, fmt::format("its code takes {} bytes: {} instructions", bytes_of.code, pe_class.code.size())});
  }
  if (machine::holds(program.machine.pe, machine::held_queues))
    notes.push_back({{}, fmt::format("its queues take {} bytes", bytes_of.queues.value_or(0))});
  for (std::size_t s = 0; s < std::min(shown, all.size()); ++s) notes.push_back({{}, all[s].text});
  if (all.size() > shown) notes.push_back({{}, fmt::format("and {} smaller ones", all.size() - shown)});
  return notes;
}

[[noreturn]] void too_small(const Program& program, std::size_t number,
                            const std::vector<TensorBlock>& blocks, const Footprint& bytes) {
  const PeClass& pe_class = program.classes[number];
  throw CapacityError(
      {.code = "CYC501",
       .span = {},
       .message = fmt::format("{} of `{}` needs {} bytes of PE memory, but the machine has {} a PE",
                              pe_class.name, program.kernel, *bytes.held, program.machine.pe.memory_bytes),
       .notes = notes_on_peak(program, number, blocks, bytes),
       .help = fmt::format(
           "use smaller tiles, keep fewer of them in the PE, or a machine with memory of at least {} bytes",
           *bytes.held)});
}

[[noreturn]] void no_bound(const Program& program, std::size_t number) {
  throw CapacityError(
      {.code = "CYC501",
       .span = {},
       .message = fmt::format("{} of `{}` has queues without a bound, which the memory of its PEs is to hold",
                              program.classes[number].name, program.kernel),
       .notes = {},
       .help = "give the machine's links a depth, for example cy.Link(depth=2)"});
}

}  // namespace

Peak find_peak(const std::vector<Stay>& stays) {
  std::map<std::size_t, double> changes;  // of the bytes that live
  for (const Stay& stay : stays) {
    const auto bytes = static_cast<double>(stay.bytes);
    for (const Interval& interval : *stay.live) {
      changes[interval.first] += bytes;
      changes[interval.last + 1] -= bytes;
    }
  }
  Peak result;
  double alive = 0;
  for (const auto& [at, change] : changes) {
    alive += change;
    if (alive > result.bytes) result = {at, alive};
  }
  return result;
}

void require_capacity(const Program& program) {
  const auto blocks = place_tensors(program);
  std::size_t largest = 0;
  Footprint most;
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    Footprint own = {.held = program.classes[c].memory_bytes};
    if (!program.machine.pe.holds.empty()) own = footprint(program, c, blocks);
    if (!own.held) no_bound(program, c);
    if (*own.held <= *most.held) continue;
    most = own;
    largest = c;
  }
  if (*most.held > program.machine.pe.memory_bytes) too_small(program, largest, blocks, most);
  require_channels(program);
}

}  // namespace cyclotron::memory
