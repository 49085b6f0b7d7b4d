#include <cyclotron/memory/footprint.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include <cyclotron/program/storage.hpp>
#include <cyclotron/program/wires.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::memory {
namespace {

using namespace program;

constexpr std::int64_t code_word = 4;
constexpr std::string_view merge_pe = "merge";  // that has the queues to the workers (MA-114)

std::int64_t words(const Affine& form) {
  return 1 + std::ranges::count_if(form.coefficients, [](std::int64_t c) { return c != 0; });
}
std::int64_t words(const std::vector<Affine>& forms) {
  std::int64_t result = 0;
  for (const auto& form : forms) result += words(form);
  return result;
}
std::int64_t words(const std::vector<Bound>& bounds) {
  std::int64_t result = 0;
  for (const auto& bound : bounds) result += words(bound.numerator) + (bound.divisor == 1 ? 0 : 1);
  return result;
}
std::int64_t words(const SlotRef& reference) {
  const auto& wrap = reference.wrap;
  return words(reference.index) + (wrap.modulus == 0 ? 0 : 1 + words(wrap.form));
}
std::int64_t words(const Operand& operand) {
  const auto* reference = std::get_if<SlotRef>(&operand);
  return reference == nullptr ? 1 : words(*reference);
}

/// With one for the operation itself.
std::int64_t words(const Action& action) {
  return 1 +
         std::visit(
             Overloaded{
                 [](const Loop& loop) { return words(loop.lower) + words(loop.upper); },
                 [](const If& branch) {
                   std::int64_t result = 0;
                   for (const auto& conjunction : branch.condition) {
                     for (const auto& condition : conjunction) result += 1 + words(condition.form);
                   }
                   for (const auto& bound : branch.within)
                     result += 1 + words(bound.number) + words(bound.form);
                   return result;
                 },
                 [](const End&) { return std::int64_t{0}; },
                 [](const Load& load) { return words(load.destination) + words(load.index); },
                 [](const Store& store) { return words(store.source) + words(store.index); },
                 [](const Send& send) { return words(send.source); },
                 [](const Receive& receive) { return words(receive.destination) + words(receive.sender); },
                 [](const Broadcast& broadcast) {
                   return words(broadcast.source) + words(broadcast.lower) + words(broadcast.upper);
                 },
                 [](const Move& move) {
                   return words(move.destination) +
                          std::visit(Overloaded{[](const auto& source) { return words(source); },
                                                [](const Constant&) { return std::int64_t{1}; }},
                                     move.source);
                 },
                 [](const Compute& compute) {
                   std::int64_t result = words(compute.destination);
                   for (const auto& operand : compute.operands) result += words(operand);
                   if (const auto& at = compute.indexed)
                     result += words(at->number) + words(at->lower) + words(at->upper) + 2;
                   return result;
                 },
                 [](const Exit& exit) { return words(exit.runs) + 3; },  // first, last and period
             },
             action);
}

/// The queue of a channel is in a persistent slot of its name.
bool sender_keeps(const Program& program, const Channel& channel) {
  return std::ranges::any_of(program.classes, [&](const PeClass& pe_class) {
    return pe_class.name == merge_pe && std::ranges::any_of(pe_class.slots, [&](const Slot& slot) {
             return slot.persistent && slot.name == channel.name;
           });
  });
}

}  // namespace

Footprint footprint(const Program& program, std::size_t number, const std::vector<TensorBlock>& blocks) {
  const PeClass& pe_class = program.classes[number];
  const machine::Pe& pe = program.machine.pe;
  Footprint result;
  result.data = Storage(pe_class).memory_bytes;
  std::int64_t peak = pe_class.memory_bytes;
  for (const TensorBlock& block : blocks) {
    if (block.live[number].empty()) continue;
    peak = std::max(peak, block.address + block.bytes);
    result.data = peak;
  }
  std::set<std::size_t> received;
  for (const auto& instruction : pe_class.code) {
    result.code += code_word * words(instruction.action);
    const auto* receive = std::get_if<Receive>(&instruction.action);
    if (receive != nullptr && !sender_keeps(program, program.channels[receive->channel.index()]))
      received.insert(receive->channel.index());
  }
  const Wires wires(program);
  for (const std::size_t channel : received) {
    const auto depth = wires.depths(channel).least;
    const auto& [rows, columns] = program.channels[channel].tile;
    const auto message =
        rows * columns * static_cast<std::int64_t>(operators::size_bytes(program.channels[channel].dtype));
    if (depth >= machine::unbounded_depth) result.queues.reset();
    if (result.queues) *result.queues += depth * message;
  }
  result.held = peak + (machine::holds(pe, machine::held_code) ? result.code : 0);
  if (machine::holds(pe, machine::held_queues))
    result.held = result.queues ? std::optional(*result.held + *result.queues) : std::nullopt;
  return result;
}

}  // namespace cyclotron::memory
