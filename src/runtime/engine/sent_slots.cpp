#include "sent_slots.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cyclotron::runtime {

void mark_sent_slots(Code& code) {
  std::vector<bool> sent;
  for (const auto& place : code.places) sent.resize(std::max<std::size_t>(sent.size(), place.slot + 1));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> moves;
  for (const auto& step : code.steps) {
    if (step.kind == Step::Kind::send || step.kind == Step::Kind::broadcast)
      sent[code.places[step.place].slot] = true;
    if (step.kind != Step::Kind::move) continue;
    const Source& source = code.sources[step.operands.first];
    if (!source.constant) moves.emplace_back(code.places[source.index].slot, code.places[step.place].slot);
  }
  for (bool changed = true; std::exchange(changed, false);) {
    for (const auto& [from, to] : moves) {
      if (!sent[to] || sent[from]) continue;
      sent[from] = changed = true;
    }
  }
  for (auto& place : code.places) place.sent = sent[place.slot];
}

}  // namespace cyclotron::runtime
