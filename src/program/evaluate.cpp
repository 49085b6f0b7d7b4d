// The values of affine forms, conditions and regions; the classes of PEs.
#include <algorithm>
#include <optional>
#include <utility>

#include <cyclotron/program/program.hpp>
#include <cyclotron/support/division.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::program {
namespace {

using Coordinates = std::vector<std::int64_t>;

/// A part of the grid: first and last coordinate a dimension, both inside.
struct Box {
  Coordinates first;
  Coordinates last;

  [[nodiscard]] std::int64_t pes() const {
    std::int64_t product = 1;
    for (std::size_t d = 0; d < first.size(); ++d) product *= last[d] - first[d] + 1;
    return product;
  }
};

/// The truth of a condition on a whole box.
enum class Truth : std::uint8_t { no, yes, depends };

Truth truth(const Condition& condition, const Box& box) {
  std::int64_t least = condition.form.constant;
  std::int64_t most = least;
  bool steps_divide = true;
  for (std::size_t d = 0; d < condition.form.coefficients.size(); ++d) {
    const std::int64_t coefficient = condition.form.coefficients[d];
    const bool rising = coefficient >= 0;
    least += coefficient * (rising ? box.first[d] : box.last[d]);
    most += coefficient * (rising ? box.last[d] : box.first[d]);
    if (condition.kind == Condition::Kind::divisible && box.first[d] != box.last[d]) {
      steps_divide = steps_divide && coefficient % condition.modulus == 0;
    }
  }
  switch (condition.kind) {
    case Condition::Kind::non_negative:
      return least >= 0 ? Truth::yes : most < 0 ? Truth::no : Truth::depends;
    case Condition::Kind::zero:
      if (least > 0 || most < 0) return Truth::no;
      return least == most ? Truth::yes : Truth::depends;
    case Condition::Kind::divisible:
      if (!steps_divide) return Truth::depends;
      return least % condition.modulus == 0 ? Truth::yes : Truth::no;
  }
  check_failed("kind is a Condition::Kind", __FILE__, __LINE__, {});
}

/// The widest dimension that the condition looks at and the box does not fix.
std::size_t widest(const Condition& condition, const Box& box) {
  std::size_t best = box.first.size();
  for (std::size_t d = 0; d < condition.form.coefficients.size(); ++d) {
    if (condition.form.coefficients[d] == 0 || box.first[d] == box.last[d]) continue;
    if (best == box.first.size() || box.last[d] - box.first[d] > box.last[best] - box.first[best]) best = d;
  }
  CYC_CHECK(best < box.first.size(), "an undecided condition varies on its box");
  return best;
}

/// Tells whether the region holds on the box, and where that depends on the PE a dimension to split.
std::pair<Truth, std::size_t> truth(const Disjunction& region, const Box& box) {
  std::optional<std::size_t> split;
  for (const auto& conjunction : region) {
    Truth all = Truth::yes;
    std::size_t dimension = 0;
    for (const auto& condition : conjunction) {
      const Truth one = truth(condition, box);
      if (one == Truth::no) {
        all = Truth::no;
        break;
      }
      if (one == Truth::depends && all == Truth::yes) {
        all = Truth::depends;
        dimension = widest(condition, box);
      }
    }
    if (all == Truth::yes) return {Truth::yes, 0};
    if (all == Truth::depends && !split) split = dimension;
  }
  return split ? std::pair{Truth::depends, *split} : std::pair{Truth::no, std::size_t{0}};
}

/// Calls `visit(class, box)` for boxes that lie in one class each and together hold the box's PEs that have a
/// class; splits only where a class's border crosses.
template <class Visit>
void each_box(const Program& program, const Box& box, const Visit& visit) {
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    const auto [holds_here, dimension] = truth(program.classes[c].region, box);
    if (holds_here == Truth::no) continue;
    if (holds_here == Truth::yes) return visit(c, box);
    const std::int64_t middle = box.first[dimension] + (box.last[dimension] - box.first[dimension]) / 2;
    Box low = box;
    Box high = box;
    low.last[dimension] = middle;
    high.first[dimension] = middle + 1;
    each_box(program, low, visit);
    each_box(program, high, visit);
    return;
  }
}

Box whole_grid(const Program& program) {
  Box result{Coordinates(program.grid.size(), 0), program.grid};
  for (auto& last : result.last) --last;
  return result;
}

}  // namespace

std::vector<std::int64_t> Tensor::extents() const {
  CYC_CHECK(shape.size() == tile.size());
  std::vector<std::int64_t> result(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    result[d] = shape[d] / tile[d] + (shape[d] % tile[d] != 0 ? 1 : 0);
  }
  return result;
}

std::optional<std::size_t> scalar_bytes(const Tensor& tensor) {
  auto bytes = static_cast<std::int64_t>(operators::size_bytes(tensor.dtype));
  for (const auto extent : tensor.shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes) || bytes >= std::int64_t{1} << 62)
      return {};
  }
  return static_cast<std::size_t>(bytes);
}

std::int64_t evaluate(const Affine& form, const std::int64_t* environment) {
  std::int64_t value = form.constant;
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) value += form.coefficients[v] * environment[v];
  return value;
}

std::int64_t evaluate(const SlotRef& reference, const std::int64_t* environment) {
  const std::int64_t element = evaluate(reference.index, environment);
  const auto& [form, modulus, stride] = reference.wrap;
  return modulus == 0 ? element : element + stride * floor_modulo(evaluate(form, environment), modulus);
}

bool holds(const Condition& condition, const std::int64_t* environment) {
  const std::int64_t value = evaluate(condition.form, environment);
  switch (condition.kind) {
    case Condition::Kind::non_negative: return value >= 0;
    case Condition::Kind::zero: return value == 0;
    case Condition::Kind::divisible: return value % condition.modulus == 0;
  }
  check_failed("kind is a Condition::Kind", __FILE__, __LINE__, {});
}

bool holds(const Disjunction& condition, const std::int64_t* environment) {
  return std::any_of(condition.begin(), condition.end(), [&](const Conjunction& conjunction) {
    return std::all_of(conjunction.begin(), conjunction.end(),
                       [&](const Condition& one) { return holds(one, environment); });
  });
}

bool is_bounded_by_numbers(const Program& program) {
  return std::ranges::any_of(program.classes, [](const PeClass& pe_class) {
    return std::ranges::any_of(pe_class.code, [](const Instruction& instruction) {
      const auto* branch = std::get_if<If>(&instruction.action);
      return branch != nullptr && !branch->within.empty();
    });
  });
}

std::size_t Program::class_of(const std::vector<std::int64_t>& coordinates) const {
  if (coordinates.size() != grid.size()) return no_class;
  for (std::size_t d = 0; d < grid.size(); ++d) {
    if (coordinates[d] < 0 || coordinates[d] >= grid[d]) return no_class;
  }
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (holds(classes[c].region, coordinates.data())) return c;
  }
  return no_class;
}

std::vector<std::int64_t> Program::pe_counts() const {
  std::vector<std::int64_t> counts(classes.size(), 0);
  each_box(*this, whole_grid(*this), [&](std::size_t c, const Box& box) { counts[c] += box.pes(); });
  return counts;
}

std::int64_t Program::line_extent(std::uint32_t axis) const {
  return axis < grid.size() ? grid[axis] : whole_grid(*this).pes();
}

std::vector<bool> Program::listeners(std::size_t channel) const {
  if (channels[channel].kind == Channel::Kind::link || !channels[channel].link) return {};
  std::vector<bool> result;
  for (const PeClass& pe_class : classes) {
    result.push_back(std::ranges::any_of(pe_class.code, [&](const Instruction& one) {
      const auto* receive = std::get_if<Receive>(&one.action);
      return receive != nullptr && receive->channel.index() == channel;
    }));
  }
  return result;
}

std::vector<std::uint32_t> Program::class_map() const {
  const Box whole = whole_grid(*this);
  const std::size_t rank = grid.size();
  std::vector<std::uint32_t> result(static_cast<std::size_t>(whole.pes()), unmapped);
  each_box(*this, whole, [&](std::size_t c, const Box& box) {
    Coordinates row = box.first;
    for (bool more = true; more;) {
      std::int64_t start = 0;
      for (std::size_t d = 0; d < rank; ++d) start = start * grid[d] + row[d];
      std::fill_n(result.begin() + start, box.last[rank - 1] - box.first[rank - 1] + 1,
                  static_cast<std::uint32_t>(c));
      more = false;
      for (std::size_t d = rank - 1; !more && d-- > 0;) {  // the next row
        more = row[d] < box.last[d];
        row[d] = more ? row[d] + 1 : box.first[d];
      }
    }
  });
  return result;
}

}  // namespace cyclotron::program
