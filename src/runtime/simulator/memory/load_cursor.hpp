// The LOADs of a PE in the order of its program, without the rest: what a memory can know ahead of the PE.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <cyclotron/program/program.hpp>

#include "../../engine/code.hpp"
#include "dram_banks.hpp"

namespace cyclotron::runtime::simulator {

/// The loops, branches and LOADs of a class; loops and branches without a LOAD are left out.
struct LoadSlice {
  const program::Program* program = nullptr;
  const Code* code = nullptr;          ///< For its forms.
  std::vector<Step> steps;             ///< Ends with `halt`; targets are in here.
  std::vector<std::uint64_t> uniform;  ///< By step: a bit for each loop around, as of `TimedOp`.
  std::vector<std::uint32_t> levels;   ///< By step: loops around it.
  std::vector<std::int64_t> words;     ///< By step: of a load, where all its tiles have one size; else 0.
};

/// Refers to both.
[[nodiscard]] LoadSlice slice_loads(const program::Program& program, const Code& code);

class LoadCursor {
 public:
  /// Of the PE at these coordinates. Refers to the slice.
  LoadCursor(const LoadSlice& slice, const std::vector<std::int64_t>& coordinates);

  /// The words of the next LOAD; nullopt after the last.
  std::optional<std::int64_t> next();
  /// The rows of that. Requires: there was one.
  [[nodiscard]] std::vector<RowRun> rows(const DramBanks& dram) const {
    return dram.rows(*slice_->code, slice_->steps[counter_ - 1], variables_.data());
  }

  /// Number of times that it will go on as it has since `then`: by whole iterations of a loop, which take the
  /// same steps; 0: it need not.
  [[nodiscard]] std::int64_t repeats(const LoadCursor& then) const;
  /// Goes on like that so many times. Requires: times <= repeats(then).
  void skip(const LoadCursor& then, std::int64_t times);

 private:
  [[nodiscard]] std::int64_t words(const Step& step) const;

  const LoadSlice* slice_;
  std::uint32_t counter_ = 0;
  std::vector<std::int64_t> variables_;  // Coordinates, then loop variables.
  std::vector<std::int64_t> limits_;     // Last value of each variable's loop.
};

}  // namespace cyclotron::runtime::simulator
