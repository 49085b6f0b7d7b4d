#include "load_cursor.hpp"

#include <algorithm>

#include "../../engine/control.hpp"

namespace cyclotron::runtime::simulator {
namespace {

/// Scalars along a dimension of the tile at an index; of an index outside the tensor, where the PE will fail, any.
std::int64_t length(const program::Tensor& tensor, std::size_t d, std::int64_t index) {
  const std::int64_t tiles = (tensor.shape[d] + tensor.tile[d] - 1) / tensor.tile[d];
  const std::int64_t at = std::clamp<std::int64_t>(index, 0, std::max<std::int64_t>(0, tiles - 1));
  return std::max<std::int64_t>(1, std::min(tensor.tile[d], tensor.shape[d] - at * tensor.tile[d]));
}

/// The words of every tile of a tensor, or 0 where they differ.
std::int64_t words_of_each(const program::Tensor& tensor) {
  std::int64_t result = 1;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] > tensor.tile[d] && tensor.shape[d] % tensor.tile[d] != 0) return 0;
    result *= length(tensor, d, 0);
  }
  return result;
}

bool opens(const Step& step) { return step.kind == Step::Kind::loop || step.kind == Step::Kind::branch; }

}  // namespace

LoadSlice slice_loads(const program::Program& program, const Code& code) {
  LoadSlice result;
  result.program = &program;
  result.code = &code;
  std::vector<bool> kept(code.steps.size(), false);
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < code.steps.size(); ++at) {
    while (!open.empty() && code.steps[open.back()].target <= at) open.pop_back();
    const Step& step = code.steps[at];
    if (opens(step)) open.push_back(at);
    kept[at] = kept[at] || step.kind == Step::Kind::halt;
    if (step.kind != Step::Kind::load || step.resident) continue;
    kept[at] = true;
    for (const std::size_t around : open) kept[around] = kept[code.steps[around].target - 1] = true;
  }
  std::vector<std::uint32_t> place;  // of each step, the first one kept at or after it
  std::uint32_t count = 0;
  for (const bool one : kept) {
    place.push_back(count);
    count += one ? 1 : 0;
  }
  std::vector<std::uint64_t> uniform{0};  // of the loops that are open
  for (std::size_t at = 0; at < code.steps.size(); ++at) {
    if (!kept[at]) continue;
    const Step& step = result.steps.emplace_back(code.steps[at]);
    if (opens(step) || step.kind == Step::Kind::repeat) result.steps.back().target = place[step.target];
    const bool loads = step.kind == Step::Kind::load;
    result.words.push_back(loads ? words_of_each(program.tensors[step.tensor]) : 0);
    result.levels.push_back(static_cast<std::uint32_t>(uniform.size() - 1));
    result.uniform.push_back(uniform.back());
    if (step.kind == Step::Kind::repeat) uniform.pop_back();
    if (step.kind != Step::Kind::loop) continue;
    const auto first = code.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const auto last = code.steps.begin() + code.steps[at].target;
    const bool varies =
        std::any_of(first, last, [&](const Step& inner) { return depends_on(code, inner, step.variable); });
    const std::size_t level = uniform.size() - 1;
    uniform.push_back(uniform.back() | (varies || level >= 64 ? 0 : std::uint64_t{1} << level));
  }
  return result;
}

LoadCursor::LoadCursor(const LoadSlice& slice, const std::vector<std::int64_t>& coordinates)
    : slice_(&slice), variables_(coordinates) {
  variables_.resize(slice.code->variables);
  limits_.resize(slice.code->variables);
}

std::int64_t LoadCursor::words(const Step& step) const {
  const program::Tensor& tensor = slice_->program->tensors[step.tensor];
  std::int64_t result = 1;
  for (std::uint32_t d = 0; d < step.operands.count; ++d) {
    const Form& index = slice_->code->forms[step.operands.first + d];
    result *= length(tensor, d, evaluate(*slice_->code, index, variables_.data()));
  }
  return result;
}

std::optional<std::int64_t> LoadCursor::next() {
  const Code& code = *slice_->code;
  for (;;) {
    const Step& step = slice_->steps[counter_];
    switch (step.kind) {
      case Step::Kind::loop: {
        std::int64_t& variable = variables_[step.variable];
        variable = lower_limit(code, step.lower, variables_.data());
        limits_[step.variable] = upper_limit(code, step.upper, variables_.data());
        counter_ = variable <= limits_[step.variable] ? counter_ + 1 : step.target;
        break;
      }
      case Step::Kind::repeat: {
        std::int64_t& variable = variables_[step.variable];
        const auto left =
            static_cast<std::uint64_t>(limits_[step.variable]) - static_cast<std::uint64_t>(variable);
        if (left >= static_cast<std::uint64_t>(step.step)) {
          variable += step.step;
          counter_ = step.target;
        } else {
          ++counter_;
        }
        break;
      }
      case Step::Kind::branch:
        counter_ = holds(code, step.lower, variables_.data()) ? counter_ + 1 : step.target;
        break;
      case Step::Kind::load: {
        const std::int64_t constant = slice_->words[counter_++];
        return constant > 0 ? constant : words(step);
      }
      case Step::Kind::halt: return std::nullopt;
      case Step::Kind::skip:
      case Step::Kind::exit:
      case Step::Kind::store:
      case Step::Kind::send:
      case Step::Kind::receive:
      case Step::Kind::broadcast:
      case Step::Kind::move:
      case Step::Kind::compute: ++counter_; break;
    }
  }
}

std::int64_t LoadCursor::repeats(const LoadCursor& then) const {
  if (counter_ != then.counter_) return 0;
  std::optional<std::int64_t> result;
  for (std::uint32_t level = 0; level < slice_->levels[counter_]; ++level) {
    const std::uint32_t variable = slice_->code->dimensions + level;
    const std::int64_t passed = variables_[variable] - then.variables_[variable];
    if (limits_[variable] != then.limits_[variable]) return 0;
    if (passed == 0) continue;
    const bool uniform = level < 64 && ((slice_->uniform[counter_] >> level) & 1U) != 0;
    if (passed < 0 || result || !uniform)
      return 0;  // of two loops the outer one may be in its last iteration
    result = (limits_[variable] - variables_[variable]) / passed;
  }
  return result.value_or(0);
}

void LoadCursor::skip(const LoadCursor& then, std::int64_t times) {
  for (std::uint32_t level = 0; level < slice_->levels[counter_]; ++level) {
    const std::uint32_t variable = slice_->code->dimensions + level;
    variables_[variable] += times * (variables_[variable] - then.variables_[variable]);
  }
}

}  // namespace cyclotron::runtime::simulator
