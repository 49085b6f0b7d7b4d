// Messages between the ranks of one run, and agreement on how it ended. All calls return without waiting for
// other ranks, unless they say so: a rank that waits keeps receiving, so nothing rests on MPI buffering a
// message.
#pragma once
#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "../processes/doorbell.hpp"
#include "../processes/sum_rounds.hpp"
#include "arena.hpp"

namespace cyclotron::runtime::mpi {

/// The header of a tile's numbers on the wire.
struct Record {
  /// Place of the numbers: behind the record; behind it at a multiple of 64 bytes of the message, for use in
  /// place; or in memory that both ranks have mapped, and a `Loan` is behind the record.
  enum class Numbers : std::uint32_t { packed, aligned, lent };
  Numbers numbers = Numbers::packed;
  static constexpr std::uint32_t of_tensor = 0x80000000U;
  std::uint32_t channel = 0;  ///< Or `of_tensor` and a tensor, of which this is a tile.
  std::uint32_t source = 0;   ///< A link's number, a network sender's grid index, or a tile's number.
  std::int32_t first = 0;     ///< On a network: the receivers' coordinates.
  std::int32_t last = 0;
  std::int32_t rows = 0;
  std::int32_t columns = 0;
  std::uint64_t bytes = 0;  ///< Of the numbers.
};

/// A use of a block of which the receiver becomes the holder.
struct Loan {
  pid_t owner = 0;
  std::int32_t segment = -1;
  std::uint64_t block = 0;  ///< Offset in the segment.
  std::uint64_t start = 0;  ///< Of the numbers in the block.
};

/// Sums over all ranks, each sampled while its rank had nothing to do.
struct Totals {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t finished = 0;  ///< Ranks whose PEs are all done.
  std::int64_t stopped = 0;   ///< Ranks that failed or know of a failure.
  bool operator==(const Totals&) const = default;
  Totals& operator+=(const Totals& other) {
    sent += other.sent;
    received += other.received;
    finished += other.finished;
    stopped += other.stopped;
    return *this;
  }
  /// No message is on its way.
  [[nodiscard]] bool settled() const { return sent == received; }
};

/// Throws ExecutionError CYC730 where `code` is not success.
void check(int code, const char* call);

class Transport {
 public:
  /// Waits for all ranks of `parent`: it is duplicated, so that messages of other users do not meet ours.
  /// `share_memory`: ranks of one computer lend each other tiles; else all are sent.
  Transport(MPI_Comm parent, bool share_memory);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  /// This computer has more ranks than cores that they may run on.
  [[nodiscard]] bool crowded() const { return crowded_; }
  /// The core that this rank shares with as many others as each core has, where it does best to stay there.
  [[nodiscard]] std::optional<int> own_core() const { return own_core_; }
  [[nodiscard]] bool one_computer() const { return one_computer_; }

  /// The record is on its way after the next `flush` at the latest. Records from one rank to another stay in
  /// order. Where `holder` holds the numbers and the other rank can reach them they are lent, else copied.
  void send(int destination, Record record, const std::byte* numbers, const Tile& holder = {});
  void flush();
  /// Tells whether so many bytes are lent to a rank where it can map them.
  [[nodiscard]] bool lends(int destination, std::size_t bytes) const {
    return bytes >= large_bytes && neighbour_[static_cast<std::size_t>(destination)] != 0;
  }
  /// Tells all other ranks to stop.
  void alarm();
  [[nodiscard]] bool alarmed() const { return alarmed_; }

  /// Passes each record that has arrived to take(record, numbers, holder). Where there is a holder it keeps the
  /// numbers, else they are gone afterwards. Returns whether anything moved.
  template <class Take>
  bool poll(Take take);

  [[nodiscard]] std::int64_t lent_bytes() const { return lent_bytes_; }
  [[nodiscard]] std::int64_t sent_bytes() const { return sent_bytes_; }
  [[nodiscard]] std::int64_t messages() const { return sent_; }

  /// Takes part in the next round of sums. Requires: `flush` was called, not `in_round`.
  void join(bool finished, bool stopped);
  /// Until the result was fetched.
  [[nodiscard]] bool in_round() const { return rounds_.joined(); }
  /// The sums, once every rank took part.
  [[nodiscard]] std::optional<Totals> result() { return rounds_.result(); }

  /// Tells whether nothing is on its way here or from here, as all ranks ring where they send: `poll` would find nothing.
  /// False where some ranks do not ring.
  [[nodiscard]] bool quiet() const { return quiet_after(rings()); }
  /// Sleeps until a rank sends something, in quiet times; else perhaps less; but at most so long.
  void sleep(std::chrono::microseconds most_quiet, std::chrono::microseconds most_else);

 private:
  struct Chunk {
    Tile bytes;
    std::size_t capacity = 0;
    std::size_t size = 0;
  };
  struct Arrival {
    int source = 0;
    int tag = 0;
    Chunk chunk;
    MPI_Request request = MPI_REQUEST_NULL;
    bool complete = false;
  };
  static constexpr int data_tag = 1;
  static constexpr int alarm_tag = 2;
  static constexpr int round_tag = 3;
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 16;
  /// From here on a tile is lent, or used where it arrives.
  static constexpr std::size_t large_bytes = std::size_t{1} << 12;

  struct Card;
  void find_neighbours(bool share_memory);
  [[nodiscard]] static Tile find_door(const Card& card);
  [[nodiscard]] Doorbell::Rings rings() const;
  /// Tells whether after so many rings messages are yet to come.
  [[nodiscard]] bool awaits(Doorbell::Rings rings) const { return Doorbell::ahead(rings, probed_) > 0; }
  [[nodiscard]] bool quiet_after(Doorbell::Rings rings) const {
    return all_ring_ && send_requests_.empty() && arrivals_.empty() && !awaits(rings);
  }
  void take_round(int source, const std::byte* terms);
  [[nodiscard]] static Chunk take_chunk(std::size_t at_least);
  /// Room for so many bytes to a rank. Throws ExecutionError CYC730 where they are too many for a message.
  [[nodiscard]] std::byte* room(int destination, std::size_t bytes);
  /// Takes over the use. Throws InternalError where the memory is out of reach.
  [[nodiscard]] static Tile borrow(const Loan& loan);
  void flush(int destination);
  void post(int destination, int tag, Chunk chunk);
  void post_terms(int destination, const Totals& terms);
  bool receive_probed();
  bool complete_sends();
  /// The next arrival that may be read: complete, and the first of its source.
  [[nodiscard]] std::optional<Arrival> next_complete();

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  bool alarmed_ = false;
  bool crowded_ = false;
  std::optional<int> own_core_;
  bool one_computer_ = true;
  std::vector<char> neighbour_;  // By rank: whether it can reach this rank's memory.
  std::vector<Tile> doors_;      // By rank: what its bell is in, of neighbours and of this rank.
  bool all_ring_ = false;        // All ranks are neighbours.
  Doorbell::Rings probed_ = 0;   // Messages that came, of all kinds: each has its ring.
  std::vector<Chunk> outgoing_;  // By destination.
  std::vector<MPI_Request> send_requests_;
  std::vector<Chunk> send_chunks_;
  std::vector<int> completed_;
  std::deque<Arrival> arrivals_;
  std::int64_t lent_bytes_ = 0;
  std::int64_t sent_bytes_ = 0;
  std::int64_t sent_ = 0;
  std::int64_t received_ = 0;
  SumRounds<Totals> rounds_;
};

[[nodiscard]] constexpr std::size_t padded(std::size_t bytes, std::size_t to = 16) {
  return (bytes + to - 1) / to * to;
}

template <class Take>
bool Transport::poll(Take take) {
  bool moved = receive_probed();
  while (auto arrival = next_complete()) {
    moved = true;
    if (arrival->tag == round_tag) {
      take_round(arrival->source, arrival->chunk.bytes.data());
      continue;
    }
    ++received_;
    if (arrival->tag == alarm_tag) alarmed_ = true;
    const Tile& holder = arrival->chunk.bytes;
    const std::byte* const start = holder.data();
    const std::size_t end = arrival->tag == data_tag ? arrival->chunk.size : 0;
    for (std::size_t at = 0; at < end;) {
      Record record;
      __builtin_memcpy(&record, start + at, sizeof record);
      at += sizeof record;
      switch (record.numbers) {
        case Record::Numbers::packed:
          take(record, start + at, Tile());
          at += padded(record.bytes);
          break;
        case Record::Numbers::aligned:
          at = padded(at, 64);
          take(record, start + at, holder);
          at += padded(record.bytes);
          break;
        case Record::Numbers::lent: {
          Loan loan;
          __builtin_memcpy(&loan, start + at, sizeof loan);
          at += padded(sizeof loan);
          const Tile borrowed = borrow(loan);
          take(record, borrowed.data(), borrowed);
          break;
        }
      }
    }
  }
  return complete_sends() || moved;
}

}  // namespace cyclotron::runtime::mpi
