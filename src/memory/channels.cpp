#include <cyclotron/memory/channels.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::memory {
namespace {

using program::PeClass;
using program::Program;

/// Channels that bring the controller's commands and their arguments (MA-019).
constexpr std::int64_t channels_of_control = 2;

std::optional<program::ChannelId> channel_of(const program::Action& action) {
  if (const auto* send = std::get_if<program::Send>(&action)) return send->channel;
  if (const auto* receive = std::get_if<program::Receive>(&action)) return receive->channel;
  if (const auto* broadcast = std::get_if<program::Broadcast>(&action)) return broadcast->channel;
  return std::nullopt;
}

/// The channels of a class, each with what first sends or receives on it.
std::map<program::ChannelId, Span> channels_of(const PeClass& pe_class) {
  std::map<program::ChannelId, Span> result;
  for (const auto& instruction : pe_class.code) {
    if (const auto channel = channel_of(instruction.action)) result.try_emplace(*channel, instruction.span);
  }
  return result;
}

bool is_controlled(const Program& program, const PeClass& pe_class) {
  return program.machine.control && std::ranges::any_of(pe_class.code, [](const auto& instruction) {
           return std::holds_alternative<program::Exit>(instruction.action);
         });
}

std::string counted(std::size_t channels) {
  return fmt::format("{} channel{}", channels, channels == 1 ? "" : "s");
}

[[noreturn]] void too_many(const Program& program, const PeClass& pe_class, std::int64_t used) {
  constexpr std::size_t lines_shown = 6, names_shown = 4;
  std::map<int, std::vector<std::string>> names;  // By line.
  for (const auto& [channel, span] : channels_of(pe_class))
    names[span.line].push_back(fmt::format("`{}`", program.channels[channel.index()].name));
  std::vector<std::pair<int, std::vector<std::string>>> lines(names.begin(), names.end());
  std::ranges::stable_sort(lines, std::ranges::greater{}, [](const auto& one) { return one.second.size(); });
  std::vector<Note> notes;
  for (auto& [line, of_line] : lines) {
    if (notes.size() == lines_shown) break;
    const std::string count = counted(of_line.size());
    if (of_line.size() > names_shown) {
      of_line.resize(names_shown);
      of_line.emplace_back("...");
    }
    notes.push_back({{}, fmt::format("line {} has {}: {}", line, count, fmt::join(of_line, ", "))});
  }
  if (lines.size() > lines_shown)
    notes.push_back({{}, fmt::format("and {} lines have fewer", lines.size() - lines_shown)});
  if (is_controlled(program, pe_class))
    notes.push_back(
        {{}, fmt::format("{} bring control and arguments from the controller", channels_of_control)});
  throw CapacityError(
      {.code = "CYC504",
       .span = {},
       .message =
           fmt::format("{} of `{}` uses {}, but the machine has {} a PE", pe_class.name, program.kernel,
                       counted(static_cast<std::size_t>(used)), *program.machine.pe.channels),
       .notes = std::move(notes),
       .help =
           fmt::format("keep tensors in the PEs that use them, split the kernel in two, or take a machine "
                       "with at least {} channels",
                       used)});
}

std::int64_t channels_used(const Program& program, const PeClass& pe_class) {
  return std::ssize(channels_of(pe_class)) + (is_controlled(program, pe_class) ? channels_of_control : 0);
}

}  // namespace

std::int64_t most_channels(const Program& program) {
  std::int64_t most = 0;
  for (const auto& pe_class : program.classes) most = std::max(most, channels_used(program, pe_class));
  return most;
}

void require_channels(const Program& program) {
  const auto most = most_channels(program);
  if (!program.machine.pe.channels || most <= *program.machine.pe.channels) return;
  const auto worst = std::ranges::find(
      program.classes, most, [&](const PeClass& pe_class) { return channels_used(program, pe_class); });
  too_many(program, *worst, most);
}

}  // namespace cyclotron::memory
