#include "body.hpp"

#include <utility>

namespace cyclotron::runtime {

/// False where the place is not inside its slot in all iterations.
bool BodyRunner::find_place(const Pe& pe, const Body& body, const Source& source, std::int64_t iterations,
                            Scalar& found) {
  const Code& code = *pe.code;
  if (source.constant) {  // an operand, which is only read
    found = {const_cast<std::byte*>(code.constants[source.index].bytes.data()), 0, source.width};
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
           source.width};
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
  found = {element(), 0, access.element};
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

void BodyRunner::set_input(Operation& operation, std::size_t n, const Scalar& scalar) {
  operation.in[n] = scalar.at;
  operation.width[n] = scalar.width;
  operation.advance[n] = scalar.advance;
  operation.moves |= scalar.advance != 0;
}

bool BodyRunner::find(Pe& pe, const Body& body, std::int64_t iterations) {
  operations_.clear();
  for (const Body::Operation& what : body.operations) {
    Operation& operation = operations_.emplace_back();
    operation.kind = what.kind;
    operation.element = what.element;
    operation.lane = what.lane;
    operation.kernel = what.kernel;
    operation.vector = what.vector;
    Scalar& out = operation.out;
    if (!find_place(pe, body, what.result, iterations, out)) return false;
    Scalar in;
    for (std::size_t n = 0; n < what.operands; ++n) {
      if (!find_place(pe, body, what.sources[n], iterations, in)) return false;
      set_input(operation, n, in);
    }
    if (what.kind == Step::Kind::load || what.kind == Step::Kind::store) {
      if (!find_element(pe, body, what, iterations, in)) return false;
      if (what.kind == Step::Kind::store) std::swap(in, out);
      set_input(operation, 0, in);
    }
    operation.moves |= out.advance != 0;
  }
  return true;
}

void BodyRunner::run(Streams& streams, std::int64_t& left, const Operation*& computing) {
  for (; left > 0; --left) {
    for (Operation& operation : operations_) {
      switch (operation.kind) {
        case Step::Kind::receive:
          copy_scalar(operation.out.at, streams[operation.lane], operation.element);
          streams[operation.lane] += operation.element;
          break;
        case Step::Kind::send:
          copy_scalar(streams[operation.lane], operation.out.at, operation.element);
          streams[operation.lane] += operation.element;
          break;
        case Step::Kind::compute:
          computing = &operation;
          operation.kernel(operation.out.at, operation.in.data());
          break;
        default: copy_scalar(operation.out.at, operation.in[0], operation.element); break;
      }
      if (!operation.moves) continue;
      operation.out.at += operation.out.advance;
      for (std::size_t n = 0; n < operation.in.size(); ++n)
        operation.in[n] = static_cast<const std::byte*>(operation.in[n]) + operation.advance[n];
    }
  }
}

/// Whether all iterations have run, operation by operation.
bool BodyRunner::run_vectors(const Body& body, const Streams& streams, std::int64_t iterations) {
  if (!body.vectors || iterations < VectorBody::least_iterations) return false;
  vectors_.clear();
  std::array<std::uint32_t, Body::most_lanes> messages{};
  for (std::size_t n = 0; n < operations_.size(); ++n) {
    const Operation& operation = operations_[n];
    auto& vector =
        vectors_.emplace_back(VectorBody::Operation{.kernel = operation.vector, .out = operation.out});
    const auto message = [&]() -> Scalar {
      const auto lane = operation.lane;
      const std::ptrdiff_t before = messages[lane]++;
      return {streams[lane] + before * operation.element,
              static_cast<std::ptrdiff_t>(body.lanes[lane].messages) * operation.element, operation.element};
    };
    switch (operation.kind) {
      case Step::Kind::receive: vector.in[0] = message(); break;
      case Step::Kind::send: vector.in[0] = std::exchange(vector.out, message()); break;
      default:
        vector.operands = std::max<std::uint8_t>(1, body.operations[n].operands);
        for (std::size_t i = 0; i < vector.operands; ++i) {
          auto* const at = static_cast<std::byte*>(const_cast<void*>(operation.in[i]));
          vector.in[i] = {at, operation.advance[i], operation.width[i]};
        }
    }
  }
  return vector_body_.run(vectors_, iterations);
}

bool BodyRunner::run(Pe& pe, const Body& body, Streams streams, std::int64_t iterations) {
  if (!find(pe, body, iterations)) return false;
  if (run_vectors(body, streams, iterations)) return true;
  std::int64_t left = iterations;
  const Operation* computing = nullptr;
  try {
    run(streams, left, computing);
  } catch (const KernelFailure&) {
    pe.counter = body.first + static_cast<std::uint32_t>(computing - operations_.data());
    pe.variables[body.variable] += (iterations - left) * body.step;
    throw;
  }
  return true;
}

}  // namespace cyclotron::runtime
