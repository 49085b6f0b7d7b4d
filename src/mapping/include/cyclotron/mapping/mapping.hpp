// Points to processing elements and time: what each PE does, and which PEs do the same (sections 6 and 7 of
// the paper).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/dataflow/graph.hpp>

namespace cyclotron::mapping {

using dataflow::FlowId;

/// Place and time of a point: PE = space coordinates - origin, time = time coordinates, lexicographic.
struct Grid {
  std::vector<std::size_t> space;     ///< Dims of the graph, one a grid dimension; empty: a single PE.
  std::vector<std::size_t> time;      ///< The other dims, outermost first.
  std::vector<std::int64_t> origin;   ///< Smallest space coordinates.
  std::vector<std::int64_t> extents;  ///< PEs a grid dimension.
  std::vector<std::string> names;     ///< Index names of the grid dimensions.
};

/// One message queue kind: into `flow`, from the PE at scale * receiver - offset (link) or along an axis (network).
struct Channel {
  FlowId flow;
  std::vector<std::int64_t> offset;  ///< Scaled receiver minus sender, one a grid dimension (link).
  bool network = false;
  std::size_t axis = 0;  ///< Grid dimension of a network.
  std::string name;
  std::vector<std::int64_t> scale{};  ///< As `offset`; empty where all are 1.
  std::string label{};                ///< As `name`, in the user's names; several channels may have the same.
};

/// An action of a PE at every point of a domain. The order of kinds is the order within a step: a streamed
/// operand is forwarded before the compute that uses it, a result is sent after the compute that makes it
/// (E3).
enum class Kind : std::uint8_t { load, receive, move, forward, compute, send, store };
/// True of the kinds that end a message.
[[nodiscard]] constexpr bool is_message(Kind kind) {
  return kind == Kind::receive || kind == Kind::forward || kind == Kind::send;
}

/// A flow at a point, given by forms over the dims at the statement's point.
struct Value {
  FlowId flow;
  std::vector<poly::Affine> point;
};

struct Statement {
  Kind kind = Kind::load;
  std::size_t rule = 0;  ///< The graph rule it comes from.
  poly::Set domain;      ///< Points, over all dims.
  Value target;  ///< load, receive, move, compute: the value it defines. Of a delayed send, its own point.
  std::vector<Value>
      sources;              ///< Flows read: one for move, send, forward, store; per FlowRef term for compute.
  std::size_t channel = 0;  ///< send, forward, receive.
  std::size_t message = 0;  ///< The same: its kind. A receive and the send that it induces have the same.
  std::vector<poly::Affine> from;  ///< receive: the sender's point.
  std::int64_t position = 0;       ///< Order among statements of one PE and step.
  bool prologue = false;           ///< Runs before the time loops.
};

/// PEs that run the same statements.
struct PeClass {
  poly::Set region;                     ///< Grid coordinates.
  std::vector<std::size_t> statements;  ///< Indices, ascending.
};

/// Delays between PEs: numbers of steps of each loop of time (0 and more, or less) that a PE comes after the one before it
/// along each grid dimension.
using Skew = std::vector<std::vector<std::int64_t>>;

struct Mapping {
  dataflow::Graph graph;
  Grid grid;
  std::vector<std::int64_t> ranks;  ///< By space: its place in the order of a PE's step.
  /// By space: a space of its round, the same for all. Within a step nothing goes between PEs to a round of lower ranks;
  /// within a round values may go back and forth.
  std::vector<std::size_t> rounds;
  /// By space: how far apart PEs run where dependences advance though all PEs take each step together; none where PEs
  /// go through several steps on their own.
  std::vector<std::optional<Skew>> skews;
  std::vector<Channel> channels;
  std::vector<Statement> statements;
  std::vector<PeClass> classes;
  std::vector<std::string> proofs;  ///< Properties that were proven, a sentence each.
  std::string time_function;        ///< E.g. `i + j + k` for unit costs, empty where it is not a single form.

  /// Grid coordinates as forms over dims.
  [[nodiscard]] std::vector<poly::Affine> pe_forms() const;
  /// Dims as forms over (grid coordinates, time coordinates).
  [[nodiscard]] std::vector<poly::Affine> point_forms() const;
};

/// Channels into one flow over the same link or network.
[[nodiscard]] bool is_same_wire(const Channel& a, const Channel& b);

/// `1 step of t later along x`, with several joined by commas; empty where PEs run together.
[[nodiscard]] std::string skew_text(const Mapping& mapping, const Skew& skew);

/// All that a mapping adds to its graph: grid, ranks of spaces, flows, channels, the statements of a step in order, PE
/// classes and proofs. Rules are numbered as the graph lists them, and flows of one name by their order.
[[nodiscard]] std::string to_string(const Mapping& mapping);

}  // namespace cyclotron::mapping
