#include <cyclotron/machine/link_map.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include <cyclotron/support/division.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::machine {
namespace {

using Kind = Term::Kind;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  LinkFunction run() {
    take("(");
    do result_.names.push_back(name());
    while (takes(","));
    take(")");
    take("->");
    take("(");
    do result_.receiver.push_back(sum());
    while (takes(","));
    take(")");
    if (result_.receiver.size() != result_.names.size()) {
      fail(fmt::format("has {} coordinates on the left and {} on the right", result_.names.size(),
                       result_.receiver.size()));
    }
    if (takes("if")) {
      do comparisons();
      while (takes("and"));
    }
    space();
    if (at_ != text_.size()) expected("its end");
    return std::move(result_);
  }

 private:
  static constexpr std::int64_t largest = std::int64_t{1} << 40;
  static constexpr int deepest = 64;

  [[noreturn]] void fail(const std::string& what) const {
    throw ShapeError(
        {.code = "CYC402",
         .span = {},
         .message = fmt::format("link map `{}` {}", text_, what),
         .notes = {},
         .help =
             "write it as in \"(i, j) -> (i, (j + 1) % 8)\", with \"if i < 4\" where it is not everywhere"});
  }
  [[noreturn]] void expected(std::string_view what) const {
    const auto there = at_ < text_.size() ? fmt::format("`{}`", text_.substr(at_)) : std::string("its end");
    fail(fmt::format("has {} where {} is expected", there, what));
  }
  void space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  [[nodiscard]] static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }
  bool takes(std::string_view token) {
    space();
    if (text_.substr(at_, token.size()) != token) return false;
    const std::size_t after = at_ + token.size();
    if (is_word(token.front()) && after < text_.size() && is_word(text_[after])) return false;
    at_ = after;
    return true;
  }
  void take(std::string_view token) {
    if (!takes(token)) expected(fmt::format("`{}`", token));
  }
  std::string_view word() {
    space();
    const std::size_t first = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }
  std::string name() {
    const auto found = word();
    if (found.empty() || std::isdigit(static_cast<unsigned char>(found.front())) != 0) {
      at_ -= found.size();
      expected("the name of a coordinate");
    }
    if (std::ranges::find(result_.names, found) != result_.names.end())
      fail(fmt::format("has two coordinates `{}`", found));
    return std::string(found);
  }

  std::size_t add(Kind kind, std::int64_t value, std::size_t left = 0, std::size_t right = 0) {
    result_.terms.push_back({kind, value, left, right});
    return result_.terms.size() - 1;
  }
  [[nodiscard]] bool is_constant(std::size_t term) const {
    return result_.terms[term].kind == Kind::constant;
  }
  std::size_t sum() {
    std::size_t left = product();
    for (;;) {
      if (takes("+")) {
        left = add(Kind::sum, 0, left, product());
      } else if (space(), text_.substr(at_, 2) != "->" && takes("-")) {
        left = add(Kind::difference, 0, left, product());
      } else {
        return left;
      }
    }
  }
  std::size_t product() {
    std::size_t left = factor();
    for (;;) {
      if (takes("*")) {
        const std::size_t right = factor();
        if (!is_constant(left) && !is_constant(right))
          fail("has a product of coordinates, which is not affine");
        left = add(Kind::product, 0, left, right);
      } else if (takes("//")) {
        left = add(Kind::quotient, 0, left, divisor());
      } else if (takes("%")) {
        left = add(Kind::remainder, 0, left, divisor());
      } else {
        return left;
      }
    }
  }
  std::size_t divisor() {
    const std::size_t result = factor();
    if (!is_constant(result) || result_.terms[result].value < 1)
      fail("divides by what is no positive integer");
    return result;
  }
  std::size_t factor() {
    if (++depth_ > deepest) fail(fmt::format("is nested more than {} deep", deepest));
    std::size_t result = 0;
    if (takes("(")) {
      result = sum();
      take(")");
    } else if (takes("-")) {
      const std::size_t zero = add(Kind::constant, 0);
      result = add(Kind::difference, 0, zero, factor());
    } else {
      result = number_or_name();
    }
    --depth_;
    return result;
  }
  std::size_t number_or_name() {
    const auto found = word();
    if (found.empty()) expected("a coordinate or an integer");
    if (const auto place = std::ranges::find(result_.names, found); place != result_.names.end())
      return add(Kind::coordinate, place - result_.names.begin());
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), value);
    if (end != found.data() + found.size())
      fail(fmt::format("has `{}`, which is no coordinate on its left", found));
    if (error != std::errc{} || value > largest) fail(fmt::format("has `{}`, above {}", found, largest));
    return add(Kind::constant, value);
  }
  /// `a < b <= c`
  void comparisons() {
    std::size_t left = sum();
    bool any = false;
    for (;; any = true) {
      constexpr std::array<std::string_view, 6> relations{"<=", ">=", "==", "!=", "<", ">"};
      const auto* found = std::ranges::find_if(relations, [&](auto relation) { return takes(relation); });
      if (found == relations.end()) break;
      const std::size_t right = sum();
      result_.where.push_back({left, right, std::string(*found)});
      left = right;
    }
    if (!any) expected("a comparison");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  LinkFunction result_;
};

/// All terms for a sender; none where one overflows.
std::optional<std::vector<std::int64_t>> values(const std::vector<Term>& terms,
                                                std::span<const std::int64_t> sender) {
  std::vector<std::int64_t> result;
  for (const Term& term : terms) {
    std::int64_t value = term.value;
    bool overflows = false;
    const auto operand = [&](std::size_t number) { return result[number]; };
    switch (term.kind) {
      case Kind::constant: break;
      case Kind::coordinate: value = sender[static_cast<std::size_t>(term.value)]; break;
      case Kind::sum:
        overflows = __builtin_add_overflow(operand(term.left), operand(term.right), &value);
        break;
      case Kind::difference:
        overflows = __builtin_sub_overflow(operand(term.left), operand(term.right), &value);
        break;
      case Kind::product:
        overflows = __builtin_mul_overflow(operand(term.left), operand(term.right), &value);
        break;
      case Kind::quotient: value = floor_divide(operand(term.left), operand(term.right)); break;
      case Kind::remainder:
        value =
            operand(term.left) - floor_divide(operand(term.left), operand(term.right)) * operand(term.right);
        break;
    }
    if (overflows) return std::nullopt;
    result.push_back(value);
  }
  return result;
}

bool holds(const Comparison& comparison, std::int64_t left, std::int64_t right) {
  if (comparison.relation == "<") return left < right;
  if (comparison.relation == "<=") return left <= right;
  if (comparison.relation == ">") return left > right;
  if (comparison.relation == ">=") return left >= right;
  return (left == right) == (comparison.relation == "==");
}

}  // namespace

std::optional<std::vector<std::int64_t>> LinkFunction::operator()(
    std::span<const std::int64_t> sender) const {
  const auto all = values(terms, sender);
  if (!all) return std::nullopt;
  for (const auto& one : where) {
    if (!holds(one, (*all)[one.left], (*all)[one.right])) return std::nullopt;
  }
  std::vector<std::int64_t> result;
  for (const auto term : receiver) result.push_back((*all)[term]);
  return result;
}

std::string LinkFunction::isl_text(std::size_t term, const std::vector<std::string>& coordinates) const {
  const auto& [kind, value, left, right] = terms[term];
  const auto operand = [&](std::size_t number) { return isl_text(number, coordinates); };
  switch (kind) {
    case Kind::constant: return fmt::format("{}", value);
    case Kind::coordinate: return coordinates[static_cast<std::size_t>(value)];
    case Kind::sum: return fmt::format("({} + {})", operand(left), operand(right));
    case Kind::difference: return fmt::format("({} - {})", operand(left), operand(right));
    case Kind::product: return fmt::format("({} * {})", operand(left), operand(right));
    case Kind::quotient: return fmt::format("floor({}/{})", operand(left), operand(right));
    case Kind::remainder: return fmt::format("({} mod {})", operand(left), operand(right));
  }
  return {};
}

LinkFunction parse_link_map(std::string_view text) { return Parser(text).run(); }

}  // namespace cyclotron::machine
