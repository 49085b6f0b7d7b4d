#include "sent_slots.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cyclotron::runtime {

void mark_sent_slots(Code& code) {
  std::vector<bool> sent;
  for (const auto& access : code.accesses) sent.resize(std::max<std::size_t>(sent.size(), access.slot + 1));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> moves;
  for (const auto& step : code.steps) {
    if (step.kind == Step::Kind::send || step.kind == Step::Kind::broadcast)
      sent[code.accesses[step.access].slot] = true;
    if (step.kind != Step::Kind::move) continue;
    const Source& source = code.sources[step.operands.first];
    if (!source.constant)
      moves.emplace_back(code.accesses[source.index].slot, code.accesses[step.access].slot);
  }
  for (bool changed = true; std::exchange(changed, false);) {
    for (const auto& [from, to] : moves) {
      if (!sent[to] || sent[from]) continue;
      sent[from] = changed = true;
    }
  }
  for (auto& access : code.accesses) access.sent = sent[access.slot];
}

}  // namespace cyclotron::runtime
