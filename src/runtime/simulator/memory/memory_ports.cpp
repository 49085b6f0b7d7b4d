#include "memory_ports.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include <cyclotron/support/division.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime::simulator {
namespace {

/// Tells whether PEs ask the memory for any.
bool has(const Code& code, Step::Kind kind) {
  return std::ranges::any_of(code.steps,
                             [&](const Step& step) { return step.kind == kind && !step.resident; });
}

std::vector<std::int64_t> coordinates_of(std::uint32_t grid_index, const std::vector<std::int64_t>& grid) {
  std::vector<std::int64_t> result(grid.size());
  std::int64_t rest = grid_index;
  for (std::size_t d = grid.size(); d-- > 0; rest /= grid[d]) result[d] = rest % grid[d];
  return result;
}

std::int64_t bytes_of(const program::Tensor& tensor) {
  auto result = static_cast<std::int64_t>(operators::size_bytes(tensor.dtype));
  for (const std::int64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(result, extent, &result)) return std::numeric_limits<std::int64_t>::max();
  }
  return result;
}

}  // namespace

MemoryPorts::MemoryPorts(const program::Program& program, const std::vector<User>& users)
    : attachment_(machine::attach(program.machine.memories, program.grid)) {
  if (attachment_.of_pe.empty()) return;
  require_size(program, users);
  for (std::size_t n = 0; n < attachment_.ports.size(); ++n) {
    const auto& [memory, pes] = attachment_.ports[n];
    Port& port = ports_.emplace_back();
    port.memory = &program.machine.memories.at(memory);
    port.number = static_cast<std::uint32_t>(n);
    if (port.memory->dram) port.dram.emplace(program, *port.memory);
    port.statistics.memory = memory;
    port.statistics.pes = pes;
  }
  struct Uses {
    bool loads = false, stores = false;
  };
  std::vector<Uses> uses(program.classes.size());
  slices_.resize(program.classes.size());
  client_of_.assign(users.size(), none);
  for (std::uint32_t o = 0; o < users.size(); ++o) {
    const auto& [grid_index, code] = users[o];
    const std::uint32_t port = attachment_.of_pe[grid_index];
    if (port == machine::Attachment::none) continue;
    LoadSlice& slice = slices_[code->index];
    if (slice.code == nullptr) {
      slice = slice_loads(program, *code);
      uses[code->index] = {has(*code, Step::Kind::load), has(*code, Step::Kind::store)};
    }
    const auto [loads, stores] = uses[code->index];
    if (!loads && !stores) continue;
    ports_[port].agents += (loads ? 1U : 0U) + (stores ? 1U : 0U);
    client_of_[o] = static_cast<std::uint32_t>(clients_.size());
    Client& client = clients_.emplace_back();
    client.ordinal = o;
    client.grid_index = grid_index;
    client.port = port;
  }
  for (std::uint32_t n = 0; n < clients_.size(); ++n) {
    Client& client = clients_[n];
    if (!shared(ports_[client.port])) continue;
    arbitrates_ = true;
    const Code& code = *users[client.ordinal].code;
    client.loads.cursor.emplace(slices_[code.index], coordinates_of(client.grid_index, program.grid));
    find_next_load(client.loads, ports_[client.port]);
    ask_load(n);
  }
}

void MemoryPorts::require_size(const program::Program& program, const std::vector<User>& users) const {
  std::map<std::string, std::set<std::uint32_t>> tensors;  // that each memory holds
  std::set<std::pair<std::string, std::uint32_t>> seen;    // memory and class
  for (const auto& [grid_index, code] : users) {
    const std::uint32_t port = attachment_.of_pe[grid_index];
    if (port == machine::Attachment::none) continue;
    const std::string& memory = attachment_.ports[port].memory;
    if (!program.machine.memories.at(memory).size_bytes || !seen.emplace(memory, code->index).second)
      continue;
    for (const Step& step : code->steps) {
      if (step.kind == Step::Kind::load || step.kind == Step::Kind::store)
        tensors[memory].insert(step.tensor);
    }
  }
  for (const auto& [memory, numbers] : tensors) {
    const std::int64_t size = *program.machine.memories.at(memory).size_bytes;
    std::int64_t needed = 0;
    std::vector<Note> notes;
    for (const std::uint32_t number : numbers) {
      const auto& tensor = program.tensors[number];
      if (__builtin_add_overflow(needed, bytes_of(tensor), &needed))
        needed = std::numeric_limits<std::int64_t>::max();
      notes.push_back({{}, fmt::format("`{}` takes {} bytes", tensor.name, bytes_of(tensor))});
    }
    if (needed <= size) continue;
    throw CapacityError(
        {.code = "CYC503",
         .span = {},
         .message = fmt::format("memory `{}` has {} bytes, and the tensors that its PEs load and "
                                "store take {}",
                                memory, size, needed),
         .notes = std::move(notes),
         .help = fmt::format("take a machine whose memory has size={} or more", needed)});
  }
}

/// Cycle from which there is room for the next load, once that is known.
std::int64_t MemoryPorts::load_room(Client& client, const Port& port) {
  Loads& loads = client.loads;
  const std::int64_t depth = port.memory->depth;
  const auto binds_nobody = [&] {  // DRAM opens rows from then on
    return loads.departures.first < loads.served - depth ||
           (!port.dram && loads.departures.last.front() <= loads.end);
  };
  while (!loads.departures.last.empty() && binds_nobody()) loads.departures.drop();
  return loads.departures.at(loads.served - depth);
}

/// Of a shared port.
void MemoryPorts::find_next_load(Loads& loads, const Port& port) {
  loads.words = loads.cursor->next().value_or(0);
  if (port.dram && loads.words > 0) loads.rows = loads.cursor->rows(*port.dram);
}

std::optional<std::int64_t> MemoryPorts::load(std::uint32_t ordinal, std::int64_t words, std::int64_t now,
                                              Rows rows) {
  const std::uint32_t number = client_of_[ordinal];
  Client& client = clients_[number];
  Port& port = ports_[client.port];
  Loads& loads = client.loads;
  if (!shared(port)) {
    loads.words = words;
    loads.rows = std::move(rows);
    loads.known = load_room(client, port);
    serve_load(number, std::max(port.free, loads.known));
  } else if (loads.arrivals.empty()) {
    CYC_CHECK(loads.asked, "a LOAD is in the slice");
    client.waits = true;
    return std::nullopt;
  }
  const auto [arrival, record] = loads.arrivals.front();
  loads.arrivals.pop();
  const std::int64_t taken = std::max(now, arrival);
  client.stalled += taken - now;
  last_ = record;
  ++loads.taken;
  if (port.memory->depth < machine::unbounded_depth) loads.departures.last.push(taken);
  if (shared(port) && !loads.asked) ask_load(number);
  return taken;
}

std::optional<std::int64_t> MemoryPorts::store(std::uint32_t ordinal, std::int64_t words, std::int64_t now,
                                               Rows rows) {
  const std::uint32_t number = client_of_[ordinal];
  Client& client = clients_[number];
  Port& port = ports_[client.port];
  Stores& stores = client.stores;
  const std::int64_t makes_room = stores.left - port.memory->depth;
  if (makes_room >= stores.served) {
    client.waits = true;
    return std::nullopt;
  }
  while (!stores.ends.last.empty() && (stores.ends.first < makes_room || stores.ends.last.front() <= now))
    stores.ends.drop();
  const std::int64_t left = std::max(now, stores.ends.at(makes_room));
  client.stalled += left - now;
  const std::uint32_t record = add_record(client, port, {.words = words, .stores = true});
  stores.pending.push({.words = words, .left = {left, record}, .rows = std::move(rows)});
  ++stores.left;
  if (!shared(port)) {
    serve_store(number, std::max(left, port.free));
  } else if (stores.pending.size() == 1) {
    ask_store(number);
  }
  last_ = record;
  return left;
}

std::optional<std::int64_t> MemoryPorts::finish(std::uint32_t ordinal, std::int64_t now) {
  Client& client = clients_[client_of_[ordinal]];
  if (!client.stores.pending.empty()) {
    client.waits = true;
    return std::nullopt;
  }
  const std::int64_t done = std::max(now, client.stores.arrival);
  client.stalled += done - now;
  return done;
}

void MemoryPorts::ask(Port& port, const Request& request) {
  port.requests.push(request);
  next_.emplace(next_time(port), port.number);
}

/// Enqueues the next load, if there is one and room for it.
void MemoryPorts::ask_load(std::uint32_t number) {
  Client& client = clients_[number];
  Port& port = ports_[client.port];
  Loads& loads = client.loads;
  if (loads.words == 0 || loads.served - loads.taken >= port.memory->depth) return;
  loads.asked = true;
  loads.known = load_room(client, port);
  loads.asked_at = std::max(loads.end, loads.known);
  ask(port, {.at = loads.asked_at, .client = number, .stores = false});
}

void MemoryPorts::ask_store(std::uint32_t number) {
  Stores& stores = clients_[number].stores;
  stores.asked_at = std::max(stores.pending.front().left.time, stores.ends.at(stores.served - 1));
  ask(ports_[clients_[number].port], {.at = stores.asked_at, .client = number, .stores = true});
}

std::uint32_t MemoryPorts::serve_first(Port& port) {
  const Request request = port.requests.top();
  port.requests.pop();
  if (request.stores) {
    serve_store(request.client, request.at);
  } else {
    serve_load(request.client, request.at);
  }
  if (!port.requests.empty()) next_.emplace(next_time(port), port.number);
  return request.client;
}

std::int64_t MemoryPorts::transfer(Port& port, std::int64_t start, std::int64_t known, std::int64_t words,
                                   const Rows& rows, bool stores) {
  const std::int64_t cycles = ceil_divide(words, port.memory->bandwidth_words_per_cycle);
  DramBanks::Passage passage{start + cycles, cycles};
  if (port.dram) passage = port.dram->pass(rows, known, start, stores);
  port.free = passage.end;
  port.statistics.busy_cycles += passage.busy;
  ++(stores ? port.statistics.stores : port.statistics.loads);
  (stores ? port.statistics.words_stored : port.statistics.words_loaded) += words;
  return port.free + port.memory->latency_cycles - 1;
}

void MemoryPorts::serve_load(std::uint32_t number, std::int64_t asked) {
  Client& client = clients_[number];
  Port& port = ports_[client.port];
  Loads& loads = client.loads;
  const std::int64_t start = std::max(port.free, asked);
  const std::int64_t arrival = transfer(port, start, loads.known, loads.words, loads.rows, false);
  loads.end = port.free;
  const MemoryRecord record{
      .words = loads.words, .asked = asked, .start = start, .end = port.free, .arrival = arrival};
  loads.arrivals.push({arrival, add_record(client, port, record)});
  ++loads.served;
  loads.asked = false;
  if (!shared(port)) return;
  find_next_load(loads, port);
  ask_load(number);
}

void MemoryPorts::serve_store(std::uint32_t number, std::int64_t asked) {
  Client& client = clients_[number];
  Port& port = ports_[client.port];
  Stores& stores = client.stores;
  const auto [words, left, rows] = stores.pending.front();
  stores.pending.pop();
  const std::int64_t start = std::max(port.free, asked);
  stores.arrival = transfer(port, start, left.time, words, rows, true);
  stores.ends.last.push(port.free);
  ++stores.served;
  if (left.record < records_.size()) {
    MemoryRecord& record = records_[left.record];
    record.asked = asked;
    record.start = start;
    record.end = port.free;
    record.arrival = stores.arrival;
  }
  if (!stores.pending.empty()) ask_store(number);
}

std::uint32_t MemoryPorts::add_record(const Client& client, const Port& port, const MemoryRecord& record) {
  if (static_cast<std::int64_t>(records_.size()) >= record_limit_) return none;
  records_.push_back(record);
  records_.back().port = port.number;
  records_.back().pe = client.grid_index;
  return static_cast<std::uint32_t>(records_.size() - 1);
}

void MemoryPorts::tell(Timing& timing) const {
  for (const Client& client : clients_) timing.pes[client.grid_index].stall_memory = client.stalled;
  for (const Port& port : ports_) timing.memory_ports.push_back(port.statistics);
  timing.memory_port_of_pe = attachment_.of_pe;
}

}  // namespace cyclotron::runtime::simulator
