#include "scoreboard.hpp"

#include <algorithm>
#include <string>

namespace cyclotron::runtime::simulator {
namespace {

/// The bytes of the memory, or the registers, of a slot.
struct Extent {
  bool in_registers;
  std::int64_t first;
  std::int64_t end;
  [[nodiscard]] bool meets(const Extent& other) const {
    return in_registers == other.in_registers && first < other.end && other.first < end;
  }
};

Extent extent_of(const program::Slot& slot) {
  if (slot.first_register) {
    const auto first = static_cast<std::int64_t>(*slot.first_register);
    return {true, first, first + slot.words()};
  }
  const auto bytes = slot.words() * static_cast<std::int64_t>(operators::size_bytes(slot.dtype));
  return {false, slot.address, slot.address + bytes};
}

}  // namespace

Scoreboard::Scoreboard(const program::Program& program, const std::vector<const Code*>& codes)
    : on_(machine::is_pipelined(program.machine.pe) || program.machine.pe.overlap) {
  if (!on_) return;
  codes_ = codes;
  for (const auto& pe_class : program.classes) classes_.push_back(layout(pe_class));
  std::size_t elements = 0, slots = 0;
  for (const Code* code : codes) {
    first_.push_back(elements);
    slots_.push_back(slots);
    elements += classes_[code->index].elements;
    slots += classes_[code->index].first.size();
  }
  times_.resize(elements);
  in_use_.resize(slots);
  last_.resize(codes.size());
}

Scoreboard::Class Scoreboard::layout(const program::PeClass& pe_class) {
  Class result;
  const auto& slots = pe_class.slots;
  for (std::uint32_t s = 0; s < slots.size(); ++s) {
    result.first.push_back(result.elements);
    result.elements += static_cast<std::size_t>(slots[s].count);
    auto& aliases = result.aliases.emplace_back();
    for (std::uint32_t other = 0; other < slots.size(); ++other) {
      if (other != s && extent_of(slots[s]).meets(extent_of(slots[other]))) aliases.push_back(other);
    }
  }
  return result;
}

std::size_t Scoreboard::place(std::uint32_t ordinal, const Elements& elements) const {
  return first_[ordinal] + classes_[codes_[ordinal]->index].first[elements.slot] +
         static_cast<std::size_t>(elements.first);
}

std::size_t Scoreboard::whole(std::uint32_t ordinal, std::uint32_t slot) const {
  return slots_[ordinal] + slot;
}

std::int64_t Scoreboard::readable(std::uint32_t ordinal, const Elements& elements) const {
  std::int64_t result = 0;
  const std::size_t first = place(ordinal, elements);
  for (std::size_t n = first; n < first + static_cast<std::size_t>(elements.count); ++n)
    result = std::max(result, times_[n].written);
  return result;
}

std::int64_t Scoreboard::writable(std::uint32_t ordinal, const Elements& elements) const {
  std::int64_t result = readable(ordinal, elements);
  const std::size_t first = place(ordinal, elements);
  for (std::size_t n = first; n < first + static_cast<std::size_t>(elements.count); ++n)
    result = std::max(result, times_[n].read);
  for (const std::uint32_t other : classes_[codes_[ordinal]->index].aliases[elements.slot])
    result = std::max(result, in_use_[whole(ordinal, other)]);
  return result;
}

void Scoreboard::read(std::uint32_t ordinal, const Elements& elements, std::int64_t until) {
  const std::size_t first = place(ordinal, elements);
  for (std::size_t n = first; n < first + static_cast<std::size_t>(elements.count); ++n)
    times_[n].read = std::max(times_[n].read, until);
  std::int64_t& in_use = in_use_[whole(ordinal, elements.slot)];
  in_use = std::max(in_use, until);
}

void Scoreboard::write(std::uint32_t ordinal, const Elements& elements, std::int64_t at) {
  const std::size_t first = place(ordinal, elements);
  for (std::size_t n = first; n < first + static_cast<std::size_t>(elements.count); ++n)
    times_[n].written = std::max(times_[n].written, at);
  std::int64_t& in_use = in_use_[whole(ordinal, elements.slot)];
  in_use = std::max(in_use, at);
  last_[ordinal] = std::max(last_[ordinal], at);
}

PortLimits::PortLimits(const machine::Pe& pe, std::size_t pes) : on_(!pe.ports.empty()) {
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    const auto found = pe.ports.find(std::string(machine::port_kinds[kind]));
    if (found == pe.ports.end()) continue;
    Ports& ports = kinds_[kind];
    ports.count = found->second;
    ports.times.assign(pes * static_cast<std::size_t>(ports.count), -1);
    ports.next.assign(pes, 0);
  }
}

std::int64_t PortLimits::Ports::free_at(std::uint32_t ordinal) const {
  if (count == 0) return 0;
  return times[ordinal * static_cast<std::size_t>(count) + static_cast<std::size_t>(next[ordinal])] + 1;
}

void PortLimits::Ports::begin(std::uint32_t ordinal, std::int64_t time) {
  if (count == 0) return;
  times[ordinal * static_cast<std::size_t>(count) + static_cast<std::size_t>(next[ordinal])] = time;
  next[ordinal] = (next[ordinal] + 1) % count;
}

std::int64_t PortLimits::free_at(std::uint32_t ordinal, Kind kind) const {
  return std::max(kinds_[static_cast<std::size_t>(kind)].free_at(ordinal),
                  kinds_[static_cast<std::size_t>(Kind::issue)].free_at(ordinal));
}

void PortLimits::begin(std::uint32_t ordinal, Kind kind, std::int64_t time) {
  kinds_[static_cast<std::size_t>(kind)].begin(ordinal, time);
  if (kind != Kind::issue) kinds_[static_cast<std::size_t>(Kind::issue)].begin(ordinal, time);
}

}  // namespace cyclotron::runtime::simulator
