#include "outcome.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime::mpi {
namespace {

/// Fields as text, each preceded by its length.
class Writer {
 public:
  void put(std::string_view field) { text += fmt::format("{} {}", field.size(), field); }
  void put(std::int64_t number) { put(std::to_string(number)); }
  void put(const Span& span) {
    put(span.file);
    for (const int number : {span.line, span.column, span.end_line, span.end_column})
      put(std::int64_t{number});
  }
  std::string text;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  std::string field() {
    const std::size_t space = rest_.find(' ');
    const auto length = static_cast<std::size_t>(std::stoll(std::string(rest_.substr(0, space))));
    std::string result(rest_.substr(space + 1, length));
    rest_.remove_prefix(space + 1 + length);
    return result;
  }
  int number() { return std::stoi(field()); }
  Span span() {
    Span result;
    result.file = field();
    for (int* part : {&result.line, &result.column, &result.end_line, &result.end_column}) *part = number();
    return result;
  }

 private:
  std::string_view rest_;
};

std::string write(const char* name, const Diagnostic& diagnostic, int rank) {
  Writer writer;
  writer.put(std::string_view(name));
  writer.put(diagnostic.code);
  writer.put(diagnostic.span);
  writer.put(fmt::format("{}, on rank {}", diagnostic.message, rank));
  writer.put(static_cast<std::int64_t>(diagnostic.notes.size()));
  for (const auto& note : diagnostic.notes) {
    writer.put(note.span);
    writer.put(note.text);
  }
  writer.put(diagnostic.help);
  return writer.text;
}

std::string describe(const std::exception_ptr& failure, int rank) {
  constexpr const char* help = "run it again; if it fails again, please report it";
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return write(error.python_name(), error.diagnostic(), rank);
  } catch (const std::exception& error) {
    return write("ExecutionError",
                 {.code = "CYC730", .span = {}, .message = error.what(), .notes = {}, .help = help}, rank);
  } catch (...) {
    return write("ExecutionError",
                 {.code = "CYC730", .span = {}, .message = "unknown failure", .notes = {}, .help = help},
                 rank);
  }
}

[[noreturn]] void throw_as(const std::string& name, Diagnostic diagnostic) {
  if (name == "ProgramError") throw ProgramError(std::move(diagnostic));
  if (name == "ShapeError") throw ShapeError(std::move(diagnostic));
  if (name == "DeadlockError") throw DeadlockError(std::move(diagnostic));
  if (name == "CapacityError") throw CapacityError(std::move(diagnostic));
  if (name == "InternalError") throw InternalError(std::move(diagnostic));
  throw ExecutionError(std::move(diagnostic));
}

}  // namespace

void rethrow_everywhere(Transport& transport, const std::exception_ptr& failure) {
  int first = failure ? transport.rank() : transport.size();
  check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, transport.communicator()), "MPI_Allreduce");
  CYC_CHECK(first < transport.size(), "a rank stopped, but none failed");
  std::string text;
  if (first == transport.rank()) text = describe(failure, first);
  int length = static_cast<int>(text.size());
  check(MPI_Bcast(&length, 1, MPI_INT, first, transport.communicator()), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(length));
  check(MPI_Bcast(text.data(), length, MPI_CHAR, first, transport.communicator()), "MPI_Bcast");
  Reader reader(text);
  const std::string name = reader.field();
  Diagnostic diagnostic;
  diagnostic.code = reader.field();
  diagnostic.span = reader.span();
  diagnostic.message = reader.field();
  for (int notes = reader.number(); notes > 0; --notes) {
    Note note;
    note.span = reader.span();
    note.text = reader.field();
    diagnostic.notes.push_back(std::move(note));
  }
  diagnostic.help = reader.field();
  throw_as(name, std::move(diagnostic));
}

}  // namespace cyclotron::runtime::mpi
