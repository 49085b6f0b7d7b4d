#include "sequential.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <cyclotron/recurrence/early_exit.hpp>

namespace cyclotron::schedule {

namespace {

using recurrence::Equation;
using recurrence::System;
using Names = std::vector<std::string>;

/// The index that a subscript is, a constant aside.
const std::string* index_of(const recurrence::Affine& form, const Names& scope) {
  const std::string* found = nullptr;
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] == 0) continue;
    if (found != nullptr || form.coefficients[v] != 1 || v >= scope.size()) return nullptr;
    found = &scope[v];
  }
  return found;
}

bool is_constant(const recurrence::Affine& form) {
  return std::ranges::all_of(form.coefficients, [](auto factor) { return factor == 0; });
}

/// The one value of an index that the domain says it has.
std::optional<std::int64_t> only_value(const recurrence::Region& domain, std::size_t variable) {
  std::optional<std::int64_t> result;
  for (const auto& conjunction : domain) {
    std::optional<std::int64_t> here;
    for (const auto& constraint : conjunction) {
      const auto& factors = constraint.form.coefficients;
      if (!constraint.equality || variable >= factors.size() || std::abs(factors[variable]) != 1) continue;
      if (std::ranges::count_if(factors, [](auto factor) { return factor != 0; }) == 1)
        here = -constraint.form.constant * factors[variable];
    }
    if (!here || (result && result != here)) return std::nullopt;
    result = here;
  }
  return result;
}

class SequentialLoops {
 public:
  explicit SequentialLoops(const System& system) : system_(system) {
    for (const auto& exit : recurrence::early_exits(system)) {
      result_.exits.insert(exit.index);
      for (const auto& [index, offset] : exit.around) result_.rows.insert(index);
    }
    for (const auto& equation : system.equations) writers_[equation.target].push_back(&equation);
    each_read([&](const Equation& reader, const recurrence::Access& access, const Names& scope) {
      read_by_[reader.target].push_back({&reader, &access, scope});
    });
    each_read([&](const Equation& reader, const recurrence::Access& access, const Names& scope) {
      const auto writers = writers_.find(access.tensor);
      if (writers == writers_.end()) return;
      for (const auto* writer : writers->second) find_carried(*writer, {&reader, &access, scope});
    });
    each_read([&](const Equation& reader, const recurrence::Access& access, const Names& scope) {
      find_whole({&reader, &access, scope});
    });
  }

  [[nodiscard]] SequentialIndices take() && { return std::move(result_); }

 private:
  template <typename Visit>
  void each_read(const Visit& visit) const {
    for (const auto& equation : system_.equations) {
      auto scope = equation.indices;
      each_read(equation, equation.expr, scope, visit);
    }
  }

  template <typename Visit>
  void each_read(const Equation& reader, recurrence::ExprId id, Names& scope, const Visit& visit) const {
    const auto& node = system_.at(id).node;
    if (const auto* apply = std::get_if<recurrence::Apply>(&node)) {
      for (const auto operand : apply->operands) each_read(reader, operand, scope, visit);
    } else if (const auto* reduce = std::get_if<recurrence::Reduce>(&node)) {
      scope.push_back(reduce->index);
      each_read(reader, reduce->body, scope, visit);
      scope.pop_back();
    } else if (const auto* access = std::get_if<recurrence::Access>(&node)) {
      visit(reader, *access, scope);
    }
  }

  struct Read {
    const Equation* reader;
    const recurrence::Access* access;
    Names scope;
  };

  /// True where a tensor is computed from another, which may be itself, within one iteration of some loops.
  [[nodiscard]] bool depends(recurrence::TensorId tensor, recurrence::TensorId other,
                             std::span<const std::string> loops) const {
    std::set<recurrence::TensorId> seen{tensor};
    for (std::vector todo{tensor}; !todo.empty();) {
      const auto at = todo.back();
      todo.pop_back();
      if (at == other) return true;
      const auto reads = read_by_.find(at);
      if (reads == read_by_.end()) continue;
      for (const auto& read : reads->second) {
        if (!seen.contains(read.access->tensor) && may_be_in_one(read, loops)) {
          seen.insert(read.access->tensor);
          todo.push_back(read.access->tensor);
        }
      }
    }
    return false;
  }

  /// True where a value may be read in the iteration of the loops that makes it.
  [[nodiscard]] bool may_be_in_one(const Read& read, std::span<const std::string> loops) const {
    const auto writers = writers_.find(read.access->tensor);
    if (writers == writers_.end()) return false;
    return std::ranges::any_of(writers->second, [&](const Equation* writer) {
      return std::ranges::none_of(loops, [&](const std::string& index) {
        const auto place = std::ranges::find(read.reader->indices, index);
        if (place == read.reader->indices.end()) return false;
        const auto v = static_cast<std::size_t>(place - read.reader->indices.begin());
        for (std::size_t d = 0; d < read.access->index.size(); ++d) {
          const auto back = iterations_back(*writer, read, v, d);
          if (back && back->value_or(0) != 0) return true;
        }
        return false;
      });
    });
  }

  /// Number of iterations of the reader's loop between writing and reading, by what one subscript says: none where it
  /// is not that loop's; within, none where it does not tell.
  [[nodiscard]] static std::optional<std::optional<std::int64_t>> iterations_back(const Equation& writer,
                                                                                  const Read& read,
                                                                                  std::size_t loop,
                                                                                  std::size_t subscript) {
    const auto& index = read.reader->indices[loop];
    const auto &to = writer.index[subscript], &from = read.access->index[subscript];
    const auto* written = index_of(to, writer.indices);
    if (written == nullptr || *written != index) return std::nullopt;
    const auto own = is_constant(from) ? only_value(read.reader->domain, loop) : std::nullopt;
    if (own) return std::optional(*own + to.constant - from.constant);
    const auto* of = index_of(from, read.scope);
    if (of == nullptr || *of != index) return std::optional<std::int64_t>{};
    return std::optional(to.constant - from.constant);
  }

  /// An index is carried where a value is computed from that of another iteration of its loop, and the same of
  /// those around.
  void find_carried(const Equation& writer, const Read& read) {
    const auto& loops = read.reader->indices;
    for (std::size_t v = 0; v < loops.size(); ++v) {
      for (std::size_t d = 0; d < read.access->index.size(); ++d) {
        const auto back = iterations_back(writer, read, v, d);
        if (!back) continue;
        if (!*back) return;  // from any iteration, perhaps
        if (**back == 0) continue;
        if (!result_.carried.contains(loops[v]) &&
            depends(read.access->tensor, read.reader->target, std::span(loops).first(v)))
          result_.carried.insert(loops[v]);
        return;
      }
    }
  }

  /// An iteration needs all of the one before where its values go into a reduction that they are computed from.
  void find_whole(const Read& read) {
    const auto& loops = read.reader->indices;
    const auto is_reduced = [&](const recurrence::Affine& form) {
      const auto* index = index_of(form, read.scope);
      return index != nullptr && std::ranges::find(loops, *index) == loops.end();
    };
    if (!writers_.contains(read.access->tensor) || std::ranges::none_of(read.access->index, is_reduced))
      return;
    for (std::size_t v = 0; v < loops.size(); ++v) {
      const auto around = std::span(loops).first(v);
      if (result_.carried.contains(loops[v]) && may_be_in_one(read, around) &&
          depends(read.access->tensor, read.reader->target, around))
        result_.whole.insert(loops[v]);
    }
  }

  const System& system_;
  std::map<recurrence::TensorId, std::vector<const Equation*>> writers_;
  std::map<recurrence::TensorId, std::vector<Read>> read_by_;  ///< By target.
  SequentialIndices result_;
};

}  // namespace

SequentialIndices sequential_indices(const System& system) { return SequentialLoops(system).take(); }

}  // namespace cyclotron::schedule
