// Checks that every host makes before a tile enters a channel.
#pragma once
#include <string>

#include "pe_array.hpp"

namespace cyclotron::runtime {

/// Throws KernelFailure CYC704 where the tile is larger than the channel's messages (its buffers have their
/// size).
inline void require_fits(const program::Channel& channel, TileSize size) {
  if (size.rows <= channel.tile.rows && size.columns <= channel.tile.columns) return;
  throw KernelFailure{"CYC704",
                      "a " + std::to_string(size.rows) + "x" + std::to_string(size.columns) +
                          " tile does not fit channel `" + channel.name + "`",
                      "compile the kernel again"};
}

/// KernelFailure CYC706: a send over the edge of the grid.
[[noreturn]] inline void no_neighbour(const program::Channel& channel) {
  throw KernelFailure{"CYC706", "a send on `" + channel.name + "` leaves the grid",
                      "compile the kernel again"};
}

/// Throws KernelFailure CYC706 where a network along a grid dimension has no PE at the coordinate.
inline void require_on_line(const program::Program& program, std::uint32_t axis, std::int64_t coordinate) {
  if (coordinate >= 0 && coordinate < program.line_extent(axis)) return;
  throw KernelFailure{"CYC706",
                      "a network along grid dimension " + std::to_string(axis) + " has no PE at " +
                          std::to_string(coordinate),
                      "compile the kernel again"};
}

/// Bytes of the largest message of a channel.
[[nodiscard]] inline std::size_t message_bytes(const program::Channel& channel) {
  return static_cast<std::size_t>(channel.tile.rows * channel.tile.columns) *
         operators::size_bytes(channel.dtype);
}

}  // namespace cyclotron::runtime
