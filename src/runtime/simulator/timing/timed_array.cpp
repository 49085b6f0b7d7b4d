#include "timed_array.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/program/wires.hpp>
#include <cyclotron/support/error.hpp>

#include "../../engine/pe_array.hpp"

namespace cyclotron::runtime::simulator {
namespace {

/// A shallow queue gets all places that it can need, another some when it needs them.
std::uint32_t first_places(const TimedChannel& channel) {
  constexpr std::uint64_t shallow = 16, first = 4;
  const bool all = channel.places <= shallow || channel.window > channel.depth;
  return static_cast<std::uint32_t>(std::bit_ceil(all ? channel.places : first));
}

[[noreturn]] void too_large(const TimedProgram& program) {
  throw ExecutionError({.code = "CYC705",
                        .span = {},
                        .message = fmt::format("a grid of {} PEs does not fit this computer's memory",
                                               fmt::join(program.grid, " x ")),
                        .notes = {},
                        .help = "fold the grid onto fewer PEs"});
}

}  // namespace

TimedArray::TimedArray(TimedProgram program) : program_(std::move(program)), free_rings_(32) {
  const auto& grid = program_.grid;
  std::int64_t size = 1;
  stride_.assign(grid.size() + 1, 1);
  for (std::size_t d = grid.size(); d-- > 0;) {
    stride_[d] = size;
    if (__builtin_mul_overflow(size, grid[d], &size) || size > pe_limit) too_large(program_);
  }
  try {
    place_pes();
    connect();
    attach_memories();
  } catch (const std::bad_alloc&) {
    too_large(program_);
  }
  state_.messages.assign(program_.channels.size(), 0);
  std::uint32_t variables = 0;
  for (const auto& code : program_.codes) variables = std::max(variables, code.variables);
  environment_.resize(variables + 1);
}

void TimedArray::place_pes() {
  const auto classes = std::exchange(program_.class_map, {});
  const auto with_program = static_cast<std::size_t>(
      std::count_if(classes.begin(), classes.end(), [](auto c) { return c != program::Program::unmapped; }));
  ordinal_.assign(classes.size(), none);
  grid_index_.reserve(with_program);
  state_.pes.reserve(with_program);
  std::size_t ports = 0, registers = 0;
  for (std::size_t index = 0; index < classes.size(); ++index) {
    const std::uint32_t pe_class = classes[index];
    if (pe_class == program::Program::unmapped) continue;
    ordinal_[index] = count();
    grid_index_.push_back(static_cast<std::uint32_t>(index));
    state_.pes.push_back({.pe_class = pe_class,
                          .ports = static_cast<std::uint32_t>(ports),
                          .registers = static_cast<std::uint32_t>(registers)});
    ports += program_.codes[pe_class].ports.size();
    registers += program_.classes[pe_class].registers();
    if (std::max(ports, registers) > none / 2) too_large(program_);
  }
  queue_of_port_.assign(ports, none);
  state_.registers.assign(registers, 0);
}

void TimedArray::connect() {
  const auto& channels = program_.channels;
  const program::Wires& wires = wires_.emplace(*program_.source, program_.grid);
  const bool networks =
      std::any_of(program_.channels.begin(), program_.channels.end(), [](auto& c) { return c.network; });
  if (networks) state_.port_free.assign(queue_of_port_.size(), 0);
  rows_.resize(channels.size());
  for (std::size_t c = 0; c < program_.source->channels.size(); ++c)
    listeners_.push_back(program_.source->listeners(c));
  std::vector<std::vector<std::uint32_t>> by_receiver(channels.size());
  for (std::size_t c = 0; c < channels.size(); ++c) {
    if (program_.channels[c].network) {
      if (c < program_.source->channels.size()) rows_[c].resize(ordinal_.size());  // others: of a distance
    } else {
      by_receiver[c].assign(ordinal_.size(), none);
    }
  }
  reserve_queues();
  std::vector<std::int64_t> at(program_.grid.size());
  for (std::uint32_t o = 0; o < count(); ++o) {
    const TimedPe& pe = state_.pes[o];
    const std::uint32_t index = grid_index_[o];
    for (std::size_t d = 0; d < at.size(); ++d) at[d] = coordinate(index, static_cast<std::uint32_t>(d));
    const auto& ports = program_.codes[pe.pe_class].ports;
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const bool in = ports[p].kind == Port::Kind::link_in;
      if (!in && ports[p].kind != Port::Kind::link_out) continue;
      const std::size_t receiver = in ? index : wires.receiver(channels[ports[p].channel].source, at);
      if (receiver == program::Wires::none) continue;
      std::uint32_t& number = by_receiver[ports[p].channel][receiver];
      if (number == none) number = add_queue(ports[p].channel, none, ordinal_[receiver]);
      if (!in) state_.queues[number].sender = o;
      queue_of_port_[pe.ports + p] = number;
    }
  }
}

void TimedArray::attach_memories() {
  std::vector<MemoryPorts::User> users;
  if (!program_.source->machine.memories.empty()) {
    for (std::uint32_t o = 0; o < count(); ++o)
      users.push_back({grid_index_[o], &program_.codes[state_.pes[o].pe_class]});
  }
  memory_.emplace(*program_.source, users);
}

/// For the links' queues, which take most of the memory: as they grew, they would be there twice.
void TimedArray::reserve_queues() {
  std::vector<std::size_t> pes(program_.classes.size(), 0);
  for (const TimedPe& pe : state_.pes) ++pes[pe.pe_class];
  std::size_t queues = 0, places = 0;
  for (std::size_t c = 0; c < pes.size(); ++c) {
    for (const Port& port : program_.codes[c].ports) {
      if (port.kind != Port::Kind::link_in) continue;
      queues += pes[c];
      places += pes[c] * first_places(program_.channels[port.channel]);
    }
  }
  state_.queues.reserve(queues);
  state_.times.reserve(places);
}

std::uint32_t TimedArray::add_queue(std::uint32_t channel, std::uint32_t sender, std::uint32_t receiver) {
  const std::uint32_t places = first_places(program_.channels[channel]);
  TimedQueue queue;
  queue.ring = take_ring(places);
  queue.mask = places - 1;
  queue.channel = static_cast<std::uint16_t>(channel);
  queue.sender = sender;
  queue.receiver = receiver;
  state_.queues.push_back(queue);
  return static_cast<std::uint32_t>(state_.queues.size() - 1);
}

std::uint32_t TimedArray::take_ring(std::uint32_t places) {
  auto& free = free_rings_[static_cast<std::size_t>(std::countr_zero(places))];
  if (!free.empty()) {
    const std::uint32_t ring = free.back();
    free.pop_back();
    std::fill_n(state_.times.begin() + ring, places, never);
    return ring;
  }
  const std::size_t ring = state_.times.size();
  if (ring + places > std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();
  state_.times.resize(ring + places, never);
  return static_cast<std::uint32_t>(ring);
}

void TimedArray::grow(TimedQueue& queue, std::uint32_t places) {
  const std::uint32_t before = queue.mask + 1;
  std::uint32_t ring = none;
  try {
    ring = take_ring(places);
  } catch (const std::bad_alloc&) {
    too_large(program_);
  }
  for (std::uint32_t m = queue.sent - before; m != queue.sent; ++m)
    state_.times[ring + (m & (places - 1))] = state_.times[queue.ring + (m & queue.mask)];
  free_rings_[static_cast<std::size_t>(std::countr_zero(before))].push_back(queue.ring);
  queue.ring = ring;
  queue.mask = places - 1;
}

void TimedArray::release_queues() {
  state_.queues = std::vector<TimedQueue>();  // `= {}` would keep the memory
  state_.times = std::vector<std::int64_t>();
  queue_of_port_ = std::vector<std::uint32_t>();
}

std::uint32_t TimedArray::on_line(std::uint32_t grid_index, std::uint32_t axis,
                                  std::int64_t coordinate) const {
  return static_cast<std::uint32_t>(grid_index +
                                    (coordinate - this->coordinate(grid_index, axis)) * stride_[axis]);
}

std::uint32_t TimedArray::network_queue(std::uint32_t channel, std::uint32_t sender_index,
                                        std::uint32_t receiver_index, std::int64_t sender_coordinate) {
  auto& row = rows_[channel][receiver_index];
  for (const auto& [coordinate, number] : row) {
    if (coordinate == sender_coordinate) return number;
  }
  std::uint32_t own = channel;
  const std::uint32_t source = program_.channels[channel].source;
  if (!program_.by_distance[source].empty() && sender_index != receiver_index) {
    const std::int64_t away =
        wires_->distance(source, wires_->coordinates(sender_index), wires_->coordinates(receiver_index));
    own = program_.by_distance[source][static_cast<std::size_t>(away - 1)];
  }
  const std::uint32_t number = add_queue(own, ordinal_[sender_index], ordinal_[receiver_index]);
  row.emplace_back(sender_coordinate, number);
  return number;
}

const std::int64_t* TimedArray::environment(std::uint32_t ordinal) {
  const TimedPe& pe = state_.pes[ordinal];
  std::int64_t* out = environment_.data();
  for (std::uint32_t d = 0; d < program_.grid.size(); ++d) *out++ = coordinate(grid_index_[ordinal], d);
  const std::int64_t* registers = state_.registers.data() + pe.registers;
  for (std::uint32_t level = 0; level < code(pe).loops; ++level) *out++ = registers[2 * level];
  return environment_.data();
}

}  // namespace cyclotron::runtime::simulator
