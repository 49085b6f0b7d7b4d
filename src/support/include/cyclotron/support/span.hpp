// A place in the user's Python source that something came from.
#pragma once
#include <compare>
#include <string>

namespace cyclotron {

/// A range of source text, lines from 1, columns from 0 (as in Python's `ast`). Line 0: no known place. What a kernel
/// records in a `with cy.fuse():` has the number of that block, from 1.
struct Span {
  std::string file;
  int line = 0;
  int column = 0;
  int end_line = 0;
  int end_column = 0;
  int block = 0;

  auto operator<=>(const Span&) const = default;
  [[nodiscard]] bool known() const { return line > 0; }
};

}  // namespace cyclotron
