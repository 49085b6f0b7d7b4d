#include <cyclotron/recurrence/reduced_indices.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence {

namespace {

class Finder {
 public:
  explicit Finder(const System& system) : system_(system) {}

  std::vector<std::string> run() {
    for (const auto& equation : system_.equations) visit(equation.expr);
    return std::move(indices_);
  }

 private:
  void visit(ExprId id) {
    if (!seen_.insert(id).second) return;
    std::visit(Overloaded{[](const auto&) {},
                          [&](const Apply& apply) {
                            for (const auto operand : apply.operands) visit(operand);
                          },
                          [&](const Reduce& reduce) {
                            if (std::ranges::find(indices_, reduce.index) == indices_.end())
                              indices_.push_back(reduce.index);
                            visit(reduce.body);
                          }},
               system_.at(id).node);
  }

  const System& system_;
  std::set<ExprId> seen_;
  std::vector<std::string> indices_;
};

}  // namespace

std::vector<std::string> reduced_indices(const System& system) { return Finder(system).run(); }

void require_reduction(const System& system, const std::string& index, const std::string& what) {
  auto reduced = reduced_indices(system);
  if (std::ranges::find(reduced, index) != reduced.end()) return;
  std::ranges::sort(reduced);
  const auto known = reduced.empty() ? "nothing" : fmt::format("{}", fmt::join(reduced, ", "));
  throw ScheduleError({.code = "CYC318",
                       .span = {},
                       .message = what + ", over which the kernel has no reduction",
                       .notes = {},
                       .help = "it reduces over: " + known});
}

}  // namespace cyclotron::recurrence
