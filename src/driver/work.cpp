#include <cyclotron/driver/work.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <variant>

#include <cyclotron/poly/effort.hpp>
#include <cyclotron/program/timing.hpp>
#include <cyclotron/program/units.hpp>
#include <cyclotron/recurrence/operations.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/schedule/schedule.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::driver {

namespace {

using Names = std::vector<std::string>;

std::int64_t least_cycles(const machine::Pe& pe, const std::vector<recurrence::Application>& ways) {
  auto result = std::numeric_limits<std::int64_t>::max();
  for (const auto& way : ways) {
    if (const auto given = program::given_cycles(pe, way.op)) {
      result = std::min(result, *given);
    } else if (program::may_be_unit_input(pe, way.op)) {
      result = 0;
    } else {
      result = std::min(result, program::cycles_of(pe, way.op, way.flags, way.operands));
    }
  }
  return result;
}

/// A form over some of the indices; none where it has others.
std::optional<poly::Affine> over(const poly::Affine& form, const Names& all, const Names& some) {
  auto result = poly::constant(some.size(), form.constant);
  for (std::size_t v = 0; v < all.size(); ++v) {
    if (form.coefficients[v] == 0) continue;
    const auto at = std::ranges::find(some, all[v]);
    if (at == some.end()) return std::nullopt;
    result.coefficients[static_cast<std::size_t>(at - some.begin())] = form.coefficients[v];
  }
  return result;
}

/// The dimensions of the grid whose coordinates points with these indices tell.
struct GridCoordinates {
  std::vector<std::size_t> dimensions;
  std::vector<poly::Affine> forms;
};

GridCoordinates coordinates_of(const std::vector<poly::Affine>& space, const Names& all, const Names& own) {
  GridCoordinates result;
  for (std::size_t d = 0; d < space.size(); ++d) {
    if (auto form = over(space[d], all, own)) {
      result.dimensions.push_back(d);
      result.forms.push_back(std::move(*form));
    }
  }
  return result;
}

std::vector<poly::Affine> forms_of(const Names& space, const Names& all) {
  std::vector<poly::Affine> result;
  for (const auto& form : space) result.push_back(schedule::parse_affine(form, all));
  return result;
}

/// Points by the values of forms: those come first, and the points' own coordinates after them.
std::optional<poly::Counts> count_by(const poly::Set& points, const std::vector<poly::Affine>& forms) {
  const auto count = points.dimensions();
  auto all = forms;
  for (std::size_t v = 0; v < count; ++v) all.push_back(poly::variable(count, v));
  return poly::count_points(points.image(all), forms.size(), most_cells);
}

}  // namespace

std::vector<Count> operations_by_place(const recurrence::System& system, const machine::Machine& machine,
                                       const Names& space) {
  const poly::Analysis analysis(system.kernel);
  const auto all = schedule::index_names(system);
  const auto forms = forms_of(space, all);
  std::vector<Count> result;
  for (const auto& operation : recurrence::operations(system)) {
    const auto cycles = least_cycles(machine.pe, operation.ways);
    if (cycles == 0) continue;
    auto coordinates = coordinates_of(forms, all, operation.indices);
    auto counts = count_by(operation.points, coordinates.forms);
    if (!counts) {
      coordinates = {};
      counts = count_by(operation.points, {});
    }
    if (!counts) continue;
    const std::string name(operators::info(operation.ways.back().op).name);
    result.push_back({name, cycles, std::move(coordinates.dimensions), std::move(*counts)});
  }
  return result;
}

std::vector<std::optional<FormValues>> values_along(const recurrence::System& system, const Names& space) {
  const poly::Analysis analysis(system.kernel);
  const auto all = schedule::index_names(system);
  const auto forms = forms_of(space, all);
  std::vector<std::optional<FormValues>> result(forms.size());
  const auto add = [&](std::size_t d, const poly::Set& values, bool is_reduced) {
    const auto low = values.minimum(0), high = values.maximum(0);
    if (!low || !high) return;
    auto& found = result[d];
    const auto first = found ? std::min(found->first, *low) : *low;
    const auto last = found ? std::max(found->first + found->count - 1, *high) : *high;
    found = {first, last - first + 1, is_reduced || (found && found->is_reduced)};
  };
  const auto add_all = [&](const recurrence::Scope& scope, bool is_reduced) {
    if (scope.points.is_empty()) return;
    for (std::size_t d = 0; d < forms.size(); ++d) {
      if (const auto form = over(forms[d], all, scope.names))
        add(d, scope.points.image({*form}), is_reduced && form->coefficients.back() != 0);
    }
  };
  const poly::Context context;
  for (const auto& equation : system.equations) {
    std::set<recurrence::ExprId> terms;
    const auto domain = recurrence::domain_of(context, equation);
    add_all({equation.indices, domain}, false);
    recurrence::for_each_expr(system, equation, domain,
                              [&](recurrence::ExprId id, const recurrence::Scope& scope) {
                                if (terms.contains(id)) add_all(scope, true);
                                const auto* reduce = std::get_if<recurrence::Reduce>(&system.at(id).node);
                                if (reduce != nullptr) terms.insert(reduce->body);
                              });
  }
  return result;
}

std::optional<recurrence::OperationGraph> operation_graph(const recurrence::System& system,
                                                          const machine::Machine& machine,
                                                          std::int64_t most) {
  const poly::Analysis analysis(system.kernel);
  return recurrence::operation_graph(
      system, [&](const auto& ways) { return least_cycles(machine.pe, ways); }, most);
}

}  // namespace cyclotron::driver
