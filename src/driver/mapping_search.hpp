// Private to this folder: the ways to map one placed dataflow, tried in turn.
#pragma once
#include <vector>

#include <cyclotron/codegen/generate.hpp>
#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/dataflow/place.hpp>
#include <cyclotron/dataflow/share_links.hpp>
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/mapping/mapping.hpp>
#include <cyclotron/program/program.hpp>
#include <cyclotron/support/refusal.hpp>

namespace cyclotron::driver {

/// The same points with values that come into each PE once and pass each link once. `operands`: on long ways, those of partial
/// sums go, too.
[[nodiscard]] dataflow::Shared share_links(const dataflow::Placed& placed, const machine::Machine& machine,
                                           dataflow::Relays relays, bool operands);

/// A mapping, and the dataflow that it maps.
struct Mapped {
  dataflow::Placed placed;
  mapping::Mapping mapping;
  bool verified = false;     ///< Its placed graph.
  bool distributed = false;  ///< Loops of a step, which so keep their values of all iterations.
};

/// Maps; where values of one step are needed before they are made, with the step's innermost loops that allow
/// it distributed: one part of their points after the other. `shared` is share_links(placed), or its refusal.
[[nodiscard]] Expected<Mapped, Refusal> map_in_parts(const dataflow::Placed& placed,
                                                     Expected<dataflow::Shared, Refusal> shared,
                                                     const machine::Machine& machine, dataflow::Relays relays,
                                                     bool operands);

/// The mapping's program. Where a PE has fewer channels than it needs, kinds of message take turns on them, and the
/// mapping becomes theirs. `holds_data`: with the global data on the executive, where the channels allow it.
[[nodiscard]] program::Program generate_within_channels(mapping::Mapping& mapping,
                                                        const machine::Machine& machine,
                                                        const std::vector<codegen::ExitFlag>& flags,
                                                        bool holds_data);

}  // namespace cyclotron::driver
