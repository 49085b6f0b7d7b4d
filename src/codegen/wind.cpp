#include <cyclotron/codegen/wind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <variant>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/support/division.hpp>
#include <cyclotron/support/error.hpp>

#include "to_program.hpp"
#include "visit_forms.hpp"

namespace cyclotron::codegen {

namespace {

using program::Affine;
using program::ChannelId;
using program::Condition;
using program::Conjunction;

/// PEs of the line by where they are: in rows that it goes through in one direction, at the first or the last of a row.
struct RowPart {
  bool is_back = false;  ///< From the last column to the first: rows 1, 3, ….
  bool is_first = false, is_last = false;
};

/// A hop to a neighbour in the grid.
struct Hop {
  std::array<std::int64_t, 2> offset;
  std::string_view name;  ///< For people.
};
constexpr std::array<Hop, 4> hops{{{{0, 1}, "right"}, {{0, -1}, "left"}, {{1, 0}, "down"}, {{-1, 0}, "up"}}};

class Winding {
 public:
  Winding(const program::Program& line, const machine::Machine& machine)
      : line_(line), columns_(std::min(machine.grid[1], line.grid[0])) {
    auto& program = result_.program;
    program = line;
    program.grid = {ceil_divide(line.grid[0], columns_), columns_};
    program.grid_names = {line.grid_names[0] + "_row", line.grid_names[0] + "_column"};
    program.machine = machine::on_part(machine, program.grid);
    program.channels.clear();
    program.classes.clear();
  }

  Wound run() && {
    for (const auto& pe_class : line_.classes) {
      std::vector<program::PeClass> parts;
      for (const bool is_back : {false, true}) {
        for (const bool is_first : {false, true}) {
          for (const bool is_last : {false, true}) add({is_back, is_first, is_last}, pe_class, parts);
        }
      }
      std::ranges::move(parts, std::back_inserter(result_.program.classes));
    }
    auto& classes = result_.program.classes;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      classes[c].name = fmt::format("class {}", c);
      const auto region = to_set(context_, 2, classes[c].region);
      classes[c].region_text = region.coalesce().constraints_text(result_.program.grid_names);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] Conjunction where(const RowPart& part) const {
    const auto column = [&](std::int64_t at) { return Condition{Condition::Kind::zero, {{0, 1}, -at}, 0}; };
    const auto first = part.is_back ? columns_ - 1 : 0, last = columns_ - 1 - first;
    Conjunction all{{Condition::Kind::non_negative, {{1}, 0}, 0},
                    {Condition::Kind::non_negative, {{-1}, result_.program.grid[0] - 1}, 0},
                    {Condition::Kind::divisible, {{1}, part.is_back ? 1 : 0}, 2}};
    if (part.is_first) all.push_back(column(first));
    if (part.is_last) all.push_back(column(last));
    const std::int64_t least = (part.is_back ? part.is_last : part.is_first) ? 0 : 1;
    const std::int64_t after = (part.is_back ? part.is_first : part.is_last) ? 0 : 1;
    if (!part.is_first || !part.is_last) {
      all.push_back({Condition::Kind::non_negative, {{0, 1}, -least}, 0});
      all.push_back({Condition::Kind::non_negative, {{0, -1}, columns_ - 1 - after}, 0});
    }
    return all;
  }

  /// The part of a class, if it has PEs: with those that have the same code.
  void add(const RowPart& part, const program::PeClass& given, std::vector<program::PeClass>& parts) {
    const FormVisitor wound = [&](Affine& form) { wind(form, part.is_back); };
    auto pe_class = given;
    pe_class.region.clear();
    for (auto all : given.region) {
      visit_forms(all, wound);
      std::ranges::copy(where(part), std::back_inserter(all));
      if (!to_set(context_, 2, {all}).is_empty()) pe_class.region.push_back(std::move(all));
    }
    if (pe_class.region.empty()) return;
    for (auto& instruction : pe_class.code) {
      visit_forms(instruction.action, wound);
      if (auto* send = std::get_if<program::Send>(&instruction.action))
        send->channel = in_part(send->channel, part, false);
      if (auto* receive = std::get_if<program::Receive>(&instruction.action))
        receive->channel = in_part(receive->channel, part, true);
    }
    const auto same = std::ranges::find_if(parts, [&](const program::PeClass& other) {
      return other.slots == pe_class.slots && other.code == pe_class.code;
    });
    if (same == parts.end())
      parts.push_back(std::move(pe_class));
    else
      std::ranges::move(pe_class.region, std::back_inserter(same->region));
  }

  /// Of the place on the line, a form of row and column.
  void wind(Affine& form, bool is_back) const {
    if (form.coefficients.empty()) return;
    const auto along = form.coefficients.front();
    form.coefficients.front() = along * columns_;
    form.coefficients.insert(form.coefficients.begin() + 1, is_back ? -along : along);
    if (is_back) form.constant += along * (columns_ - 1);
    trim(form);
  }

  /// The channel in the grid, of messages that come to PEs of a part or leave them.
  ChannelId in_part(ChannelId channel, const RowPart& part, bool comes) {
    const bool forward = is_forward(channel);
    if (forward == comes ? part.is_first : part.is_last) return on_grid(channel, forward ? 2 : 3);
    return on_grid(channel, forward == part.is_back ? 1 : 0);
  }

  /// Tells whether messages go to the next PE of the line, and not to the one before.
  [[nodiscard]] bool is_forward(ChannelId channel) const {
    const auto& given = line_.channels[channel.index()];
    CYC_CHECK(given.kind == program::Channel::Kind::link && given.scale_along(0) == 1 &&
                  std::abs(given.offset[0]) == 1,
              "messages go from neighbour to neighbour");
    return given.offset[0] == 1;
  }

  ChannelId on_grid(ChannelId channel, std::size_t hop) {
    const auto next = ChannelId(result_.program.channels.size());
    const auto [found, is_new] = channels_.try_emplace({channel, hop}, next);
    if (is_new) {
      auto own = line_.channels[channel.index()];
      own.offset.assign(hops[hop].offset.begin(), hops[hop].offset.end());
      own.name += fmt::format(" ({})", hops[hop].name);
      result_.program.channels.push_back(std::move(own));
      result_.line_channels.push_back(channel.index());
    }
    return found->second;
  }

  const program::Program& line_;
  std::int64_t columns_;
  poly::Context context_;
  Wound result_;
  std::map<std::pair<ChannelId, std::size_t>, ChannelId> channels_;  ///< By the line's, and hop.
};

}  // namespace

Wound wind(const program::Program& line, const machine::Machine& machine) {
  return Winding(line, machine).run();
}

}  // namespace cyclotron::codegen
