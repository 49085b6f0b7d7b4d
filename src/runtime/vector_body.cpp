#include "vector_body.hpp"

#include <algorithm>
#include <cstring>

namespace cyclotron::runtime {

namespace {

template <std::size_t width>
void copy_each(const Scalar& out, const Scalar& in, std::int64_t count) {
  constexpr auto side_by_side = static_cast<std::ptrdiff_t>(width);
  std::byte* to = out.at;
  const std::byte* from = in.at;
  if (out.advance == side_by_side && in.advance == side_by_side) {
    for (std::int64_t n = 0; n < count; ++n, to += width, from += width) std::memcpy(to, from, width);
    return;
  }
  for (std::int64_t n = 0; n < count; ++n, to += out.advance, from += in.advance)
    std::memcpy(to, from, width);
}

/// One after the other: the scalars may overlap.
void copy(const Scalar& out, const Scalar& in, std::int64_t count) {
  switch (out.width) {
    case 1: return copy_each<1>(out, in, count);
    case 4: return copy_each<4>(out, in, count);
    case 8: return copy_each<8>(out, in, count);
    default: return copy_each<16>(out, in, count);
  }
}

bool same(const Scalar& a, const Scalar& b) {
  return a.at == b.at && a.advance == b.advance && a.width == b.width;
}

}  // namespace

VectorBody::Extent VectorBody::extent(const Scalar& scalar) const {
  const auto far = scalar.advance * (iterations_ - 1);
  return {scalar.at + std::min<std::ptrdiff_t>(far, 0),
          scalar.at + std::max<std::ptrdiff_t>(far, 0) + scalar.width};
}

/// Whether it stays in place, each iteration writes it before it reads it, and nothing else overlaps it.
bool VectorBody::is_temporary(const Scalar& scalar) const {
  if (scalar.advance != 0) return false;
  const Extent home = extent(scalar);
  bool written = false;
  for (std::size_t o = 0; o < operations_.size(); ++o) {
    const Operation& operation = operations_[o];
    for (std::size_t n = 0; n < operation.operands; ++n) {
      if (home.meets(extents_[o].in[n]) && !(written && same(operation.in[n], scalar))) return false;
    }
    if (!home.meets(extents_[o].out)) continue;
    if (!same(operation.out, scalar)) return false;
    written = true;
  }
  return written;
}

VectorBody::Temporary* VectorBody::temporary(const Scalar& scalar) {
  if (scalar.advance != 0) return nullptr;
  const auto found =
      std::ranges::find(temporaries_, scalar.at, [](const Temporary& one) { return one.home.at; });
  return found == temporaries_.end() ? nullptr : &*found;
}

void VectorBody::find_extents() {
  extents_.clear();
  for (const auto& operation : operations_) {
    auto& extents = extents_.emplace_back();
    for (std::size_t n = 0; n < operation.operands; ++n) extents.in[n] = extent(operation.in[n]);
    extents.out = extent(operation.out);
  }
}

void VectorBody::find_temporaries() {
  temporaries_.clear();
  for (const auto& operation : operations_) {
    if (temporary(operation.out) == nullptr && is_temporary(operation.out))
      temporaries_.push_back({operation.out, {}});
  }
}

/// Whether any operation writes to what the scalar is in any iteration.
bool VectorBody::is_written(const Scalar& scalar) const {
  const Extent all = extent(scalar);
  return std::ranges::any_of(extents_, [&](const Extents& one) { return all.meets(one.out); });
}

/// Whether the operation that writes and another one that reads or writes the scalar `used` come in the order of the
/// iterations in turn; iterations that run together become as few as that takes.
bool VectorBody::order_holds(std::size_t writer, std::size_t user, const Scalar& used, const Extent& extent) {
  const Scalar& written = operations_[writer].out;
  if (writer == user || !extents_[writer].out.meets(extent)) return true;
  if (written.advance == 0 || written.advance != used.advance || written.width != used.width) return false;
  // What is written in iteration i is what is used in iteration i - later.
  const auto apart = used.at - written.at;
  if (apart % written.advance != 0) return false;
  const auto later = apart / written.advance;
  const bool in_order = later == 0 || (later > 0 ? user < writer : writer < user);
  if (!in_order) together_ = std::min<std::int64_t>(together_, std::abs(later));
  return together_ >= least_iterations;
}

bool VectorBody::order_holds() {
  for (std::size_t writer = 0; writer < operations_.size(); ++writer) {
    if (temporary(operations_[writer].out) != nullptr) continue;
    for (std::size_t user = 0; user < operations_.size(); ++user) {
      const Operation& operation = operations_[user];
      for (std::size_t n = 0; n < operation.operands; ++n) {
        if (!order_holds(writer, user, operation.in[n], extents_[user].in[n])) return false;
      }
      if (!order_holds(writer, user, operation.out, extents_[user].out)) return false;
    }
  }
  return true;
}

VectorBody::Source VectorBody::own_vector(std::uint8_t width) {
  std::byte* const at = vectors_.data() + used_;
  used_ += static_cast<std::size_t>(together_) * width + padding;
  return {{at, width, width}, true};
}

/// What an operation reads: a temporary's value, memory, or a vector of what stays as it is.
VectorBody::Source VectorBody::source(const Scalar& scalar, const Operation& user) {
  if (const Temporary* const found = temporary(scalar)) return found->value;
  const Source memory{scalar, false};
  if (scalar.advance != 0 || user.kernel == nullptr || is_written(scalar)) return memory;
  const Source vector = own_vector(scalar.width);
  copy(vector.scalar, scalar, together_);
  return vector;
}

void VectorBody::plan() {
  planned_.clear();
  used_ = 0;
  // Each operation makes one vector at most, and one of each operand.
  const std::size_t most = operations_.size() * (1 + operations_.front().in.size());
  vectors_.resize(most * (static_cast<std::size_t>(most_together) * most_width + padding));
  for (const auto& operation : operations_) {
    Planned planned{operation.kernel, operation.operands, {}, {operation.out, false}};
    for (std::size_t n = 0; n < operation.operands; ++n) planned.in[n] = source(operation.in[n], operation);
    if (Temporary* const result = temporary(operation.out)) {
      const Source& in = planned.in[0];
      if (operation.kernel == nullptr && (in.own || !is_written(in.scalar))) {
        result->value = in;  // a copy of what stays unchanged
        continue;
      }
      result->value = planned.out = own_vector(operation.out.width);
    }
    planned_.push_back(planned);
  }
}

void VectorBody::run_together(std::int64_t first, std::int64_t count) const {
  const auto moved = [first](const Source& source) {
    Scalar scalar = source.scalar;
    if (!source.own) scalar.at += first * scalar.advance;
    return scalar;
  };
  for (const auto& operation : planned_) {
    const Scalar out = moved(operation.out);
    if (operation.kernel == nullptr) {
      copy(out, moved(operation.in[0]), count);
      continue;
    }
    std::array<const void*, 3> operands{};
    std::array<std::ptrdiff_t, 3> advances{};
    for (std::size_t n = 0; n < operation.operands; ++n) {
      const Scalar in = moved(operation.in[n]);
      operands[n] = in.at;
      advances[n] = in.advance;
    }
    operation.kernel(out.at, out.advance, operands.data(), advances.data(), count);
  }
}

/// The temporaries' values of the last iteration, as the iterations in turn leave them.
void VectorBody::leave_temporaries() const {
  const auto last = iterations_ - 1;
  for (const auto& [home, value] : temporaries_) {
    const auto distance = value.own ? last % together_ : last;
    std::memcpy(home.at, value.scalar.at + distance * value.scalar.advance, home.width);
  }
}

bool VectorBody::run(std::span<const Operation> operations, std::int64_t iterations) {
  if (iterations < least_iterations || operations.empty() || operations.size() > most_operations)
    return false;
  operations_ = operations;
  iterations_ = iterations;
  together_ = std::min(iterations, most_together);
  find_extents();
  find_temporaries();
  if (!order_holds()) return false;
  plan();
  for (std::int64_t first = 0; first < iterations; first += together_)
    run_together(first, std::min(together_, iterations - first));
  leave_temporaries();
  return true;
}

}  // namespace cyclotron::runtime
