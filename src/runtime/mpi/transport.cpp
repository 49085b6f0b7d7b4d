#include "transport.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime::mpi {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  throw ExecutionError({.code = "CYC730",
                        .span = {},
                        .message = fmt::format("{} failed: {}", call, text),
                        .notes = {},
                        .help = "see that MPI works alone: mpirun -n 2 hostname"});
}

Transport::Transport(MPI_Comm parent) {
  check(MPI_Comm_dup(parent, &communicator_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
  outgoing_.resize(static_cast<std::size_t>(size_));
}

Transport::~Transport() {
  // In an ordinary end nothing is left: the rounds saw every message received.
  for (auto& request : send_requests_) {
    if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
}

Transport::Chunk Transport::take_chunk(std::size_t at_least) {
  if (at_least <= chunk_bytes && !free_.empty()) {
    Chunk chunk = std::move(free_.back());
    free_.pop_back();
    chunk.size = 0;
    return chunk;
  }
  const std::size_t capacity = std::max(at_least, chunk_bytes);
  return {std::make_unique_for_overwrite<std::byte[]>(capacity), capacity, 0};
}

void Transport::give_chunk(Chunk chunk) {
  constexpr std::size_t most_free = 64;
  if (chunk.capacity >= chunk_bytes && free_.size() < most_free) free_.push_back(std::move(chunk));
}

void Transport::send(int destination, const Record& record, const void* numbers) {
  const std::size_t bytes = sizeof record + padded(record.bytes);
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw ExecutionError(
        {.code = "CYC730",
         .span = {},
         .message = fmt::format("a message of {} bytes is more than MPI sends at once", record.bytes),
         .notes = {},
         .help = "use smaller tiles"});
  }
  Chunk& chunk = outgoing_[static_cast<std::size_t>(destination)];
  if (chunk.size + bytes > chunk.capacity) {
    flush(destination);
    chunk = take_chunk(bytes);
  }
  std::memcpy(chunk.bytes.get() + chunk.size, &record, sizeof record);
  std::memcpy(chunk.bytes.get() + chunk.size + sizeof record, numbers, record.bytes);
  chunk.size += bytes;
}

void Transport::flush(int destination) {
  Chunk& chunk = outgoing_[static_cast<std::size_t>(destination)];
  if (chunk.size == 0) return;
  post(destination, data_tag, std::exchange(chunk, Chunk{}));
}

void Transport::flush() {
  for (int destination = 0; destination < size_; ++destination) flush(destination);
}

void Transport::post(int destination, int tag, Chunk chunk) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(chunk.bytes.get(), static_cast<int>(chunk.size), MPI_BYTE, destination, tag, communicator_,
                  &request),
        "MPI_Isend");
  ++sent_;
  send_requests_.push_back(request);
  send_chunks_.push_back(std::move(chunk));
}

void Transport::alarm() {
  for (int destination = 0; destination < size_; ++destination) {
    if (destination != rank_) post(destination, alarm_tag, take_chunk(0));
  }
}

/// Starts to receive all messages that a probe finds.
bool Transport::receive_probed() {
  bool moved = false;
  while (true) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &found, &message, &status), "MPI_Improbe");
    if (found == 0) return moved;
    moved = true;
    int count = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    Arrival& arrival = arrivals_.emplace_back();
    arrival.source = status.MPI_SOURCE;
    arrival.tag = status.MPI_TAG;
    arrival.chunk = take_chunk(static_cast<std::size_t>(count));
    arrival.chunk.size = static_cast<std::size_t>(count);
    check(MPI_Imrecv(arrival.chunk.bytes.get(), count, MPI_BYTE, &message, &arrival.request), "MPI_Imrecv");
  }
}

std::optional<Transport::Arrival> Transport::next_complete() {
  for (std::size_t i = 0; i < arrivals_.size(); ++i) {
    Arrival& arrival = arrivals_[i];
    if (!arrival.complete) {
      int done = 0;
      check(MPI_Test(&arrival.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      arrival.complete = done != 0;
    }
    if (!arrival.complete) continue;
    const bool first = std::none_of(arrivals_.begin(), arrivals_.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const Arrival& other) { return other.source == arrival.source; });
    if (!first) continue;
    Arrival result = std::move(arrival);
    arrivals_.erase(arrivals_.begin() + static_cast<std::ptrdiff_t>(i));
    return result;
  }
  return std::nullopt;
}

bool Transport::complete_sends() {
  if (send_requests_.empty()) return false;
  completed_.resize(send_requests_.size());
  int count = 0;
  check(MPI_Testsome(static_cast<int>(send_requests_.size()), send_requests_.data(), &count,
                     completed_.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome");
  if (count <= 0) return false;  // also MPI_UNDEFINED
  std::sort(completed_.begin(), completed_.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {  // from the back, so that the places of the others stay
    const auto at = static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]);
    give_chunk(std::move(send_chunks_[at]));
    send_chunks_[at] = std::move(send_chunks_.back());
    send_requests_[at] = send_requests_.back();
    send_chunks_.pop_back();
    send_requests_.pop_back();
  }
  return true;
}

void Transport::join(bool finished, bool stopped) {
  mine_ = {sent_, received_, finished ? 1 : 0, stopped ? 1 : 0};
  check(MPI_Iallreduce(mine_.data(), sums_.data(), 4, MPI_INT64_T, MPI_SUM, communicator_, &round_),
        "MPI_Iallreduce");
  in_round_ = true;
}

std::optional<Totals> Transport::result() {
  int done = 0;
  check(MPI_Test(&round_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  if (done == 0) return std::nullopt;
  in_round_ = false;
  return Totals{sums_[0], sums_[1], sums_[2], sums_[3]};
}

}  // namespace cyclotron::runtime::mpi
