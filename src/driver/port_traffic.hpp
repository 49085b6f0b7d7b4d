// Least traffic of the ports of memories where operators run in given PEs: elements of inputs and outputs.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <cyclotron/driver/least_time.hpp>

namespace cyclotron::driver {

struct Job {
  std::int64_t release = 0, cycles = 0, after = 0;
};

/// The least time of one machine that may interrupt its jobs. Sorts them.
[[nodiscard]] std::int64_t least_time_alone(std::vector<Job>& jobs);

/// Refers to the graph and to the ports.
class PortTraffic {
 public:
  /// Each PE that uses an input may load it for all, where inputs are passed round rings.
  PortTraffic(const recurrence::OperationGraph& graph, const std::vector<std::int64_t>& pes,
              std::size_t dimensions, const Ports& ports, bool passed_round);

  /// Of each node, before which it does not begin: its inputs come from a memory.
  [[nodiscard]] std::vector<std::int64_t> arrivals() const;
  /// Of each node, cycles that the run goes on at least after it is done: its value goes to a memory.
  [[nodiscard]] std::vector<std::int64_t> departures() const;
  /// Cycles that no program goes below, by what ports and PEs have to load and store, where nodes are released no earlier,
  /// and the run goes on so long after them.
  [[nodiscard]] std::int64_t least_time(const std::vector<std::int64_t>& release,
                                        const std::vector<std::int64_t>& after) const;

 private:
  using Index = std::uint32_t;  // Of a PE of the machine's grid.

  /// The place of an operator: one PE, or all that what is known of it leaves.
  struct Span {
    std::vector<Index> pes;
    std::vector<bool> unknown;  // By dimension.
    bool served = false;        // Each of them.
  };
  struct Element {
    std::size_t number = 0;   // Of the graph's inputs.
    std::vector<Index> ends;  // PEs that may load it for others.
    std::vector<Index> any;   // And those that may hand it on in any direction.
  };
  /// The place of a node, and along which dimensions what it reads comes from behind.
  using Reader = std::pair<std::uint32_t, std::uint32_t>;
  /// The PEs that may load an element for a reader, and the way to the end after it.
  struct Need {
    std::vector<Index> loaders;
    std::int64_t after = 0;
  };
  using Needs = std::map<Reader, std::map<std::size_t, Need>>;  // By element, too.
  struct Load {
    std::int64_t words = 0, after = 0;
  };
  /// PEs that have the same loads between them.
  struct Pool {
    std::int64_t under_way = 0, ports = 0, bandwidth = 0, latency = 0;
  };

  void locate(const std::vector<std::int64_t>& pes, std::size_t dimensions);
  [[nodiscard]] bool is_at_origin() const;
  [[nodiscard]] Span span_of(const std::vector<std::int64_t>& at) const;
  void find_ends(bool passed_round);
  [[nodiscard]] std::int64_t coordinate(Index pe, std::size_t d) const {
    return pe / strides_[d] % ports_->grid[d];
  }
  [[nodiscard]] std::vector<Index> ends_of(const std::vector<Index>& users,
                                           const std::vector<bool>& along) const;
  [[nodiscard]] const machine::Memory* memory_of(Index pe) const;
  /// The PEs that may load an element for a PE that uses it; none where one of them loads at no cost.
  [[nodiscard]] std::vector<Index> loaders(const Element& element, const Reader& reader) const;
  [[nodiscard]] bool is_behind(Index pe, Index user, std::uint32_t onwards) const;
  [[nodiscard]] Reader reader_of(std::size_t node) const {
    return {places_[node], ports_->onwards.empty() ? 0 : ports_->onwards[node]};
  }
  [[nodiscard]] std::int64_t latency(Index pe, std::int64_t words) const;
  [[nodiscard]] std::int64_t least_latency(const std::vector<Index>& pes, std::int64_t words) const;
  [[nodiscard]] Pool pool_of(const std::vector<Index>& pes) const;
  [[nodiscard]] static std::int64_t least_time(std::vector<Load>& loads, const Pool& pool);
  [[nodiscard]] std::int64_t of_readers(const Needs& needs) const;
  [[nodiscard]] std::int64_t of_ports(const Needs& needs, const std::vector<std::int64_t>& release) const;

  [[nodiscard]] Needs needs(const std::vector<std::int64_t>& after) const;

  const recurrence::OperationGraph* graph_;
  const Ports* ports_;
  machine::Attachment attachment_;
  std::vector<const machine::Memory*> memories_;  // By port.
  std::vector<Span> spans_;                       // Of places.
  std::vector<std::uint32_t> places_;             // By node.
  std::vector<std::int64_t> strides_, used_;      // Of the grid; PEs that are in use along each dimension.
  std::vector<Element> elements_;                 // Those that come through ports.
  std::vector<Index> served_;                     // PEs of the grid.
};

}  // namespace cyclotron::driver
