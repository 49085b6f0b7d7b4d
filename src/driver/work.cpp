#include <cyclotron/driver/work.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <cyclotron/poly/effort.hpp>
#include <cyclotron/program/timing.hpp>
#include <cyclotron/recurrence/longest_chain.hpp>
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
    const auto given = program::given_cycles(pe, way.op);
    result = std::min(result, given ? *given : program::cycles_of(pe, way.op, way.flags, way.operands));
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
struct Place {
  std::vector<std::size_t> dimensions;
  std::vector<poly::Affine> forms;
};

Place place_of(const std::vector<poly::Affine>& space, const Names& all, const Names& own) {
  Place result;
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
    auto place = place_of(forms, all, operation.indices);
    auto counts = count_by(operation.points, place.forms);
    if (!counts) {
      place = {};
      counts = count_by(operation.points, {});
    }
    if (!counts) continue;
    const std::string name(operators::info(operation.ways.back().op).name);
    result.push_back({name, cycles, std::move(place.dimensions), std::move(*counts)});
  }
  return result;
}

std::vector<Count> elements_by_place(const recurrence::System& system, const Names& space) {
  const poly::Analysis analysis(system.kernel);
  const auto all = schedule::index_names(system);
  const auto forms = forms_of(space, all);
  using Key = std::pair<std::size_t, std::vector<std::size_t>>;
  std::map<Key, poly::Set> used;
  const poly::Context context;
  for (const auto& equation : system.equations) {
    const auto domain = recurrence::domain_of(context, equation);
    const auto visit = [&](recurrence::ExprId id, const recurrence::Scope& scope) {
      const auto* access = std::get_if<recurrence::Access>(&system.at(id).node);
      if (access == nullptr || system.at(access->tensor).role != recurrence::Role::input) return;
      auto place = place_of(forms, all, scope.names);
      for (const auto& form : access->index)
        place.forms.push_back(recurrence::to_poly(form, scope.names.size()));
      const auto elements = scope.points.image(place.forms);
      const auto [at, added] = used.try_emplace({access->tensor.index(), place.dimensions}, elements);
      if (!added) at->second = at->second.unite(elements);
    };
    if (!domain.is_empty()) recurrence::for_each_expr(system, equation, domain, visit);
  }
  std::vector<Count> result;
  for (const auto& [key, elements] : used) {
    const auto& tensor = system.tensors[key.first];
    auto counts = poly::count_points(elements.coalesce(), key.second.size(), most_cells);
    std::int64_t words = 1;
    for (std::size_t d = 0; tensor.blocked && d < tensor.shape.size(); ++d) {
      const auto rest = tensor.shape[d] % tensor.tile[d];
      words *= rest == 0 ? tensor.tile[d] : rest;
    }
    if (counts) result.push_back({tensor.user_name(), words, key.second, std::move(*counts)});
  }
  return result;
}

std::optional<std::int64_t> longest_chain(const recurrence::System& system, const machine::Machine& machine,
                                          std::int64_t most) {
  const poly::Analysis analysis(system.kernel);
  return recurrence::longest_chain(
      system, [&](const auto& ways) { return least_cycles(machine.pe, ways); }, most);
}

}  // namespace cyclotron::driver
