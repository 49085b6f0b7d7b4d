// Messages that are made in one step and used in a later one.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// A receive, the send it induces, and how many steps that all PEs take together lie between, by loop of time.
struct LateMessage {
  std::size_t receive, send;         ///< Statements.
  std::vector<poly::Affine> later;   ///< At the receiver's point.
  std::vector<poly::Affine> sender;  ///< Its point in the step that receives.
  std::vector<poly::Affine> made;    ///< At that point: where the value comes from.
};
/// All such messages into one flow over the same link.
using Wire = std::vector<LateMessage>;

/// The late messages of all links, but for links with one whose points are no single forms.
/// Requires: order_steps; each kind of message on a channel of its own.
[[nodiscard]] std::vector<Wire> late_messages(const Mapping& mapping);

/// The outermost loop in which any steps lie between.
[[nodiscard]] std::optional<std::size_t> outermost_loop(const LateMessage& message);
/// True where the same number of steps lies between everywhere.
[[nodiscard]] bool has_constant_delay(const LateMessage& message);

}  // namespace cyclotron::mapping
