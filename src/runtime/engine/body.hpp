// Many iterations of a loop on scalars: its accesses are found once, and messages are read and written where their
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
#include "vectorize/vector_body.hpp"

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

  /// Runs up to so many iterations (at least one) from the PE's loop variable on, and returns how many: up to where an
  /// element goes round its circular buffer, and none where one would leave a slot or a tensor. The variable and the
  /// counter stay as they are, unless a kernel throws: then they tell where.
  std::int64_t run(Pe& pe, const Body& body, const Streams& streams, std::int64_t iterations);

  /// Tells whether the next iterations are within the bounds of a loop's body, and lowers their number to those alike; to
  /// none where a number that bounds them lies outside of its slot.
  [[nodiscard]] static bool is_within(const Pe& pe, const Body& body, std::int64_t& iterations);

  /// Calls note(tensor, first, apart) for what iterations from the PE's loop variable on store: the numbers of elements.
  template <class Note>
  void each_store(Pe& pe, const Body& body, Note note) const;

 private:
  /// For iterations in turn.
  struct Operation {
    ScalarKernel kernel = nullptr;  ///< None: a copy.
    std::array<const void*, 3> in{};
    std::array<std::ptrdiff_t, 3> advance{};
    Scalar out;
    bool moves = false;  ///< Some scalar does.
  };
  /// The values of a form in the iterations of a run.
  struct Indices {
    std::int64_t first = 0, step = 0, count = 0;
    std::vector<std::byte> bytes;
    [[nodiscard]] std::int64_t offset_of(std::int64_t value, std::int64_t apart) const;
  };
  /// Lowers the number of iterations to those whose scalars lie evenly apart.
  struct Found;
  [[nodiscard]] bool find(Pe& pe, const Body& body, const Streams& streams, std::int64_t& iterations,
                          Found& found);
  [[nodiscard]] static bool find_access(const Pe& pe, const Body& body, const Source& source,
                                        std::int64_t& iterations, Scalar& found);
  /// The index of an operation's element.
  void find_index(const Pe& pe, const Body::Operation& access, std::int64_t* index) const;
  /// The values of a form in these iterations, in `values`.
  static void find_values(const Pe& pe, const Body& body, const Body::Operation& move,
                          std::int64_t iterations, Indices& values, Scalar& found);
  [[nodiscard]] bool find_element(Pe& pe, const Body& body, const Body::Operation& access,
                                  std::int64_t iterations, Scalar& found) const;
  void find_operations(const Body& body, const std::vector<VectorOperation>& scalars);
  /// The iteration of that number from here on by itself.
  static void run_one(const Body& body, const std::vector<VectorOperation>& scalars, std::int64_t number);
  void run(std::int64_t& left, const Operation*& computing);

  /// State of a body between runs.
  struct Found {
    std::vector<VectorOperation> scalars;
    std::vector<Indices> indices;       ///< Of the forms in the body.
    const std::byte* memory = nullptr;  ///< Of the PE whose they are.
    VectorBody vectors;
  };
  const std::vector<TensorAccess>& tensors_;
  std::vector<Operation> operations_;
  std::unordered_map<const Body*, Found> found_;
};

template <class Note>
void BodyRunner::each_store(Pe& pe, const Body& body, Note note) const {
  std::array<std::int64_t, 16> index{};
  const auto number = [&](const Body::Operation& store) {
    find_index(pe, store, index.data());
    return tensors_[store.tensor].linear(index.data());
  };
  for (const auto& operation : body.operations) {
    if (operation.kind != Step::Kind::store) continue;
    const std::size_t first = number(operation);
    pe.variables[body.variable] += body.step;
    const std::size_t second = number(operation);
    pe.variables[body.variable] -= body.step;
    note(operation.tensor, first, static_cast<std::ptrdiff_t>(second - first));
  }
}

/// A host may let messages of links be read and written where they stand, several at once; fewer than there are may
/// stand side by side. Its other functions are not called then; they would have nothing to count.
///   Scalars arrived(Pe&, std::uint32_t port);                     // messages that there are
///   void taken(Pe&, std::uint32_t port, std::int64_t count);      // they leave
///   Scalars room(Pe&, std::uint32_t port);                        // places for messages
///   void sent(Pe&, std::uint32_t port, std::int64_t count);       // these are written
/// It may note what is stored, elements of a tensor by their number in it:
///   void stored(std::uint32_t tensor, std::size_t first, std::ptrdiff_t apart, std::int64_t count);
template <class Host>
concept KeepsStreams = requires(Host& host, Pe& pe) { host.arrived(pe, std::uint32_t{}); };
template <class Host>
concept NotesStores =
    requires(Host& host) { host.stored(std::uint32_t{}, std::size_t{}, std::ptrdiff_t{}, std::int64_t{}); };

/// At the start of an iteration: runs as many as have their messages and places, about as many steps as the budget
/// has, or some vectors' worth. False where the loop has ended or has to go on step by step.
template <KeepsStreams Host>
bool run_iterations(Host& host, BodyRunner& runner, Pe& pe, const Body& of_loop, std::int64_t& budget,
                    std::int64_t& executed) {
  std::int64_t alike = std::int64_t{1} << 62;
  const Body& body = BodyRunner::is_within(pe, of_loop, alike) ? *(&of_loop + 1) : of_loop;
  std::int64_t& variable = pe.variables[body.variable];
  const auto span =
      static_cast<std::uint64_t>(pe.limits[body.variable]) - static_cast<std::uint64_t>(variable);
  const auto after =
      std::min<std::uint64_t>(span / static_cast<std::uint64_t>(body.step), std::uint64_t{1} << 62);
  const std::int64_t trips = static_cast<std::int64_t>(after) + 1;
  // Beyond the budget where they are few: a short run of vectors costs as much in preparation as in work.
  constexpr std::int64_t least_together = 2048;
  std::int64_t iterations =
      std::min({trips, alike, std::max(budget / body.steps() + 1, body.vectors ? least_together : 0)});
  BodyRunner::Streams streams{};
  for (std::size_t n = 0; n < body.lanes.size(); ++n) {
    const Body::Lane& lane = body.lanes[n];
    if (pe.queues[lane.port] == PeArray::none) return false;
    const Scalars scalars = lane.sends ? host.room(pe, lane.port) : host.arrived(pe, lane.port);
    streams[n] = scalars.first;
    iterations = std::min(iterations, scalars.count / lane.messages);
  }
  if (iterations > 0) iterations = runner.run(pe, body, streams, iterations);
  if (iterations == 0) return false;
  if constexpr (NotesStores<Host>) {
    runner.each_store(pe, body, [&](std::uint32_t tensor, std::size_t first, std::ptrdiff_t apart) {
      host.stored(tensor, first, apart, iterations);
    });
  }
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
