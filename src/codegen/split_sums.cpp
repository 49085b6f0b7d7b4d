#include <cyclotron/codegen/split_sums.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "code_tree.hpp"

namespace cyclotron::codegen {

namespace {

using program::Compute;
using program::Instruction;
using program::Loop;
using program::Op;
using program::Receive;
using program::Send;
using program::SlotRef;

/// The iterations of a loop, where its bounds are numbers; else any number.
double iterations(const Loop& loop) {
  const auto number = [](const std::vector<program::Bound>& bounds) {
    const bool is_number = bounds.size() == 1 && bounds[0].numerator.coefficients.empty();
    return is_number
               ? static_cast<double>(bounds[0].numerator.constant) / static_cast<double>(bounds[0].divisor)
               : std::numeric_limits<double>::infinity();
  };
  const auto extent = number(loop.upper) - number(loop.lower);
  if (!std::isfinite(extent)) return std::numeric_limits<double>::infinity();
  return std::floor(extent / static_cast<double>(loop.step)) + 1;
}

class SumSplitter {
 public:
  SumSplitter(const program::Program& program, const program::PeClass& pe_class)
      : program_(program), slots_(pe_class.slots), code_(tree_of(pe_class.code)) {}

  [[nodiscard]] const std::vector<program::Slot>& slots() const { return slots_; }

  std::optional<std::vector<Instruction>> run() {
    count(code_, 1);
    split(code_);
    return changed_ ? std::optional(code_of(code_)) : std::nullopt;
  }

 private:
  /// The messages that the class receives on each channel.
  void count(const Nodes& nodes, double times) {
    for (const auto& node : nodes) {
      const auto* loop = std::get_if<Loop>(&node.instruction.action);
      count(node.held, loop == nullptr ? times : times * iterations(*loop));
      if (const auto* receive = std::get_if<Receive>(&node.instruction.action))
        messages_[receive->channel.index()] += times;
    }
  }

  void split(Nodes& nodes) {
    for (auto& node : nodes) split(node.held);
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const auto* receive = std::get_if<Receive>(&nodes[at].instruction.action);
      if (receive == nullptr || links_along(receive->channel) <= messages_[receive->channel.index()])
        continue;
      const auto slot = receive->destination.slot;
      const auto use = std::find_if(nodes.begin() + static_cast<std::ptrdiff_t>(at) + 1, nodes.end(),
                                    [slot](const Node& node) { return touches(node, slot); });
      if (use == nodes.end() || !adds_element(*use, receive->destination)) continue;
      const auto end = static_cast<std::size_t>(use - nodes.begin());
      if (!come_before(nodes, at, end)) continue;
      split(nodes, at, end);
      changed_ = true;
    }
  }

  [[nodiscard]] const std::vector<std::int64_t>& offset(program::ChannelId id) const {
    return program_.channels[id.index()].offset;
  }
  /// The most links that a sum may pass on the channel.
  [[nodiscard]] double links_along(program::ChannelId id) const {
    std::int64_t most = 0;
    for (std::size_t d = 0; d < offset(id).size(); ++d) {
      if (offset(id)[d] != 0) most = std::max(most, program_.grid[d] / std::abs(offset(id)[d]));
    }
    return static_cast<double>(most);
  }

  static bool adds_element(const Node& node, const SlotRef& sum) {
    const auto* add = std::get_if<Compute>(&node.instruction.action);
    return add != nullptr && add->op == Op::add && add->indexed && !add->indexed->scatters &&
           add->destination == sum && add->operands[0] == program::Operand(sum);
  }

  /// True where all in between may be done before the receive: what no other PE sees, and what goes on along the sum's own
  /// way, on which no PE waits for one after it.
  [[nodiscard]] bool come_before(const Nodes& nodes, std::size_t receive, std::size_t use) const {
    const auto& way = offset(std::get<Receive>(nodes[receive].instruction.action).channel);
    for (std::size_t n = receive + 1; n < use; ++n) {
      const auto* send = std::get_if<Send>(&nodes[n].instruction.action);
      if (send == nullptr ? !stays_inside(nodes[n]) : offset(send->channel) != way) return false;
    }
    return true;
  }

  void split(Nodes& nodes, std::size_t receive, std::size_t use) {
    auto& add = std::get<Compute>(nodes[use].instruction.action);
    slots_.push_back(slots_[add.destination.slot.index()]);
    slots_.back().count = 1;
    slots_.back().name = "element";
    const SlotRef element{program::SlotId(slots_.size() - 1), {}, {}};
    const Compute take{Op::copy, 0, {add.operands.back()}, element, std::exchange(add.indexed, std::nullopt)};
    add.operands.back() = element;
    const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(receive);
    const auto last = nodes.begin() + static_cast<std::ptrdiff_t>(use);
    const Node taken{{take, last->instruction.span}};
    nodes.insert(std::rotate(first, first + 1, last), taken);
  }

  const program::Program& program_;
  std::vector<program::Slot> slots_;
  Nodes code_;
  std::map<std::size_t, double> messages_;  ///< By channel.
  bool changed_ = false;
};

}  // namespace

program::Program split_sums(const program::Program& program) {
  auto result = program;
  for (auto& pe_class : result.classes) {
    SumSplitter splitter(program, pe_class);
    if (auto code = splitter.run()) {
      pe_class.code = std::move(*code);
      pe_class.slots = splitter.slots();
    }
  }
  return result;
}

}  // namespace cyclotron::codegen
