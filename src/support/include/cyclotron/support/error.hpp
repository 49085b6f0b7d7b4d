// The errors that the core throws: a code, a message, a place, notes and one suggestion.
#pragma once
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/support/span.hpp>

namespace cyclotron {

/// A secondary place or fact that explains an error.
struct Note {
  Span span;
  std::string text;
};

/// The reason for an error, where another choice of schedule or mapping may avoid it.
enum class Obstacle : std::uint8_t {
  other,       ///< None of these.
  effort,      ///< An exact analysis, or a run, is at its limit; a similar problem would cost as much.
  late_value,  ///< A value is needed before it is made.
  overtaking,  ///< Messages would overtake each other on a channel.
  distance,    ///< A value comes from a PE to which no link leads.
  access,      ///< No rule of the dataflow brings a value to those that use it.
  not_affine,  ///< The last write of an element is no affine function of the indices.
  schedule,    ///< The schedule does not fit the kernel.
  capacity,    ///< The machine is too small.
};

/// The text of an error; rendered once, in Python (`cyclotron/errors.py`).
struct Diagnostic {
  std::string code;
  Obstacle obstacle = Obstacle::other;  ///< For the compiler's own search, not for users.
  Span span;
  std::string message;
  std::vector<Note> notes;
  std::string help;
};

/// Base of every error the core throws on purpose.
class Error : public std::exception {
 public:
  explicit Error(Diagnostic diagnostic);
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] const Diagnostic& diagnostic() const noexcept { return diagnostic_; }
  /// The name of the Python class that this error becomes.
  [[nodiscard]] virtual const char* python_name() const noexcept = 0;

 private:
  Diagnostic diagnostic_;
  std::string text_;
};

#define CYCLOTRON_ERROR_CLASS(Name)                                                   \
  class Name final : public Error {                                                   \
   public:                                                                            \
    using Error::Error;                                                               \
    [[nodiscard]] const char* python_name() const noexcept override { return #Name; } \
  }

CYCLOTRON_ERROR_CLASS(TraceError);     ///< The kernel's text is not a recurrence.
CYCLOTRON_ERROR_CLASS(ShapeError);     ///< Shapes or dtypes do not fit.
CYCLOTRON_ERROR_CLASS(ScheduleError);  ///< A schedule names what does not exist or is incomplete.
CYCLOTRON_ERROR_CLASS(LegalityError);  ///< A schedule or kernel breaks a dependence or single assignment.
CYCLOTRON_ERROR_CLASS(CapacityError);  ///< The machine is too small.
CYCLOTRON_ERROR_CLASS(ProgramError);   ///< A program file is corrupt, foreign or inconsistent.
CYCLOTRON_ERROR_CLASS(DeadlockError);  ///< No PE can advance.
CYCLOTRON_ERROR_CLASS(BackendUnavailable);  ///< A backend is not installed.
CYCLOTRON_ERROR_CLASS(ExecutionError);      ///< A PE failed while running.
CYCLOTRON_ERROR_CLASS(InternalError);       ///< A bug of Cyclotron's own, found by CYC_CHECK.
#undef CYCLOTRON_ERROR_CLASS

/// Throws InternalError; use CYC_CHECK.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& detail);

}  // namespace cyclotron

/// For our own bugs only; never compiled out. The optional detail is evaluated on failure only.
#define CYC_CHECK(condition, ...)                                                          \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      ::cyclotron::check_failed(#condition, __FILE__, __LINE__, std::string{__VA_ARGS__}); \
    }                                                                                      \
  } while (false)
