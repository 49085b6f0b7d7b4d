#include <cyclotron/schedule/schedule.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include <cyclotron/support/error.hpp>

namespace cyclotron::schedule {

namespace {

using recurrence::System;

/// The indices of an equation from the outermost loop to the reduction.
std::vector<std::string> nest(const System& system, const recurrence::Equation& equation) {
  std::vector<std::string> names = equation.indices;
  std::vector<recurrence::ExprId> todo{equation.expr};
  while (!todo.empty()) {
    const auto& node = system.at(todo.back()).node;
    todo.pop_back();
    if (const auto* apply = std::get_if<recurrence::Apply>(&node)) {
      todo.insert(todo.end(), apply->operands.begin(), apply->operands.end());
    } else if (const auto* reduce = std::get_if<recurrence::Reduce>(&node)) {
      names.push_back(reduce->index);
      todo.push_back(reduce->body);
    }
  }
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

[[noreturn]] void unknown(const char* what, const std::string& name, const std::vector<std::string>& known) {
  throw ScheduleError(
      {.code = "CYC310",
       .span = {},
       .message = fmt::format("the schedule names {} `{}`, which the kernel does not have", what, name),
       .notes = {},
       .help =
           fmt::format("it has: {}", known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")))});
}

}  // namespace

std::vector<std::string> index_names(const System& system) {
  std::vector<std::vector<std::string>> nests;
  for (const auto& equation : system.equations) nests.push_back(nest(system, equation));
  // Longest nest first fixes most of the order; the others fit in before their first follower.
  std::ranges::stable_sort(nests, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<std::string> order;
  for (const auto& names : nests) {
    for (std::size_t n = 0; n < names.size(); ++n) {
      if (contains(order, names[n])) continue;
      auto place = order.end();
      for (std::size_t later = n + 1; later < names.size() && place == order.end(); ++later) {
        place = std::ranges::find(order, names[later]);
      }
      order.insert(place, names[n]);
    }
  }
  return order;
}

Schedule complete(const System& system, Schedule schedule) {
  const auto names = index_names(system);
  std::set<std::string> seen;
  for (const auto* list : {&schedule.space, &schedule.time}) {
    for (const auto& name : *list) {
      if (!contains(names, name)) unknown("index", name, names);
      if (!seen.insert(name).second) {
        throw ScheduleError({.code = "CYC311",
                             .span = {},
                             .message = fmt::format("index `{}` is mapped twice in the schedule", name),
                             .notes = {},
                             .help = "name each index once, in `space` or in `time`"});
      }
    }
  }
  std::vector<std::string> tensors;
  for (const auto& tensor : system.tensors) tensors.push_back(tensor.name);
  for (const auto& move : schedule.moves) {
    if (!contains(tensors, move.tensor)) unknown("tensor", move.tensor, tensors);
    for (const auto& axis : move.along) {
      if (!contains(names, axis)) unknown("index", axis, names);
    }
    const auto& tensor =
        system.tensors[static_cast<std::size_t>(std::ranges::find(tensors, move.tensor) - tensors.begin())];
    if (move.kind == Movement::prefetch && tensor.role != recurrence::Role::input) {
      throw ScheduleError(
          {.code = "CYC312",
           .span = tensor.span,
           .message = fmt::format("`{}` is computed by the kernel and cannot be prefetched", move.tensor),
           .notes = {},
           .help = fmt::format("use stream(\"{0}\") or broadcast(\"{0}\")", move.tensor)});
    }
  }
  for (const auto& name : names) {
    if (!seen.contains(name)) schedule.time.push_back(name);
  }
  return schedule;
}

std::vector<Schedule> defaults(const System& system) {
  std::vector<Schedule> result;
  const recurrence::Equation* widest = nullptr;
  for (const auto& equation : system.equations) {
    if (widest == nullptr || equation.indices.size() > widest->indices.size()) widest = &equation;
  }
  if (widest != nullptr) {
    // The indices of the target's subscripts, in the order of its dimensions.
    std::vector<std::string> subscripts;
    for (const auto& form : widest->index) {
      for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
        if (form.coefficients[v] != 0 && !contains(subscripts, widest->indices[v]))
          subscripts.push_back(widest->indices[v]);
      }
    }
    if (subscripts.size() > 2) subscripts.resize(2);
    for (; !subscripts.empty(); subscripts.pop_back()) result.push_back({subscripts, {}, {}});
  }
  result.push_back({});
  return result;
}

std::string to_string(const Schedule& schedule) {
  static constexpr const char* verbs[] = {"stream", "broadcast", "prefetch"};
  std::string text = fmt::format(
      "space {}; time {}", schedule.space.empty() ? "-" : fmt::format("{}", fmt::join(schedule.space, ", ")),
      schedule.time.empty() ? "-" : fmt::format("{}", fmt::join(schedule.time, ", ")));
  for (const auto& move : schedule.moves) {
    text += fmt::format("; {} {}", verbs[static_cast<std::size_t>(move.kind)], move.tensor);
    if (!move.along.empty()) text += fmt::format(" along {}", fmt::join(move.along, ", "));
  }
  return text;
}

}  // namespace cyclotron::schedule
