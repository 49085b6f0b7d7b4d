// Private to this folder: messages that are made in one step and used in a later one, and what links have room for.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping::detail {

/// A receive, the send it induces, and how many steps that all PEs take together lie between, by loop of time.
struct LateMessage {
  std::size_t receive, send;         ///< Statements.
  std::vector<poly::Affine> later;   ///< At the receiver's point.
  std::vector<poly::Affine> sender;  ///< Its point in the step that receives.
  std::vector<poly::Affine> made;    ///< At that point: where the value comes from.
};
/// All such messages into one flow over the same link.
using Wire = std::vector<LateMessage>;

/// The outermost loop in which any steps lie between.
[[nodiscard]] std::optional<std::size_t> outermost_loop(const LateMessage& message);
[[nodiscard]] bool is_constant(const LateMessage& message);
/// Whether channels into one flow lead over the same link.
[[nodiscard]] bool is_same_wire(const Channel& a, const Channel& b);

/// Whether PEs that send what they make at once may wait for each other in a circle, where links are as deep as the
/// machine's.
[[nodiscard]] bool may_wait_in_a_circle(const Mapping& mapping, const machine::Machine& machine,
                                        const std::vector<Wire>& wires);

}  // namespace cyclotron::mapping::detail
