// Banks of DRAM behind a port: rows that are opened, closed and refreshed (the rule is told by `simulate`).
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include <cyclotron/machine/memories.hpp>
#include <cyclotron/program/program.hpp>

#include "../../engine/code.hpp"

namespace cyclotron::runtime::simulator {

/// Words of a request that lie in one row, after each other.
struct RowRun {
  std::uint64_t row = 0;
  std::int64_t words = 0;
  bool operator==(const RowRun&) const = default;
};

class DramBanks {
 public:
  /// Requires: the memory has DRAM. Refers to both.
  DramBanks(const program::Program& program, const machine::Memory& memory);

  /// The rows of the tile that a LOAD or a STORE is about, in the order of its elements.
  [[nodiscard]] std::vector<RowRun> rows(const Code& code, const Step& step,
                                         const std::int64_t* variables) const;

  struct Passage {
    std::int64_t end = 0;   ///< After its last word.
    std::int64_t busy = 0;  ///< Cycles in which words pass.
  };
  /// Of a request that the memory has since `known`, and whose words may pass from `from` on.
  Passage pass(const std::vector<RowRun>& runs, std::int64_t known, std::int64_t from, bool stores);

 private:
  /// A bank with an open row.
  struct Bank {
    std::uint64_t row = 0;
    std::int64_t columns_from = 0;  ///< First words of its row.
    std::int64_t closes_from = 0;
  };
  [[nodiscard]] const Bank* open_bank(std::uint64_t row) const;
  [[nodiscard]] std::int64_t opened(std::uint64_t row, std::int64_t known) const;
  void refresh();

  const program::Program* program_;
  const machine::Memory* memory_;
  const machine::Dram* dram_;
  std::vector<std::uint64_t> first_row_;  // By tensor.
  std::map<std::uint64_t, Bank> banks_;   // Those with an open row, by number.
  std::int64_t refreshed_ = 0;            // Rows are opened from then on.
  std::int64_t free_ = 0;                 // After the last word.
  std::int64_t due_;                      // The next refresh.
  bool has_passed_ = false, stored_ = false;
};

}  // namespace cyclotron::runtime::simulator
