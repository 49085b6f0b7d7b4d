#include "wires.hpp"

#include <optional>

namespace cyclotron::runtime {

LockstepWires::LockstepWires(const LockstepGroups& groups, std::size_t queues,
                             const std::function<const Code&(std::uint32_t)>& code,
                             const std::function<std::uint32_t(std::uint32_t, std::size_t)>& queue) {
  struct End {
    std::uint32_t stream = none, at = 0;
  };
  std::vector<End> ends(queues);
  const auto each_port = [&](Port::Kind kind, const auto& use) {
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      const auto& all = code(g).ports;
      for (std::uint32_t p = 0; p < all.size(); ++p) {
        std::vector<std::uint32_t> links;
        if (all[p].kind != kind) continue;
        for (const std::uint32_t pe : groups[g]) links.push_back(queue(pe, p));
        if (std::ranges::find(links, none) == links.end()) use(g, p, links);
      }
    }
  };
  for (std::uint32_t g = 0; g < groups.size(); ++g) ports.emplace_back(code(g).ports.size(), none);
  each_port(Port::Kind::link_out, [&](std::uint32_t g, std::uint32_t p, const auto& links) {
    ports[g][p] = static_cast<std::uint32_t>(streams.size());
    streams.push_back({.group = g, .port = p, .unread = links.size()});
    for (std::uint32_t n = 0; n < links.size(); ++n) ends[links[n]] = {ports[g][p], n};
  });
  each_port(Port::Kind::link_in, [&](std::uint32_t g, std::uint32_t p, const auto& links) {
    const auto unsent = [&](std::uint32_t link) { return ends[link].stream == none; };
    if (std::ranges::any_of(links, unsent)) return;
    ports[g][p] = static_cast<std::uint32_t>(inlets.size());
    Inlet& inlet = inlets.emplace_back();
    for (std::uint32_t n = 0; n < links.size(); ++n) {
      const auto [stream, at] = ends[links[n]];
      --streams[stream].unread;
      if (std::ranges::find(inlet.streams, stream) == inlet.streams.end()) {
        inlet.streams.push_back(stream);
        streams[stream].readers.push_back(ports[g][p]);
      }
      const bool goes_on = !inlet.pieces.empty() && inlet.pieces.back().stream == stream &&
                           inlet.pieces.back().from + inlet.pieces.back().count == at;
      if (goes_on) {
        ++inlet.pieces.back().count;
      } else {
        inlet.pieces.push_back({.stream = stream, .from = at, .to = n, .count = 1});
      }
    }
  });
}

}  // namespace cyclotron::runtime
