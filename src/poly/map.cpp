// Relations between integer points.
#include <cyclotron/poly/set.hpp>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "detail.hpp"

namespace cyclotron::poly {

using detail::checked;
using detail::own;
using detail::Owned;
using detail::take_int;

Map::Map(Context context, isl_map* take) : context_(std::move(context)), map_(checked(context_, take)) {}
Map::Map(const Map& other) : context_(other.context_), map_(isl_map_copy(other.map_)) {}
Map& Map::operator=(const Map& other) {
  if (this != &other) *this = Map(other);
  return *this;
}
Map::Map(Map&& other) noexcept
    : context_(std::move(other.context_)), map_(std::exchange(other.map_, nullptr)) {}
Map& Map::operator=(Map&& other) noexcept {
  std::swap(map_, other.map_);
  std::swap(context_, other.context_);
  return *this;
}
Map::~Map() { isl_map_free(map_); }
isl_map* Map::copy() const { return isl_map_copy(map_); }

Map Map::function(const Set& domain, const std::vector<Affine>& forms) {
  const auto dimensions = domain.dimensions();
  // { (p, q) : q_f = forms_f(p) }, then unwrapped: one construction serves every shape of function.
  std::vector<Constraint> equalities;
  for (std::size_t f = 0; f < forms.size(); ++f) {
    Affine form = constant(dimensions + forms.size(), forms[f].constant);
    for (std::size_t v = 0; v < dimensions; ++v) form.coefficients[v] = forms[f].coefficients.at(v);
    form.coefficients[dimensions + f] = -1;
    equalities.push_back({std::move(form), true});
  }
  const Set pairs = Set::where(domain.context(), dimensions + forms.size(), equalities);
  return from_pairs(pairs, dimensions).restrict_domain(domain);
}

Map Map::from_pairs(const Set& pairs, std::size_t dimensions_in) {
  const auto total = pairs.dimensions();
  CYC_CHECK(dimensions_in <= total);
  isl_map* map = isl_map_from_range(pairs.copy());
  map = isl_map_move_dims(map, isl_dim_in, 0, isl_dim_out, 0, static_cast<unsigned>(dimensions_in));
  return {pairs.context(), map};
}

Map Map::before(const Context& context, std::size_t dimensions) {
  return {context, isl_map_lex_lt(isl_space_set_alloc(context.get(), 0, static_cast<unsigned>(dimensions)))};
}

bool Map::is_empty() const { return checked(context_, isl_map_is_empty(map_)); }
bool Map::operator==(const Map& other) const { return checked(context_, isl_map_is_equal(map_, other.map_)); }
Map Map::reverse() const { return {context_, isl_map_reverse(copy())}; }
Map Map::then(const Map& next) const { return {context_, isl_map_apply_range(copy(), next.copy())}; }
Map Map::intersect(const Map& other) const { return {context_, isl_map_intersect(copy(), other.copy())}; }
Map Map::subtract(const Map& other) const { return {context_, isl_map_subtract(copy(), other.copy())}; }
Map Map::unite(const Map& other) const { return {context_, isl_map_union(copy(), other.copy())}; }
Map Map::restrict_domain(const Set& set) const {
  return {context_, isl_map_intersect_domain(copy(), set.copy())};
}
Map Map::restrict_range(const Set& set) const {
  return {context_, isl_map_intersect_range(copy(), set.copy())};
}
Set Map::domain() const { return {context_, isl_map_domain(copy())}; }
Set Map::range() const { return {context_, isl_map_range(copy())}; }
Set Map::apply(const Set& set) const { return {context_, isl_set_apply(set.copy(), copy())}; }
bool Map::is_single_valued() const { return checked(context_, isl_map_is_single_valued(map_)); }
bool Map::is_injective() const { return checked(context_, isl_map_is_injective(map_)); }
Map Map::lexmin() const { return {context_, isl_map_lexmin(copy())}; }
Map Map::lexmax() const { return {context_, isl_map_lexmax(copy())}; }

Set Map::wrap() const {
  isl_set* flat = isl_set_flatten(isl_map_wrap(copy()));
  return {context_, isl_set_reset_tuple_id(flat)};
}

std::optional<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> Map::sample() const {
  auto point = wrap().lexmin_point();
  if (!point) return std::nullopt;
  const auto inputs = isl_map_dim(map_, isl_dim_in);
  const auto middle = point->begin() + inputs;
  return std::pair{std::vector<std::int64_t>(point->begin(), middle),
                   std::vector<std::int64_t>(middle, point->end())};
}

std::vector<Map> Map::conjunctions() const {
  const auto disjoint = own(context_, isl_map_make_disjoint(copy()));
  std::vector<Map> result;
  detail::visit<isl_basic_map>(context_, isl_map_foreach_basic_map, disjoint.get(),
                               [&](Owned<isl_basic_map> basic) {
                                 result.emplace_back(context_, isl_map_from_basic_map(basic.release()));
                               });
  return result;
}

namespace {

/// Equalities over quotients, variables and a value, each `form == 0`.
std::vector<Affine> equalities_of(const Context& context, isl_map* graph, std::size_t& quotients) {
  const auto hull = own(context, isl_map_affine_hull(isl_map_copy(graph)));
  quotients = static_cast<std::size_t>(isl_basic_map_dim(hull.get(), isl_dim_div));
  const auto matrix = own(context, isl_basic_map_equalities_matrix(hull.get(), isl_dim_div, isl_dim_in,
                                                                   isl_dim_out, isl_dim_param, isl_dim_cst));
  const int columns = static_cast<int>(isl_mat_cols(matrix.get()));
  std::vector<Affine> rows;
  for (int r = 0; r < isl_mat_rows(matrix.get()); ++r) {
    const auto entry = [&](int c) { return take_int(context, isl_mat_get_element_val(matrix.get(), r, c)); };
    Affine& row = rows.emplace_back(constant(static_cast<std::size_t>(columns - 1), entry(columns - 1)));
    for (int c = 0; c + 1 < columns; ++c) row.coefficients[static_cast<std::size_t>(c)] = entry(c);
  }
  return rows;
}

/// Without what all factors have in common.
Affine reduced(Affine row) {
  auto common = std::abs(row.constant);
  for (const auto factor : row.coefficients) common = std::gcd(common, factor);
  if (common <= 1) return row;
  for (auto& factor : row.coefficients) factor /= common;
  row.constant /= common;
  return row;
}

/// Takes a column out of rows by one that has it.
void eliminate(std::vector<Affine>& rows, std::size_t column, const Affine& pivot) {
  for (Affine& row : rows) {
    const auto factor = row.coefficients[column];
    if (factor != 0) row = reduced(pivot.coefficients[column] * row - factor * pivot);
  }
}

/// Takes a column out of all rows, and out of them one that has it, which is returned.
std::optional<Affine> take_out(std::vector<Affine>& rows, std::size_t column) {
  const auto found =
      std::ranges::find_if(rows, [&](const Affine& row) { return row.coefficients[column] != 0; });
  if (found == rows.end()) return std::nullopt;
  Affine pivot = *found;
  rows.erase(found);
  eliminate(rows, column, pivot);
  return pivot;
}

/// The smallest multiple of a row that makes a column's factor divisible.
std::int64_t multiple(std::int64_t factor, std::int64_t of_row, std::int64_t divisor) {
  for (std::int64_t size = 0; size < divisor; ++size) {
    for (const auto times : {size, -size})
      if ((factor + times * of_row) % divisor == 0) return times;
  }
  return 0;
}

/// A function's value with whole factors of the variables, which equalities between these may tell: i / 2 is j where
/// i == 2j.
std::optional<Affine> whole_form(const Context& context, std::size_t dimensions, isl_map* graph) {
  constexpr std::int64_t most = 64;
  std::size_t quotients = 0;
  auto rows = equalities_of(context, graph, quotients);
  for (std::size_t q = 0; q < quotients; ++q) take_out(rows, q);
  auto value = take_out(rows, quotients + dimensions);
  if (!value || std::abs(value->coefficients.back()) > most) return std::nullopt;
  // divisor * value == form, and any multiples of the other equalities may be added to the form.
  auto form = reduced(*value);
  if (form.coefficients.back() > 0) form = -1 * form;
  const auto divisor = -form.coefficients.back();
  while (!rows.empty()) {
    const Affine row = rows.back();
    rows.pop_back();
    const auto is_free = [&](std::int64_t factor) { return std::gcd(factor, divisor) == 1; };
    const auto column = std::ranges::find_if(row.coefficients, is_free) - row.coefficients.begin();
    if (column == std::ssize(row.coefficients)) continue;
    const auto v = static_cast<std::size_t>(column);
    form = form + multiple(form.coefficients[v], row.coefficients[v], divisor) * row;
    eliminate(rows, v, row);
  }
  const auto is_whole = [&](std::int64_t factor) { return factor % divisor == 0; };
  if (!is_whole(form.constant) || !std::ranges::all_of(form.coefficients, is_whole)) return std::nullopt;
  Affine result = constant(dimensions, form.constant / divisor);
  for (std::size_t v = 0; v < dimensions; ++v)
    result.coefficients[v] = form.coefficients[quotients + v] / divisor;
  return result;
}

/// Without quotients and with whole factors, if it is so.
std::optional<Affine> affine_of(const Context& context, std::size_t dimensions, isl_aff* aff) {
  const auto denominator = own(context, isl_aff_get_denominator_val(aff));
  if (!checked(context, isl_val_is_one(denominator.get()))) return std::nullopt;
  for (int d = 0; d < isl_aff_dim(aff, isl_dim_div); ++d) {
    const auto factor = own(context, isl_aff_get_coefficient_val(aff, isl_dim_div, d));
    if (!checked(context, isl_val_is_zero(factor.get()))) return std::nullopt;
  }
  Affine form = constant(dimensions, take_int(context, isl_aff_get_constant_val(aff)));
  for (std::size_t v = 0; v < dimensions; ++v) {
    form.coefficients[v] =
        take_int(context, isl_aff_get_coefficient_val(aff, isl_dim_in, static_cast<int>(v)));
  }
  return form;
}

}  // namespace

std::optional<std::vector<Map::Piece>> Map::pieces() const {
  const auto function = own(context_, isl_pw_multi_aff_coalesce(isl_pw_multi_aff_from_map(copy())));
  std::vector<Piece> result;
  bool affine = true;
  detail::visit<isl_set, isl_multi_aff>(
      context_, isl_pw_multi_aff_foreach_piece, function.get(),
      [&](Owned<isl_set> domain, const Owned<isl_multi_aff>& forms) {
        Piece piece{Set(context_, domain.release()), {}};
        for (int f = 0; affine && f < isl_multi_aff_dim(forms.get(), isl_dim_out); ++f) {
          const auto aff = own(context_, isl_multi_aff_get_aff(forms.get(), f));
          const auto dimensions = piece.domain.dimensions();
          auto form = affine_of(context_, dimensions, aff.get());
          if (!form) {
            isl_map* graph = isl_map_from_aff(isl_aff_copy(aff.get()));
            const auto here = own(context_, isl_map_intersect_domain(graph, piece.domain.copy()));
            form = whole_form(context_, dimensions, here.get());
          }
          affine = form.has_value();
          if (form) piece.forms.push_back(std::move(*form));
        }
        result.push_back(std::move(piece));
      });
  return affine ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace cyclotron::poly
