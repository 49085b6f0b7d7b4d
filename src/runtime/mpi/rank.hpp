// The host of the PEs of one MPI rank.
#pragma once
#include <deque>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "../interpreter.hpp"
#include "../pulse.hpp"
#include "../ring.hpp"
#include "transport.hpp"

namespace cyclotron::runtime::mpi {

/// Thrown through a PE's code where another rank has failed.
struct Stopped {};

class Rank {
 public:
  static constexpr bool functional = true;

  Rank(const program::Program& program, const Arrays& arrays, Transport& transport, const Progress& progress);

  /// Runs PEs for a while. Throws ExecutionError where one fails, Stopped where another rank did. Requires:
  /// can_work().
  void work();
  [[nodiscard]] bool can_work() const { return !ready_.empty(); }
  [[nodiscard]] bool finished() const { return done_ == array_.pes().size(); }
  /// A record that has arrived.
  void take(const Record& record, const std::byte* numbers);
  /// Between waits: calls the progress callback now and then.
  void idle() {
    pulse_.beat([] { return -1.0; });
  }

  /// Which tiles of each tensor this rank stored.
  [[nodiscard]] const std::vector<std::vector<std::uint8_t>>& stored_tiles() const { return stored_; }
  [[nodiscard]] const std::vector<TensorAccess>& tensors() const { return tensors_; }

  // What the interpreter asks for.
  bool send(Pe& pe, const Step& step, const Packet& packet);
  bool broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last, const Packet& packet);
  template <class Deliver>
  bool receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver);
  void computed(Pe& pe, const Step& step, std::span<const Shape> operands);
  void stored(const Step& step, const std::int64_t* index);
  void moved(Pe&, const Step&, TileSize) {}

 private:
  struct Queue {
    Ring<Payload> messages;
    std::uint32_t receiver = PeArray::none;
    bool receiver_waits = false;
  };
  static constexpr std::int64_t steps_a_turn = 1024;

  void exchange();
  Queue& network_queue(std::uint32_t channel, std::uint32_t receiver_index, std::int64_t coordinate);
  void push(Queue& queue, std::uint32_t channel, TileSize size, const std::byte* numbers, std::size_t bytes);

  Transport& transport_;
  PeArray array_;
  std::vector<TensorAccess> tensors_;
  Pulse pulse_;
  std::vector<Queue> links_;
  std::vector<QueueRow<Queue>> rows_;
  std::deque<Queue> network_queues_;
  std::vector<BufferPool> buffers_;
  std::vector<std::vector<std::uint8_t>> stored_;
  Ring<std::uint32_t> ready_;
  std::size_t done_ = 0;
  std::int64_t work_ = 0;  // In this turn, about an instruction a unit.
  Interpreter<Rank> interpreter_;
};

}  // namespace cyclotron::runtime::mpi
