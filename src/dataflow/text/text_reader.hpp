// Private to this folder: reads names, numbers, affine forms and domains from a piece of one line.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/support/number.hpp>
#include <cyclotron/support/span.hpp>

namespace cyclotron::dataflow::detail {

/// A cursor over a piece of a line. Numbers are read as what the caller expects, so `2e1` is twice the
/// index `e1` in a form. Every reader throws ProgramError CYC650 with line and column (in bytes, as in
/// Python's `ast`) where the text is not what it should be.
class TextReader {
 public:
  TextReader(std::string_view text, int line, int column) : text_(text), line_(line), column_(column) {}

  [[noreturn]] void fail(const std::string& message) const;
  [[nodiscard]] Span span() const;  ///< From the cursor to the end of the piece.

  [[nodiscard]] bool at_end();
  void expect_end();
  /// The text comes next, after blanks.
  [[nodiscard]] bool peek(std::string_view token);
  [[nodiscard]] bool accept(std::string_view token);
  void expect(std::string_view token);
  /// The word comes next and no letter follows it.
  [[nodiscard]] bool accept_word(std::string_view word);
  /// A letter of any script, a digit or `_` comes next (not a digit where `start`).
  [[nodiscard]] bool peek_name();
  [[nodiscard]] bool peek_digit();
  /// With the line that tells tensors of one variable apart, if any: `u@12`.
  [[nodiscard]] std::string name(const char* what);
  [[nodiscard]] std::int64_t integer();
  [[nodiscard]] double real();
  /// A real number, or an integer of 64 bits.
  [[nodiscard]] Number number();
  /// The text from the cursor on.
  [[nodiscard]] std::string_view rest() const { return text_.substr(position_); }
  /// The text, after blanks, behind the parenthesis that closes the one at the cursor; empty where none does.
  [[nodiscard]] std::string_view after_parenthesis();

  /// `i-2j+1`, over the names.
  [[nodiscard]] poly::Affine affine(const std::vector<std::string>& names);
  /// Forms separated by commas, up to the closing token (consumed).
  [[nodiscard]] std::vector<poly::Affine> affine_list(const std::vector<std::string>& names,
                                                      std::string_view close);
  /// The place of a name that comes next in the list.
  [[nodiscard]] std::size_t index_of(const std::vector<std::string>& names, const char* what);

 private:
  void skip_blanks();
  /// Bytes of the letter at the position, 0 where there is none.
  [[nodiscard]] std::size_t letter_at(std::size_t position, bool start) const;

  std::string_view text_;
  int line_;
  int column_;
  std::size_t position_ = 0;
};

/// Constraints over the names, as `Set::constraints_text` writes them, with `≤`, `≥` and `,` for `<=`,
/// `>=` and `and`. Reads to the end.
[[nodiscard]] poly::Set read_domain(TextReader& reader, const poly::Context& context,
                                    const std::vector<std::string>& names);

/// a * b + c, or an error where it overflows.
[[nodiscard]] std::int64_t checked_multiply_add(const TextReader& reader, std::int64_t a, std::int64_t b,
                                                std::int64_t c);

}  // namespace cyclotron::dataflow::detail
