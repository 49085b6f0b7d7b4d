#include <cyclotron/poly/set.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <isl/version.h>

#include <algorithm>

#include <cyclotron/poly/effort.hpp>

#include "detail.hpp"

namespace cyclotron::poly {
namespace detail {

struct CurrentAnalysis {
  Context context;
  std::string subject;
  bool has_budget = false;  ///< Its own, so that contexts of limited effort are this one too.
};

}  // namespace detail

using detail::checked;
using detail::forgive;
using detail::own;
using detail::Owned;
using detail::take_int;

namespace {

/// The equalities among constraints, or the others: one a row, coefficients before the constant.
isl_mat* to_matrix(const Context& context, std::size_t dimensions, const std::vector<Constraint>& all,
                   bool equalities) {
  const auto rows = std::ranges::count(all, equalities, &Constraint::equality);
  isl_mat* result =
      isl_mat_alloc(context.get(), static_cast<unsigned>(rows), static_cast<unsigned>(dimensions + 1));
  int row = 0;
  const auto set = [&](std::size_t column, std::int64_t value) {
    result = isl_mat_set_element_val(result, row, static_cast<int>(column),
                                     isl_val_int_from_si(context.get(), value));
  };
  for (const auto& [form, equality] : all) {
    if (equality != equalities) continue;
    CYC_CHECK(form.coefficients.size() == dimensions);
    for (std::size_t v = 0; v < dimensions; ++v) set(v, form.coefficients[v]);
    set(dimensions, form.constant);
    ++row;
  }
  return result;
}

isl_space* set_space(const Context& context, std::size_t dimensions) {
  return isl_space_set_alloc(context.get(), 0, static_cast<unsigned>(dimensions));
}

std::vector<std::int64_t> coordinates(const Context& context, isl_point* point) {
  std::vector<std::int64_t> result;
  const auto space = own(context, isl_point_get_space(point));
  for (int v = 0; v < isl_space_dim(space.get(), isl_dim_set); ++v)
    result.push_back(take_int(context, isl_point_get_coordinate_val(point, isl_dim_set, v)));
  return result;
}

/// None where it is infinite, or of no points.
std::optional<std::int64_t> take_bound(const Context& context, isl_val* value) {
  auto owned = own(context, value);
  if (!checked(context, isl_val_is_int(value))) return std::nullopt;
  return take_int(context, owned.release());
}

isl_multi_aff* to_multi_aff(const Context& context, const std::vector<Affine>& forms,
                            std::size_t dimensions) {
  isl_space* space = set_space(context, dimensions);
  isl_local_space* local = isl_local_space_from_space(isl_space_copy(space));
  isl_space* target = isl_space_map_from_domain_and_range(space, set_space(context, forms.size()));
  isl_multi_aff* result = isl_multi_aff_zero(target);
  for (std::size_t f = 0; f < forms.size(); ++f) {
    CYC_CHECK(forms[f].coefficients.size() == dimensions);
    isl_aff* aff = isl_aff_zero_on_domain(isl_local_space_copy(local));
    for (std::size_t v = 0; v < dimensions; ++v) {
      aff = isl_aff_set_coefficient_val(aff, isl_dim_in, static_cast<int>(v),
                                        isl_val_int_from_si(context.get(), forms[f].coefficients[v]));
    }
    aff = isl_aff_set_constant_val(aff, isl_val_int_from_si(context.get(), forms[f].constant));
    result = isl_multi_aff_set_aff(result, static_cast<int>(f), aff);
  }
  isl_local_space_free(local);
  return result;
}

Owned<isl_aff> coordinate_form(const Context& context, std::size_t dimensions, std::size_t coordinate) {
  isl_local_space* local = isl_local_space_from_space(set_space(context, dimensions));
  return own(context, isl_aff_var_on_domain(local, isl_dim_set, static_cast<unsigned>(coordinate)));
}

constexpr auto most_operations = 40'000'000UL;

// Contexts are made many calls below the seam at which an analysis begins.
thread_local std::optional<detail::CurrentAnalysis> current;

/// Tells whether isl reads the text, however many operations it may take. That it does not is the caller's to report.
bool is_well_formed(const Context& context, const std::string& text) {
  const auto limit = isl_ctx_get_max_operations(context.get());
  isl_ctx_set_max_operations(context.get(), 0);
  isl_ctx_reset_error(context.get());
  const Owned<isl_set> set(isl_set_read_from_str(context.get(), text.c_str()));
  isl_ctx_reset_error(context.get());
  isl_ctx_set_max_operations(context.get(), limit);
  return set != nullptr;
}

}  // namespace

// Those of limited effort count for themselves: each may fail without ending the analysis around.
Context::Context()
    : Context(current && (current->has_budget || !EffortLimit::acts()) ? current->context
                                                                       : Context(most_operations)) {}

Context::Context(unsigned long operation_limit) : ctx_(isl_ctx_alloc(), isl_ctx_free) {
  isl_options_set_on_error(ctx_.get(), ISL_ON_ERROR_CONTINUE);
  EffortLimit::apply(ctx_, operation_limit);
  if (auto* interrupt = Interrupt::of_this_thread()) {
    interrupt->on_raise([weak = std::weak_ptr(ctx_)] {
      if (const auto ctx = weak.lock()) isl_ctx_abort(ctx.get());
    });
  }
}

Analysis::Analysis(const std::string& subject, unsigned long operation_limit) : outermost_(!current) {
  if (outermost_) current = detail::CurrentAnalysis{Context(operation_limit), subject};
}

Analysis::~Analysis() {
  if (!outermost_) return;
  isl_ctx_reset_operations(current->context.get());  // what was analysed lives on, to be looked at
  current.reset();
}

struct EffortBudget::State {
  explicit State(unsigned long operations) : limit(operations), before(current) {
    current = detail::CurrentAnalysis{Context(std::max(operations, most_operations)),
                                      before ? before->subject : "", true};
  }
  EffortLimit limit;
  std::optional<detail::CurrentAnalysis> before;
};

EffortBudget::EffortBudget(unsigned long operations) : state_(std::make_unique<State>(operations)) {}

EffortBudget::~EffortBudget() { current = std::move(state_->before); }

bool EffortBudget::acts() { return current && current->has_budget; }

void detail::out_of_operations(isl_ctx* ctx) {
  const auto subject =
      current && !current->subject.empty() ? fmt::format("`{}`", current->subject) : "this kernel";
  refuse(ctx,
         fmt::format("the exact integer analysis of {} takes more than {} steps", subject,
                     isl_ctx_get_max_operations(ctx)),
         "simplify the index constraints, split the kernel, or give a schedule, which leaves less to try");
}

Set::Set(Context context, isl_set* take) : context_(std::move(context)), set_(checked(context_, take)) {}
Set::Set(const Set& other) : context_(other.context_), set_(isl_set_copy(other.set_)) {}
Set& Set::operator=(const Set& other) {
  if (this != &other) *this = Set(other);
  return *this;
}
Set::Set(Set&& other) noexcept
    : context_(std::move(other.context_)), set_(std::exchange(other.set_, nullptr)) {}
Set& Set::operator=(Set&& other) noexcept {
  std::swap(set_, other.set_);
  std::swap(context_, other.context_);
  return *this;
}
Set::~Set() { isl_set_free(set_); }
isl_set* Set::copy() const { return isl_set_copy(set_); }

Set Set::universe(const Context& context, std::size_t dimensions) {
  return {context, isl_set_universe(set_space(context, dimensions))};
}

Set Set::empty(const Context& context, std::size_t dimensions) {
  return {context, isl_set_empty(set_space(context, dimensions))};
}

Set Set::where(const Context& context, std::size_t dimensions, const std::vector<Constraint>& all) {
  // All at once: isl simplifies a set after each constraint that is added.
  isl_basic_set* result = isl_basic_set_from_constraint_matrices(
      set_space(context, dimensions), to_matrix(context, dimensions, all, true),
      to_matrix(context, dimensions, all, false), isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst);
  return {context, isl_set_from_basic_set(result)};
}

Set Set::where(const Context& context, std::size_t dimensions, const Conjunction& all) {
  Set result = where(context, dimensions, all.constraints);
  for (const auto& [form, modulus] : all.divisible) {
    const auto value = own(context, to_multi_aff(context, {form}, dimensions));
    isl_aff* rest =
        isl_aff_mod_val(isl_multi_aff_get_aff(value.get(), 0), isl_val_int_from_si(context.get(), modulus));
    result = result.intersect(Set(context, isl_set_from_basic_set(isl_aff_zero_basic_set(rest))));
  }
  return result;
}

std::optional<Set> Set::parse(const Context& context, const std::vector<std::string>& names,
                              const std::string& constraints) {
  const auto text = fmt::format("{{ [{}] : {} }}", fmt::join(names, ", "), constraints);
  isl_set* set = isl_set_read_from_str(context.get(), text.c_str());
  if (set == nullptr) {
    check_interrupt();
    // isl finds fault with the text in both cases.
    if (is_well_formed(context, text)) detail::out_of_operations(context.get());
    return std::nullopt;
  }
  set = isl_set_reset_tuple_id(isl_set_reset_user(set));
  return Set(context, set);
}

std::size_t Set::dimensions() const { return static_cast<std::size_t>(isl_set_dim(set_, isl_dim_set)); }
bool Set::is_empty() const { return checked(context_, isl_set_is_empty(set_)); }
bool Set::is_subset(const Set& other) const {
  // A copy of a set is the set: isl would subtract it from itself.
  return set_ == other.set_ || checked(context_, isl_set_is_subset(set_, other.set_));
}
bool Set::satisfies(const Constraint& constraint) const {
  // Coordinates of small spaces are numbers, most of them, which need no integer programming.
  auto form = constraint.form;
  for (std::size_t v = 0; v < dimensions(); ++v) {
    if (form.coefficients[v] == 0) continue;
    const auto number =
        own(context_, isl_set_plain_get_val_if_fixed(set_, isl_dim_set, static_cast<unsigned>(v)));
    if (isl_val_is_int(number.get()) != isl_bool_true) continue;
    form.constant += std::exchange(form.coefficients[v], 0) * take_int(context_, isl_val_copy(number.get()));
  }
  const auto& equality = constraint.equality;
  if (is_constant(form)) return (equality ? form.constant == 0 : form.constant >= 0) || is_empty();
  const auto one = poly::constant(dimensions(), 1);
  return intersect({-1 * form - one, false}).is_empty() &&
         (!equality || intersect({form - one, false}).is_empty());
}
bool Set::operator==(const Set& other) const {
  return set_ == other.set_ || checked(context_, isl_set_is_equal(set_, other.set_));
}
Set Set::intersect(const Set& other) const { return {context_, isl_set_intersect(copy(), other.copy())}; }
Set Set::intersect(const Constraint& constraint) const { return intersect(std::vector{constraint}); }
Set Set::intersect(const std::vector<Constraint>& all) const {
  return intersect(where(context_, dimensions(), all));
}
Set Set::unite(const Set& other) const { return {context_, isl_set_union(copy(), other.copy())}; }
Set Set::subtract(const Set& other) const { return {context_, isl_set_subtract(copy(), other.copy())}; }
Set Set::simple_hull() const {
  return {context_, isl_set_from_basic_set(checked(context_, isl_set_simple_hull(copy())))};
}
Set Set::coalesce() const {
  isl_set* joined = isl_set_coalesce(copy());
  // isl 0.25 fails for some sets, "cannot relax redundant constraint"; their parts as they are make the same set.
  if (joined == nullptr && isl_ctx_last_error(context_.get()) == isl_error_invalid) {
    forgive(context_);
    return *this;
  }
  return {context_, joined};
}
Set Set::detect_equalities() const { return {context_, isl_set_detect_equalities(copy())}; }
Set Set::gist(const Set& context_set) const {
  return Set{context_, isl_set_gist(copy(), context_set.copy())}.coalesce();
}

Set Set::translate(const std::vector<std::int64_t>& offset) const {
  if (std::ranges::all_of(offset, [](std::int64_t o) { return o == 0; })) return *this;
  std::vector<Affine> back;  // a preimage needs no projection
  for (std::size_t v = 0; v < dimensions(); ++v) {
    back.push_back(variable(dimensions(), v));
    back.back().constant = -offset.at(v);
  }
  return preimage(back, dimensions());
}

Set Set::project(const std::vector<std::size_t>& keep) const {
  std::vector<Affine> forms;
  for (const auto coordinate : keep) forms.push_back(variable(dimensions(), coordinate));
  return image(forms);
}

Set Set::preimage(const std::vector<Affine>& forms, std::size_t dimensions) const {
  return {context_, isl_set_preimage_multi_aff(copy(), to_multi_aff(context_, forms, dimensions))};
}

Set Set::image(const std::vector<Affine>& forms) const { return Map::function(*this, forms).range(); }

std::optional<std::vector<std::int64_t>> Set::sample() const {
  if (is_empty()) return std::nullopt;
  const auto point = own(context_, isl_set_sample_point(copy()));
  return coordinates(context_, point.get());
}

std::optional<std::vector<std::int64_t>> Set::lexmin_point() const {
  if (is_empty()) return std::nullopt;
  if (isl_set* least = isl_set_lexmin(copy())) return Set(context_, least).sample();
  // isl takes some coordinates that go in steps for functions of others that they are not: one by one then.
  detail::forgive(context_);
  std::vector<std::int64_t> point;
  Set rest = *this;
  for (std::size_t d = 0; d < dimensions(); ++d) {
    const auto least = rest.minimum(d);
    if (!least) return std::nullopt;
    point.push_back(*least);
    isl_val* value = isl_val_int_from_si(context_.get(), static_cast<long>(*least));
    rest = Set(context_, isl_set_fix_val(rest.copy(), isl_dim_set, static_cast<unsigned>(d), value));
  }
  return point;
}

std::vector<std::vector<std::int64_t>> Set::points() const {
  std::vector<std::vector<std::int64_t>> result;
  detail::visit<isl_point>(context_, isl_set_foreach_point, set_, [&](const Owned<isl_point>& point) {
    result.push_back(coordinates(context_, point.get()));
  });
  std::ranges::sort(result);
  return result;
}

std::optional<std::int64_t> Set::minimum(std::size_t coordinate) const {
  if (is_empty()) return std::nullopt;
  const auto coordinate_aff = coordinate_form(context_, dimensions(), coordinate);
  return take_bound(context_, isl_set_min_val(set_, coordinate_aff.get()));
}

std::optional<std::int64_t> Set::maximum(std::size_t coordinate) const {
  if (is_empty()) return std::nullopt;
  const auto coordinate_aff = coordinate_form(context_, dimensions(), coordinate);
  return take_bound(context_, isl_set_max_val(set_, coordinate_aff.get()));
}

std::int64_t Set::step(std::size_t coordinate) const {
  return std::max<std::int64_t>(take_int(context_, isl_set_get_stride(set_, static_cast<int>(coordinate))),
                                1);
}

std::optional<Affine> Set::equality_for(std::size_t target) const {
  const Set hull(context_, isl_set_from_basic_set(isl_set_affine_hull(copy())));
  const auto pieces = hull.conjunctions();
  if (!pieces || pieces->size() != 1) return std::nullopt;
  for (const auto& [form, equality] : pieces->front().constraints) {
    const auto own = form.coefficients[target];
    if (!equality || (own != 1 && own != -1)) continue;
    Affine value = -own * form;
    value.coefficients[target] = 0;
    return value;
  }
  return std::nullopt;
}

std::string isl_version() {
  std::string text = ::isl_version();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace cyclotron::poly
