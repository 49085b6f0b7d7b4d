#include "vector_plan.hpp"

#include <algorithm>
#include <cstdlib>

namespace cyclotron::runtime {

namespace {

/// Vectors of some dozen temporaries stay in the first cache, beside the streams from memory.
constexpr std::int64_t most_together = 256;

bool same(const Scalar& a, const Scalar& b) {
  return a.at == b.at && a.advance == b.advance && a.width == b.width;
}

class VectorPlanner {
 public:
  VectorPlanner(std::span<const VectorOperation> operations, std::int64_t iterations)
      : operations_(operations), iterations_(iterations) {
    plan_.together = std::min(iterations, most_together);
  }

  std::optional<VectorPlan> run() {
    find_extents();
    find_temporaries();
    if (!order_holds()) return std::nullopt;
    plan();
    write_through();
    compose();
    find_streams();
    return std::move(plan_);
  }

 private:
  using Location = VectorPlan::Location;

  /// A scalar that lives within an iteration, and its latest value.
  struct Temporary {
    Location home, value;
  };
  /// The bytes that a scalar takes in all iterations.
  struct Extent {
    const std::byte *first = nullptr, *end = nullptr;
    [[nodiscard]] bool meets(const Extent& other) const { return first < other.end && other.first < end; }
  };
  struct Extents {
    std::array<Extent, 3> in{};
    Extent out{};
  };

  [[nodiscard]] const Scalar& scalar(Location location) const {
    const auto& operation = operations_[location.number / 4];
    const std::size_t n = location.number % 4;
    return n == VectorPlan::result ? operation.out : operation.in[n];
  }

  [[nodiscard]] Extent extent(const Scalar& scalar) const {
    const auto far = scalar.advance * (iterations_ - 1);
    return {scalar.at + std::min<std::ptrdiff_t>(far, 0),
            scalar.at + std::max<std::ptrdiff_t>(far, 0) + scalar.width};
  }

  /// Tells whether it stays in place, each iteration writes it before it reads it, and nothing else overlaps it.
  [[nodiscard]] bool is_temporary(const Scalar& scalar) const {
    if (scalar.advance != 0) return false;
    const Extent home = extent(scalar);
    bool written = false;
    for (std::size_t o = 0; o < operations_.size(); ++o) {
      const auto& operation = operations_[o];
      for (std::size_t n = 0; n < operation.operands; ++n) {
        if (home.meets(extents_[o].in[n]) && !(written && same(operation.in[n], scalar))) return false;
      }
      if (!home.meets(extents_[o].out)) continue;
      if (!same(operation.out, scalar)) return false;
      written = true;
    }
    return written;
  }

  [[nodiscard]] Temporary* temporary(const Scalar& of) {
    if (of.advance != 0) return nullptr;
    const auto found =
        std::ranges::find(temporaries_, of.at, [this](const Temporary& one) { return scalar(one.home).at; });
    return found == temporaries_.end() ? nullptr : &*found;
  }

  void find_extents() {
    for (const auto& operation : operations_) {
      auto& extents = extents_.emplace_back();
      for (std::size_t n = 0; n < operation.operands; ++n) extents.in[n] = extent(operation.in[n]);
      extents.out = extent(operation.out);
    }
  }

  void find_temporaries() {
    for (std::size_t o = 0; o < operations_.size(); ++o) {
      const Scalar& out = operations_[o].out;
      if (temporary(out) == nullptr && is_temporary(out))
        temporaries_.push_back({VectorPlan::scalar(o, VectorPlan::result), {}});
    }
  }

  /// Tells whether any operation writes to what the scalar is in any iteration.
  [[nodiscard]] bool is_written(const Scalar& scalar) const {
    const Extent all = extent(scalar);
    return std::ranges::any_of(extents_, [&](const Extents& one) { return all.meets(one.out); });
  }

  /// Tells whether the operation that writes and another one that reads or writes the scalar `used` come in the order of the
  /// iterations in turn; iterations that run together become as few as that takes.
  [[nodiscard]] bool order_holds(std::size_t writer, std::size_t user, const Scalar& used,
                                 const Extent& extent) {
    const Scalar& written = operations_[writer].out;
    if (writer == user || !extents_[writer].out.meets(extent)) return true;
    if (written.advance == 0 || written.advance != used.advance || written.width != used.width) return false;
    // The scalar written in iteration i is the one used in iteration i - later.
    const auto apart = used.at - written.at;
    if (apart % written.advance != 0) return false;
    const auto later = apart / written.advance;
    const bool in_order = later == 0 || (later > 0 ? user < writer : writer < user);
    if (!in_order) plan_.together = std::min<std::int64_t>(plan_.together, std::abs(later));
    return plan_.together >= VectorPlan::least_iterations;
  }

  [[nodiscard]] bool order_holds() {
    for (std::size_t writer = 0; writer < operations_.size(); ++writer) {
      if (temporary(operations_[writer].out) != nullptr) continue;
      for (std::size_t user = 0; user < operations_.size(); ++user) {
        const auto& operation = operations_[user];
        for (std::size_t n = 0; n < operation.operands; ++n) {
          if (!order_holds(writer, user, operation.in[n], extents_[user].in[n])) return false;
        }
        if (!order_holds(writer, user, operation.out, extents_[user].out)) return false;
      }
    }
    return true;
  }

  /// Tells whether the copy of a scalar that the operations write can be read in its place: they write it after all uses of
  /// the copy, in the same iteration or a later one.
  [[nodiscard]] bool outlives_copy(std::size_t copier) {
    const Scalar& copied = operations_[copier].in[0];
    if (copied.advance == 0) return false;
    std::size_t first_write = operations_.size();
    for (std::size_t o = 0; o < operations_.size(); ++o) {
      if (!extents_[copier].in[0].meets(extents_[o].out)) continue;
      const bool later = (copied.at - operations_[o].out.at) / copied.advance >= 0;
      if (o <= copier || !later) return false;
      first_write = std::min(first_write, o);
    }
    std::vector<const Temporary*> copies{temporary(operations_[copier].out)};
    for (std::size_t o = copier + 1; o < operations_.size() && !copies.empty(); ++o) {
      const auto& operation = operations_[o];
      bool reads = false;
      for (std::size_t n = 0; n < operation.operands; ++n) {
        const Temporary* const read = temporary(operation.in[n]);
        reads = reads || (read != nullptr && std::ranges::find(copies, read) != copies.end());
      }
      if (reads && o > first_write) return false;
      const Temporary* const written = temporary(operation.out);
      std::erase(copies, written);
      if (written != nullptr && reads && operation.kernel == nullptr) copies.push_back(written);
    }
    return true;
  }

  [[nodiscard]] Location own_vector(std::uint8_t width) {
    plan_.widths.push_back(width);
    return {true, static_cast<std::uint16_t>(plan_.widths.size() - 1)};
  }

  /// The source of an operand: a temporary's value, memory, or a vector of what stays as it is.
  [[nodiscard]] Location source(std::size_t operation, std::size_t n) {
    const Scalar& read = operations_[operation].in[n];
    const Location memory = VectorPlan::scalar(operation, n);
    if (const Temporary* const found = temporary(read)) return found->value;
    if (read.advance != 0 || operations_[operation].kernel == nullptr || is_written(read)) return memory;
    plan_.fills.push_back({memory, own_vector(read.width)});
    return plan_.fills.back().vector;
  }

  void plan() {
    for (std::size_t o = 0; o < operations_.size(); ++o) {
      const auto& operation = operations_[o];
      VectorPlan::Operation planned{.kernel = operation.kernel,
                                    .operands = operation.operands,
                                    .out = VectorPlan::scalar(o, VectorPlan::result)};
      for (std::size_t n = 0; n < operation.operands; ++n) planned.in[n] = source(o, n);
      if (operation.kernel == nullptr) planned.kernel = copy_kernel(operation.out.width);
      if (Temporary* const result = temporary(operation.out)) {
        const Location in = planned.in[0];
        const bool again = temporary(operation.in[0]) != nullptr;  // a copy of a copy that outlives both
        if (operation.kernel == nullptr && (in.own || !is_written(scalar(in)) || again || outlives_copy(o))) {
          result->value = in;  // a copy of what stays unchanged, or as long as it is used
          continue;
        }
        result->value = planned.out = own_vector(operation.out.width);
      }
      plan_.operations.push_back(planned);
    }
  }

  /// Tells whether two operations of the plan at most, `maker` and `copier`, touch the bytes: no other one between the two,
  /// and none writes them.
  [[nodiscard]] bool is_free_for(const Scalar& target, std::size_t maker, std::size_t copier) const {
    const Extent extent = this->extent(target);
    const auto meets = [&](Location location) {
      return !location.own && extent.meets(this->extent(scalar(location)));
    };
    for (std::size_t o = 0; o < plan_.operations.size(); ++o) {
      const auto& operation = plan_.operations[o];
      if (o != copier && meets(operation.out)) return false;
      if (o <= maker || o >= copier) continue;
      if (std::ranges::any_of(std::span(operation.in).first(operation.operands), meets)) return false;
    }
    return true;
  }

  /// Lets what makes a vector that is copied to memory write there at once.
  void write_through() {
    for (std::size_t copier = 0; copier < plan_.operations.size(); ++copier) {
      const auto copy = plan_.operations[copier];
      const Location vector = copy.in[0], memory = copy.out;
      if (copy.kernel != copy_kernel(scalar(memory).width) || !vector.own || memory.own ||
          scalar(memory).advance == 0)
        continue;
      const auto maker = std::ranges::find(plan_.operations, vector, &VectorPlan::Operation::out);
      if (maker == plan_.operations.end()) continue;  // a constant's
      const auto first = static_cast<std::size_t>(maker - plan_.operations.begin());
      if (!is_free_for(scalar(memory), first, copier)) continue;
      maker->out = memory;
      plan_.operations.erase(plan_.operations.begin() + static_cast<std::ptrdiff_t>(copier));
      --copier;
      for (auto& operation : plan_.operations) std::ranges::replace(operation.in, vector, memory);
    }
  }

  /// Tells whether what an operation of the plan reads from memory is as it was when another one reads: nothing writes there
  /// in between, nor does that one itself, but in place.
  [[nodiscard]] bool is_kept(std::size_t operation, std::size_t until) const {
    const auto& reader = plan_.operations[operation];
    for (const Location read : std::span(reader.in).first(reader.operands)) {
      if (read.own) continue;
      for (std::size_t o = operation + 1; o <= until; ++o) {
        const Location out = plan_.operations[o].out;
        if (out.own || (o == until && same(scalar(read), scalar(out)))) continue;
        if (extent(scalar(read)).meets(extent(scalar(out)))) return false;
      }
    }
    return true;
  }

  /// Tells whether nothing is left to do for an operation: no other one reads its vector, or the only one that does now makes
  /// it too.
  [[nodiscard]] bool joins_reader(std::size_t maker) {
    const auto& made = plan_.operations[maker];
    if (!made.out.own) return false;
    std::size_t readers = 0, reader = 0, operand = 0;
    for (std::size_t o = maker + 1; o < plan_.operations.size(); ++o) {
      for (std::size_t n = 0; n < plan_.operations[o].operands; ++n) {
        if (plan_.operations[o].in[n] != made.out) continue;
        ++readers;
        reader = o;
        operand = n;
      }
    }
    if (readers == 0) return true;
    auto& user = plan_.operations[reader];
    const auto kernel = composed_kernel(user.kernel, operand, made.kernel);
    if (readers > 1 || kernel == nullptr || !is_kept(maker, reader)) return false;
    user.kernel = kernel;
    user.operands = 3;
    user.in = operand == 0 ? std::array{made.in[0], made.in[1], user.in[1]}
                           : std::array{user.in[0], made.in[0], made.in[1]};
    return true;
  }

  void compose() {
    for (std::size_t o = 0; o < plan_.operations.size();) {
      if (joins_reader(o)) {
        plan_.operations.erase(plan_.operations.begin() + static_cast<std::ptrdiff_t>(o));
      } else {
        ++o;
      }
    }
  }

  /// The scalars that are first to reach new lines of memory: others of their region that come not far behind find them
  /// in the cache, as the rows of a stencil do.
  void find_streams() {
    constexpr std::ptrdiff_t line = 64, near = std::ptrdiff_t{1} << 18;
    std::vector<Location> locations;
    for (const auto& operation : plan_.operations) {
      locations.insert(locations.end(), operation.in.begin(), operation.in.begin() + operation.operands);
      locations.push_back(operation.out);
    }
    std::vector<Scalar> leaders;
    const auto leads = [&](Location location) {
      if (location.own) return false;
      const Scalar& one = scalar(location);
      if (one.advance == 0 || std::abs(one.advance) > line) return false;
      const auto goes_ahead = [&](const Scalar& other, std::ptrdiff_t least) {
        if (other.region != one.region || other.advance != one.advance) return false;
        const auto ahead = one.advance > 0 ? other.at - one.at : one.at - other.at;
        return ahead >= least && ahead <= near;
      };
      const bool follows =
          std::ranges::any_of(locations, [&](Location p) { return !p.own && goes_ahead(scalar(p), 1); }) ||
          std::ranges::any_of(leaders, [&](const Scalar& other) { return goes_ahead(other, 0); });
      if (!follows) leaders.push_back(one);
      return !follows;
    };
    for (auto& operation : plan_.operations) {
      for (std::size_t n = 0; n < operation.operands; ++n) operation.fetch[n] = leads(operation.in[n]);
      operation.fetch[VectorPlan::result] = leads(operation.out);
    }
  }

  std::span<const VectorOperation> operations_;
  std::int64_t iterations_;
  std::vector<Extents> extents_;  ///< By operation.
  std::vector<Temporary> temporaries_;
  VectorPlan plan_;
};

}  // namespace

std::optional<VectorPlan> plan_vectors(std::span<const VectorOperation> operations, std::int64_t iterations) {
  if (iterations < VectorPlan::least_iterations || operations.empty() ||
      operations.size() > VectorPlan::most_operations)
    return std::nullopt;
  return VectorPlanner(operations, iterations).run();
}

}  // namespace cyclotron::runtime
