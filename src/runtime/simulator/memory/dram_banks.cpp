#include "dram_banks.hpp"

#include <algorithm>

#include <cyclotron/support/division.hpp>

#include "../../engine/control.hpp"

namespace cyclotron::runtime::simulator {
namespace {

// Addresses are in bytes, and wrap round: tensors that no memory holds have times, too.
using Address = std::uint64_t;

Address size_of(const program::Tensor& tensor) {
  Address result = operators::size_bytes(tensor.dtype);
  for (const std::int64_t extent : tensor.shape) result *= static_cast<Address>(extent);
  return result;
}

}  // namespace

DramBanks::DramBanks(const program::Program& program, const machine::Memory& memory)
    : program_(&program), memory_(&memory), dram_(&*memory.dram), due_(dram_->interval_cycles) {
  const auto row_bytes = static_cast<Address>(dram_->row_bytes);
  Address row = 0;
  for (const auto& tensor : program.tensors) {
    first_row_.push_back(row);
    const Address bytes = size_of(tensor);
    row += bytes / row_bytes + (bytes % row_bytes > 0 ? 1 : 0);
  }
}

std::vector<RowRun> DramBanks::rows(const Code& code, const Step& step, const std::int64_t* variables) const {
  const program::Tensor& tensor = program_->tensors[step.tensor];
  const auto dimensions = tensor.shape.size();
  const auto row_bytes = static_cast<Address>(dram_->row_bytes);
  const Address element = operators::size_bytes(tensor.dtype);
  std::vector<std::int64_t> first(dimensions), last(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    const auto at = evaluate(code, code.forms[step.operands.first + d], variables);
    const std::int64_t tiles = ceil_divide(tensor.shape[d], tensor.tile[d]);
    // Of an index outside the tensor, where the PE will fail, any.
    const auto tile = std::clamp<std::int64_t>(at, 0, std::max<std::int64_t>(0, tiles - 1));
    first[d] = tile * tensor.tile[d];
    last[d] = std::max(first[d] + 1, std::min(first[d] + tensor.tile[d], tensor.shape[d]));
  }
  std::vector<RowRun> result;
  const auto add = [&](std::uint64_t row, std::int64_t words) {
    if (result.empty() || result.back().row != row) result.push_back({row, 0});
    result.back().words += words;
  };
  const std::int64_t line = dimensions == 0 ? 1 : last.back() - first.back();
  for (auto at = first;;) {
    Address place = 0;
    for (std::size_t d = 0; d < dimensions; ++d)
      place = place * static_cast<Address>(tensor.shape[d]) + static_cast<Address>(at[d]);
    for (std::int64_t done = 0; done < line;) {
      const Address byte = (place + static_cast<Address>(done)) * element;
      const Address room = (row_bytes - byte % row_bytes + element - 1) / element;  // its first byte counts
      const auto words = static_cast<std::int64_t>(std::min(room, static_cast<Address>(line - done)));
      add(first_row_[step.tensor] + byte / row_bytes, words);
      done += words;
    }
    std::size_t d = dimensions == 0 ? 0 : dimensions - 1;
    while (d-- > 0) {
      if (++at[d] < last[d]) break;
      at[d] = first[d];
    }
    if (d >= dimensions) return result;
  }
}

/// The bank of a row, if any row of it is open.
const DramBanks::Bank* DramBanks::open_bank(std::uint64_t row) const {
  const auto found = banks_.find(row % static_cast<std::uint64_t>(dram_->banks));
  return found == banks_.end() ? nullptr : &found->second;
}

/// The cycle in which a row is opened that is not open.
std::int64_t DramBanks::opened(std::uint64_t row, std::int64_t known) const {
  const Bank* other = open_bank(row);
  return other == nullptr ? std::max(known, refreshed_)
                          : std::max(known, other->closes_from) + dram_->precharge_cycles;
}

/// Closes all rows, once they may, and refreshes all banks.
void DramBanks::refresh() {
  std::int64_t begin = std::max(due_, refreshed_);
  for (const auto& [number, bank] : banks_) begin = std::max(begin, bank.closes_from);
  refreshed_ = begin + (banks_.empty() ? 0 : dram_->precharge_cycles) + dram_->refresh_cycles;
  banks_.clear();
  due_ += dram_->interval_cycles;
}

DramBanks::Passage DramBanks::pass(const std::vector<RowRun>& runs, std::int64_t known, std::int64_t from,
                                   bool stores) {
  if (has_passed_ && stores != stored_) from = std::max(from, free_ + dram_->turnaround_cycles);
  has_passed_ = true;
  stored_ = stores;
  Passage result;
  for (const auto& [row, words] : runs) {
    const auto number = row % static_cast<std::uint64_t>(dram_->banks);
    const auto first_word = [&] {
      const Bank* bank = open_bank(row);
      const bool is_open = bank != nullptr && bank->row == row;
      return std::max(from, is_open ? bank->columns_from : opened(row, known) + dram_->activate_cycles);
    };
    std::int64_t first = first_word();
    while (dram_->interval_cycles > 0 && due_ <= first) {
      refresh();
      // Those of idle banks leave nothing behind but the last.
      const std::int64_t idle = (first - due_) / dram_->interval_cycles - 1;
      if (idle > 0 && refreshed_ <= due_) due_ += idle * dram_->interval_cycles;
      first = first_word();
    }
    if (const Bank* other = open_bank(row); other == nullptr || other->row != row) {
      const std::int64_t at = opened(row, known);
      banks_[number] = {
          .row = row, .columns_from = at + dram_->activate_cycles, .closes_from = at + dram_->open_cycles};
    }
    Bank& bank = banks_[number];
    const std::int64_t cycles = ceil_divide(words, memory_->bandwidth_words_per_cycle);
    free_ = from = first + cycles;
    bank.closes_from = std::max(bank.closes_from, free_ + (stores ? dram_->recovery_cycles : 0));
    result.busy += cycles;
  }
  result.end = free_;
  return result;
}

}  // namespace cyclotron::runtime::simulator
