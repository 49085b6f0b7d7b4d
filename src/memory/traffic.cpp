#include "traffic.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include <cyclotron/support/division.hpp>

namespace cyclotron::memory {
namespace {

using namespace program;

/// A loop or an if that is open.
struct OpenBlock {
  double runs;  ///< Of what is in it.
  bool is_loop;
};

class TrafficCount {
 public:
  TrafficCount(const Program& program, const PeClass& pe_class) : pe_class_(pe_class) {
    for (const std::int64_t extent : program.grid) environment_.push_back((extent - 1) / 2);
    result_.uses.resize(pe_class.slots.size());
    result_.together.resize(pe_class.slots.size());
  }

  Traffic run() {
    for (const Instruction& instruction : pe_class_.code) {
      if (const auto* loop = std::get_if<Loop>(&instruction.action)) {
        open(*loop);
      } else if (std::holds_alternative<If>(instruction.action)) {
        open_.push_back({runs(), false});
      } else if (std::holds_alternative<End>(instruction.action)) {
        if (open_.back().is_loop) environment_.pop_back();
        open_.pop_back();
      } else if (const auto* compute = std::get_if<Compute>(&instruction.action)) {
        count(*compute);
      }
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] double runs() const { return open_.empty() ? 1 : open_.back().runs; }

  void open(const Loop& loop) {
    std::int64_t first = std::numeric_limits<std::int64_t>::min();
    std::int64_t last = std::numeric_limits<std::int64_t>::max();
    for (const Bound& bound : loop.lower)
      first = std::max(first, ceil_divide(evaluate(bound.numerator, environment_.data()), bound.divisor));
    for (const Bound& bound : loop.upper)
      last = std::min(last, floor_divide(evaluate(bound.numerator, environment_.data()), bound.divisor));
    last = std::max(first, last);  // a loop that runs nowhere here runs elsewhere
    const std::int64_t trips = (last - first) / loop.step + 1;
    open_.push_back({runs() * static_cast<double>(trips), true});
    environment_.push_back(first + trips / 2 * loop.step);
  }

  void count(const Compute& compute) {
    std::vector<std::size_t> used{compute.destination.slot.index()};
    for (const Operand& operand : compute.operands) {
      if (const auto* reference = std::get_if<SlotRef>(&operand)) used.push_back(reference->slot.index());
    }
    for (const std::size_t a : used) {
      result_.uses[a] += runs();
      for (const std::size_t b : used) {
        if (a != b) result_.together[a].emplace_back(b, runs() * std::min(tile_words(a), tile_words(b)));
      }
    }
    result_.operations.push_back({runs(), std::move(used)});
  }

  [[nodiscard]] double tile_words(std::size_t s) const {
    const auto& tile = pe_class_.slots[s].tile;
    return static_cast<double>(tile.rows * tile.columns);
  }

  const PeClass& pe_class_;
  std::vector<std::int64_t> environment_;
  std::vector<OpenBlock> open_;
  Traffic result_;
};

}  // namespace

Traffic count_traffic(const Program& program, const PeClass& pe_class) {
  return TrafficCount(program, pe_class).run();
}

}  // namespace cyclotron::memory
