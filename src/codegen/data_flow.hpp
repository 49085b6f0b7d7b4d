// Private to this folder: which instructions of a class read what others write.
#pragma once
#include <cstddef>
#include <set>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

using Places = std::set<std::size_t>;  ///< Instructions of a class.

/// The END of the block that an instruction opens.
[[nodiscard]] std::size_t block_end(const std::vector<program::Instruction>& code, std::size_t begin);

/// A value that stays where it is.
[[nodiscard]] bool is_in_place(const program::Action& action);

/// The place that an instruction writes a value to; null where it writes none.
[[nodiscard]] const program::SlotRef* destination(const program::Action& action);

[[nodiscard]] bool is_scalar(const program::PeClass& pe_class, const program::SlotRef& ref);

/// A copy of a scalar, or of a number, which takes no time.
[[nodiscard]] bool is_copy(const program::PeClass& pe_class, const program::Action& action);

/// The instructions that read what an instruction writes, and those that wrote what it reads, through copies; of a copy, those
/// that read it or copies of it. Refers to the class.
class DataFlow {
 public:
  explicit DataFlow(const program::PeClass& pe_class);

 private:
  using State = std::vector<Places>;  // By slot: who may have written it last.

  [[nodiscard]] Places through_copies(const std::vector<Places>& direct, const Places& from) const;
  void walk(std::size_t at, std::size_t end, State& state);
  void look(std::size_t at, State& state);

  const program::PeClass& class_;

 public:
  std::vector<Places> readers, writers;  ///< By instruction.
};

}  // namespace cyclotron::codegen
