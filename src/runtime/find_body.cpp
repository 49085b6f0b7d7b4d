#include "find_body.hpp"

#include <algorithm>
#include <span>

namespace cyclotron::runtime {

namespace {

class BodyBuilder {
 public:
  BodyBuilder(const program::Program& program, const Code& code) : program_(program), code_(code) {}

  std::optional<Body> build(std::size_t opener, std::size_t end) {
    body_.first = static_cast<std::uint32_t>(opener + 1);
    body_.variable = code_.steps[opener].variable;
    body_.step = code_.steps[opener].step;
    for (std::size_t at = opener + 1; at < end; ++at) {
      if (!add(code_.steps[at])) return std::nullopt;
    }
    if (body_.operations.empty() || body_.lanes.size() > Body::most_lanes) return std::nullopt;
    body_.vectors = std::ranges::all_of(body_.operations, [](const Body::Operation& one) {
      return one.kind != Step::Kind::compute || one.vector != nullptr;
    });
    return std::move(body_);
  }

 private:
  /// Whether a body may have such a step: one whose elements lie apart by as much from iteration to iteration.
  bool add(const Step& step) {
    if (!step.scalar) return false;
    Body::Operation operation{.kind = step.kind,
                              .element = step.element,
                              .kernel = step.kernel,
                              .result = {.constant = false, .width = step.element, .index = step.place}};
    switch (step.kind) {
      case Step::Kind::compute:
      case Step::Kind::move:
        if (step.kind == Step::Kind::compute) operation.vector = vector_kernel(step.op, step.dtype);
        operation.operands = static_cast<std::uint8_t>(step.operands.count);
        std::copy_n(code_.sources.begin() + step.operands.first, step.operands.count,
                    operation.sources.begin());
        break;
      case Step::Kind::load:
      case Step::Kind::store:
        operation.tensor = step.tensor;
        operation.index = step.operands;
        break;
      case Step::Kind::send:
      case Step::Kind::receive: {
        const Port& port = code_.ports[step.port];
        const bool link = port.kind == Port::Kind::link_in || port.kind == Port::Kind::link_out;
        if (!link || program_.channels[port.channel].tile != Shape{}) return false;
        operation.lane = lane_of(step);
        break;
      }
      default: return false;
    }
    const auto sources = std::span(operation.sources).first(operation.operands);
    if (wraps(operation.result) || std::ranges::any_of(sources, [this](const Source& s) { return wraps(s); }))
      return false;
    body_.operations.push_back(operation);
    return true;
  }

  /// Whether the element wraps as the loop counts.
  [[nodiscard]] bool wraps(const Source& source) const {
    if (source.constant || code_.places[source.index].wrap == Place::no_wrap) return false;
    const Form& form = code_.wraps[code_.places[source.index].wrap].form;
    const auto terms = std::span(code_.terms).subspan(form.first, form.count);
    return std::ranges::find(terms, body_.variable, &Term::variable) != terms.end();
  }

  std::uint8_t lane_of(const Step& step) {
    auto lane = std::ranges::find(body_.lanes, step.port, &Body::Lane::port);
    if (lane == body_.lanes.end())
      lane = body_.lanes.insert(lane, {.port = step.port, .sends = step.kind == Step::Kind::send});
    ++lane->messages;
    return static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(lane - body_.lanes.begin(), Body::most_lanes));
  }

  const program::Program& program_;
  const Code& code_;
  Body body_;
};

}  // namespace

std::optional<Body> body_between(const program::Program& program, const Code& code, std::size_t opener,
                                 std::size_t end) {
  return BodyBuilder(program, code).build(opener, end);
}

}  // namespace cyclotron::runtime
