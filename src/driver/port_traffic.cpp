#include "port_traffic.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <utility>

namespace cyclotron::driver {

namespace {

std::int64_t ceil_divide(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

void sort_unique(std::vector<std::uint32_t>& values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
}

/// Not where a fold has more parts than the machine has PEs.
bool within(const std::vector<std::int64_t>& pes, const std::vector<std::int64_t>& grid) {
  for (std::size_t at = 0; at < pes.size(); ++at) {
    const auto one = pes[at];
    if (one != anywhere && (one < 0 || one >= grid[at % grid.size()])) return false;
  }
  return true;
}

}  // namespace

PortTraffic::PortTraffic(const recurrence::OperationGraph& graph, const std::vector<std::int64_t>& pes,
                         std::size_t dimensions, const Ports& ports, bool passed_round)
    : graph_(&graph), ports_(&ports) {
  if (ports.memories.empty() || dimensions == 0 || dimensions != ports.grid.size()) return;
  if (!within(pes, ports.grid)) return;
  attachment_ = machine::attach(ports.memories, ports.grid);
  for (const auto& port : attachment_.ports) memories_.push_back(&ports.memories.at(port.memory));
  for (Index pe = 0; pe < attachment_.of_pe.size(); ++pe) {
    if (memory_of(pe) != nullptr) served_.push_back(pe);
  }
  locate(pes, dimensions);
  if (!is_at_origin()) {  // another part of the grid may be served
    places_.clear();
    return;
  }
  find_ends(passed_round);
}

void PortTraffic::locate(const std::vector<std::int64_t>& pes, std::size_t dimensions) {
  strides_.assign(dimensions, 1);
  for (auto d = dimensions; d-- > 1;) strides_[d - 1] = strides_[d] * ports_->grid[d];
  used_.assign(dimensions, 1);
  for (std::size_t at = 0; at < pes.size(); ++at) {
    auto& used = used_[at % dimensions];
    used = std::clamp(pes[at] + 1, used, std::max(used, ports_->grid[at % dimensions]));
  }
  places_.resize(graph_->cycles.size());
  std::map<std::vector<std::int64_t>, std::uint32_t> known;
  for (std::size_t node = 0; node < places_.size(); ++node) {
    const std::vector<std::int64_t> at(pes.begin() + static_cast<std::ptrdiff_t>(node * dimensions),
                                       pes.begin() + static_cast<std::ptrdiff_t>((node + 1) * dimensions));
    const auto [found, added] = known.try_emplace(at, static_cast<std::uint32_t>(spans_.size()));
    if (added) spans_.push_back(span_of(at));
    places_[node] = found->second;
  }
}

/// True where each memory serves one of the PEs in use, so that they begin at PE 0 (`machine::on_part`).
bool PortTraffic::is_at_origin() const {
  std::set<std::string> names;
  for (std::size_t index = 0; index < attachment_.of_pe.size(); ++index) {
    const auto port = attachment_.of_pe[index];
    const auto inside = [&](std::size_t d) { return coordinate(static_cast<Index>(index), d) < used_[d]; };
    if (port != machine::Attachment::none &&
        std::ranges::all_of(std::views::iota(std::size_t{0}, used_.size()), inside))
      names.insert(attachment_.ports[port].memory);
  }
  return names.size() == ports_->memories.size();
}

/// The PEs where one is that has these coordinates, as far as they are known.
PortTraffic::Span PortTraffic::span_of(const std::vector<std::int64_t>& at) const {
  Span result{{0}, std::vector<bool>(at.size(), false), true};
  for (std::size_t d = 0; d < at.size(); ++d) {
    result.unknown[d] = at[d] == anywhere;
    const auto first = result.unknown[d] ? 0 : at[d];
    // A result beyond the last term may lie one further out.
    const auto last = result.unknown[d] ? std::min(used_[d] + 1, ports_->grid[d]) : at[d] + 1;
    std::vector<Index> all;
    for (const auto one : result.pes) {
      for (auto c = first; c < last; ++c) all.push_back(static_cast<Index>(one + c * strides_[d]));
    }
    result.pes = std::move(all);
  }
  result.served = std::ranges::all_of(result.pes, [&](Index one) { return memory_of(one) != nullptr; });
  return result;
}

/// The elements that come through ports, with the PEs that may load them for others.
void PortTraffic::find_ends(bool passed_round) {
  std::map<recurrence::TensorId, std::vector<bool>> varies;  // whether an element is read along a dimension
  for (const auto& input : graph_->inputs) {
    auto& along = varies.try_emplace(input.tensor, strides_.size(), false).first->second;
    if (input.is_copied || input.readers.empty()) along.assign(along.size(), true);
    for (const auto node : input.readers) {
      const auto& span = spans_[places_[node]];
      const auto first = spans_[places_[input.readers.front()]].pes.front();
      for (std::size_t d = 0; d < along.size(); ++d)
        along[d] = along[d] || span.unknown[d] || coordinate(span.pes.front(), d) != coordinate(first, d);
    }
  }
  for (std::size_t number = 0; number < graph_->inputs.size(); ++number) {
    const auto& input = graph_->inputs[number];
    if (input.is_copied) continue;
    auto along = varies.at(input.tensor);
    if (std::ranges::find(along, true) == along.end()) along.assign(along.size(), true);
    std::vector<Index> users, any, ends;
    for (const auto node : input.readers) {
      const auto& span = spans_[places_[node]];
      users.insert(users.end(), span.pes.begin(), span.pes.end());
      if (span.pes.size() > 1) any.insert(any.end(), span.pes.begin(), span.pes.end());
    }
    sort_unique(users);
    sort_unique(any);
    ends = ends_of(users, along);
    if (passed_round) ends.insert(ends.end(), users.begin(), users.end());
    elements_.push_back({number, std::move(ends), std::move(any)});
  }
}

/// On each line of the grid with users the outermost of them, and the outermost PEs of the line; of lines through those,
/// too.
std::vector<PortTraffic::Index> PortTraffic::ends_of(const std::vector<Index>& users,
                                                     const std::vector<bool>& along) const {
  std::vector<Index> result;
  for (std::size_t d = 0; d < along.size(); ++d) {
    if (!along[d]) continue;
    std::map<std::int64_t, std::pair<Index, Index>> lines;
    for (const auto one : users) {
      const auto line = one - coordinate(one, d) * strides_[d];
      const auto [found, added] = lines.try_emplace(line, one, one);
      found->second.first = std::min(found->second.first, one);
      found->second.second = std::max(found->second.second, one);
    }
    for (const auto& [line, ends] : lines) {
      if (users.size() > 1) result.insert(result.end(), {ends.first, ends.second});
    }
  }
  auto reached = users;
  for (std::size_t d = 0; d < along.size(); ++d) {
    if (!along[d]) continue;
    for (std::size_t n = 0, count = reached.size(); n < count; ++n) {
      const auto line = reached[n] - coordinate(reached[n], d) * strides_[d];
      // A result beyond the last term may lie one further out.
      for (const auto end : {std::int64_t{0}, used_[d] - 1, std::min(used_[d], ports_->grid[d] - 1)})
        reached.push_back(static_cast<Index>(line + std::max<std::int64_t>(0, end) * strides_[d]));
    }
    sort_unique(reached);
  }
  std::ranges::set_difference(reached, users, std::back_inserter(result));
  for (const auto one : users) {
    // A user that is itself an end of a line.
    for (std::size_t d = 0; d < along.size(); ++d) {
      const auto at = coordinate(one, d);
      if (along[d] && (at == 0 || at >= used_[d] - 1)) result.push_back(one);
    }
  }
  sort_unique(result);
  return result;
}

const machine::Memory* PortTraffic::memory_of(Index pe) const {
  const auto port = attachment_.of_pe[pe];
  return port == machine::Attachment::none ? nullptr : memories_[port];
}

/// From the start of a transfer to the arrival of its last word.
std::int64_t PortTraffic::latency(Index pe, std::int64_t words) const {
  const auto* memory = memory_of(pe);
  return memory->latency_cycles + ceil_divide(words, memory->bandwidth_words_per_cycle) - 1;
}

/// The same in one of these PEs; 0 where there are none.
std::int64_t PortTraffic::least_latency(const std::vector<Index>& pes, std::int64_t words) const {
  std::int64_t result = 0;
  for (const auto pe : pes) {
    const auto one = latency(pe, words);
    result = pe == pes.front() ? one : std::min(result, one);
  }
  return result;
}

/// True where a PE is no further than the one that uses an element, along the dimensions that say so.
bool PortTraffic::is_behind(Index pe, Index user, std::uint32_t onwards) const {
  for (std::size_t d = 0; d < strides_.size(); ++d) {
    if ((onwards >> d & 1U) != 0 && coordinate(pe, d) > coordinate(user, d)) return false;
  }
  return true;
}

std::vector<PortTraffic::Index> PortTraffic::loaders(const Element& element, const Reader& reader) const {
  const auto& user = spans_[reader.first];
  auto result = user.pes;
  result.insert(result.end(), element.any.begin(), element.any.end());
  for (const auto end : element.ends) {
    if (user.pes.size() > 1 || is_behind(end, user.pes.front(), reader.second)) result.push_back(end);
  }
  sort_unique(result);
  if (!std::ranges::all_of(result, [&](Index one) { return memory_of(one) != nullptr; })) result.clear();
  return result;
}

std::vector<std::int64_t> PortTraffic::arrivals() const {
  std::vector<std::int64_t> result(graph_->cycles.size());
  for (const auto& element : elements_) {
    const auto& input = graph_->inputs[element.number];
    const auto of_any = ports_->passed_on ? least_latency(served_, input.words) : 0;
    std::map<Reader, std::int64_t> known;
    for (const auto node : input.readers) {
      const auto [found, added] = known.try_emplace(reader_of(node), of_any);
      if (added && !ports_->passed_on)
        found->second = least_latency(loaders(element, reader_of(node)), input.words);
      result[node] = std::max(result[node], found->second);
    }
  }
  return result;
}

std::vector<std::int64_t> PortTraffic::departures() const {
  std::vector<std::int64_t> result(graph_->cycles.size());
  if (places_.empty()) return result;
  for (const auto& output : graph_->outputs) {
    const auto& span = spans_[places_[output.node]];
    if (!span.served && !ports_->passed_on) continue;
    const auto least = least_latency(ports_->passed_on ? served_ : span.pes, output.words);
    result[output.node] = std::max(result[output.node], least);
  }
  return result;
}

PortTraffic::Pool PortTraffic::pool_of(const std::vector<Index>& pes) const {
  Pool result{.latency = std::numeric_limits<std::int64_t>::max()};
  std::vector<Index> ports;
  for (const auto pe : pes) {
    const auto* memory = memory_of(pe);
    ports.push_back(attachment_.of_pe[pe]);
    result.under_way += memory->depth;
    result.bandwidth = std::max(result.bandwidth, memory->bandwidth_words_per_cycle);
    result.latency = std::min(result.latency, memory->latency_cycles);
  }
  sort_unique(ports);
  result.ports = static_cast<std::int64_t>(ports.size());
  return result;
}

/// Of the first n loads, in whatever order, the last one arrives no earlier than so many fit through the ports, and than
/// the PEs have them under way; those with the longest way to the end come first at best.
std::int64_t PortTraffic::least_time(std::vector<Load>& loads, const Pool& pool) {
  std::ranges::sort(loads, std::greater<>(), &Load::after);
  std::int64_t result = 0, transferred = 0, count = 0;
  auto least = std::numeric_limits<std::int64_t>::max();
  for (const auto& load : loads) {
    const auto cycles = ceil_divide(load.words, pool.bandwidth);
    least = std::min(least, cycles);
    transferred += cycles;
    ++count;
    const auto by_ports = ceil_divide(transferred, pool.ports) + pool.latency - 1;
    const auto by_pes = ceil_divide(count, pool.under_way) * (pool.latency + least - 1);
    result = std::max(result, std::max(by_ports, by_pes) + load.after);
  }
  return result;
}

PortTraffic::Needs PortTraffic::needs(const std::vector<std::int64_t>& after) const {
  Needs result;
  for (std::size_t n = 0; n < elements_.size(); ++n) {
    for (const auto node : graph_->inputs[elements_[n].number].readers) {
      const auto [found, added] = result[reader_of(node)].try_emplace(n);
      auto& need = found->second;
      if (added && !ports_->passed_on) need.loaders = loaders(elements_[n], reader_of(node));
      need.after = std::max(need.after, graph_->cycles[node] + after[node]);
    }
  }
  for (auto& [reader, own] : result)
    std::erase_if(own, [&](const auto& need) { return need.second.loaders.empty() && !ports_->passed_on; });
  return result;
}

/// Of each PE, by what it needs, loaded by itself and by the ends of lines; and of all PEs together.
std::int64_t PortTraffic::of_readers(const Needs& needs) const {
  std::int64_t result = 0;
  std::map<std::size_t, std::int64_t> all;
  std::vector<Index> everyone;
  for (const auto& [reader, own] : needs) {
    std::vector<Index> loaders;
    std::vector<Load> loads;
    for (const auto& [n, need] : own) {
      loaders.insert(loaders.end(), need.loaders.begin(), need.loaders.end());
      loads.push_back({graph_->inputs[elements_[n].number].words, need.after});
      auto& of_all = all[n];
      of_all = std::max(of_all, need.after);
    }
    if (loads.empty()) continue;
    if (ports_->passed_on) continue;
    sort_unique(loaders);
    everyone.insert(everyone.end(), loaders.begin(), loaders.end());
    result = std::max(result, least_time(loads, pool_of(loaders)));
  }
  if (ports_->passed_on) everyone = served_;
  if (all.empty() || everyone.empty()) return result;
  sort_unique(everyone);
  std::vector<Load> loads;
  for (const auto& [n, longest] : all) loads.push_back({graph_->inputs[elements_[n].number].words, longest});
  return std::max(result, least_time(loads, pool_of(everyone)));
}

/// Each port alone: what only its PEs can load, and what they store.
std::int64_t PortTraffic::of_ports(const Needs& needs, const std::vector<std::int64_t>& release) const {
  if (ports_->passed_on) return 0;
  std::map<std::pair<Index, std::size_t>, std::int64_t> longest;  // by port and element
  for (const auto& [reader, own] : needs) {
    for (const auto& [n, need] : own) {
      const auto port = attachment_.of_pe[need.loaders.front()];
      const auto same = [&](Index one) { return attachment_.of_pe[one] == port; };
      if (!std::ranges::all_of(need.loaders, same)) continue;
      auto& way = longest[{port, n}];
      way = std::max(way, need.after);
    }
  }
  std::map<Index, std::vector<Job>> jobs;
  for (const auto& [at, way] : longest) {
    const auto& memory = *memories_[at.first];
    const auto words = graph_->inputs[elements_[at.second].number].words;
    jobs[at.first].push_back(
        {0, ceil_divide(words, memory.bandwidth_words_per_cycle), memory.latency_cycles - 1 + way});
  }
  for (const auto& output : graph_->outputs) {
    const auto& span = spans_[places_[output.node]];
    if (!span.served || span.pes.size() > 1) continue;
    const auto at = span.pes.front();
    const auto& memory = *memory_of(at);
    jobs[attachment_.of_pe[at]].push_back({release[output.node] + graph_->cycles[output.node],
                                           ceil_divide(output.words, memory.bandwidth_words_per_cycle),
                                           memory.latency_cycles - 1});
  }
  std::int64_t result = 0;
  for (auto& [port, own] : jobs) result = std::max(result, least_time_alone(own));
  return result;
}

std::int64_t PortTraffic::least_time(const std::vector<std::int64_t>& release,
                                     const std::vector<std::int64_t>& after) const {
  if (places_.empty()) return 0;
  const auto needed = needs(after);
  return std::max(of_readers(needed), of_ports(needed, release));
}

}  // namespace cyclotron::driver
