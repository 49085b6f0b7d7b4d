#include "ranks.hpp"

#include <algorithm>

namespace cyclotron::runtime::simulator {

Ranks::Ranks(std::vector<std::uint32_t> owners, std::uint32_t ranks, std::uint32_t cores)
    : owners_(std::move(owners)),
      granted_(owners_.size(), none),
      resources_(std::size_t{2} * ranks),
      timings_(ranks) {
  for (std::uint32_t core = 0; core < std::min(cores, ranks); ++core) cores_free_.push(0);
}

std::optional<std::int64_t> Ranks::turn(std::uint32_t resource, std::uint32_t ordinal, std::int64_t now,
                                        std::int64_t cycles) {
  if (granted_[ordinal] != none) return std::exchange(granted_[ordinal], none);
  resources_[resource].requests.push({.at = now, .ordinal = ordinal, .cycles = cycles});
  enqueue(resource);
  return std::nullopt;
}

void Ranks::enqueue(std::uint32_t resource) {
  const std::int64_t start = start_of(resource);
  std::int64_t& next = resources_[resource].next;
  if (next != none && next <= start) return;
  next = start;
  next_.emplace(start, resource);
}

std::int64_t Ranks::start_of(std::uint32_t resource) const {
  const Resource& found = resources_[resource];
  const std::int64_t start = std::max(found.free, found.requests.top().at);
  return resource % 2 == 0 ? std::max(start, cores_free_.top()) : start;
}

std::optional<std::uint32_t> Ranks::serve_first() {
  while (!next_.empty()) {
    const auto [time, number] = next_.top();
    next_.pop();
    Resource& resource = resources_[number];
    if (resource.next != time) continue;
    resource.next = none;
    const std::int64_t start = start_of(number);
    if (start > time) {  // others were served meanwhile
      enqueue(number);
      continue;
    }
    const Request request = resource.requests.top();
    resource.requests.pop();
    resource.free = start + request.cycles;
    if (number % 2 == 0) {
      cores_free_.pop();
      cores_free_.push(resource.free);
      timings_[number / 2].busy += request.cycles;
    }
    if (!resource.requests.empty()) enqueue(number);
    granted_[request.ordinal] = start;
    return request.ordinal;
  }
  return std::nullopt;
}

void Ranks::count(std::uint32_t ordinal, std::uint32_t to, std::int64_t words) {
  RankTiming& from = timings_[owners_[ordinal]];
  from.words_sent += words;
  ++from.messages;
  timings_[to].words_received += words;
}

}  // namespace cyclotron::runtime::simulator
