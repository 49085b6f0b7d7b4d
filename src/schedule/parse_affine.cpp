// Reads affine forms over a kernel's indices, as schedules write them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include <cyclotron/schedule/schedule.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::schedule {

namespace {

class AffineReader {
 public:
  AffineReader(const std::string& text, const std::vector<std::string>& names)
      : text_(text), names_(names), form_(poly::constant(names.size(), 0)) {}

  poly::Affine read() {
    skip_blanks();
    for (bool first = true; first || at_ < text_.size(); first = false) {
      std::int64_t sign = 1;
      if (peek() == '+' || peek() == '-') {
        sign = peek() == '-' ? -1 : 1;
        ++at_;
        skip_blanks();
      } else if (!first) {
        fail();
      }
      read_term(sign);
    }
    return form_;
  }

 private:
  void read_term(std::int64_t sign) {
    std::int64_t factor = 1;
    const bool number = std::isdigit(static_cast<unsigned char>(peek())) != 0;
    if (number) factor = read_number();
    if (peek() == '*') {
      if (!number) fail();
      ++at_;
      skip_blanks();
      if (!starts_name()) fail();
    }
    if (starts_name()) {
      form_.coefficients[index_of(read_name())] += sign * factor;
    } else if (number) {
      form_.constant += sign * factor;
    } else {
      fail();
    }
  }

  std::int64_t read_number() {
    std::int64_t value = 0;
    while (std::isdigit(static_cast<unsigned char>(peek())) != 0) {
      value = value * 10 + (peek() - '0');
      if (value > 1'000'000'000) fail();
      ++at_;
    }
    skip_blanks();
    return value;
  }

  std::string read_name() {
    const auto start = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '_' || (peek() & 0x80) != 0)
      ++at_;
    auto name = text_.substr(start, at_ - start);
    skip_blanks();
    return name;
  }

  std::size_t index_of(const std::string& name) const {
    const auto place = std::ranges::find(names_, name);
    if (place != names_.end()) return static_cast<std::size_t>(place - names_.begin());
    throw ScheduleError(
        {.code = "CYC310",
         .span = {},
         .message = fmt::format("the schedule names index `{}`, which the kernel does not have", name),
         .notes = {},
         .help = fmt::format("it has: {}",
                             names_.empty() ? "none" : fmt::format("{}", fmt::join(names_, ", ")))});
  }

  [[nodiscard]] bool starts_name() const {
    return std::isalpha(static_cast<unsigned char>(peek())) != 0 || peek() == '_' || (peek() & 0x80) != 0;
  }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (peek() == ' ') ++at_;
  }
  [[noreturn]] void fail() const {
    throw ScheduleError(
        {.code = "CYC314",
         .span = {},
         .message = fmt::format("`{}` is not an affine form of the indices", text_),
         .notes = {},
         .help = "write sums of indices with whole factors, for example \"i-k\" or \"2*i+j\""});
  }

  const std::string& text_;
  const std::vector<std::string>& names_;
  poly::Affine form_;
  std::size_t at_ = 0;
};

}  // namespace

poly::Affine parse_affine(const std::string& text, const std::vector<std::string>& names) {
  return AffineReader(text, names).read();
}

Frame frame(const Schedule& schedule, const std::vector<std::string>& names) {
  Frame result;
  for (const auto& text : schedule.space_indices) result.space.push_back(parse_affine(text, names));
  for (const auto& text : schedule.time_indices) result.time.push_back(parse_affine(text, names));
  return result;
}

}  // namespace cyclotron::schedule
