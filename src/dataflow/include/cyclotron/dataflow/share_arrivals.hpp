// Values that points of a PE use one after the other: they come into the PE once.
#pragma once
#include <optional>

#include <cyclotron/dataflow/place.hpp>

namespace cyclotron::dataflow {

/// Lets uses of a computed value in another PE take it from the earliest of them there, or from a relay where several
/// are the earliest. Nothing is received at another time than before: dependences stay in their PE or stay as they are,
/// and no order of the steps in which all advance becomes impossible.
///
/// `later`: uses in later steps than that in which a value is made hand it on, too; else they only take it from uses
/// before, and leave the others to `share_links`, which needs shorter queues.
/// Requires: verify(placed.graph). Ensures: verify(result->graph). Nothing where nothing is shared.
[[nodiscard]] std::optional<Placed> share_arrivals(const Placed& placed, bool later);

}  // namespace cyclotron::dataflow
