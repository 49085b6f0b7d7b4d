// Schedule trees: isl's scheduler and AST generator on the statements of a loop nest.
#pragma once
#include <string>
#include <vector>

#include <cyclotron/poly/set.hpp>

namespace cyclotron::poly {

/// A loop nest as a tree of domain, sequence, filter and band nodes, and what it generates.
struct ScheduleTree {
  std::string tree;  ///< isl's notation (YAML).
  std::string code;  ///< C, one call for a statement.
};

/// The tree of isl's scheduler for statements with these domains, in isl's notation: `validity` is kept,
/// loops without a dependence of `validity` are coincident (parallel), and the ends of `proximity` come close.
[[nodiscard]] ScheduleTree schedule_tree(const Context& context, const std::vector<std::string>& domains,
                                         const std::vector<std::string>& validity,
                                         const std::vector<std::string>& proximity);

}  // namespace cyclotron::poly
