// Many iterations of a loop on scalars: its places are found once, and messages are read and written where their
// queues keep them.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "code.hpp"
#include "pe_array.hpp"
#include "tensors.hpp"
#include "vector_body.hpp"

namespace cyclotron::runtime {

/// Scalars that stand side by side: the next messages of a queue, or its next free places.
struct Scalars {
  std::byte* first = nullptr;
  std::int64_t count = 0;
};

class BodyRunner {
 public:
  explicit BodyRunner(const std::vector<TensorAccess>& tensors) : tensors_(tensors) {}

  /// By lane of the body, where its next messages stand.
  using Streams = std::array<std::byte*, Body::most_lanes>;

  /// Runs so many iterations (at least one) from the PE's loop variable on, or none (false) where one would leave a slot
  /// or a tensor. The variable and the counter stay as they are, unless a kernel throws: then they tell where.
  bool run(Pe& pe, const Body& body, const Streams& streams, std::int64_t iterations);

 private:
  /// For iterations in turn.
  struct Operation {
    ScalarKernel kernel = nullptr;  ///< None: a copy.
    std::array<const void*, 3> in{};
    std::array<std::ptrdiff_t, 3> advance{};
    Scalar out;
    bool moves = false;  ///< Some scalar does.
  };
  [[nodiscard]] bool find(Pe& pe, const Body& body, const Streams& streams, std::int64_t iterations);
  [[nodiscard]] static bool find_place(const Pe& pe, const Body& body, const Source& source,
                                       std::int64_t iterations, Scalar& found);
  [[nodiscard]] bool find_element(Pe& pe, const Body& body, const Body::Operation& access,
                                  std::int64_t iterations, Scalar& found) const;
  void find_operations(const Body& body);
  void run(std::int64_t& left, const Operation*& computing);

  const std::vector<TensorAccess>& tensors_;
  std::vector<VectorOperation> scalars_;
  std::vector<Operation> operations_;
  std::unordered_map<const Body*, VectorBody> vector_bodies_;
};

/// A host may let messages of links be read and written where they stand, several at once; fewer than there are may
/// stand side by side. Its other functions are not called then; they would have nothing to count.
///   Scalars arrived(Pe&, std::uint32_t port);                     // messages that there are
///   void taken(Pe&, std::uint32_t port, std::int64_t count);      // they leave
///   Scalars room(Pe&, std::uint32_t port);                        // places for messages
///   void sent(Pe&, std::uint32_t port, std::int64_t count);       // these are written
template <class Host>
concept KeepsStreams = requires(Host& host, Pe& pe) { host.arrived(pe, std::uint32_t{}); };

/// At the start of an iteration: runs as many as have their messages and places, about as many steps as the budget
/// has, or some vectors' worth. False where the loop has ended or has to go on step by step.
template <KeepsStreams Host>
bool run_iterations(Host& host, BodyRunner& runner, Pe& pe, const Body& body, std::int64_t& budget,
                    std::int64_t& executed) {
  std::int64_t& variable = pe.variables[body.variable];
  const auto span =
      static_cast<std::uint64_t>(pe.limits[body.variable]) - static_cast<std::uint64_t>(variable);
  const auto after =
      std::min<std::uint64_t>(span / static_cast<std::uint64_t>(body.step), std::uint64_t{1} << 62);
  const std::int64_t trips = static_cast<std::int64_t>(after) + 1;
  // Beyond the budget where they are few: a short run of vectors costs as much in preparation as in work.
  constexpr std::int64_t least_together = 2048;
  std::int64_t iterations =
      std::min(trips, std::max(budget / body.steps() + 1, body.vectors ? least_together : 0));
  BodyRunner::Streams streams{};
  for (std::size_t n = 0; n < body.lanes.size(); ++n) {
    const Body::Lane& lane = body.lanes[n];
    if (pe.queues[lane.port] == PeArray::none) return false;
    const Scalars scalars = lane.sends ? host.room(pe, lane.port) : host.arrived(pe, lane.port);
    streams[n] = scalars.first;
    iterations = std::min(iterations, scalars.count / lane.messages);
  }
  if (iterations == 0 || !runner.run(pe, body, streams, iterations)) return false;
  for (const Body::Lane& lane : body.lanes) {
    if (lane.sends) {
      host.sent(pe, lane.port, iterations * lane.messages);
    } else {
      host.taken(pe, lane.port, iterations * lane.messages);
    }
  }
  budget -= iterations * body.steps();
  executed += iterations * (body.steps() - 1);
  const bool ends = iterations == trips;
  variable += (iterations - (ends ? 1 : 0)) * body.step;
  if (ends) pe.counter = pe.code->steps[body.first - 1].target;
  return !ends;
}

}  // namespace cyclotron::runtime
