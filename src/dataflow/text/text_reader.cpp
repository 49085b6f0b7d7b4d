#include "text_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include <cyclotron/support/error.hpp>

namespace cyclotron::dataflow::detail {

namespace {

/// Signs of the notation that are no letters, though not ASCII.
constexpr std::array<std::string_view, 9> signs{"←", "→", "↦", "≤", "≥", "·", "ᵀ", "⟨", "⟩"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Span TextReader::span() const {
  const int start = column_ + static_cast<int>(position_);
  return {"<dataflow>", line_, start, line_, std::max(start + 1, column_ + static_cast<int>(text_.size()))};
}

void TextReader::fail(const std::string& message) const {
  throw ProgramError({.code = "CYC650",
                      .span = span(),
                      .message = fmt::format("{} (line {}, column {})", message, line_,
                                             column_ + static_cast<int>(position_)),
                      .notes = {},
                      .help = "the text must be as the printed dataflow has it"});
}

void TextReader::skip_blanks() {
  while (position_ < text_.size() && text_[position_] == ' ') ++position_;
}

bool TextReader::at_end() {
  skip_blanks();
  return position_ == text_.size();
}

void TextReader::expect_end() {
  if (!at_end()) fail(fmt::format("`{}` is not expected here", rest()));
}

bool TextReader::peek(std::string_view token) {
  skip_blanks();
  return rest().starts_with(token);
}

bool TextReader::accept(std::string_view token) {
  if (!peek(token)) return false;
  position_ += token.size();
  return true;
}

void TextReader::expect(std::string_view token) {
  if (!accept(token)) fail(fmt::format("`{}` is expected here", token));
}

bool TextReader::accept_word(std::string_view word) {
  if (!peek(word) || letter_at(position_ + word.size(), false) != 0) return false;
  position_ += word.size();
  return true;
}

std::size_t TextReader::letter_at(std::size_t position, bool start) const {
  if (position >= text_.size()) return 0;
  const char c = text_[position];
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') return 1;
  if (is_digit(c)) return start ? 0 : 1;
  if (static_cast<unsigned char>(c) < 0x80) return 0;
  const auto remaining = text_.substr(position);
  // A middle dot inside a name is a letter in Python; the operator has blanks around it.
  const auto sign = std::ranges::find_if(signs, [&](std::string_view s) { return remaining.starts_with(s); });
  if (sign != signs.end() && (start || *sign != "·")) return 0;
  std::size_t length = 1;
  while (length < remaining.size() && (static_cast<unsigned char>(remaining[length]) & 0xC0U) == 0x80U)
    ++length;
  return length;
}

bool TextReader::peek_name() {
  skip_blanks();
  return letter_at(position_, true) != 0;
}

bool TextReader::peek_digit() {
  skip_blanks();
  return position_ < text_.size() && is_digit(text_[position_]);
}

std::string TextReader::name(const char* what) {
  if (!peek_name()) fail(fmt::format("a name of {} is expected here", what));
  const auto start = position_;
  const auto skip_letters = [&] {
    while (const auto length = letter_at(position_, false)) position_ += length;
  };
  skip_letters();
  if (position_ + 1 < text_.size() && text_[position_] == '@' && is_digit(text_[position_ + 1])) {
    ++position_;
    skip_letters();
  }
  return std::string(text_.substr(start, position_ - start));
}

std::int64_t TextReader::integer() {
  const bool negative = accept("-");
  if (!peek_digit()) fail("a whole number is expected here");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
  if (error != std::errc{}) fail("the number is too large");
  position_ = static_cast<std::size_t>(end - text_.data());
  return negative ? -value : value;
}

double TextReader::real() {
  skip_blanks();
  double value = 0;
  const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
  if (error != std::errc{}) fail("a number is expected here");
  position_ = static_cast<std::size_t>(end - text_.data());
  if (letter_at(position_, false) != 0) fail("a number is expected here");
  return value;
}

Number TextReader::number() {
  skip_blanks();
  const auto start = position_;
  const Number rounded{real(), 0, 0};
  const auto read = [&]<class Integer>(Integer whole) {
    const auto* const last = text_.data() + position_;
    const auto [end, error] = std::from_chars(text_.data() + start, last, whole);
    const auto exact = end == last && error == std::errc{} ? Number::of(whole) : rounded;
    return exact.rest != 0 ? exact : rounded;  // -0 is no integer
  };
  return rounded.real < Number::limit ? read(std::int64_t{0}) : read(std::uint64_t{0});
}

std::string_view TextReader::after_parenthesis() {
  skip_blanks();
  std::size_t depth = 0;
  for (auto p = position_; p < text_.size(); ++p) {
    if (text_[p] == '(') ++depth;
    if (text_[p] != ')') continue;
    if (depth == 0) return {};
    if (--depth > 0) continue;
    const auto next = text_.find_first_not_of(' ', p + 1);
    return next == std::string_view::npos ? std::string_view{} : text_.substr(next);
  }
  return {};
}

std::size_t TextReader::index_of(const std::vector<std::string>& names, const char* what) {
  const auto start = position_;
  const auto found = std::ranges::find(names, name(what));
  if (found == names.end()) {
    position_ = start;
    skip_blanks();
    fail(fmt::format("`{}` does not begin with {} that is declared above", rest(), what));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::int64_t checked_multiply_add(const TextReader& reader, std::int64_t a, std::int64_t b, std::int64_t c) {
  // Forms stay far from the range's end, so that later sums of a few of them do too.
  constexpr std::int64_t limit = std::int64_t{1} << 48;
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || __builtin_add_overflow(result, c, &result) ||
      std::abs(result) > limit) {
    reader.fail("the number is too large");
  }
  return result;
}

poly::Affine TextReader::affine(const std::vector<std::string>& names) {
  poly::Affine form = poly::constant(names.size(), 0);
  std::int64_t sign = accept("-") ? -1 : 1;
  while (true) {
    const bool number = peek_digit();
    const std::int64_t factor = number ? integer() : 1;
    if (!number || peek_name()) {
      auto& coefficient = form.coefficients[index_of(names, "an index")];
      coefficient = checked_multiply_add(*this, sign, factor, coefficient);
    } else {
      form.constant = checked_multiply_add(*this, sign, factor, form.constant);
    }
    if (accept("+")) {
      sign = 1;
    } else if (accept("-")) {
      sign = -1;
    } else {
      return form;
    }
  }
}

std::vector<poly::Affine> TextReader::affine_list(const std::vector<std::string>& names,
                                                  std::string_view close) {
  std::vector<poly::Affine> forms;
  if (accept(close)) return forms;
  do {
    forms.push_back(affine(names));
  } while (accept(","));
  expect(close);
  return forms;
}

}  // namespace cyclotron::dataflow::detail
