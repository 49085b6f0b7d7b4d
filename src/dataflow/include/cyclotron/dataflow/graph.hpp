// Dataflow recurrences: values owned by points of named iteration spaces, and the rules that move and make
// them (CY-039 … CY-057, section 4 of the paper).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <cyclotron/operators/operators.hpp>
#include <cyclotron/poly/set.hpp>
#include <cyclotron/support/id.hpp>
#include <cyclotron/support/number.hpp>
#include <cyclotron/support/span.hpp>

namespace cyclotron::dataflow {

using operators::DType;
using operators::Flags;
using operators::Op;
using operators::Shape;

using TensorId = Id<struct GraphTensorTag>;
using SpaceId = Id<struct SpaceTag>;
using FlowId = Id<struct FlowTag>;

/// The purpose of a space, of points that compute or that only hold values on their way.
enum class SpaceKind : std::uint8_t {
  compute,
  home,   ///< An input's elements, resident in given PEs.
  panel,  ///< An input's elements as they come, where an index is cut into panels.
  relay,  ///< Values that pass on to other points.
};

/// All spaces of a graph share one coordinate system, the kernel's indices (`Graph::dims`), so that a move
/// between spaces is a move between points. A space fixes the coordinates that are not its own.
struct Space {
  std::string name;                     ///< The operation, e.g. `mul`, `trsm`.
  poly::Set domain;                     ///< Points, over all dims.
  std::vector<std::size_t> own;         ///< The free coordinates; the others are functions of them.
  std::vector<poly::Affine> tuple;      ///< Each coordinate in terms of the free ones, e.g. (i, r, i).
  SpaceKind kind = SpaceKind::compute;  ///< Told by who adds the space; no part of a graph's text.
};

enum class Role : std::uint8_t { input, output, local };

struct Tensor {
  std::string name;
  DType dtype = DType::float64;
  Role role = Role::input;
  std::vector<std::int64_t> shape;  ///< In scalars.
  std::vector<std::int64_t> tile;   ///< In scalars.
  bool blocked = false;
  std::string variable{};  ///< As `recurrence::Tensor::variable`; text does not have it.
  std::string listed{};    ///< As of `recurrence::listed_names`.
  /// The name that users know it by.
  [[nodiscard]] const std::string& user_name() const { return variable.empty() ? name : variable; }
  [[nodiscard]] const std::string& listed_name() const { return listed.empty() ? name : listed; }
};
/// True of tensors with the same text.
[[nodiscard]] bool operator==(const Tensor& a, const Tensor& b);

/// A value at every point of a space: `(i, j, k)_A^mul`.
struct Flow {
  std::string name;  ///< The subscript, e.g. `A`, `Xa`.
  SpaceId space;
  TensorId tensor;                    ///< Whose elements (or partial results) it carries.
  Shape tile;                         ///< Largest tile.
  std::vector<poly::Affine> element;  ///< The element at each point.
  bool prefetched = false;            ///< Resident: loaded before the time loop.
  bool computed = false;              ///< Made by Compute rules, else it carries an operand.
  Span span;
  std::optional<DType>
      dtype{};  ///< Of a partial result that the outer expression converts; else the tensor's.
};

/// The value of `flow` at the point `p + offset`.
struct FlowRef {
  FlowId flow;
  std::vector<std::int64_t> offset;
  bool operator==(const FlowRef&) const = default;
};
using Constant = Number;
/// The value of a form of the point's coordinates, as a number of the dtype; it names only the free ones of the space.
struct Index {
  poly::Affine form;
  DType dtype = DType::int64;
  bool operator==(const Index&) const = default;
};
/// A node of a Compute rule's expression; operands are earlier nodes of the same rule, by index.
struct Apply {
  Op op = Op::add;
  Flags flags = 0;
  std::vector<std::size_t> operands;
  bool operator==(const Apply&) const = default;
};
using Term = std::variant<FlowRef, Constant, Index, Apply>;

/// flow(p) <- tensor[element(p)]
struct Inject {
  bool operator==(const Inject&) const = default;
};
/// flow(p) <- source(from(p)), over links, or over a broadcast network. The forms name only the free
/// coordinates of the flow's space.
struct Transfer {
  FlowId source;
  std::vector<poly::Affine> from;
  bool broadcast = false;
  bool operator==(const Transfer&) const = default;
};
/// flow(p) <- the last term
struct Compute {
  std::vector<Term> terms;
  bool operator==(const Compute&) const = default;
};
/// tensor[element(p)] <- flow(p)
struct Export {
  bool operator==(const Export&) const = default;
};

/// The rewrite rule of section 8 that made a line (CY-069); `turn` is E12's, `relay` E13's.
enum class Origin : std::uint8_t {
  inject,
  propagate,
  lower_sum,
  outer_send,
  outer,
  inner_send,
  turn,
  relay,
  publish
};
[[nodiscard]] std::string_view name(Origin origin);

struct Rule {
  std::variant<Inject, Transfer, Compute, Export> action;
  FlowId flow;       ///< Defined by the rule; for Export, read.
  poly::Set domain;  ///< The points p it applies at, over all dims.
  Origin origin = Origin::inject;
  Span span;
};

struct Graph {
  std::string kernel;
  poly::Context context;
  std::vector<std::string> dims;
  std::vector<Tensor> tensors;
  std::vector<Space> spaces;
  std::vector<Flow> flows;
  std::vector<Rule> rules;

  [[nodiscard]] const Tensor& at(TensorId id) const { return tensors.at(id.index()); }
  [[nodiscard]] const Space& at(SpaceId id) const { return spaces.at(id.index()); }
  [[nodiscard]] const Flow& at(FlowId id) const { return flows.at(id.index()); }
  [[nodiscard]] DType dtype_of(FlowId id) const { return at(id).dtype.value_or(at(at(id).tensor).dtype); }
};

/// The same spaces, flows and rules in the same order, domains equal as sets; spans do not count.
[[nodiscard]] bool equal(const Graph& a, const Graph& b);

/// The constant `from(p) - p` of a transfer into a flow of this space, or nothing where it varies.
[[nodiscard]] std::optional<std::vector<std::int64_t>> constant_offset(const Space& space,
                                                                       const std::vector<poly::Affine>& from);
/// The flow a rule reads at a shifted point and the flow it defines: true for rules that move a value
/// between spaces.
[[nodiscard]] bool crosses_spaces(const Graph& graph, const Rule& rule);

/// A flow's name in listings: that of its tensor there, and behind the separator the flow's letter, if it has one.
[[nodiscard]] std::string listed_name(const Graph& graph, const Flow& flow, std::string_view separator = "");
/// `(i, j-1, k)_A^mul`: a flow at a point given by forms over the dims.
[[nodiscard]] std::string flow_text(const Graph& graph, FlowId id, const std::vector<poly::Affine>& point);
/// The flow at its own point, with the space's fixed coordinates written out: `(i, r, i)_X^div`.
[[nodiscard]] std::string flow_text(const Graph& graph, FlowId id);

/// The paper's notation, one rule a line (Figs. 4 and 6), with tensors, spaces and induced sends.
[[nodiscard]] std::string to_string(const Graph& graph);
/// Reads what to_string wrote. Throws ProgramError CYC650 with line and column.
[[nodiscard]] Graph parse(const std::string& text);

/// Every value is defined exactly once, every source is defined where it is read, every transfer moves the
/// element it should.
/// Throws LegalityError or, for our own bugs, InternalError.
void verify(const Graph& graph);

}  // namespace cyclotron::dataflow
