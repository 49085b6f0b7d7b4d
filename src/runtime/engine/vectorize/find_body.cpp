#include "find_body.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "vector_plan.hpp"

namespace cyclotron::runtime {

namespace {

class BodyBuilder {
 public:
  BodyBuilder(const program::Program& program, const Code& code) : program_(program), code_(code) {}

  /// With what is within bounds of numbers, or without.
  std::optional<Body> build(std::size_t opener, std::size_t end, bool within) {
    body_.first = static_cast<std::uint32_t>(opener + 1);
    body_.variable = code_.steps[opener].variable;
    body_.step = code_.steps[opener].step;
    bool is_inside = false;
    for (std::size_t at = opener + 1; at < end; ++at) {
      const Step& step = code_.steps[at];
      if (step.kind == Step::Kind::branch || step.kind == Step::Kind::skip) {
        is_inside = step.kind == Step::Kind::branch;
        if (is_inside && !add_bounds(step)) return std::nullopt;
      } else if (!is_inside || within) {
        if (!add(step)) return std::nullopt;
        body_.operations.back().at = static_cast<std::uint32_t>(at);
      }
    }
    const bool is_empty = body_.operations.empty() && body_.within.count == 0;
    if (is_empty || body_.lanes.size() > Body::most_lanes) return std::nullopt;
    body_.vectors = body_.operations.size() <= VectorPlan::most_operations &&
                    std::ranges::all_of(body_.operations, [](const Body::Operation& one) {
                      return one.kind != Step::Kind::compute || one.vector != nullptr;
                    });
    if (body_.vectors) find_regions();
    return std::move(body_);
  }

 private:
  /// Tells whether a branch has no condition but the bounds that all of the body have.
  bool add_bounds(const Step& branch) {
    const bool always = branch.lower.count == 1 && code_.conjunctions[branch.lower.first].count == 0;
    if (!always || branch.upper.count == 0) return false;
    if (body_.within.count == 0) body_.within = branch.upper;
    return body_.within.count == branch.upper.count &&
           std::ranges::equal(bounds(body_.within), bounds(branch.upper), [&](const auto& a, const auto& b) {
             return a.last == b.last &&
                    is_same(code_.accesses[a.number].index, code_.accesses[b.number].index) &&
                    code_.accesses[a.number].slot == code_.accesses[b.number].slot &&
                    code_.accesses[a.number].wrap == code_.accesses[b.number].wrap && is_same(a.form, b.form);
           });
  }
  [[nodiscard]] std::span<const NumberLimit> bounds(Range range) const {
    return std::span(code_.within).subspan(range.first, range.count);
  }
  [[nodiscard]] bool is_same(const Form& a, const Form& b) const {
    const auto terms = [&](const Form& form) {
      return std::span(code_.terms).subspan(form.first, form.count);
    };
    return a.constant == b.constant &&
           std::ranges::equal(terms(a), terms(b), [](const Term& x, const Term& y) {
             return x.coefficient == y.coefficient && x.variable == y.variable;
           });
  }

  /// Tells whether a body may have such a step: one whose elements lie apart by as much from iteration to iteration, up to
  /// where they go round a circular buffer.
  bool add(const Step& step) {
    if (!step.scalar || step.indexed != Step::not_indexed) return false;
    Body::Operation operation{.kind = step.kind,
                              .dtype = step.dtype,
                              .element = step.element,
                              .kernel = step.kernel,
                              .result = {.constant = false, .width = step.element, .index = step.access}};
    switch (step.kind) {
      case Step::Kind::compute:
      case Step::Kind::move:
        if (step.kind == Step::Kind::compute)
          operation.vector = vector_kernel(step.op, step.flags, step.dtype);
        operation.operands = static_cast<std::uint8_t>(step.operands.count);
        std::copy_n(code_.sources.begin() + step.operands.first, step.operands.count,
                    operation.sources.begin());
        if (step.kind == Step::Kind::move && operation.sources[0].form) ++body_.indices;
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
    operation.result.fixed = is_fixed(operation.result);
    for (auto& source : std::span(operation.sources).first(operation.operands))
      source.fixed = is_fixed(source);
    body_.operations.push_back(operation);
    return true;
  }

  [[nodiscard]] bool is_fixed(const Source& source) const {
    if (source.constant) return !source.form;
    const SlotAccess& access = code_.accesses[source.index];
    return access.index.count == 0 && access.wrap == SlotAccess::no_wrap;
  }

  /// Numbers what may overlap: slots by their addresses, all tensors where one is written; constants are 0, and messages
  /// stand elsewhere.
  void find_regions() {
    struct Bytes {
      std::int64_t first = 0, end = 0;
    };
    std::vector<Bytes> slots;
    const auto bytes = [this](const Source& source) -> Bytes {
      const SlotAccess& access = code_.accesses[source.index];
      return {access.address, access.address + access.count * access.stride};
    };
    const auto each = [this](const auto& use) {
      for (auto& operation : body_.operations) {
        use(operation.result);
        for (auto& source : std::span(operation.sources).first(operation.operands)) {
          if (!source.constant) use(source);
        }
      }
    };
    each([&](const Source& source) { slots.push_back(bytes(source)); });
    std::ranges::sort(slots, {}, &Bytes::first);
    std::vector<std::int64_t> firsts;  // Of the regions.
    std::int64_t end = 0;
    for (const auto& slot : slots) {
      if (firsts.empty() || slot.first >= end) firsts.push_back(slot.first);
      end = std::max(end, slot.end);
    }
    each([&](Source& source) {
      const auto after = std::ranges::upper_bound(firsts, bytes(source).first);
      source.region = static_cast<std::uint16_t>(after - firsts.begin());
    });
    auto next = static_cast<std::uint16_t>(firsts.size());
    const std::uint16_t lanes = ++next;
    next = static_cast<std::uint16_t>(next + body_.lanes.size());
    const bool stores = std::ranges::find(body_.operations, Step::Kind::store, &Body::Operation::kind) !=
                        body_.operations.end();
    for (auto& operation : body_.operations) {
      const bool message = operation.kind == Step::Kind::send || operation.kind == Step::Kind::receive;
      operation.region = message ? static_cast<std::uint16_t>(lanes + operation.lane) : next;
      const bool element = operation.kind == Step::Kind::load || operation.kind == Step::Kind::store;
      if (element && !stores) ++next;
    }
    // The values of each form stand by themselves.
    for (auto& operation : body_.operations) {
      if (operation.operands == 1 && operation.sources[0].form) operation.sources[0].region = ++next;
    }
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

std::vector<Body> bodies_between(const program::Program& program, const Code& code, std::size_t opener,
                                 std::size_t end) {
  auto outside = BodyBuilder(program, code).build(opener, end, false);
  if (!outside) return {};
  std::vector<Body> result{std::move(*outside)};
  if (result.front().within.count == 0) return result;
  auto inside = BodyBuilder(program, code).build(opener, end, true);
  if (!inside || inside->operations.empty()) return {};
  result.push_back(std::move(*inside));
  return result;
}

}  // namespace cyclotron::runtime
