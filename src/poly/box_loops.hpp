// Private to this folder: loops through boxes, without isl.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include <cyclotron/poly/loops.hpp>

namespace cyclotron::poly::detail {

/// Makes the nest of statements over the parameters and so many times, whatever their domains are.
using NestMaker = std::function<Node(const std::vector<Set>& statements, std::size_t times)>;

struct BoxNest {
  Node node;
  bool is_plain = true;  ///< Of boxes alone, so that it holds whatever the parameters are.
};

/// The nest of statements whose times lie in a few boxes each: they run between constants, whatever the
/// parameters, in every coordinate by itself. Each coordinate is cut where a statement begins or ends, so that no guard
/// is left: what isl does with its option `separate`, at a fraction of the effort. Where statements are in no boxes,
/// `other` makes the nests of as few of them, and in as few coordinates, as can be: of those that do not end before others
/// begin, within the loops of coordinates that nothing else depends on. Nothing where that leaves all to it.
[[nodiscard]] std::optional<BoxNest> box_nest(const std::vector<Set>& statements, const Set& parameters,
                                              std::size_t times, const NestMaker& other);

}  // namespace cyclotron::poly::detail
