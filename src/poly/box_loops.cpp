#include "box_loops.hpp"

#include <algorithm>
#include <numeric>

namespace cyclotron::poly::detail {

namespace {

struct Interval {
  std::int64_t low = INT64_MIN, high = INT64_MAX;
  bool operator==(const Interval&) const = default;
  [[nodiscard]] bool is_known() const { return low != INT64_MIN && high != INT64_MAX && low <= high; }
};
/// An interval a time coordinate.
using Box = std::vector<Interval>;

/// The coordinate that alone occurs in the form, with factor 1 or -1.
std::optional<std::size_t> single_coordinate(const Affine& form) {
  const auto occurs = [](std::int64_t coefficient) { return coefficient != 0; };
  const auto place = std::ranges::find_if(form.coefficients, occurs);
  if (place == form.coefficients.end() || std::abs(*place) != 1) return std::nullopt;
  if (std::find_if(place + 1, form.coefficients.end(), occurs) != form.coefficients.end())
    return std::nullopt;
  return static_cast<std::size_t>(place - form.coefficients.begin());
}

/// A box of a statement's times.
struct Part {
  std::size_t statement;
  Box box;
};

/// A domain of more boxes is left to isl, so that not every coordinate is cut into as many pieces.
constexpr std::size_t most_boxes = 16;
/// As of one that is no box but for its corners: more are rather loops whose bounds vary.
constexpr std::int64_t most_slices = 4;

std::optional<Box> box_of(const Conjunction& piece, std::size_t parameters, std::size_t times) {
  if (!piece.divisible.empty()) return std::nullopt;
  Box box(times);
  for (const auto& [form, equality] : piece.constraints) {
    const auto coordinate = single_coordinate(form);
    if (!coordinate || *coordinate < parameters) return std::nullopt;
    auto& [low, high] = box[*coordinate - parameters];
    const auto factor = form.coefficients[*coordinate];
    const auto limit = -factor * form.constant;
    if (equality || factor == 1) low = std::max(low, limit);
    if (equality || factor == -1) high = std::min(high, limit);
  }
  if (!std::ranges::all_of(box, &Interval::is_known)) return std::nullopt;
  return box;
}

std::optional<std::vector<Box>> boxes_of(const Set& domain, std::size_t parameters, std::size_t times);

/// The boxes of each slice of a conjunction along the shortest of its coordinates that others bound, those of
/// neighbours that are alike in one. isl writes the corner of a square without its last point as one conjunction.
std::optional<std::vector<Box>> sliced(const Context& context, const Conjunction& piece,
                                       std::size_t parameters, std::size_t times) {
  const auto points = Set::where(context, parameters + times, piece);
  std::optional<std::size_t> along;
  Interval range;
  for (const auto& [form, equality] : piece.constraints) {
    if (single_coordinate(form)) continue;
    for (std::size_t c = 0; c < parameters + times; ++c) {
      if (form.coefficients[c] == 0) continue;
      if (c < parameters) return std::nullopt;
      const auto low = points.minimum(c), high = points.maximum(c);
      if (!low || !high) return std::nullopt;
      if (along && *high - *low >= range.high - range.low) continue;
      along = c;
      range = {*low, *high};
    }
  }
  if (!along || range.high - range.low >= most_slices) return std::nullopt;
  std::vector<Box> result, before;
  for (auto place = range.low; place <= range.high; ++place) {
    const auto here = variable(parameters + times, *along) - constant(parameters + times, place);
    auto boxes = boxes_of(points.intersect({here, true}), parameters, times);
    if (!boxes) return std::nullopt;
    const auto one_on = [&](const Box& box, Box last) {
      auto& [low, high] = last[*along - parameters];
      low = ++high;
      return box == last;
    };
    if (std::ranges::equal(*boxes, before, one_on)) {
      for (auto box = result.end() - std::ssize(before); box != result.end(); ++box)
        (*box)[*along - parameters].high = place;
    } else {
      result.insert(result.end(), boxes->begin(), boxes->end());
    }
    before = std::move(*boxes);
  }
  return result;
}

/// Nothing where they are not a few.
std::optional<std::vector<Box>> boxes_of(const Set& domain, std::size_t parameters, std::size_t times) {
  const auto pieces = domain.conjunctions();
  if (!pieces || pieces->size() > most_boxes) return std::nullopt;
  std::vector<Box> result;
  for (const auto& piece : *pieces) {
    if (auto box = box_of(piece, parameters, times)) {
      result.push_back(std::move(*box));
      continue;
    }
    const auto several =
        piece.divisible.empty() ? sliced(domain.context(), piece, parameters, times) : std::nullopt;
    if (!several) return std::nullopt;
    result.insert(result.end(), several->begin(), several->end());
  }
  if (result.size() > most_boxes) return std::nullopt;
  return result;
}

class Scan {
 public:
  Scan(std::vector<Part> parts, std::size_t parameters, std::size_t times)
      : parts_(std::move(parts)),
        parameters_(parameters),
        times_(times),
        variables_(parameters + loop_variables(times)) {}

  /// The loops over these parts of statements, in order, in the steps that are left, those before being `time`.
  Node nest(const std::vector<std::size_t>& parts, const std::vector<Affine>& time, std::size_t depth) const {
    std::vector<Node> nodes;
    std::optional<std::size_t> last;
    for (const auto& group : in_turn(parts, time.size())) {
      if (time.size() < times_) {
        scan(group, time, depth, nodes);
        continue;
      }
      for (const auto p : group) {
        if (parts_[p].statement != last) nodes.push_back(visit(parts_[p].statement, time));
        last = parts_[p].statement;  // Boxes of one statement may overlap.
      }
    }
    return one(std::move(nodes));
  }

 private:
  /// Groups of which each is done before the next begins: their loops need not be cut by each other.
  std::vector<std::vector<std::size_t>> in_turn(const std::vector<std::size_t>& parts,
                                                std::size_t level) const {
    struct Span {
      std::vector<std::int64_t> first, last;
      std::size_t part;
    };
    std::vector<Span> spans;
    for (const auto p : parts) {
      auto& span = spans.emplace_back();
      span.part = p;
      for (auto l = level; l < times_; ++l) {
        span.first.push_back(parts_[p].box[l].low);
        span.last.push_back(parts_[p].box[l].high);
      }
      span.first.push_back(static_cast<std::int64_t>(parts_[p].statement));
      span.last.push_back(static_cast<std::int64_t>(parts_[p].statement));
    }
    std::ranges::sort(spans, {}, &Span::first);
    std::vector<std::vector<std::size_t>> groups;
    std::vector<std::int64_t> last;
    for (const auto& span : spans) {
      if (groups.empty() || span.first > last) groups.emplace_back();
      groups.back().push_back(span.part);
      last = std::max(last, span.last);
    }
    for (auto& group : groups) std::ranges::sort(group);
    return groups;
  }

  /// One loop for each range of the level's values in which the same statements are active.
  void scan(const std::vector<std::size_t>& parts, const std::vector<Affine>& time, std::size_t depth,
            std::vector<Node>& nodes) const {
    const auto level = time.size();
    const auto starts = starts_of(parts, level);
    for (std::size_t n = 0; n + 1 < starts.size(); ++n) {
      const auto low = starts[n], high = starts[n + 1] - 1;
      std::vector<std::size_t> active;
      for (const auto p : parts) {
        if (parts_[p].box[level].low <= low && high <= parts_[p].box[level].high) active.push_back(p);
      }
      if (active.empty()) continue;
      auto inner = time;
      inner.push_back(low == high ? constant(variables_, low) : variable(variables_, parameters_ + depth));
      auto body = nest(active, inner, low == high ? depth : depth + 1);
      if (low != high) body = loop(low, high, std::move(body));
      nodes.push_back(std::move(body));
    }
  }

  /// The values at which another set of the statements becomes active, and the first after all.
  std::vector<std::int64_t> starts_of(const std::vector<std::size_t>& parts, std::size_t level) const {
    std::vector<std::int64_t> starts;
    for (const auto p : parts) {
      starts.push_back(parts_[p].box[level].low);
      starts.push_back(parts_[p].box[level].high + 1);
    }
    std::ranges::sort(starts);
    const auto [first, last] = std::ranges::unique(starts);
    starts.erase(first, last);
    return starts;
  }

  Node loop(std::int64_t low, std::int64_t high, Node body) const {
    Node result;
    result.kind = Node::Kind::loop;
    result.lower.push_back({constant(variables_, low)});
    result.upper.push_back({constant(variables_, high)});
    result.children.push_back(std::move(body));
    return result;
  }
  static Node visit(std::size_t statement, std::vector<Affine> time) {
    Node result;
    result.kind = Node::Kind::visit;
    result.statement = statement;
    result.time = std::move(time);
    return result;
  }
  static Node one(std::vector<Node> nodes) {
    if (nodes.size() == 1) return std::move(nodes.front());
    Node result;
    result.children = std::move(nodes);
    return result;
  }

  std::vector<Part> parts_;
  std::size_t parameters_;
  std::size_t times_;
  std::size_t variables_;
};

}  // namespace

std::optional<Node> box_nest(const std::vector<Set>& statements, std::size_t parameters, std::size_t times) {
  if (statements.empty()) return std::nullopt;
  std::vector<Part> parts;
  for (std::size_t s = 0; s < statements.size(); ++s) {
    auto boxes = boxes_of(statements[s], parameters, times);
    if (!boxes) return std::nullopt;
    for (auto& box : *boxes) parts.push_back({s, std::move(box)});
  }
  std::vector<std::size_t> numbers(parts.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return Scan(std::move(parts), parameters, times).nest(numbers, {}, 0);
}

}  // namespace cyclotron::poly::detail
