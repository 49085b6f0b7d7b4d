// Messages between the ranks of one run, and agreement on how it ended. All calls return without waiting for
// other ranks, unless they say so: a rank that waits keeps receiving, so nothing rests on MPI buffering a
// message.
#pragma once
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace cyclotron::runtime::mpi {

/// What precedes a tile's numbers on the wire.
struct Record {
  std::uint32_t channel = 0;
  std::uint32_t source = 0;  ///< A link's number, or a network sender's grid index.
  std::int32_t first = 0;    ///< On a network: the receivers' coordinates.
  std::int32_t last = 0;
  std::int32_t rows = 0;
  std::int32_t columns = 0;
  std::uint64_t bytes = 0;  ///< Of the numbers.
};

/// Sums over all ranks, each sampled while its rank had nothing to do.
struct Totals {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t finished = 0;  ///< Ranks whose PEs are all done.
  std::int64_t stopped = 0;   ///< Ranks that failed or know of a failure.
  bool operator==(const Totals&) const = default;
  /// No message is on its way.
  [[nodiscard]] bool settled() const { return sent == received; }
};

/// Throws ExecutionError CYC730 where `code` is not success.
void check(int code, const char* call);

class Transport {
 public:
  /// Waits for all ranks of `parent`: it is duplicated, so that messages of other users do not meet ours.
  explicit Transport(MPI_Comm parent);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }

  /// The record is on its way after the next `flush` at the latest. Records from one rank to another stay in
  /// order.
  void send(int destination, const Record& record, const void* numbers);
  void flush();
  /// Tells all other ranks to stop.
  void alarm();
  [[nodiscard]] bool alarmed() const { return alarmed_; }

  /// Passes each record that has arrived to take(record, numbers). Returns whether anything moved.
  template <class Take>
  bool poll(Take take);

  /// Takes part in the next round of sums. Requires: `flush` was called, and the last round's result was
  /// fetched.
  void join(bool finished, bool stopped);
  [[nodiscard]] bool in_round() const { return in_round_; }
  /// The sums, once every rank took part.
  [[nodiscard]] std::optional<Totals> result();

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
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
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 16;

  [[nodiscard]] Chunk take_chunk(std::size_t at_least);
  void give_chunk(Chunk chunk);
  void flush(int destination);
  void post(int destination, int tag, Chunk chunk);
  bool receive_probed();
  bool complete_sends();
  /// The next arrival that may be read: complete, and the first of its source.
  [[nodiscard]] std::optional<Arrival> next_complete();

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  bool alarmed_ = false;
  std::vector<Chunk> outgoing_;  // By destination.
  std::vector<MPI_Request> send_requests_;
  std::vector<Chunk> send_chunks_;
  std::vector<int> completed_;
  std::deque<Arrival> arrivals_;
  std::vector<Chunk> free_;
  std::int64_t sent_ = 0;
  std::int64_t received_ = 0;
  bool in_round_ = false;
  MPI_Request round_ = MPI_REQUEST_NULL;
  std::array<std::int64_t, 4> mine_{};
  std::array<std::int64_t, 4> sums_{};
};

[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

template <class Take>
bool Transport::poll(Take take) {
  bool moved = receive_probed();
  while (auto arrival = next_complete()) {
    moved = true;
    ++received_;
    if (arrival->tag == alarm_tag) alarmed_ = true;
    const std::byte* at = arrival->chunk.bytes.get();
    const std::byte* const end = at + (arrival->tag == data_tag ? arrival->chunk.size : 0);
    while (at < end) {
      Record record;
      __builtin_memcpy(&record, at, sizeof record);
      take(record, at + sizeof record);
      at += sizeof record + padded(record.bytes);
    }
    give_chunk(std::move(arrival->chunk));
  }
  return complete_sends() || moved;
}

}  // namespace cyclotron::runtime::mpi
