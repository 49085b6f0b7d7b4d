#include "each_access.hpp"

#include <algorithm>
#include <vector>

namespace cyclotron::runtime {
namespace {

/// Follows one PE's control flow, past what has no such access.
class AccessWalk {
 public:
  AccessWalk(Pe& pe, Step::Kind kind, const VisitAccess& visit)
      : pe_(pe), code_(*pe.code), kind_(kind), visit_(visit) {}

  void run() {
    for (std::uint32_t at = 0; code_.steps[at].kind != Step::Kind::halt;) at = next(at);
  }

 private:
  std::uint32_t next(std::uint32_t at) {
    const Step& step = code_.steps[at];
    std::int64_t* const variables = pe_.variables;
    switch (step.kind) {
      case Step::Kind::loop: {
        if (!accesses_between(at, step.target)) return step.target;
        const std::int64_t first = lower_limit(code_, step.lower, variables);
        variables[step.variable] = first;
        pe_.limits[step.variable] = upper_limit(code_, step.upper, variables);
        return first <= pe_.limits[step.variable] ? at + 1 : step.target;
      }
      case Step::Kind::repeat:
        if (pe_.limits[step.variable] - variables[step.variable] < step.step) return at + 1;
        variables[step.variable] += step.step;
        return step.target;
      case Step::Kind::branch:
        return accesses_between(at, step.target) && holds(code_, step.lower, variables) ? at + 1
                                                                                        : step.target;
      case Step::Kind::load:
      case Step::Kind::store:
        if (step.kind == kind_) visit(step);
        return at + 1;
      case Step::Kind::skip:
      case Step::Kind::exit:
      case Step::Kind::send:
      case Step::Kind::receive:
      case Step::Kind::broadcast:
      case Step::Kind::move:
      case Step::Kind::compute:
      case Step::Kind::halt: return at + 1;
    }
    return at + 1;
  }

  [[nodiscard]] bool accesses_between(std::uint32_t first, std::uint32_t last) const {
    return std::any_of(code_.steps.begin() + first, code_.steps.begin() + last,
                       [this](const Step& step) { return step.kind == kind_; });
  }

  void visit(const Step& step) {
    index_.resize(step.operands.count);
    for (std::uint32_t d = 0; d < step.operands.count; ++d) {
      index_[d] = evaluate(code_, code_.forms[step.operands.first + d], pe_.variables);
    }
    visit_(step, index_.data());
  }

  Pe& pe_;
  const Code& code_;
  Step::Kind kind_;
  const VisitAccess& visit_;
  std::vector<std::int64_t> index_;
};

}  // namespace

void each_access(Pe& pe, Step::Kind kind, const VisitAccess& visit) { AccessWalk(pe, kind, visit).run(); }

}  // namespace cyclotron::runtime
