#include "box_loops.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "detail.hpp"
#include "group_regions.hpp"

namespace cyclotron::poly::detail {

namespace {

/// Values from the least to the greatest, `step` apart.
struct Interval {
  std::int64_t low = INT64_MIN, high = INT64_MAX, step = 1;
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

/// Times of a statement: a box, or points within one.
struct Part {
  std::size_t statement;
  Box box;
  std::optional<Set> points = {};  ///< Over parameters and times, where not all of the box are.
  std::vector<bool> is_apart =
      {};  ///< Of those, the coordinates that take each value of the box with any others.
};

/// A domain of more boxes is left to isl, so that not every coordinate is cut into as many pieces.
constexpr std::size_t most_boxes = 16;
/// As of one that is no box but for its corners: more are rather loops whose bounds vary.
constexpr std::int64_t most_slices = 4;
/// Statements in strides take turns in rounds of so many steps at most, each in so many turns: isl, else, has guards for
/// them.
constexpr std::int64_t longest_round = 4096, most_turns = 16;

/// The interval within what a constraint on its coordinate alone leaves.
void narrow(Interval& interval, const Constraint& constraint, std::size_t coordinate) {
  const auto factor = constraint.form.coefficients[coordinate];
  const auto limit = -factor * constraint.form.constant;
  if (constraint.equality || factor == 1) interval.low = std::max(interval.low, limit);
  if (constraint.equality || factor == -1) interval.high = std::min(interval.high, limit);
}

/// The values of a bounded interval at which the form, of its coordinate alone, is a multiple of the modulus.
void align(Interval& interval, const Affine& form, std::int64_t modulus, std::size_t coordinate) {
  const auto first = -form.coefficients[coordinate] * form.constant;
  const auto above = [modulus](std::int64_t number) { return ((number % modulus) + modulus) % modulus; };
  interval.low += above(first - interval.low);
  interval.high -= above(interval.high - first);
  interval.step = modulus;
}

std::optional<Box> box_of(const Conjunction& piece, std::size_t parameters, std::size_t times) {
  Box box(times);
  for (const auto& [form, equality] : piece.constraints) {
    const auto coordinate = single_coordinate(form);
    if (!coordinate || *coordinate < parameters) return std::nullopt;
    narrow(box[*coordinate - parameters], {form, equality}, *coordinate);
  }
  if (!std::ranges::all_of(box, &Interval::is_known)) return std::nullopt;
  for (const auto& [form, modulus] : piece.divisible) {
    const auto coordinate = single_coordinate(form);
    if (!coordinate || *coordinate < parameters || box[*coordinate - parameters].step > 1)
      return std::nullopt;
    align(box[*coordinate - parameters], form, modulus, *coordinate);
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
      auto& next = last[*along - parameters];
      next.low = ++next.high;
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

/// Points of one or more conjunctions as a part; nothing where a coordinate has no end.
std::optional<Part> part_of(std::size_t statement, const Set& points,
                            const std::vector<Conjunction>& conjunctions, const Set& parameters,
                            std::size_t times) {
  const auto first = parameters.dimensions();
  Part result{statement, Box(times), points, std::vector(times, true)};
  std::vector<Box> boxes(conjunctions.size(), Box(times));
  for (std::size_t n = 0; n < conjunctions.size(); ++n) {
    const auto mixes = [&](const Affine& form) {
      for (std::size_t c = 0; c < times; ++c) {
        if (form.coefficients[first + c] != 0) result.is_apart[c] = false;
      }
    };
    for (const auto& [form, modulus] : conjunctions[n].divisible) mixes(form);
    for (const auto& constraint : conjunctions[n].constraints) {
      const auto coordinate = single_coordinate(constraint.form);
      if (coordinate && *coordinate >= first) {
        narrow(boxes[n][*coordinate - first], constraint, *coordinate);
      } else {
        mixes(constraint.form);
      }
    }
  }
  std::optional<Set> bounded;
  for (std::size_t c = 0; c < times; ++c) {
    const auto& own = boxes.empty() ? result.box[c] : boxes.front()[c];
    const auto is_same = [&](const Box& box) { return box[c] == own; };
    if (result.is_apart[c] && own.is_known() && std::ranges::all_of(boxes, is_same)) {
      result.box[c] = own;
      continue;
    }
    result.is_apart[c] = false;
    if (!bounded) bounded = points.intersect(with_times(parameters, times));
    const auto low = bounded->minimum(first + c), high = bounded->maximum(first + c);
    if (!low || !high) return std::nullopt;
    result.box[c] = {*low, *high};
  }
  return result;
}

/// The parts of a statement; nothing where no box holds its points.
std::optional<std::vector<Part>> parts_of(std::size_t statement, const Set& domain, const Set& parameters,
                                          std::size_t times) {
  std::vector<Part> result;
  const auto pieces = domain.conjunctions();
  if (const auto boxes = boxes_of(domain, parameters.dimensions(), times)) {
    for (const auto& box : *boxes) result.push_back({statement, box});
  } else if (!pieces || pieces->size() > most_boxes) {
    auto whole = part_of(statement, domain, pieces.value_or(std::vector<Conjunction>{}), parameters, times);
    if (!whole) return std::nullopt;
    result.push_back(std::move(*whole));
  } else {
    for (const auto& piece : *pieces) {
      if (auto box = box_of(piece, parameters.dimensions(), times)) {
        result.push_back({statement, std::move(*box)});
        continue;
      }
      const auto points = Set::where(domain.context(), domain.dimensions(), piece);
      auto part = part_of(statement, points, {piece}, parameters, times);
      if (!part) return std::nullopt;
      result.push_back(std::move(*part));
    }
  }
  return result;
}

/// A form over other parameters and loops as one in a loop at this depth.
Affine inside(const Affine& form, std::size_t parameters, std::size_t depth, std::size_t variables) {
  Affine result = constant(variables, form.constant);
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] != 0) result.coefficients[v < parameters ? v : v + depth] = form.coefficients[v];
  }
  return result;
}

class Scan {
 public:
  Scan(std::vector<Part> parts, const Set& parameters, std::size_t times, const NestMaker& other)
      : parts_(std::move(parts)),
        context_(parameters.context()),
        other_(other),
        parameters_(parameters.dimensions()),
        times_(times),
        variables_(parameters_ + loop_variables(times)) {}

  /// The loops over these parts of statements, in order, in the steps that are left, those before being `time`.
  Node nest(const std::vector<std::size_t>& parts, const std::vector<Affine>& time, std::size_t depth) const {
    std::vector<Node> nodes;
    std::optional<std::size_t> last;
    for (const auto& group : in_turn(parts, time.size())) {
      if (!can_scan(group, time.size())) {
        nodes.push_back(other_nest(group, time, depth));
      } else if (time.size() < times_) {
        scan(group, time, depth, nodes);
      } else {
        for (const auto p : group) {
          if (parts_[p].statement != last) nodes.push_back(visit(parts_[p].statement, time));
          last = parts_[p].statement;  // Boxes of one statement may overlap.
        }
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

  /// True where each part takes all values of its interval in the coordinate at this level, and then in all others.
  [[nodiscard]] bool can_scan(const std::vector<std::size_t>& parts, std::size_t level) const {
    const auto is_apart = [&](std::size_t p) {
      const auto& part = parts_[p];
      return !part.points || (level < times_ && part.is_apart[level]);
    };
    return std::ranges::all_of(parts, is_apart) &&
           (level == times_ || std::ranges::all_of(ranges_of(parts, level), [&](const Range& range) {
              return turns(range, level) <= most_turns * std::ssize(range.active);
            }));
  }

  /// Values of a level, a round of steps apart, in which the same statements are active.
  struct Range {
    Interval values;
    std::vector<std::size_t> active;
  };

  [[nodiscard]] std::vector<Range> ranges_of(const std::vector<std::size_t>& parts, std::size_t level) const {
    const auto starts = starts_of(parts, level);
    std::vector<Range> result;
    for (std::size_t n = 0; n + 1 < starts.size(); ++n) {
      Range range{{starts[n], starts[n + 1] - 1, 1}, {}};
      for (const auto p : parts) {
        const auto& own = parts_[p].box[level];
        if (own.low > range.values.low || range.values.high > own.high) continue;
        range.active.push_back(p);
        range.values.step = std::min(std::lcm(range.values.step, own.step), longest_round + 1);
      }
      if (!range.active.empty()) result.push_back(std::move(range));
    }
    return result;
  }

  /// The statements of one round.
  [[nodiscard]] std::int64_t turns(const Range& range, std::size_t level) const {
    if (range.values.step > longest_round) return INT64_MAX;
    std::int64_t result = 0;
    for (const auto p : range.active) result += range.values.step / parts_[p].box[level].step;
    return result;
  }

  /// The points in the coordinates from a level on. Of those before, it takes each value of its box with any others.
  [[nodiscard]] Set rest(const Part& part, std::size_t level) const {
    const auto dimensions = parameters_ + times_;
    std::vector<std::size_t> keep;
    for (std::size_t c = 0; c < dimensions; ++c) {
      if (c < parameters_ || c >= parameters_ + level) keep.push_back(c);
    }
    if (part.points) return part.points->project(keep);
    Conjunction all;
    for (auto l = level; l < times_; ++l) {
      const auto counter = variable(keep.size(), parameters_ + l - level);
      const auto from_low = counter - constant(keep.size(), part.box[l].low);
      all.constraints.push_back({from_low, false});
      all.constraints.push_back({constant(keep.size(), part.box[l].high) - counter, false});
      if (part.box[l].step > 1) all.divisible.emplace_back(from_low, part.box[l].step);
    }
    return Set::where(context_, keep.size(), all);
  }

  /// The nest of these parts, in the steps that are left, that the other maker makes.
  [[nodiscard]] Node other_nest(const std::vector<std::size_t>& parts, const std::vector<Affine>& time,
                                std::size_t depth) const {
    std::vector<std::size_t> statements;
    std::vector<Set> domains;
    for (const auto p : parts) {
      auto domain = rest(parts_[p], time.size());
      if (!statements.empty() && statements.back() == parts_[p].statement) {
        domains.back() = domains.back().unite(domain);
        continue;
      }
      statements.push_back(parts_[p].statement);
      domains.push_back(std::move(domain));
    }
    auto result = other_(domains, times_ - time.size());
    move_in(result, statements, time, depth);
    return result;
  }

  void move_in(Node& node, const std::vector<std::size_t>& statements, const std::vector<Affine>& time,
               std::size_t depth) const {
    const auto move = [&](Affine& form) { form = inside(form, parameters_, depth, variables_); };
    for (auto* bounds : {&node.lower, &node.upper}) {
      for (auto& bound : *bounds) move(bound.form);
    }
    for (auto& all : node.condition) {
      for (auto& constraint : all.constraints) move(constraint.form);
      for (auto& [form, modulus] : all.divisible) move(form);
    }
    if (node.kind == Node::Kind::visit) {
      node.statement = statements[node.statement];
      std::ranges::for_each(node.time, move);
      node.time.insert(node.time.begin(), time.begin(), time.end());
    }
    for (auto& child : node.children) move_in(child, statements, time, depth);
  }

  /// For each range a loop of rounds, in which statements take turns, and what is left of the last round.
  void scan(const std::vector<std::size_t>& parts, const std::vector<Affine>& time, std::size_t depth,
            std::vector<Node>& nodes) const {
    for (const auto& [values, active] : ranges_of(parts, time.size()))
      scan_rounds(values, active, time, depth, nodes);
  }

  void scan_rounds(Interval range, const std::vector<std::size_t>& active, const std::vector<Affine>& time,
                   std::size_t depth, std::vector<Node>& nodes) const {
    const auto level = time.size();
    const auto at = [&](std::int64_t value) {
      std::vector<std::size_t> result;
      for (const auto p : active) {
        const auto& own = parts_[p].box[level];
        if ((value - own.low) % own.step == 0) result.push_back(p);
      }
      return result;
    };
    while (range.low <= range.high && at(range.low).empty()) ++range.low;
    std::vector<std::int64_t> turns;  // of one round, from its start
    std::int64_t rounds = INT64_MAX;
    for (std::int64_t turn = 0; turn < range.step && range.low + turn <= range.high; ++turn) {
      if (at(range.low + turn).empty()) continue;
      turns.push_back(turn);
      rounds = std::min(rounds, (range.high - range.low - turn) / range.step + 1);
    }
    if (turns.empty()) return;
    const auto inner = [&](const Affine& step, std::int64_t value, std::size_t inner_depth) {
      auto result = time;
      result.push_back(step);
      return nest(at(value), result, inner_depth);
    };
    if (rounds > 1) {
      std::vector<Node> body;
      for (const auto turn : turns) {
        const auto step = variable(variables_, parameters_ + depth) + constant(variables_, turn);
        body.push_back(inner(step, range.low + turn, depth + 1));
      }
      const auto last = range.low + (rounds - 1) * range.step;
      nodes.push_back(loop({range.low, last, range.step}, one(std::move(body))));
      range.low = last + range.step;
    }
    for (auto start = range.low; start <= range.high; start += range.step) {
      for (const auto turn : turns) {
        const auto value = start + turn;
        if (value <= range.high) nodes.push_back(inner(constant(variables_, value), value, depth));
      }
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

  Node loop(const Interval& range, Node body) const {
    Node result;
    result.kind = Node::Kind::loop;
    result.lower.push_back({constant(variables_, range.low)});
    result.upper.push_back({constant(variables_, range.high)});
    result.step = range.step;
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
  Context context_;
  const NestMaker& other_;
  std::size_t parameters_;
  std::size_t times_;
  std::size_t variables_;
};

}  // namespace

std::optional<BoxNest> box_nest(const std::vector<Set>& statements, const Set& parameters, std::size_t times,
                                const NestMaker& other) {
  if (statements.empty()) return std::nullopt;
  std::vector<Part> parts;
  for (std::size_t s = 0; s < statements.size(); ++s) {
    auto own = parts_of(s, statements[s], parameters, times);
    if (!own) return std::nullopt;
    std::ranges::move(*own, std::back_inserter(parts));
  }
  std::vector<std::size_t> numbers(parts.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  const bool is_plain = std::ranges::none_of(parts, [](const Part& part) { return part.points.has_value(); });
  return BoxNest{Scan(std::move(parts), parameters, times, other).nest(numbers, {}, 0), is_plain};
}

}  // namespace cyclotron::poly::detail
