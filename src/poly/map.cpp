// Relations between integer points.
#include <cyclotron/poly/set.hpp>

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
          auto form = affine_of(context_, piece.domain.dimensions(), aff.get());
          affine = form.has_value();
          if (form) piece.forms.push_back(std::move(*form));
        }
        result.push_back(std::move(piece));
      });
  return affine ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace cyclotron::poly
