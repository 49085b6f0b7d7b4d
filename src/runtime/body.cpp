#include "body.hpp"

#include <utility>

namespace cyclotron::runtime {

/// False where the place is not inside its slot in all iterations.
bool BodyRunner::find_place(const Pe& pe, const Body& body, const Source& source, std::int64_t iterations,
                            Scalar& found) {
  const Code& code = *pe.code;
  if (source.constant) {  // an operand, which is only read
    found = {const_cast<std::byte*>(code.constants[source.index].bytes.data()), 0, source.width,
             source.region};
    return true;
  }
  const Place& place = code.places[source.index];
  const std::int64_t first = evaluate(code, place, pe.variables);  // its wrap stays (find_body.cpp)
  std::int64_t advance = 0, last = 0;
  for (std::uint32_t t = 0; t < place.index.count; ++t) {
    const Term& term = code.terms[place.index.first + t];
    if (term.variable == body.variable) advance = term.coefficient;
  }
  const bool overflow = __builtin_mul_overflow(advance, body.step, &advance) ||
                        __builtin_mul_overflow(advance, iterations - 1, &last) ||
                        __builtin_add_overflow(last, first, &last);
  const auto inside = [&](std::int64_t index) {
    return static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(place.count);
  };
  if (overflow || !inside(first) || !inside(last)) return false;
  found = {pe.memory + place.address + first * place.stride, iterations > 1 ? advance * place.stride : 0,
           source.width, source.region};
  return true;
}

/// False where the element is not inside its tensor in all iterations: affine indices are where the first and the last
/// one are.
bool BodyRunner::find_element(Pe& pe, const Body& body, const Body::Operation& access,
                              std::int64_t iterations, Scalar& found) const {
  const TensorAccess& tensor = tensors_[access.tensor];
  std::array<std::int64_t, 16> index{};
  const auto element = [&]() -> std::byte* {
    for (std::uint32_t d = 0; d < access.index.count; ++d)
      index[d] = evaluate(*pe.code, pe.code->forms[access.index.first + d], pe.variables);
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

/// What each operation reads and writes in the first iteration; messages are scalars as others are.
bool BodyRunner::find(Pe& pe, const Body& body, const Streams& streams, std::int64_t iterations) {
  std::array<std::uint32_t, Body::most_lanes> messages{};
  scalars_.resize(body.operations.size());
  for (std::size_t o = 0; o < scalars_.size(); ++o) {
    const Body::Operation& what = body.operations[o];
    VectorOperation& found = scalars_[o];
    found.kernel = what.vector;
    found.operands = std::max<std::uint8_t>(1, what.operands);
    if (!find_place(pe, body, what.result, iterations, found.out)) return false;
    for (std::size_t n = 0; n < what.operands; ++n) {
      if (!find_place(pe, body, what.sources[n], iterations, found.in[n])) return false;
    }
    switch (what.kind) {
      case Step::Kind::load:
      case Step::Kind::store:
        if (!find_element(pe, body, what, iterations, found.in[0])) return false;
        break;
      case Step::Kind::send:
      case Step::Kind::receive: {
        const std::ptrdiff_t before = messages[what.lane]++;
        found.in[0] = {streams[what.lane] + before * what.element,
                       static_cast<std::ptrdiff_t>(body.lanes[what.lane].messages) * what.element,
                       what.element, what.region};
        break;
      }
      default: break;
    }
    if (what.kind == Step::Kind::store || what.kind == Step::Kind::send) std::swap(found.in[0], found.out);
  }
  return true;
}

void BodyRunner::find_operations(const Body& body) {
  operations_.clear();
  for (std::size_t o = 0; o < scalars_.size(); ++o) {
    auto& operation =
        operations_.emplace_back(Operation{.kernel = body.operations[o].kernel, .out = scalars_[o].out});
    operation.moves = operation.out.advance != 0;
    for (std::size_t n = 0; n < scalars_[o].operands; ++n) {
      operation.in[n] = scalars_[o].in[n].at;
      operation.advance[n] = scalars_[o].in[n].advance;
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

bool BodyRunner::run(Pe& pe, const Body& body, const Streams& streams, std::int64_t iterations) {
  if (!find(pe, body, streams, iterations)) return false;
  if (body.vectors && iterations >= VectorPlan::least_iterations &&
      vector_bodies_[&body].run(scalars_, iterations))
    return true;
  find_operations(body);
  std::int64_t left = iterations;
  const Operation* computing = nullptr;
  try {
    run(left, computing);
  } catch (const KernelFailure&) {
    pe.counter = body.first + static_cast<std::uint32_t>(computing - operations_.data());
    pe.variables[body.variable] += (iterations - left) * body.step;
    throw;
  }
  return true;
}

}  // namespace cyclotron::runtime
