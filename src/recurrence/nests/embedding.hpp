// Private to this folder: statements of a nest in one coordinate system, in which time runs forward.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/recurrence/nest.hpp>

#include "last_writes.hpp"

namespace cyclotron::recurrence::detail {

/// A statement's new indices.
struct Embedded {
  std::vector<std::string> names;  ///< Loops, what comes first within them, and places beside others' loops.
  std::vector<std::optional<std::size_t>> loop;  ///< The loop that an index is; none where others fix it.
  std::vector<poly::Affine> point;               ///< The old indices in terms of the new ones.
  std::vector<poly::Affine> coordinates;         ///< The new ones in terms of the old ones.
};

/// Finds indices in whose lexicographic order every value is made before it is read. Each loop becomes an
/// index of its name; loops of one name share it where their directions and nesting allow. Where what a loop
/// holds must run one after the other, there is one more index that says which comes first.
class Embedding {
 public:
  /// `reads`: of each statement. Only statements in `live` count; what `copies` make is always there.
  Embedding(const Nest& nest, const LastWrites& writes, const std::vector<std::vector<Read>>& reads,
            std::vector<bool> live, std::vector<bool> copies);
  [[nodiscard]] const Embedded& of(std::size_t statement) const { return statements_.at(statement); }
  /// The new name of the index of a reduction.
  [[nodiscard]] const std::string& of(ExprId reduction) const { return reduction_names_.at(reduction); }
  /// The new names at an expression of a statement: its indices, then those of the reductions around.
  [[nodiscard]] std::vector<std::string> names(std::size_t statement, const Scope& scope) const;

 private:
  using Loop = std::vector<std::int64_t>;  ///< Text positions down to the loop.
  [[nodiscard]] Loop loop_of(std::size_t statement, std::size_t depth) const;
  [[nodiscard]] std::vector<ExprId> reductions(std::size_t statement) const;
  [[nodiscard]] std::vector<std::string> nest_of(std::size_t statement) const;
  [[nodiscard]] std::string unused(const std::string& name) const;
  [[nodiscard]] std::string fitting(std::size_t statement, const std::string& name, bool descending) const;
  [[nodiscard]] bool is_mirrored(std::size_t statement, std::size_t depth) const;
  void name_loops(std::size_t statement);
  void name_reductions(std::size_t statement);
  [[nodiscard]] std::string name_of_reduction(std::size_t statement, const std::string& index);
  void name_orders();
  [[nodiscard]] std::vector<std::string> order_of(std::vector<std::vector<std::string>> nests) const;
  void embed();
  [[nodiscard]] Embedded embedded(std::size_t statement) const;
  void pin(std::size_t statement, const std::vector<std::string>& order);
  void invert(Embedded& embedded, std::size_t statement) const;
  [[nodiscard]] std::optional<poly::Affine> beside(std::size_t statement, const std::string& name) const;
  [[nodiscard]] bool add_orders(const std::vector<std::vector<Read>>& reads);
  [[nodiscard]] std::optional<std::string> goes_back(const std::vector<std::string>& order,
                                                     std::size_t reader, const Read& read,
                                                     const Source& source) const;

  const Nest& nest_;
  const LastWrites& writes_;
  std::vector<bool> live_, copies_;
  std::map<std::string, bool> directions_;       ///< Of named loops: whether they count down.
  std::vector<std::vector<std::string>> nests_;  ///< Names so far, outermost first, of each statement.
  std::vector<std::vector<std::string>>
      turned_;                   ///< Names of loops after which others of the text's name come.
  std::set<std::string> taken_;  ///< Names of indices.
  std::map<Loop, std::string> loop_names_;
  std::map<ExprId, std::string> reduction_names_;
  std::set<ExprId> outer_sums_;  ///< Over indices that elsewhere are around those of their statements.
  std::map<std::string, std::int64_t> ends_;  ///< Of names of descending loops: the largest index.
  std::map<Loop, std::string> order_names_;   ///< By loop, the empty one around all.
  std::set<Loop> ordered_;                    ///< Loops whose contents run one after the other.
  /// Statements, and the indices of the loops that they do not stand beside, since those run otherwise.
  std::set<std::pair<std::size_t, std::string>> unpinned_;
  std::vector<Embedded> statements_;
};

}  // namespace cyclotron::recurrence::detail
