// Exact integer sets and relations: value classes over isl, and the only place that knows isl.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/poly/affine.hpp>

struct isl_ctx;
struct isl_set;
struct isl_map;

namespace cyclotron::poly {

/// One isl context, shared by the values made in it; used by one thread at a time.
class Context {
 public:
  /// That of the analysis which this thread is at, or a new one.
  Context();
  /// isl gives up with LegalityError CYC299 beyond this many operations, so that no compile runs for ever
  /// or fills memory.
  explicit Context(unsigned long operation_limit);
  [[nodiscard]] isl_ctx* get() const { return ctx_.get(); }

 private:
  std::shared_ptr<isl_ctx> ctx_;
};

/// While it lives, all contexts of this thread are one, whose operations count together: the analysis of one subject, such
/// as a kernel, which is named where it takes too many. One within another counts with that.
class Analysis {
 public:
  explicit Analysis(const std::string& subject, unsigned long operation_limit = 40'000'000);
  Analysis(const Analysis&) = delete;
  Analysis& operator=(const Analysis&) = delete;
  ~Analysis();

 private:
  bool outermost_;
};

/// A conjunction of affine constraints over a set's variables and of divisibilities `form mod m == 0`.
struct Conjunction {
  std::vector<Constraint> constraints;
  std::vector<std::pair<Affine, std::int64_t>> divisible;
};

/// True where each constraint names variables of one group only: the points are the product of those of the groups.
[[nodiscard]] bool is_product(const Conjunction& all, const std::vector<std::size_t>& group_of_variable);

/// A set of integer points with `dimensions()` coordinates. Immutable; copies share.
class Set {
 public:
  [[nodiscard]] static Set universe(const Context& context, std::size_t dimensions);
  [[nodiscard]] static Set empty(const Context& context, std::size_t dimensions);
  [[nodiscard]] static Set where(const Context& context, std::size_t dimensions,
                                 const std::vector<Constraint>& all);
  [[nodiscard]] static Set where(const Context& context, std::size_t dimensions, const Conjunction& all);
  /// isl's notation for the constraints over the named coordinates, e.g. `0 <= i < n and j = i`. None if
  /// malformed.
  [[nodiscard]] static std::optional<Set> parse(const Context& context, const std::vector<std::string>& names,
                                                const std::string& constraints);

  [[nodiscard]] const Context& context() const { return context_; }
  [[nodiscard]] std::size_t dimensions() const;
  [[nodiscard]] bool is_empty() const;
  [[nodiscard]] bool is_subset(const Set& other) const;
  [[nodiscard]] bool satisfies(const Constraint& constraint) const;  ///< At every point.
  [[nodiscard]] bool operator==(const Set& other) const;             ///< The same points.
  [[nodiscard]] Set intersect(const Set& other) const;
  [[nodiscard]] Set intersect(const Constraint& constraint) const;
  [[nodiscard]] Set intersect(const std::vector<Constraint>& all) const;
  [[nodiscard]] Set unite(const Set& other) const;
  [[nodiscard]] Set subtract(const Set& other) const;
  [[nodiscard]] Set coalesce() const;
  /// The points within all bounds that its parts have, or have when moved: at least its own.
  [[nodiscard]] Set simple_hull() const;
  /// The points within the bounds that coordinates have here, and on the steps in which they go: at least its own.
  [[nodiscard]] Set box() const;
  /// The same points, with the equalities among constraints that whole numbers alone make of inequalities.
  [[nodiscard]] Set detect_equalities() const;
  [[nodiscard]] Set gist(const Set& context_set) const;  ///< Fewer constraints, equal on context_set.
  [[nodiscard]] Set translate(const std::vector<std::int64_t>& offset) const;
  /// Keeps the listed coordinates, in that order.
  [[nodiscard]] Set project(const std::vector<std::size_t>& keep) const;
  /// The points q with forms(q) in this set; forms over `dimensions` variables.
  [[nodiscard]] Set preimage(const std::vector<Affine>& forms, std::size_t dimensions) const;
  /// The points forms(p) of the points p in this set.
  [[nodiscard]] Set image(const std::vector<Affine>& forms) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> sample() const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> lexmin_point() const;
  /// Every point, in lexicographic order. Only for small sets: work and memory grow with the number of points.
  [[nodiscard]] std::vector<std::vector<std::int64_t>> points() const;
  [[nodiscard]] std::optional<std::int64_t> minimum(
      std::size_t coordinate) const;  ///< None if empty or unbounded.
  [[nodiscard]] std::optional<std::int64_t> maximum(std::size_t coordinate) const;
  /// The distance of a coordinate's values, of which there may be fewer.
  [[nodiscard]] std::int64_t step(std::size_t coordinate) const;
  /// Coordinate `target` as an affine function of the others on this set, where the constraints fix it with
  /// coefficient +-1.
  [[nodiscard]] std::optional<Affine> equality_for(std::size_t target) const;
  /// As unions of conjunctions; none where existential variables remain that are no plain divisibility.
  [[nodiscard]] std::optional<std::vector<Conjunction>> conjunctions() const;
  /// The same points, without floors that bounds and the steps of coordinates imply.
  [[nodiscard]] Set plain() const;
  /// Constraints in isl's notation over the names, `true` and `false` for all and no points.
  [[nodiscard]] std::string constraints_text(const std::vector<std::string>& names) const;

  Set(Context context, isl_set* take);
  Set(const Set& other);
  Set& operator=(const Set& other);
  Set(Set&& other) noexcept;
  Set& operator=(Set&& other) noexcept;
  ~Set();
  [[nodiscard]] isl_set* get() const { return set_; }
  [[nodiscard]] isl_set* copy() const;

 private:
  Context context_;
  isl_set* set_ = nullptr;
};

/// A relation between integer points. Immutable; copies share.
class Map {
 public:
  /// { p -> forms(p) : p in domain }
  [[nodiscard]] static Map function(const Set& domain, const std::vector<Affine>& forms);
  /// { p -> q : first `dimensions_in` coordinates of the set's points are p, the rest q }
  [[nodiscard]] static Map from_pairs(const Set& pairs, std::size_t dimensions_in);
  /// { a -> b : a lexicographically before b }
  [[nodiscard]] static Map before(const Context& context, std::size_t dimensions);

  [[nodiscard]] bool is_empty() const;
  [[nodiscard]] bool operator==(const Map& other) const;
  [[nodiscard]] Map reverse() const;
  [[nodiscard]] Map then(const Map& next) const;  ///< { a -> c : this(a, b) and next(b, c) }
  [[nodiscard]] Map intersect(const Map& other) const;
  [[nodiscard]] Map subtract(const Map& other) const;
  [[nodiscard]] Map unite(const Map& other) const;
  [[nodiscard]] Map restrict_domain(const Set& set) const;
  [[nodiscard]] Map restrict_range(const Set& set) const;
  [[nodiscard]] Set domain() const;
  [[nodiscard]] Set range() const;
  [[nodiscard]] Set apply(const Set& set) const;
  [[nodiscard]] bool is_single_valued() const;
  [[nodiscard]] bool is_injective() const;
  [[nodiscard]] Map lexmin() const;  ///< Each a to the first of its b.
  [[nodiscard]] Map lexmax() const;
  /// Disjoint conjunctions that make up the relation.
  [[nodiscard]] std::vector<Map> conjunctions() const;
  /// A single-valued map as pieces of affine functions; none where a piece is not affine with integer
  /// coefficients.
  struct Piece;
  [[nodiscard]] std::optional<std::vector<Piece>> pieces() const;
  /// Some pair (a, b) of the relation.
  [[nodiscard]] std::optional<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> sample() const;
  [[nodiscard]] Set wrap() const;  ///< The pairs as points: a's coordinates, then b's.

  Map(Context context, isl_map* take);
  Map(const Map& other);
  Map& operator=(const Map& other);
  Map(Map&& other) noexcept;
  Map& operator=(Map&& other) noexcept;
  ~Map();
  [[nodiscard]] isl_map* get() const { return map_; }
  [[nodiscard]] isl_map* copy() const;
  [[nodiscard]] const Context& context() const { return context_; }

 private:
  Context context_;
  isl_map* map_ = nullptr;
};

struct Map::Piece {
  Set domain;
  std::vector<Affine> forms;
};

/// isl's version, for `show_config`.
[[nodiscard]] std::string isl_version();

}  // namespace cyclotron::poly
