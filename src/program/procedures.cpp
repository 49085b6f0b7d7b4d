#include <cyclotron/program/procedures.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace cyclotron::program {
namespace {

using Units = std::set<Unit>;

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
        add(at, next, !has<Loop>(at, next), joins);
        joins = true;
      }
    }
  }

  /// An instruction or a block without procedures of its own; `joins`: there is one before it in the block.
  void add(std::size_t at, std::size_t next, bool straight, bool joins) {
    const Units units = units_of(at, next);
    const auto is_common = [&](const Unit& unit) { return units_.contains(unit); };
    if (joins && ((straight && straight_) || std::ranges::any_of(units, is_common))) {
      result_.back().end = next;
      units_.insert(units.begin(), units.end());
    } else {
      result_.push_back({at, next});
      units_ = units;
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

  /// Tells whether a block has procedures of its own: a loop that may end early, and a condition around loops that are not
  /// of one fused kernel.
  [[nodiscard]] bool has_own(std::size_t at, std::size_t next) const {
    if (std::holds_alternative<Loop>(code_[at].action)) return has<Exit>(at, next);
    return std::holds_alternative<If>(code_[at].action) && has<Loop>(at, next) && !is_fused(at, next);
  }
  template <class T>
  [[nodiscard]] bool has(std::size_t at, std::size_t next) const {
    return std::any_of(code_.begin() + static_cast<std::ptrdiff_t>(at),
                       code_.begin() + static_cast<std::ptrdiff_t>(next),
                       [](const Instruction& inside) { return std::holds_alternative<T>(inside.action); });
  }
  [[nodiscard]] bool is_fused(std::size_t at, std::size_t next) const {
    const Units units = units_of(at, next);
    return units.size() == 1 && units.begin()->first.empty();
  }

  [[nodiscard]] Units units_of(std::size_t at, std::size_t next) const {
    Units result;
    for (; at < next; ++at) {
      if (code_[at].span.known()) result.insert(unit_of(code_[at].span));
    }
    return result;
  }

  const std::vector<Instruction>& code_;
  std::vector<Procedure> result_;
  Units units_;            // Of the last one.
  bool straight_ = false;  // It ends with straight-line code.
};

}  // namespace

std::vector<Procedure> procedures(const PeClass& pe_class) { return Finder(pe_class.code).run(); }

bool uses_controller(const Program& program) {
  return program.machine.control.has_value() && !program.exit_plans.empty();
}

}  // namespace cyclotron::program
