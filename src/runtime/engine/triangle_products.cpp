#include "triangle_products.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cyclotron::runtime {
namespace {

bool is_syrk(const Step& step) {
  return step.kind == Step::Kind::compute &&
         operators::info(step.op).family == operators::Family::self_product;
}

/// Tells whether the operator reads no more than the lower half of its operand.
bool reads_lower_half(Op op) { return op == Op::cholesky || op == Op::ldl; }

/// The slots that are read above the diagonal.
class Readers {
 public:
  explicit Readers(const Code& code) : code_(code) {
    for (const auto& access : code.accesses)
      whole_.resize(std::max<std::size_t>(whole_.size(), access.slot + 1));
    for (const auto& step : code.steps) visit(step);
    // A slot that is passed on to one that is read whole is read whole.
    for (bool changed = true; std::exchange(changed, false);) {
      for (const auto& [from, to] : passed_) {
        if (!whole_[to] || whole_[from]) continue;
        whole_[from] = changed = true;
      }
    }
  }

  [[nodiscard]] bool whole(const Step& step) const { return whole_[code_.accesses[step.access].slot]; }

 private:
  void visit(const Step& step) {
    switch (step.kind) {
      case Step::Kind::store:
      case Step::Kind::send:
      case Step::Kind::broadcast: whole_[code_.accesses[step.access].slot] = true; return;
      case Step::Kind::move:
      case Step::Kind::compute:
        for (std::uint32_t n = 0; n < step.operands.count; ++n) visit(step, n);
        return;
      case Step::Kind::loop:
      case Step::Kind::branch:
      case Step::Kind::repeat:
      case Step::Kind::skip:
      case Step::Kind::exit:
      case Step::Kind::load:
      case Step::Kind::receive:
      case Step::Kind::halt: return;
    }
  }

  void visit(const Step& step, std::uint32_t operand) {
    const Source& source = code_.sources[step.operands.first + operand];
    if (source.constant) return;
    const std::uint32_t slot = code_.accesses[source.index].slot;
    const bool compute = step.kind == Step::Kind::compute;
    if (compute && reads_lower_half(step.op)) return;
    const bool accumulates = is_syrk(step) && operators::is_accumulating(step.op) && operand == 0;
    if (compute && !accumulates) {
      whole_[slot] = true;
    } else {
      passed_.emplace_back(slot, code_.accesses[step.access].slot);
    }
  }

  const Code& code_;
  std::vector<bool> whole_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> passed_;
};

}  // namespace

void mark_lower_triangles(Code& code) {
  if (std::none_of(code.steps.begin(), code.steps.end(), is_syrk)) return;
  const Readers readers(code);
  for (auto& step : code.steps) {
    if (!is_syrk(step)) continue;
    step.flags = readers.whole(step) ? step.flags & ~operators::lower : step.flags | operators::lower;
  }
}

}  // namespace cyclotron::runtime
