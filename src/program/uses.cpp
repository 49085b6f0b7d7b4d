#include <cyclotron/program/uses.hpp>

#include <variant>

#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::program {

Uses uses_of(const Action& action) {
  Uses uses;
  const auto read = [&](const Operand& operand) {
    if (const auto* reference = std::get_if<SlotRef>(&operand)) uses.read.push_back(reference->slot.index());
  };
  const auto write = [&](const SlotRef& reference) { uses.written.push_back(reference.slot.index()); };
  std::visit(Overloaded{
                 [](const Loop&) {},
                 [&](const If& branch) {
                   for (const auto& bound : branch.within) uses.read.push_back(bound.number.slot.index());
                 },
                 [](const End&) {},
                 [&](const Load& load) { write(load.destination); },
                 [&](const Store& store) { read(store.source); },
                 [&](const Send& send) { read(send.source); },
                 [&](const Receive& receive) { write(receive.destination); },
                 [&](const Broadcast& broadcast) { read(broadcast.source); },
                 [&](const Move& move) {
                   if (const auto* source = std::get_if<SlotRef>(&move.source))
                     uses.read.push_back(source->slot.index());
                   write(move.destination);
                 },
                 [&](const Compute& compute) {
                   for (const auto& operand : compute.operands) read(operand);
                   if (compute.indexed) {
                     uses.read.push_back(compute.indexed->number.slot.index());
                     if (compute.indexed->scatters) read(compute.destination);  // its other elements stay
                   }
                   write(compute.destination);
                 },
                 [&](const Exit& exit) { read(exit.runs); },
             },
             action);
  return uses;
}

}  // namespace cyclotron::program
