#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <cyclotron/poly/set.hpp>

namespace cyclotron::mapping {

/// Sets of one coordinate, and the disjoint parts into which they cut it.
class Cuts {
 public:
  /// The number of the set, or of an equal one.
  std::size_t add(poly::Set set);
  void cut();

  [[nodiscard]] std::size_t size() const { return parts_.size(); }  ///< Parts.
  [[nodiscard]] bool has(std::size_t set, std::size_t part) const { return parts_[part].in[set]; }
  [[nodiscard]] poly::Set join(const std::vector<bool>& chosen) const;

 private:
  struct Part {
    poly::Set set;
    std::vector<bool> in;  ///< By set.
  };

  using Ends = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;
  std::map<Ends, std::vector<std::size_t>> by_ends_;  ///< Sets with others are not compared.
  std::vector<poly::Set> sets_;
  std::vector<Part> parts_;
};

/// Sets of PEs as sets of cells of the grid: boxes, and sets that are some boxes, cut each of its dimensions into a few
/// parts. Where many sets are, it tells without isl which of them have PEs in common.
class Cells {
 public:
  /// PEs that lie in the same sets.
  struct Part {
    poly::Set region;
    std::vector<std::size_t> sets;  ///< Ascending.
  };

  explicit Cells(const std::vector<poly::Set>& sets);

  /// True where the set is some of the cells; of none where the cells would be too many.
  [[nodiscard]] bool have(std::size_t set) const { return !boxes_[set].empty(); }

  /// Of all PEs, those that lie in the same sets, as far as these are some of the cells.
  [[nodiscard]] std::vector<Part> parts(const poly::Set& all) const;

 private:
  using Mask = std::vector<bool>;  ///< Of cells, or of parts of one dimension.
  using Slabs = std::map<std::pair<std::size_t, Mask>, poly::Set>;  ///< By dimension and parts.

  [[nodiscard]] std::vector<poly::Set> boxes(const Mask& cells, std::size_t dimensions, Slabs& slabs) const;
  [[nodiscard]] const poly::Set& slab(std::size_t dimension, const Mask& chosen, Slabs& slabs) const;

  std::optional<poly::Set> universe_;
  std::vector<Cuts> cuts_;  ///< By dimension.
  std::vector<std::vector<std::vector<std::size_t>>>
      boxes_;  ///< By set, its boxes; their sets of each dimension's cuts.
  std::size_t size_ = 0;
};

}  // namespace cyclotron::mapping
