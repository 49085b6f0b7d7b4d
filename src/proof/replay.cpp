// The place of a PE in its loops.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/proof/trace.hpp>

#include "bounds.hpp"

namespace cyclotron::proof {
namespace {

using namespace program;

/// Counts the events of one PE to find the values of the loops around one of them.
class Replay {
 public:
  Replay(const PeClass& pe_class, std::vector<std::int64_t> coordinates)
      : code_(pe_class.code), ends_(matching_ends(code_)), environment_(std::move(coordinates)) {}

  std::string loops_at(std::size_t event) {
    left_ = event;
    (void)block(0, code_.size());
    return fmt::format("{}", fmt::join(names_, ", "));
  }

 private:
  /// True once the event is reached.
  bool block(std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; ++at) {
      const auto& action = code_[at].action;
      if (const auto* loop = std::get_if<Loop>(&action)) {
        const std::int64_t first = largest_lower(loop->lower, environment_.data());
        const std::int64_t last = smallest_upper(loop->upper, environment_.data());
        for (std::int64_t value = first; value <= last; value += loop->step) {
          environment_.push_back(value);
          if (block(at + 1, ends_[at])) {
            names_.insert(names_.begin(), fmt::format("{} = {}", loop->name, value));
            return true;
          }
          environment_.pop_back();
        }
        at = ends_[at];
      } else if (const auto* branch = std::get_if<If>(&action)) {
        if (holds(branch->condition, environment_.data()) && block(at + 1, ends_[at])) return true;
        at = ends_[at];
      } else if (left_-- == 0) {
        return true;
      }
    }
    return false;
  }

  const std::vector<Instruction>& code_;
  std::vector<std::size_t> ends_;
  std::vector<std::int64_t> environment_;
  std::vector<std::string> names_;
  std::size_t left_ = 0;
};

}  // namespace

std::string loops_text(const Program& program, const Trace& trace, std::uint32_t pe, std::size_t event) {
  const PeTrace& at = trace.pes[pe];
  return Replay(program.classes[at.pe_class], at.coordinates).loops_at(event);
}

}  // namespace cyclotron::proof
