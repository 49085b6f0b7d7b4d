// The host of the PEs of one MPI rank.
#pragma once
#include <deque>
#include <exception>
#include <optional>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "../interpreter.hpp"
#include "../pulse.hpp"
#include "../ring.hpp"
#include "transport.hpp"

namespace cyclotron::runtime::mpi {

/// PEs [first(r), first(r + 1)) by ordinal run on rank r.
struct Blocks {
  std::uint64_t pes = 0;
  std::uint64_t ranks = 1;
  [[nodiscard]] std::uint32_t first(int rank) const {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(rank) * pes / ranks);
  }
  [[nodiscard]] int rank_of(std::uint32_t ordinal) const {
    return static_cast<int>(((std::uint64_t{ordinal} + 1) * ranks - 1) / pes);
  }
};

/// Number of PEs that have a program.
[[nodiscard]] std::uint32_t count_pes(const program::Program& program);

/// How a run ended; all ranks agree.
enum class End : std::uint8_t { finished, failed, deadlocked };

/// Waiting costs little: first yields, then sleeps of up to a millisecond.
class BackOff {
 public:
  void wait();
  void reset() { waits_ = 0; }

 private:
  int waits_ = 0;
};

class Rank {
 public:
  static constexpr bool functional = true;

  Rank(const program::Program& program, const Arrays& arrays, Transport& transport, const Progress& progress);

  /// Runs this rank's PEs while others need it. `failure` gets what stopped this rank, if it did.
  [[nodiscard]] End run(std::exception_ptr& failure);

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

 private:
  struct Queue {
    Ring<Payload> messages;
    std::uint32_t receiver = PeArray::none;
    bool receiver_waits = false;
  };
  static constexpr std::int64_t steps_a_turn = 1024;

  void work(Interpreter<Rank>& interpreter);
  bool poll();
  void arrived(const Record& record, const std::byte* numbers);
  [[nodiscard]] bool is_local(std::uint32_t ordinal) const {
    return ordinal >= array_.part().first && ordinal < array_.part().last;
  }
  Queue& network_queue(std::uint32_t channel, std::uint32_t receiver_index, std::int64_t coordinate);
  void push(Queue& queue, std::uint32_t channel, TileSize size, const std::byte* numbers, std::size_t bytes);
  [[nodiscard]] bool finished() const { return done_ == array_.pes().size(); }

  Transport& transport_;
  Blocks blocks_;
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
  std::int64_t work_ = 0;  // Since the last poll, about an instruction a unit.
  bool stopped_ = false;
};

}  // namespace cyclotron::runtime::mpi
