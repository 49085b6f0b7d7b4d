#include <cyclotron/support/error.hpp>

#include <fmt/format.h>

namespace cyclotron {

Error::Error(Diagnostic diagnostic)
    : diagnostic_(std::move(diagnostic)),
      text_(fmt::format("{} [{}]", diagnostic_.message, diagnostic_.code)) {}

void check_failed(const char* condition, const char* file, int line, const std::string& detail) {
  throw InternalError(
      Diagnostic{.code = "CYC900",
                 .span = {},
                 .message = fmt::format("internal check `{}` failed at {}:{}{}{}", condition, file, line,
                                        detail.empty() ? "" : ": ", detail),
                 .notes = {},
                 .help = "this is a bug in Cyclotron; please report it with the kernel and the schedule"});
}

}  // namespace cyclotron
