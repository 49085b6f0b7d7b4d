// Procedures of a class's code, which a controller has PEs call (MA-011, MA-023).
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

/// Tells whether an instruction opens a block.
[[nodiscard]] inline bool opens(const Action& action) {
  return std::holds_alternative<Loop>(action) || std::holds_alternative<If>(action);
}

/// The text that PEs set up at once: a line of the kernel's text, or a `with cy.fuse():`, which has a number and no file.
using Unit = std::pair<std::string, int>;
[[nodiscard]] inline Unit unit_of(const Span& span) {
  return span.block > 0 ? Unit{"", span.block} : Unit{span.file, span.line};
}

/// Instructions [first, end) of a class that a PE sets up once: nests of loops, and straight-line code, one after the
/// other, that are of a common unit. What the compiler fused is one, and so is what it split.
struct Procedure {
  std::size_t first = 0;
  std::size_t end = 0;
  bool operator==(const Procedure&) const = default;
};

/// In the order of the code; those in a loop that may end early are of its iterations. Requires: the code is verified.
[[nodiscard]] std::vector<Procedure> procedures(const PeClass& pe_class);

/// Tells whether a controller has PEs call them: there is one, and a loop whose end depends on data.
[[nodiscard]] bool uses_controller(const Program& program);

}  // namespace cyclotron::program
