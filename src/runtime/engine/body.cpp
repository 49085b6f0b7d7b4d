#include "body.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "index_values.hpp"

namespace cyclotron::runtime {

namespace {

/// Iterations until `element`, in a circular buffer of `modulus` places, goes round, if it moves by so
/// much in each.
std::int64_t iterations_around(std::int64_t element, std::int64_t by, std::int64_t modulus) {
  if (by <= -modulus || by >= modulus) return 1;
  const std::int64_t room = by > 0 ? modulus - 1 - element : element;
  return room / std::abs(by) + 1;
}

}  // namespace

/// Place of a value whose next ones are so far apart; negative where it is not there.
std::int64_t BodyRunner::Indices::offset_of(std::int64_t value, std::int64_t apart) const {
  if (apart != step || count == 0) return -1;
  if (apart == 0) return value == first ? 0 : -1;
  std::int64_t distance = 0;
  if (__builtin_sub_overflow(value, first, &distance) ||
      distance == std::numeric_limits<std::int64_t>::min() || distance % apart != 0)
    return -1;
  const std::int64_t offset = distance / apart;
  return offset < count ? offset : -1;
}

/// False where the access is not inside its slot in all iterations.
bool BodyRunner::find_access(const Pe& pe, const Body& body, const Source& source, std::int64_t& iterations,
                             Scalar& found) {
  const Code& code = *pe.code;
  if (source.constant) {  // an operand, which is only read
    found = {const_cast<std::byte*>(code.constants[source.index].bytes.data()), 0, source.width,
             source.region, true};
    return true;
  }
  const SlotAccess& access = code.accesses[source.index];
  std::int64_t first = evaluate(code, access.index, pe.variables);
  std::int64_t advance = 0, last = 0;
  bool overflow = __builtin_mul_overflow(coefficient(code, access.index, body.variable), body.step, &advance);
  if (access.wrap != SlotAccess::no_wrap) {
    const auto& [form, modulus, stride] = code.wraps[access.wrap];
    const std::int64_t around = floor_modulo(evaluate(code, form, pe.variables), modulus);
    first += stride * around;
    std::int64_t by = 0;
    overflow |= __builtin_mul_overflow(coefficient(code, form, body.variable), body.step, &by);
    if (by != 0) {
      iterations = std::min(iterations, iterations_around(around, by, modulus));
      overflow |= iterations > 1 &&
                  (__builtin_mul_overflow(by, stride, &by) || __builtin_add_overflow(advance, by, &advance));
    }
  }
  overflow |=
      __builtin_mul_overflow(advance, iterations - 1, &last) || __builtin_add_overflow(last, first, &last);
  const auto inside = [&](std::int64_t index) {
    return static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(access.count);
  };
  if (overflow || !inside(first) || !inside(last)) return false;
  found = {pe.memory + access.address + first * access.stride, iterations > 1 ? advance * access.stride : 0,
           source.width, source.region};
  return true;
}

/// Those of the whole loop are written, so that the next runs find theirs; few of them, which stay in the first cache.
void BodyRunner::find_values(const Pe& pe, const Body& body, const Body::Operation& move,
                             std::int64_t iterations, Indices& values, Scalar& found) {
  const Source& source = move.sources[0];
  const Form& form = pe.code->forms[source.index];
  const std::int64_t first = evaluate(*pe.code, form, pe.variables);
  const auto step =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(coefficient(*pe.code, form, body.variable)) *
                                static_cast<std::uint64_t>(body.step));
  auto offset = values.offset_of(first, step);
  if (offset < 0 || offset + iterations > values.count) {
    const auto left = static_cast<std::uint64_t>(pe.limits[body.variable]) -
                      static_cast<std::uint64_t>(pe.variables[body.variable]);
    const auto trips = std::min<std::uint64_t>(left / static_cast<std::uint64_t>(body.step),
                                               static_cast<std::uint64_t>(Body::most_indices) - 1);
    values.first = first;
    values.step = step;
    values.count = std::max(iterations, static_cast<std::int64_t>(trips) + 1);
    values.bytes.resize(static_cast<std::size_t>(values.count) * source.width);
    write_indices(move.dtype, first, step, values.count, values.bytes.data());
    offset = 0;
  }
  found = {values.bytes.data() + offset * source.width, source.width, source.width, source.region};
}

bool BodyRunner::is_within(const Pe& pe, const Body& body, std::int64_t& iterations) {
  bool result = body.within.count > 0;
  for (std::uint32_t n = 0; n < body.within.count; ++n) {
    const NumberLimit& limit = pe.code->within[body.within.first + n];
    const SlotAccess& access = pe.code->accesses[limit.number];
    const std::int64_t at = evaluate(*pe.code, access, pe.variables);
    if (static_cast<std::uint64_t>(at) >= static_cast<std::uint64_t>(access.count)) {
      iterations = 0;
      return false;
    }
    std::int64_t number = 0, left = 0;
    std::memcpy(&number, pe.memory + access.address + at * access.stride, sizeof number);
    const std::int64_t place = evaluate(*pe.code, limit.form, pe.variables);
    result = result && (place < number) == limit.last;
    if (place < number && coefficient(*pe.code, limit.form, body.variable) != 0 &&
        !__builtin_sub_overflow(number, place, &left))
      iterations = std::min(iterations, (left - 1) / body.step + 1);
  }
  return result;
}

void BodyRunner::find_index(const Pe& pe, const Body::Operation& access, std::int64_t* index) const {
  for (std::uint32_t d = 0; d < access.index.count; ++d)
    index[d] = evaluate(*pe.code, pe.code->forms[access.index.first + d], pe.variables);
}

/// False where the element is not inside its tensor in all iterations: affine indices are where the first and the last
/// one are.
bool BodyRunner::find_element(Pe& pe, const Body& body, const Body::Operation& access,
                              std::int64_t iterations, Scalar& found) const {
  const TensorAccess& tensor = tensors_[access.tensor];
  std::array<std::int64_t, 16> index{};
  const auto element = [&]() -> std::byte* {
    find_index(pe, access, index.data());
    return tensor.contains(index.data()) ? tensor.scalar(index.data()) : nullptr;
  };
  found = {element(), 0, access.element, access.region};
  if (found.at == nullptr) return false;
  if (iterations == 1) return true;
  std::int64_t& variable = pe.variables[body.variable];
  const std::int64_t first = std::exchange(variable, variable + (iterations - 1) * body.step);
  const std::byte* const last = element();
  variable = first;
  if (last == nullptr) return false;
  found.advance = (last - found.at) / (iterations - 1);
  return true;
}

/// Finds the scalars that each operation reads and writes in the first iteration, those of messages too.
bool BodyRunner::find(Pe& pe, const Body& body, const Streams& streams, std::int64_t& iterations,
                      Found& found) {
  std::array<std::uint32_t, Body::most_lanes> messages{};
  found.scalars.resize(body.operations.size());
  std::size_t indices = 0;
  if (body.indices > 0) {
    found.indices.resize(body.indices);
    iterations = std::min(iterations, Body::most_indices);
  }
  // Only where all were found the last time.
  const bool same = found.memory != nullptr && found.memory == pe.memory;
  found.memory = nullptr;
  const auto find = [&](const Source& source, Scalar& scalar) {
    return (same && source.fixed) || find_access(pe, body, source, iterations, scalar);
  };
  for (std::size_t o = 0; o < found.scalars.size(); ++o) {
    const Body::Operation& what = body.operations[o];
    VectorOperation& operation = found.scalars[o];
    operation.kernel = what.vector;
    operation.operands = std::max<std::uint8_t>(1, what.operands);
    const bool reads_result = what.kind == Step::Kind::store || what.kind == Step::Kind::send;
    Scalar& other = reads_result ? operation.out : operation.in[0];
    if (!find(what.result, reads_result ? operation.in[0] : operation.out)) return false;
    for (std::size_t n = 0; n < what.operands; ++n) {
      if (what.sources[n].form) {
        find_values(pe, body, what, iterations, found.indices[indices++], operation.in[n]);
      } else if (!find(what.sources[n], operation.in[n])) {
        return false;
      }
    }
    switch (what.kind) {
      case Step::Kind::load:
      case Step::Kind::store:
        if (!find_element(pe, body, what, iterations, other)) return false;
        break;
      case Step::Kind::send:
      case Step::Kind::receive: {
        const std::ptrdiff_t before = messages[what.lane]++;
        other = {streams[what.lane] + before * what.element,
                 static_cast<std::ptrdiff_t>(body.lanes[what.lane].messages) * what.element, what.element,
                 what.region};
        break;
      }
      default: break;
    }
  }
  found.memory = pe.memory;
  return true;
}

void BodyRunner::find_operations(const Body& body, const std::vector<VectorOperation>& scalars) {
  operations_.clear();
  for (std::size_t o = 0; o < scalars.size(); ++o) {
    auto& operation =
        operations_.emplace_back(Operation{.kernel = body.operations[o].kernel, .out = scalars[o].out});
    operation.moves = operation.out.advance != 0;
    for (std::size_t n = 0; n < scalars[o].operands; ++n) {
      operation.in[n] = scalars[o].in[n].at;
      operation.advance[n] = scalars[o].in[n].advance;
      operation.moves |= operation.advance[n] != 0;
    }
  }
}

void BodyRunner::run(std::int64_t& left, const Operation*& computing) {
  for (; left > 0; --left) {
    for (Operation& operation : operations_) {
      if (operation.kernel != nullptr) {
        computing = &operation;
        operation.kernel(operation.out.at, operation.in.data());
      } else {
        copy_scalar(operation.out.at, operation.in[0], operation.out.width);
      }
      if (!operation.moves) continue;
      operation.out.at += operation.out.advance;
      for (std::size_t n = 0; n < operation.in.size(); ++n)
        operation.in[n] = static_cast<const std::byte*>(operation.in[n]) + operation.advance[n];
    }
  }
}

/// Operators that run on vectors do not fail.
void BodyRunner::run_one(const Body& body, const std::vector<VectorOperation>& scalars, std::int64_t number) {
  std::array<const void*, 3> in{};
  for (std::size_t o = 0; o < scalars.size(); ++o) {
    const VectorOperation& operation = scalars[o];
    for (std::size_t n = 0; n < operation.operands; ++n)
      in[n] = operation.in[n].at + number * operation.in[n].advance;
    std::byte* const out = operation.out.at + number * operation.out.advance;
    if (operation.kernel != nullptr) {
      body.operations[o].kernel(out, in.data());
    } else {
      copy_scalar(out, in[0], operation.out.width);
    }
  }
}

std::int64_t BodyRunner::run(Pe& pe, const Body& body, const Streams& streams, std::int64_t iterations) {
  if (body.operations.empty()) return iterations;
  Found& found = found_[&body];
  if (!find(pe, body, streams, iterations, found)) return 0;
  if (body.vectors && iterations >= VectorPlan::least_iterations &&
      found.vectors.run(found.scalars, iterations)) {
    run_one(body, found.scalars, iterations - 1);
    return iterations;
  }
  find_operations(body, found.scalars);
  std::int64_t left = iterations;
  const Operation* computing = nullptr;
  try {
    run(left, computing);
  } catch (const KernelFailure&) {
    pe.counter = body.operations[static_cast<std::size_t>(computing - operations_.data())].at;
    pe.variables[body.variable] += (iterations - left) * body.step;
    throw;
  }
  return iterations;
}

}  // namespace cyclotron::runtime
