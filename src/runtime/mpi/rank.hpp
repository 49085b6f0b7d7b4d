// The host of the PEs of one MPI rank.
#pragma once
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "../engine/interpreter.hpp"
#include "../engine/loops/loop_compiler.hpp"
#include "../engine/progress_ticker.hpp"
#include "../engine/ring.hpp"
#include "distributed.hpp"
#include "profile.hpp"
#include "scalar_queue.hpp"
#include "transport.hpp"

namespace cyclotron::runtime::mpi {

/// Thrown through a PE's code where another rank has failed.
struct Stopped {};

class Rank {
 public:
  static constexpr bool functional = true;

  /// Tensors that are distributed need no array, but its strides. `dealt`: which PEs run here, see `Part`.
  Rank(const program::Program& program, const Arrays& arrays, const DistributedTensors& distributed,
       const std::optional<BlockCyclic>& dealt, std::int64_t event_limit, const LoopSettings& loops,
       Transport& transport, const Progress& progress);

  /// Collective: asks for the tiles that this rank loads and others hold, and gives what others ask for.
  void exchange_tiles();
  /// Collective: moves what was stored into the distributed outputs.
  void hand_over_outputs();

  /// Runs PEs for a while. Throws ExecutionError where one fails, Stopped where another rank did. Requires:
  /// can_work().
  void work();
  [[nodiscard]] bool can_work() const { return missing_ == 0 && !ready_.empty(); }
  [[nodiscard]] bool finished() const { return done_ == array_.pes().size(); }
  /// A record that has arrived; see `Transport::poll`.
  void take(const Record& record, const std::byte* numbers, const Tile& holder);
  /// Between waits, while nothing can work: calls the progress callback now and then.
  void idle() {
    if (waits_since_ == works && !finished()) waits_since_ = wall_seconds();
    ticker_.beat([] { return -1.0; });
  }

  /// Tiles of each tensor that this rank stored.
  [[nodiscard]] const StoreMarks& stored_tiles() const { return stored_; }
  [[nodiscard]] const std::vector<TensorAccess>& tensors() const { return tensors_; }
  [[nodiscard]] bool distributed(std::size_t tensor) const { return distributed_[tensor] != nullptr; }

  // The interpreter's host.
  bool send(Pe& pe, const Step& step, const Packet& packet);
  bool broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last, Packet packet);
  template <class Deliver>
  bool receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver);
  void computed(Pe& pe, const Step& step, std::span<const Shape> operands);
  void stored(const Step& step, const std::int64_t* index);
  void stored(std::uint32_t tensor, std::size_t first, std::ptrdiff_t apart, std::int64_t count);
  Scalars arrived(const Pe& pe, std::uint32_t port);
  void taken(const Pe& pe, std::uint32_t port, std::int64_t count);
  Scalars room(const Pe& pe, std::uint32_t port);
  void sent(const Pe& pe, std::uint32_t port, std::int64_t count);
  void moved(Pe&, const Step& step, TileSize size) {
    if (step.scalar) return;
    if (step.kind == Step::Kind::load) profile_.loaded += size.words();
    if (step.kind == Step::Kind::store) profile_.stored += size.words();
  }
  using Reference = Tile;
  [[nodiscard]] const Tile& tile(std::size_t number) const { return tiles_[number]; }
  [[nodiscard]] Tile room(std::size_t number, std::size_t bytes, bool sent) const {
    if (tiles_[number].writable(bytes)) return tiles_[number];
    return Arena::instance().take(bytes, sent ? Reach::computer : Reach::process);
  }
  void put(std::size_t number, Tile tile) { tiles_[number] = std::move(tile); }
  [[nodiscard]] const Tile* held(const Step& step, const std::int64_t* index) const;
  bool keep(const Step& step, const std::int64_t* index, TileSize size, const std::byte* numbers,
            const Tile* reference);
  void computing(std::span<const Shape> operands);
  void started() { started_ = wall_seconds(); }
  void accessed(const Pe& pe, const Step& step);
  /// Account of the time since `begun`, of a run that ends now; but for `processor_seconds`. Once.
  [[nodiscard]] Account account(double begun);

 private:
  /// A tile's numbers in flight: in place where they are few.
  struct Message {
    TileSize size;
    alignas(16) std::array<std::byte, 16> few{};
    Tile many;
  };
  struct Queue {
    Ring<Message> messages;  ///< Unless they are a link's scalars.
    ScalarQueue scalars;
    static constexpr std::int64_t most_at_once = 4096;
    std::int64_t at_once =
        16;  ///< Scalars that a loop may write before it sends them; more where it writes so many.
    std::uint32_t receiver = PeArray::none;
    std::uint8_t scalar_bytes = 0;  ///< Of a link's scalar; else 0.
    bool receiver_waits = false;
  };
  static constexpr std::int64_t steps_a_turn = 1024;
  static constexpr std::int64_t long_work = 1 << 12;  ///< Of an operator that others are not to wait for.

  void exchange();
  void exchanged(double begun);
  void hand_out(const Record& record, const std::byte* numbers, const Tile& holder);
  [[nodiscard]] std::int64_t flops(const Step& step, std::span<const Shape> operands);
  [[nodiscard]] Traffic& on(std::uint32_t channel) { return traffic_[number_of(channel)]; }
  [[nodiscard]] std::uint32_t number_of(std::uint32_t channel) const;
  Queue& network_queue(std::uint32_t channel, std::uint32_t receiver_index, std::int64_t coordinate);
  /// Before its numbers are lent, a tile moves to memory that the other rank can map.
  void make_lendable(Tile& tile, int destination, std::size_t bytes) const;
  static constexpr double untimed = -1;
  /// A record is on its way since `begun`.
  void handed_over(const Record& record, int destination, double begun);
  /// Sends a packet, which may move, to the rank of a part.
  void transmit(std::uint32_t part, Record record, Packet& packet);
  void wake_receiver(Queue& queue);
  void push(Queue& queue, TileSize size, const std::byte* numbers, std::size_t bytes, const Tile& holder);
  /// A tile of one number. Tiles of the same size and number that follow each other (the zeros beside a
  /// triangle) are one, as tiles that others hold too are not written.
  [[nodiscard]] Tile filled(const std::byte* number, std::size_t element, std::size_t count);
  [[nodiscard]] Tile holder_of(const Packet& packet) const {
    return packet.tile == Packet::no_tile ? Tile() : tiles_[packet.tile];
  }

  Transport& transport_;
  PeArray array_;
  std::vector<TensorAccess> tensors_;
  ProgressTicker ticker_;
  std::vector<Queue> links_;
  std::vector<QueueRow<Queue>> rows_;
  std::deque<Queue> network_queues_;
  std::vector<Tile> tiles_;  // Of the PEs' memories.
  StoreMarks stored_;
  std::optional<LoopCompilation> loops_;
  DistributedTensors distributed_;
  std::vector<std::vector<Tile>> held_;  // Of distributed tensors, by tile number.
  std::size_t missing_ = 0;              // Tiles that others have yet to send.
  Tile filled_;                          // The last of one number, of so many bytes.
  std::size_t filled_bytes_ = 0;
  std::size_t filled_element_ = 0;
  /// The last operands of an operator: the next are most often like them.
  struct Counted {
    Flags flags = 0;
    std::array<Shape, 3> shapes;
    std::size_t count = 0;
    std::int64_t flops = -1;
    [[nodiscard]] std::span<const Shape> operands() const { return {shapes.data(), count}; }
  };
  static constexpr double works = -1;
  std::array<Counted, operators::operator_count> counted_{};
  Profile profile_;
  std::vector<Traffic> traffic_;  // By channel, then by tensor.
  Events events_;
  double finished_ = 0;         // All PEs were done.
  double started_ = 0;          // An operator, a load or a store.
  double waits_since_ = works;  // No PE has anything to do.
  std::vector<char> reached_;   // Ranks, by one broadcast.
  Ring<std::uint32_t> ready_;
  std::size_t done_ = 0;
  std::int64_t work_ = 0;  // In this turn, about an instruction a unit.
  Interpreter<Rank> interpreter_;
};

}  // namespace cyclotron::runtime::mpi
