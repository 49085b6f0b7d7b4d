// Domains in text: unions of conjunctions of comparisons between affine forms, with `mod`, `floor` and
// `exists` where a stride makes them necessary. Written here rather than left to isl, so that no text can
// hang or crash it.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include <cyclotron/support/error.hpp>

#include "text_reader.hpp"

namespace cyclotron::dataflow::detail {

namespace {

constexpr int domain_depth_limit = 32;
constexpr std::size_t piece_limit = 256;        ///< Conjunctions of a domain.
constexpr std::size_t comparison_limit = 1024;  ///< Comparisons of a domain.

/// The points, and at most how many conjunctions describe them.
struct Region {
  poly::Set set;
  std::size_t pieces = 1;
};

/// floor(numerator / divisor), as one more variable.
struct Floor {
  poly::Affine numerator;
  std::int64_t divisor = 1;
};

class DomainReader {
 public:
  DomainReader(TextReader& reader, const poly::Context& context, std::vector<std::string> names)
      : reader_(reader), context_(context), names_(std::move(names)) {}

  poly::Set run() {
    // Whole texts, and so no indices of these names.
    if (reader_.rest() == "everywhere") return poly::Set::universe(context_, names_.size());
    if (reader_.rest() == "false") return poly::Set::empty(context_, names_.size());
    auto region = disjunction(0);
    reader_.expect_end();
    return std::move(region.set);
  }

 private:
  Region disjunction(int depth) {
    if (depth > domain_depth_limit) reader_.fail("the parentheses nest too deeply");
    auto all = conjunction(depth);
    while (reader_.accept_word("or")) {
      const auto more = conjunction(depth);
      all = {all.set.unite(more.set), limited(all.pieces + more.pieces)};
    }
    return all;
  }

  Region conjunction(int depth) {
    auto all = atom(depth);
    while (reader_.accept(",") || reader_.accept_word("and")) {
      const auto more = atom(depth);
      all = {all.set.intersect(more.set), limited(all.pieces * more.pieces)};
    }
    return all;
  }

  [[nodiscard]] std::size_t limited(std::size_t pieces) const {
    if (pieces > piece_limit) reader_.fail("the domain has too many alternatives");
    return pieces;
  }

  Region atom(int depth) {
    if (accept_keyword("exists")) return exists(depth);
    if (reader_.peek("(") && is_region(reader_.after_parenthesis())) {
      reader_.expect("(");
      auto region = disjunction(depth + 1);
      reader_.expect(")");
      return region;
    }
    return {comparisons(depth)};
  }

  /// A word of the notation, unless it is an index's name.
  bool accept_keyword(std::string_view word) {
    return std::ranges::find(names_, word) == names_.end() && reader_.accept_word(word);
  }

  /// True where a parenthesis followed by this text holds constraints, not a form.
  static bool is_region(std::string_view next) {
    return next.empty() || next.starts_with(")") || next.starts_with(",") || next.starts_with("and") ||
           next.starts_with("or");
  }

  /// exists (e0 = floor((i)/2), e1: ...)
  Region exists(int depth) {
    if (depth > domain_depth_limit) reader_.fail("the parentheses nest too deeply");
    const auto outer = names_.size();
    std::vector<poly::Set> definitions;
    reader_.expect("(");
    do {
      auto variable = reader_.name("a variable");
      if (std::ranges::find(names_, variable) != names_.end())
        reader_.fail(fmt::format("`{}` is declared twice", variable));
      names_.push_back(std::move(variable));
      if (names_.size() > outer + domain_depth_limit) reader_.fail("the domain has too many variables");
      if (!reader_.accept("=")) continue;
      floors_.clear();
      auto form = side(depth);
      const auto own = poly::variable(names_.size(), names_.size() - 1);
      definitions.push_back(with_floors({{difference(form, own), true}}));
    } while (reader_.accept(","));
    reader_.expect(":");
    auto region = disjunction(depth + 1);
    reader_.expect(")");
    const auto inner = names_.size();
    for (const auto& definition : definitions) region.set = region.set.intersect(widened(definition, inner));
    names_.resize(outer);
    return {first(region.set, outer), region.pieces};
  }

  /// a <= b < c = d
  poly::Set comparisons(int depth) {
    floors_.clear();
    std::vector<poly::Constraint> all;
    auto left = side(depth);
    std::size_t count = 0;
    while (true) {
      const bool at_most = reader_.accept("≤") || reader_.accept("<="),
                 at_least = !at_most && (reader_.accept("≥") || reader_.accept(">="));
      const bool less = !at_most && !at_least && reader_.accept("<"),
                 more = !at_most && !at_least && !less && reader_.accept(">");
      const bool same = !at_most && !at_least && !less && !more && reader_.accept("=");
      if (!(at_most || at_least || less || more || same)) break;
      if (++comparisons_ > comparison_limit) reader_.fail("the domain has too many constraints");
      auto right = side(depth);
      auto form = at_least || more ? difference(left, right) : difference(right, left);
      if (less || more) form.constant -= 1;
      all.push_back({std::move(form), same});
      left = std::move(right);
      ++count;
    }
    if (count == 0) reader_.fail("a comparison is expected here");
    return with_floors(std::move(all));
  }

  // Forms read within one comparison may have further variables, one a floor; `padded` brings two to one
  // length.
  static poly::Affine padded(poly::Affine form, std::size_t variables) {
    form.coefficients.resize(std::max(variables, form.coefficients.size()), 0);
    return form;
  }
  static poly::Affine difference(const poly::Affine& a, const poly::Affine& b) {
    const auto variables = std::max(a.coefficients.size(), b.coefficients.size());
    return padded(a, variables) - padded(b, variables);
  }
  void add(poly::Affine& sum, std::int64_t factor, const poly::Affine& term) const {
    sum = padded(std::move(sum), term.coefficients.size());
    for (std::size_t v = 0; v < term.coefficients.size(); ++v) {
      sum.coefficients[v] = checked_multiply_add(reader_, factor, term.coefficients[v], sum.coefficients[v]);
    }
    sum.constant = checked_multiply_add(reader_, factor, term.constant, sum.constant);
  }

  poly::Affine side(int depth) {
    poly::Affine sum = poly::constant(names_.size(), 0);
    std::int64_t sign = reader_.accept("-") ? -1 : 1;
    while (true) {
      term(sum, sign, depth);
      if (reader_.accept("+")) {
        sign = 1;
      } else if (reader_.accept("-")) {
        sign = -1;
      } else {
        return sum;
      }
    }
  }

  void term(poly::Affine& sum, std::int64_t factor, int depth) {
    bool number = false;
    if (reader_.peek_digit()) {
      factor = checked_multiply_add(reader_, factor, reader_.integer(), 0);
      number = !reader_.accept("*");
    }
    if (reader_.peek("(")) {
      add(sum, factor, remainder(parenthesized(depth)));
    } else if (reader_.peek_name() && !(number && peek_keyword())) {
      add(sum, factor, remainder(symbol(depth)));
    } else if (number) {
      sum.constant = checked_multiply_add(reader_, factor, 1, sum.constant);
    } else {
      reader_.fail("an index or a number is expected here");
    }
  }

  /// `and` or `or` after a number.
  bool peek_keyword() { return next_is_word("and") || next_is_word("or"); }
  bool next_is_word(std::string_view word) {
    auto ahead = reader_;
    return ahead.accept_word(word);
  }

  poly::Affine symbol(int depth) {
    if (accept_keyword("floor")) {
      reader_.expect("(");
      auto numerator = reader_.peek("(") ? parenthesized(depth) : side(depth);
      reader_.expect("/");
      const auto divisor = positive();
      reader_.expect(")");
      return floor_of(std::move(numerator), divisor);
    }
    return poly::variable(names_.size(), reader_.index_of(names_, "an index"));
  }

  poly::Affine parenthesized(int depth) {
    if (depth > domain_depth_limit) reader_.fail("the parentheses nest too deeply");
    reader_.expect("(");
    auto form = side(depth + 1);
    reader_.expect(")");
    return form;
  }

  /// form mod m = form - m floor(form / m)
  poly::Affine remainder(poly::Affine form) {
    if (!accept_keyword("mod")) return form;
    const auto modulus = positive();
    auto result = form;
    add(result, -modulus, floor_of(std::move(form), modulus));
    return result;
  }

  std::int64_t positive() {
    const auto value = checked_multiply_add(reader_, reader_.integer(), 1, 0);
    if (value < 1) reader_.fail("a divisor is at least 1");
    return value;
  }

  poly::Affine floor_of(poly::Affine numerator, std::int64_t divisor) {
    if (floors_.size() >= domain_depth_limit) reader_.fail("the comparison has too many divisions");
    floors_.push_back({std::move(numerator), divisor});
    return poly::variable(names_.size() + floors_.size(), names_.size() + floors_.size() - 1);
  }

  /// The constraints over names and floors, as a set over the names.
  poly::Set with_floors(std::vector<poly::Constraint> all) {
    const auto variables = names_.size() + floors_.size();
    for (auto& [form, equality] : all) form = padded(std::move(form), variables);
    for (std::size_t f = 0; f < floors_.size(); ++f) {
      const auto& [numerator, divisor] = floors_[f];
      auto low = padded(numerator, variables);  // 0 <= numerator - divisor * floor <= divisor - 1
      add(low, -divisor, poly::variable(variables, names_.size() + f));
      all.push_back({low, false});
      auto high = -1 * low;
      high.constant = checked_multiply_add(reader_, 1, divisor - 1, high.constant);
      all.push_back({std::move(high), false});
    }
    const auto set = poly::Set::where(context_, variables, all);
    return floors_.empty() ? set : first(set, names_.size());
  }

  static poly::Set first(const poly::Set& set, std::size_t count) {
    std::vector<std::size_t> keep(count);
    for (std::size_t v = 0; v < count; ++v) keep[v] = v;
    return set.project(keep);
  }
  static poly::Set widened(const poly::Set& set, std::size_t variables) {
    std::vector<poly::Affine> forms;
    for (std::size_t v = 0; v < set.dimensions(); ++v) forms.push_back(poly::variable(variables, v));
    return set.preimage(forms, variables);
  }

  TextReader& reader_;
  const poly::Context& context_;
  std::vector<std::string> names_;
  std::vector<Floor> floors_;
  std::size_t comparisons_ = 0;
};

}  // namespace

poly::Set read_domain(TextReader& reader, const poly::Context& context,
                      const std::vector<std::string>& names) {
  return DomainReader(reader, context, names).run();
}

}  // namespace cyclotron::dataflow::detail
