// Links of PEs that run in lockstep: the messages of all PEs of a group at once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "groups.hpp"

namespace cyclotron::runtime {

struct LockstepWires {
  static constexpr std::uint32_t none = 0xffffffffU;

  /// Port by which the PEs of a group send: their n-th messages stand side by side.
  struct Stream {
    std::uint32_t group = 0, port = 0;
    std::size_t unread = 0;                ///< PEs whose messages no PE receives.
    std::vector<std::uint32_t> readers{};  ///< Inlets.
    std::int64_t sent = 0;
  };
  /// Port by which they receive, from one group or several.
  struct Inlet {
    /// PEs side by side in both groups.
    struct Piece {
      std::uint32_t stream = 0;
      std::uint32_t from = 0, to = 0, count = 0;
    };
    std::vector<Piece> pieces;
    std::vector<std::uint32_t> streams;
    std::int64_t received = 0;
  };

  /// `code(group)`: of its PEs. `queue(pe, port)`: the number of a link below `queues`, or `none`.
  LockstepWires(const LockstepGroups& groups, std::size_t queues,
                const std::function<const Code&(std::uint32_t)>& code,
                const std::function<std::uint32_t(std::uint32_t, std::size_t)>& queue);

  /// The message that a stream sent first of those that some PE has not received.
  [[nodiscard]] std::int64_t first_left(const Stream& stream) const {
    std::int64_t result = stream.sent;
    for (const std::uint32_t reader : stream.readers) result = std::min(result, inlets[reader].received);
    return result;
  }
  /// True where all messages for the next receive are there.
  [[nodiscard]] bool has_messages(const Inlet& inlet) const {
    return std::ranges::all_of(inlet.streams,
                               [&](std::uint32_t stream) { return streams[stream].sent > inlet.received; });
  }

  std::vector<Stream> streams;
  std::vector<Inlet> inlets;
  /// By group and port: its stream or inlet; none where some of its PEs have no link.
  std::vector<std::vector<std::uint32_t>> ports;
};

}  // namespace cyclotron::runtime
