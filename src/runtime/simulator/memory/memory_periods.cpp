// Memories in a run that repeats itself (`Snapshot`).
#include <algorithm>
#include <limits>

#include "../../engine/cycles.hpp"
#include "memory_ports.hpp"

namespace cyclotron::runtime::simulator {
bool MemoryPorts::Times::shifted(Times then, std::int64_t by) {
  if (last.size() != then.last.size()) return false;
  for (std::size_t n = 0; n < last.size(); ++n) {
    if (last[n] - then.last[n] != by) return false;
  }
  return true;
}

void MemoryPorts::Times::skip(const Times& then, std::int64_t times, std::int64_t by) {
  repeat(first, then.first, times);
  for (std::size_t n = 0; n < last.size(); ++n) last[n] += by;
}

bool MemoryPorts::Loads::shifted(Loads then, std::int64_t by) {
  if (words != then.words || asked != then.asked || arrivals.size() != then.arrivals.size()) return false;
  if (end - then.end != by || (asked && asked_at - then.asked_at != by)) return false;
  if (served - taken != then.served - then.taken) return false;
  for (std::size_t n = 0; n < arrivals.size(); ++n) {
    if (arrivals[n].time - then.arrivals[n].time != by) return false;
  }
  return departures.shifted(std::move(then.departures), by);
}

bool MemoryPorts::Stores::shifted(Stores then, std::int64_t by) {
  if (left - served != then.left - then.served || arrival - then.arrival != by) return false;
  if (!pending.empty() && asked_at - then.asked_at != by) return false;
  for (std::size_t n = 0; n < pending.size(); ++n) {
    const Pending &one = pending[n], &before = then.pending[n];
    if (one.words != before.words || one.left.time - before.left.time != by) return false;
  }
  return ends.shifted(std::move(then.ends), by);
}

namespace {

/// Number of times that a port that is free at a time and moves on by `shift` stays behind a PE's clock.
std::int64_t times_behind(std::int64_t free, std::int64_t shift, const MemoryPorts::Progress& pe) {
  if (shift <= pe.shift) return std::numeric_limits<std::int64_t>::max();
  return std::max<std::int64_t>(0, pe.now - free) / (shift - pe.shift);
}

/// No later and no faster than any PE that moves.
MemoryPorts::Progress slowest(const std::vector<MemoryPorts::Progress>& pes) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  MemoryPorts::Progress result{.now = most, .shift = most};
  for (const auto& pe : pes) {
    if (pe.kind != MemoryPorts::Progress::Kind::moves) continue;
    result.now = std::min(result.now, pe.now);
    result.shift = std::min(result.shift, pe.shift);
  }
  return result;
}

}  // namespace

std::int64_t MemoryPorts::repeats(const MemoryPorts& then, const std::vector<Progress>& pes) const {
  std::int64_t result = std::numeric_limits<std::int64_t>::max();
  std::vector<std::optional<std::int64_t>> shift_of(ports_.size());  // of ports that were used
  for (std::size_t n = 0; n < clients_.size(); ++n) {
    Client client = clients_[n];
    const Client& before = then.clients_[n];
    const bool loads = client.loads.served != before.loads.served;
    const bool stores = client.stores.served != before.stores.served;
    if (!loads && !stores) continue;
    const std::int64_t by = pes[client.ordinal].shift;
    auto& port_shift = shift_of[client.port];
    if (port_shift.value_or(by) != by) return 0;
    port_shift = by;
    if (loads && !client.loads.shifted(before.loads, by)) return 0;
    if (stores && !client.stores.shifted(before.stores, by)) return 0;
    if (loads && client.loads.cursor)
      result = std::min(result, client.loads.cursor->repeats(*before.loads.cursor));
  }
  const Progress others = slowest(pes);
  for (std::size_t n = 0; n < clients_.size(); ++n) {
    const Client& client = clients_[n];
    const Client& before = then.clients_[n];
    const auto& port_shift = shift_of[client.port];
    if (client.waits != before.waits) return 0;
    // Requests that were not served while others were have to come later than these, again and again.
    const bool loads = client.loads.served == before.loads.served && client.loads.asked;
    const bool stores = client.stores.served == before.stores.served && !client.stores.pending.empty();
    if (port_shift && (loads || stores)) return 0;
    // One that did not ask at all may do so next, at its clock, and has to find the port as it would.
    const bool served =
        client.loads.served != before.loads.served || client.stores.served != before.stores.served;
    const Progress& pe = pes[client.ordinal];
    if (port_shift && !served && pe.kind != Progress::Kind::done) {
      const std::int64_t free = ports_[client.port].free;
      std::int64_t times = times_behind(free, *port_shift, pe);
      if (pe.kind == Progress::Kind::waits) times = std::max(times, times_behind(free, *port_shift, others));
      result = std::min(result, times);
    }
    if (client.loads.asked != before.loads.asked) return 0;
    if (client.stores.left - before.stores.left != client.stores.served - before.stores.served) return 0;
    if (client.loads.taken - before.loads.taken != client.loads.served - before.loads.served) return 0;
  }
  for (std::size_t p = 0; p < ports_.size(); ++p) {
    if (shift_of[p] && ports_[p].free - then.ports_[p].free != *shift_of[p]) return 0;
  }
  return result;
}

void MemoryPorts::skip(const MemoryPorts& then, std::int64_t times, const std::vector<std::int64_t>& shifts) {
  for (std::size_t n = 0; n < clients_.size(); ++n) {
    Client& client = clients_[n];
    const Client& before = then.clients_[n];
    Loads& loads = client.loads;
    Stores& stores = client.stores;
    const bool loaded = loads.served != before.loads.served, stored = stores.served != before.stores.served;
    const std::int64_t by = shifts[client.ordinal] * times;
    repeat(client.stalled, before.stalled, times);
    if (loaded) {
      if (loads.cursor) loads.cursor->skip(*before.loads.cursor, times);
      repeat(loads.served, before.loads.served, times);
      repeat(loads.taken, before.loads.taken, times);
      loads.end += by;
      loads.asked_at += by;
      for (std::size_t a = 0; a < loads.arrivals.size(); ++a) loads.arrivals[a].time += by;
      loads.departures.skip(before.loads.departures, times, by);
    }
    if (stored) {
      repeat(stores.left, before.stores.left, times);
      repeat(stores.served, before.stores.served, times);
      stores.arrival += by;
      stores.asked_at += by;
      for (std::size_t s = 0; s < stores.pending.size(); ++s) stores.pending[s].left.time += by;
      stores.ends.skip(before.stores.ends, times, by);
    }
  }
  next_ = {};
  for (Port& port : ports_) {
    const auto& before = then.ports_[port.number];
    repeat(port.free, before.free, times);
    MemoryPortStatistics& now = port.statistics;
    const MemoryPortStatistics& was = before.statistics;
    for (const auto member :
         {&MemoryPortStatistics::loads, &MemoryPortStatistics::stores, &MemoryPortStatistics::words_loaded,
          &MemoryPortStatistics::words_stored, &MemoryPortStatistics::busy_cycles})
      repeat(now.*member, was.*member, times);
    port.requests = {};
  }
  for (std::uint32_t n = 0; n < clients_.size(); ++n) {
    const Client& client = clients_[n];
    Port& port = ports_[client.port];
    if (client.loads.asked) ask(port, {.at = client.loads.asked_at, .client = n, .stores = false});
    if (shared(port) && !client.stores.pending.empty())
      ask(port, {.at = client.stores.asked_at, .client = n, .stores = true});
  }
}

}  // namespace cyclotron::runtime::simulator
