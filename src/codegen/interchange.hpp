// Exchanges a loop with the one that alone it holds.
#pragma once
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "code_tree.hpp"

namespace cyclotron::codegen {

/// A loop over `variable` that holds another one alone, with that around it: each element that the inner one goes through gets
/// all that it gets, in order, before the next. None where that could be seen: what is inside only moves and computes, into
/// slots of `local` and into elements that are other ones in each iteration of the inner loops.
[[nodiscard]] std::optional<Node> interchanged(const Node& loop, std::size_t variable,
                                               const std::set<std::size_t>& local);

/// A loop over `variable` as two, one after the other: of what it does first, and of the loop that ends it. None where
/// that could be seen: the second reads of what the first writes the elements of its own iteration alone, and writes
/// nothing that the first uses, but for slots of `local`; it neither sends nor receives.
[[nodiscard]] std::optional<std::pair<Node, Node>> distributed(const Node& loop, std::size_t variable,
                                                               const std::set<std::size_t>& local);

}  // namespace cyclotron::codegen
