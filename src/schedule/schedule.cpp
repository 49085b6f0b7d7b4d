#include <cyclotron/schedule/schedule.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <numeric>
#include <set>

#include <cyclotron/poly/inverse.hpp>
#include <cyclotron/recurrence/early_exit.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>

#include "placements.hpp"

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

bool is_on_one_pe(const Schedule& schedule) {
  return std::ranges::all_of(schedule.space_indices, [](const std::string& form) { return form == "0"; });
}

std::string_view name(MovementKind kind) {
  switch (kind) {
    case MovementKind::stream: return "stream";
    case MovementKind::broadcast: return "broadcast";
    case MovementKind::prefetch: return "prefetch";
  }
  check_failed("kind is a MovementKind", __FILE__, __LINE__, {});
}

std::string_view name(FoldKind kind) {
  switch (kind) {
    case FoldKind::block: return "block";
    case FoldKind::cyclic: return "cyclic";
  }
  check_failed("kind is a FoldKind", __FILE__, __LINE__, {});
}

std::int64_t panel_width(const Schedule& schedule, const std::string& index, std::int64_t extent) {
  const auto panels = std::ranges::find(schedule.panel_counts, index, &PanelCount::index);
  if (panels == schedule.panel_counts.end() || extent < 1) return 1;
  return (extent + panels->count - 1) / panels->count;
}

Fold fold_of(const Schedule& schedule, std::size_t dimension, std::int64_t limit) {
  const auto& name = schedule.space_indices[dimension];
  const auto asked = std::ranges::find(schedule.folds, name, &Fold::dimension);
  return asked != schedule.folds.end() ? *asked : Fold{name, FoldKind::block, limit};
}

std::optional<Folding> folding(const Schedule& schedule, std::size_t dimension, std::int64_t extent,
                               std::int64_t limit) {
  const auto [name, kind, parts] = fold_of(schedule, dimension, limit);
  if (parts <= 0 || extent <= parts) return std::nullopt;
  if (kind == FoldKind::cyclic && parts > 1) return Folding{FoldKind::cyclic, parts};
  return Folding{FoldKind::block, (extent + parts - 1) / parts};
}

std::vector<std::string> index_names(const System& system) {
  std::vector<std::vector<std::string>> nests;
  for (const auto& equation : system.equations) nests.push_back(nest(system, equation));
  for (const auto& idle : system.idle_nests) {
    const auto is_known = [&](const std::string& name) {
      return std::ranges::any_of(nests, [&](const auto& names) { return contains(names, name); });
    };
    if (!std::ranges::all_of(idle, is_known)) nests.push_back(idle);
  }
  return recurrence::nesting_order(std::move(nests));
}

namespace {

void check_index(const std::string& name, const std::vector<std::string>& names) {
  if (!contains(names, name)) unknown("index", name, names);
}

bool is_read(const System& system, const std::string& tensor) {
  return std::ranges::any_of(system.exprs, [&](const recurrence::Expr& expr) {
    const auto* access = std::get_if<recurrence::Access>(&expr.node);
    return access != nullptr && system.at(access->tensor).name == tensor;
  });
}

/// The indices of reductions that end in elements of the tensor and go from PE to PE.
std::vector<std::string> moving_sums(const System& system, const Schedule& schedule,
                                     const std::string& tensor, const std::vector<std::string>& names) {
  const auto space = frame(schedule, names).space;
  std::vector<std::string> result;
  for (const auto& equation : system.equations) {
    if (system.at(equation.target).name != tensor) continue;
    for (const auto& index : nest(system, equation)) {
      const auto place = static_cast<std::size_t>(std::ranges::find(names, index) - names.begin());
      const auto leads = [&](const poly::Affine& form) { return form.coefficients.at(place) != 0; };
      const bool reduces = !contains(equation.indices, index) && !contains(result, index);
      if (reduces && std::ranges::any_of(space, leads)) result.push_back(index);
    }
  }
  return result;
}

/// Of a result that no equation reads only partial sums move, and those from neighbour to neighbour.
void check_movement_of_result(const Movement& move, const recurrence::Tensor& tensor,
                              const std::vector<std::string>& sums) {
  const auto is_sum = [&](const std::string& axis) {
    return contains(sums, axis.starts_with('-') ? axis.substr(1) : axis);
  };
  if (move.kind == MovementKind::stream && !sums.empty() && std::ranges::all_of(move.along, is_sum)) return;
  const auto axes = fmt::format("{}", fmt::join(sums, ", "));
  throw ScheduleError(
      {.code = "CYC312",
       .span = tensor.span,
       .message =
           sums.empty()
               ? fmt::format("`{}` stays in the PEs that compute it, and no equation reads it: "
                             "nothing of it moves",
                             move.tensor)
               : fmt::format("of `{}`, which no equation reads, only sums move, from PE to PE along {}",
                             move.tensor, axes),
       .notes = {},
       .help = sums.empty() ? "leave it out, or map the index of its reduction to space"
                            : fmt::format("leave it out, or use stream(\"{}\")", move.tensor)});
}

/// The tensors that have the name that users know them by: versions and loops' flags have none to give.
std::vector<std::string> variables(const System& system) {
  std::vector<std::string> names;
  for (const auto& tensor : system.tensors) {
    if (tensor.name == tensor.user_name()) names.push_back(tensor.name);
  }
  return names;
}

void check_movements(const System& system, const Schedule& schedule, const std::vector<std::string>& names) {
  std::vector<std::string> tensors;
  for (const auto& tensor : system.tensors) tensors.push_back(tensor.name);
  for (const auto& move : schedule.movements) {
    if (!contains(tensors, move.tensor)) unknown("tensor", move.tensor, variables(system));
    for (const auto& axis : move.along) check_index(axis.starts_with('-') ? axis.substr(1) : axis, names);
    const auto& tensor =
        system.tensors[static_cast<std::size_t>(std::ranges::find(tensors, move.tensor) - tensors.begin())];
    if (move.kind == MovementKind::prefetch && tensor.role != recurrence::Role::input) {
      throw ScheduleError(
          {.code = "CYC312",
           .span = tensor.span,
           .message = fmt::format("`{}` is computed by the kernel and cannot be prefetched", move.tensor),
           .notes = {},
           .help = is_read(system, move.tensor)
                       ? fmt::format("use stream(\"{0}\") or broadcast(\"{0}\")", move.tensor)
                       : "leave it out: a result is stored where it is computed"});
    }
    if (!is_read(system, move.tensor))
      check_movement_of_result(move, tensor, moving_sums(system, schedule, move.tensor, names));
  }
}

bool contains_rotation(const Schedule& schedule, const std::string& index) {
  return std::ranges::find(schedule.rotations, index, &Rotation::index) != schedule.rotations.end();
}

/// The form with as many steps added as it takes to be none of those in space: each may be named once.
poly::Affine other_than(const std::vector<poly::Affine>& space, poly::Affine form, const poly::Affine& step) {
  while (std::ranges::find(space, form) != space.end()) form = form + step;
  return form;
}

void check_folds(const Schedule& schedule) {
  for (const auto& fold : schedule.folds) {
    if (contains(schedule.space_indices, fold.dimension)) continue;
    throw ScheduleError(
        {.code = "CYC315",
         .span = {},
         .message = fmt::format("the schedule folds `{}`, which is not a grid dimension", fold.dimension),
         .notes = {},
         .help = schedule.space_indices.empty()
                     ? "map an index to space first"
                     : fmt::format("the grid has: {}", fmt::join(schedule.space_indices, ", "))});
  }
}

void check_rotations(const System& system, const Schedule& schedule, const std::vector<std::string>& names) {
  for (const auto& rotation : schedule.rotations) {
    check_index(rotation.index, names);
    for (const auto& by : rotation.by) check_index(by, names);
    std::string fault;
    const auto reduces = [&](const recurrence::Expr& expr) {
      const auto* reduce = std::get_if<recurrence::Reduce>(&expr.node);
      return reduce != nullptr && reduce->index == rotation.index;
    };
    const auto in_space = [&](const std::string& by) { return contains(schedule.space_indices, by); };
    if (std::ranges::none_of(system.exprs, reduces)) fault = "is not the index of a reduction";
    if (contains(schedule.space_indices, rotation.index)) fault = "is space";
    if (rotation.by.empty() || !std::ranges::all_of(rotation.by, in_space))
      fault = fmt::format("turns by ({}), which is not all space", fmt::join(rotation.by, ", "));
    if (fault.empty()) continue;
    throw ScheduleError({.code = "CYC317",
                         .span = {},
                         .message = fmt::format("the schedule rotates `{}`, which {}", rotation.index, fault),
                         .notes = {},
                         .help = "rotate a reduction index that is time by indices that are space, for "
                                 "example rotate(\"k\", by=(\"i\", \"j\"))"});
  }
}

void check_reduced(const Schedule& schedule, const std::vector<std::string>& names) {
  const auto require_space = [&](const std::string& index, const char* way, const char* call) {
    check_index(index, names);
    const auto n = static_cast<std::size_t>(std::ranges::find(names, index) - names.begin());
    const auto moves = [n](const poly::Affine& form) { return form.coefficients[n] != 0; };
    if (std::ranges::any_of(frame(schedule, names).space, moves)) return;
    throw ScheduleError(
        {.code = "CYC318",
         .span = {},
         .message = fmt::format("the schedule reduces {} over `{}`, which is not space", way, index),
         .notes = {},
         .help = fmt::format("map it to space, for example space(\"{0}\"), or leave {1}(\"{0}\") out", index,
                             call)});
  };
  for (const auto& index : schedule.inward_indices) require_space(index, "inwards", "inwards");
  for (const auto& tree : schedule.reductions) require_space(tree.index, "in a tree", "reduce");
}

void check_places(const System& system, const Schedule& schedule, const std::vector<std::string>& names) {
  for (const auto& place : schedule.places) {
    const auto tensor = std::ranges::find(system.tensors, place.tensor, &recurrence::Tensor::name);
    if (tensor == system.tensors.end()) {
      unknown("tensor", place.tensor, variables(system));
    }
    for (const auto& form : place.at) (void)parse_affine(form, names);
    std::string fault;
    if (tensor->role != recurrence::Role::input) fault = "it is computed by the kernel";
    if (place.at.size() != schedule.space_indices.size())
      fault = fmt::format("the grid has {} dimensions", schedule.space_indices.size());
    const auto* move = movement_of(schedule, place.tensor);
    if (move != nullptr && move->kind == MovementKind::prefetch)
      fault = "it is also prefetched by those who use it";
    if (fault.empty()) continue;
    throw ScheduleError({.code = "CYC319",
                         .span = tensor->span,
                         .message = fmt::format("the schedule places `{}` at ({}), and {}", place.tensor,
                                                fmt::join(place.at, ", "), fault),
                         .notes = {},
                         .help = fmt::format("place an input, by one index or number for each of the grid's "
                                             "dimensions ({})",
                                             fmt::join(schedule.space_indices, ", "))});
  }
}

void check_panels(const Schedule& schedule, const std::vector<std::string>& names) {
  for (const auto& panels : schedule.panel_counts) {
    check_index(panels.index, names);
    std::string fault;
    const auto uses = [&](const std::string& form) {
      return parse_affine(form, names)
                 .coefficients[static_cast<std::size_t>(std::ranges::find(names, panels.index) -
                                                        names.begin())] != 0;
    };
    if (std::ranges::any_of(schedule.space_indices, uses)) fault = "is space";
    if (panels.count < 1) fault = "would have less than one";
    if (contains_rotation(schedule, panels.index)) fault = "is rotated";
    if (fault.empty()) continue;
    throw ScheduleError(
        {.code = "CYC320",
         .span = {},
         .message =
             fmt::format("the schedule makes {} panels of `{}`, which {}", panels.count, panels.index, fault),
         .notes = {},
         .help = "cut an index that is time, such as the reduction of a product, into one or more panels"});
  }
}

void check_serpentine(const Schedule& schedule) {
  if (!schedule.is_serpentine || schedule.space_indices.size() == 1) return;
  throw ScheduleError({.code = "CYC321",
                       .span = {},
                       .message = fmt::format("the schedule is serpentine, and has {} dimensions of space",
                                              schedule.space_indices.size()),
                       .notes = {},
                       .help = "name one index in `space`: its values go through the rows of the grid"});
}

/// The forms as poly::to_string writes them; throws CYC311 where one is given twice.
void normalise(Schedule& schedule, const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (auto* list : {&schedule.space_indices, &schedule.time_indices}) {
    for (auto& text : *list) {
      const auto form = parse_affine(text, names);
      text = poly::to_string(form, names);
      if (poly::is_constant(form) || seen.insert(text).second) continue;
      throw ScheduleError({.code = "CYC311",
                           .span = {},
                           .message = fmt::format("index `{}` is mapped twice in the schedule", text),
                           .notes = {},
                           .help = "name each index once, in `space` or in `time`"});
    }
  }
  for (auto& fold : schedule.folds)
    fold.dimension = poly::to_string(parse_affine(fold.dimension, names), names);
}

/// The indices that have to be added to time for each point to have its own PE and step, in nesting order.
std::vector<std::string> missing_time(const Schedule& schedule, const std::vector<std::string>& names) {
  const auto given = frame(schedule, names);
  auto forms = given.space;
  forms.insert(forms.end(), given.time.begin(), given.time.end());
  std::vector<bool> added(names.size(), false);
  const auto add = [&](std::size_t v) {
    forms.push_back(poly::variable(names.size(), v));
    added[v] = true;
  };
  for (auto v = names.size(); v-- > 0 && poly::rank(forms) < names.size();) {
    auto more = forms;
    more.push_back(poly::variable(names.size(), v));
    if (poly::rank(more) > poly::rank(forms)) add(v);
  }
  // Forms such as i+j, i-j leave gaps: one more index fills them.
  for (auto v = names.size(); v-- > 0 && !poly::left_inverse(forms, names.size());) {
    const bool there = std::ranges::find(forms, poly::variable(names.size(), v)) != forms.end();
    if (!there) add(v);
  }
  std::vector<std::string> result;
  for (std::size_t v = 0; v < names.size(); ++v) {
    if (added[v]) result.push_back(names[v]);
  }
  return result;
}

/// The schedule in normal form and checked, and what time lacks.
std::pair<Schedule, std::vector<std::string>> checked(const System& system, Schedule schedule) {
  const auto names = index_names(system);
  normalise(schedule, names);
  check_folds(schedule);
  check_movements(system, schedule, names);
  check_rotations(system, schedule, names);
  check_reduced(schedule, names);
  check_places(system, schedule, names);
  check_panels(schedule, names);
  check_serpentine(schedule);
  auto missing = missing_time(schedule, names);
  return {std::move(schedule), std::move(missing)};
}

}  // namespace

const Movement* movement_of(const Schedule& schedule, const std::string& tensor) {
  const auto place = std::ranges::find(schedule.movements, tensor, &Movement::tensor);
  return place == schedule.movements.end() ? nullptr : &*place;
}

Schedule complete(const System& system, Schedule schedule) {
  auto [result, missing] = checked(system, std::move(schedule));
  result.time_indices.insert(result.time_indices.end(), missing.begin(), missing.end());
  return result;
}

std::vector<Schedule> completions(const System& system, const Schedule& schedule, Orders orders) {
  auto [given, missing] = checked(system, schedule);
  // A loop ends early where none of its statements is at the last term of another loop's sum: sums are inside all loops.
  if (!recurrence::early_exits(system).empty()) {
    std::ranges::stable_partition(missing, [&](const std::string& name) {
      return std::ranges::any_of(system.equations,
                                 [&](const auto& equation) { return contains(equation.indices, name); });
    });
  }
  std::vector<Schedule> result;
  const auto add = [&](const std::vector<std::string>& time) {
    result.push_back(given);
    result.back().time_indices.insert(result.back().time_indices.end(), time.begin(), time.end());
  };
  add(missing);
  // Beyond three the choices are too many to try.
  if (missing.size() > 3) return result;
  const auto add_descending = [&](std::size_t choice) {
    auto time = missing;
    for (std::size_t t = 0; t < time.size(); ++t) {
      if (((choice >> t) & 1U) != 0) time[t] = "-" + time[t];
    }
    add(time);
  };
  for (std::size_t t = 0; t < missing.size(); ++t) add_descending(std::size_t{1} << t);
  if (orders == Orders::likely) return result;
  for (std::size_t choice = 1; choice < (std::size_t{1} << missing.size()); ++choice) {
    if (!std::has_single_bit(choice)) add_descending(choice);
  }
  std::vector<std::size_t> order(missing.size());
  std::iota(order.begin(), order.end(), 0);
  while (std::ranges::next_permutation(order).found) {
    std::vector<std::string> time;
    for (const auto t : order) time.push_back(missing[t]);
    add(time);
  }
  return result;
}

std::vector<Schedule> wavefronts(const System& system, const Schedule& schedule) {
  const auto [given, missing] = checked(system, schedule);
  if (!given.folds.empty()) return {};  // several places are one PE: they are not behind each other
  const auto names = index_names(system);
  auto place = poly::constant(names.size(), 0);
  for (const auto& form : frame(given, names).space) place = place + form;
  std::vector<Schedule> result;
  for (const auto& index : missing) {
    const auto form = place + parse_affine(index, names);
    if (poly::is_constant(form)) continue;
    auto& skewed = result.emplace_back(given);
    skewed.time_indices.push_back(poly::to_string(form, names));
    const auto more = missing_time(skewed, names);
    skewed.time_indices.insert(skewed.time_indices.end(), more.begin(), more.end());
  }
  return result;
}

std::vector<Schedule> wavefronts_along_one(const System& system, const Schedule& schedule) {
  const auto [given, missing] = checked(system, schedule);
  const auto names = index_names(system);
  std::vector<Schedule> result;
  if (missing.empty()) return result;
  const auto space = frame(given, names).space;
  const auto step = parse_affine(missing.front(), names);
  for (const auto& place : space) {
    if (poly::is_constant(place)) continue;
    auto& wave = result.emplace_back(given);
    wave.time_indices.push_back(poly::to_string(other_than(space, place + step, step), names));
    wave.time_indices.insert(wave.time_indices.end(), missing.begin() + 1, missing.end());
  }
  return result;
}

std::optional<Schedule> in_text_order(const System& system, const Schedule& schedule) {
  auto result = checked(system, schedule).first;
  if (!result.time_indices.empty()) return std::nullopt;
  const auto names = index_names(system);
  const auto space = frame(result, names).space;
  // An index in space counts the same steps with one of a loop around, or several times.
  for (std::size_t v = 0; v < names.size(); ++v) {
    const auto around = poly::variable(names.size(), v == 0 ? 0 : v - 1);
    const auto index = other_than(space, poly::variable(names.size(), v), around);
    result.time_indices.push_back(poly::to_string(index, names));
  }
  return result;
}

std::vector<std::string> reorderings(const Schedule& schedule) {
  std::vector<std::string> result;
  for (const auto& [index, parts, into] : schedule.reassociations)
    result.push_back(
        fmt::format("reductions over {} are re-associated: in blocks, then over these, {}", index, into));
  if (!schedule.stage_indices.empty())
    result.push_back(fmt::format("nested reductions are re-associated: over {}, in this order",
                                 fmt::join(schedule.stage_indices, ", then ")));
  for (const auto& index : schedule.inward_indices)
    result.push_back(
        fmt::format("reductions over {} are re-associated: from both ends to the middle", index));
  for (const auto& index : schedule.descending_indices)
    result.push_back(
        fmt::format("reductions over {} are re-associated: from the last term to the first", index));
  for (const auto& tree : schedule.reductions)
    result.push_back(
        fmt::format("reductions over {} are re-associated: in {}", tree.index, recurrence::to_string(tree)));
  return result;
}

std::string last_terms_first(const Schedule& schedule, const std::string& index) {
  const auto in = [&](const std::vector<std::string>& indices) {
    return std::ranges::find(indices, index) != indices.end();
  };
  if (in(schedule.descending_indices)) return "descending";
  return in(schedule.inward_indices) ? "inwards" : "";
}

bool names_index(const Schedule& schedule, const std::string& index) {
  const auto text = to_string(schedule);
  const auto is_letter = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
  };
  for (auto at = text.find(index); at != std::string::npos; at = text.find(index, at + 1)) {
    const auto after = at + index.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (after == text.size() || !is_letter(text[after])))
      return true;
  }
  return false;
}

std::string to_string(const Schedule& schedule) {
  std::string text = fmt::format(
      "space {}; time {}",
      schedule.space_indices.empty() ? "-" : fmt::format("{}", fmt::join(schedule.space_indices, ", ")),
      schedule.time_indices.empty() ? "-" : fmt::format("{}", fmt::join(schedule.time_indices, ", ")));
  for (const auto& move : schedule.movements) {
    text += fmt::format("; {} {}", name(move.kind), move.tensor);
    if (!move.along.empty()) text += fmt::format(" along {}", fmt::join(move.along, ", "));
  }
  for (const auto& rotation : schedule.rotations)
    text += fmt::format("; rotate {} by {}", rotation.index, fmt::join(rotation.by, ", "));
  for (const auto& place : schedule.places)
    text += fmt::format("; place {} at {}", place.tensor, fmt::join(place.at, ", "));
  for (const auto& panels : schedule.panel_counts)
    text += fmt::format("; panels {} in {}", panels.index, panels.count);
  for (const auto& fold : schedule.folds) {
    text += fmt::format("; fold {} {} {}", fold.dimension, name(fold.kind), fold.parts);
  }
  for (const auto& [index, parts, into] : schedule.reassociations)
    text += fmt::format("; reassociate {} into {}, {} parts", index, into, parts);
  if (!schedule.stage_indices.empty())
    text += fmt::format("; stages {}", fmt::join(schedule.stage_indices, ", "));
  if (!schedule.inward_indices.empty())
    text += fmt::format("; inwards {}", fmt::join(schedule.inward_indices, ", "));
  if (!schedule.descending_indices.empty())
    text += fmt::format("; descending {}", fmt::join(schedule.descending_indices, ", "));
  for (const auto& tree : schedule.reductions)
    text += fmt::format("; reduce {} in {}", tree.index, recurrence::to_string(tree));
  if (schedule.is_serpentine) text += "; serpentine";
  return text;
}

}  // namespace cyclotron::schedule
