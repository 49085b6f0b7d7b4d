#include <cyclotron/program/procedures.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace cyclotron::program {
namespace {

using Lines = std::set<std::pair<std::string, int>>;

class Finder {
 public:
  explicit Finder(const std::vector<Instruction>& code) : code_(code) {}

  std::vector<Procedure> run() {
    find_in(0, code_.size());
    return std::move(result_);
  }

 private:
  /// Those of a block, none of which reaches into another one.
  void find_in(std::size_t begin, std::size_t end) {
    bool joins = false;
    for (std::size_t at = begin, next = begin; at < end; at = next) {
      next = past(at);
      const Action& action = code_[at].action;
      if (std::holds_alternative<Exit>(action)) continue;
      if (has_own(at, next)) {
        find_in(at + 1, next - 1);
        joins = false;
      } else {
        add(at, next, !std::holds_alternative<Loop>(action), joins);
        joins = true;
      }
    }
  }

  /// An instruction or a block without procedures of its own; `joins`: there is one before it in the block.
  void add(std::size_t at, std::size_t next, bool straight, bool joins) {
    const Lines lines = lines_of(at, next);
    const auto is_common = [&](const auto& line) { return lines_.contains(line); };
    if (joins && ((straight && straight_) || std::ranges::any_of(lines, is_common))) {
      result_.back().end = next;
      lines_.insert(lines.begin(), lines.end());
    } else {
      result_.push_back({at, next});
      lines_ = lines;
    }
    straight_ = straight;
  }

  /// Past an instruction, with its block if it opens one.
  [[nodiscard]] std::size_t past(std::size_t at) const {
    std::size_t depth = 0;
    do {
      if (opens(code_[at].action)) ++depth;
      if (std::holds_alternative<End>(code_[at].action)) --depth;
      ++at;
    } while (depth > 0);
    return at;
  }

  /// Whether a block has procedures of its own: a loop that may end early, and a condition around loops.
  [[nodiscard]] bool has_own(std::size_t at, std::size_t next) const {
    if (!opens(code_[at].action)) return false;
    const bool is_loop = std::holds_alternative<Loop>(code_[at].action);
    return std::any_of(code_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                       code_.begin() + static_cast<std::ptrdiff_t>(next), [&](const Instruction& inside) {
                         return is_loop ? std::holds_alternative<Exit>(inside.action)
                                        : std::holds_alternative<Loop>(inside.action);
                       });
  }

  [[nodiscard]] Lines lines_of(std::size_t at, std::size_t next) const {
    Lines result;
    for (; at < next; ++at) {
      if (code_[at].span.known()) result.emplace(code_[at].span.file, code_[at].span.line);
    }
    return result;
  }

  const std::vector<Instruction>& code_;
  std::vector<Procedure> result_;
  Lines lines_;            // Of the last one.
  bool straight_ = false;  // Whether that ends with straight-line code.
};

}  // namespace

std::vector<Procedure> procedures(const PeClass& pe_class) { return Finder(pe_class.code).run(); }

bool uses_controller(const Program& program) {
  return program.machine.control.has_value() && !program.endings.empty();
}

}  // namespace cyclotron::program
