#include "transport.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <new>
#include <random>
#include <string>
#include <thread>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

#include "../processes/core_binding.hpp"

namespace cyclotron::runtime::mpi {
namespace {

std::string first_line(const char* path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

/// Equal where processes run on one system and know each other by the same numbers.
std::uint64_t this_computer() {
  std::array<char, 64> processes{};
  const auto length = readlink("/proc/self/ns/pid", processes.data(), processes.size());
  return std::hash<std::string>{}(
      first_line("/proc/sys/kernel/random/boot_id") +
      std::string(processes.data(), length > 0 ? static_cast<std::size_t>(length) : 0));
}

/// A rank's entry where the others of its computer find it.
struct Door {
  std::uint64_t nonce = 0;
  Doorbell bell;
};

Door* door_in(const Tile& tile) { return reinterpret_cast<Door*>(tile.data()); }

int size_of(MPI_Comm communicator) {
  int size = 0;
  check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  return size;
}

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  return rank;
}

}  // namespace

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

Transport::Transport(MPI_Comm parent, bool share_memory)
    : rank_(rank_in(parent)), size_(size_of(parent)), rounds_(rank_, size_) {
  check(MPI_Comm_dup(parent, &communicator_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  outgoing_.resize(static_cast<std::size_t>(size_));
  find_neighbours(share_memory);
}

Transport::~Transport() {
  // In an ordinary end nothing is left: the rounds saw every message received.
  for (auto& request : send_requests_) {
    if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
}

struct Transport::Card {
  std::uint64_t computer;
  std::uint64_t nonce;
  Loan loan;
  cpu_set_t cores;
};

/// Finds the ranks on this computer, and whether it has a core for each. Memory is shared where each of them can map that
/// of all others.
void Transport::find_neighbours(bool share_memory) {
  const Tile own_door = Arena::instance().take(sizeof(Door), Reach::computer);
  const std::uint64_t nonce = std::random_device{}() + (std::uint64_t{std::random_device{}()} << 32);
  new (own_door.data()) Door{nonce, {}};
  const Block& block = *own_door.block();
  Card own{this_computer(), nonce, {block.owner, block.segment, block.offset, 0}, {}};
  // Where it fails no core is known, and none counted.
  (void)sched_getaffinity(0, sizeof own.cores, &own.cores);
  std::vector<Card> cards(static_cast<std::size_t>(size_));
  check(MPI_Allgather(&own, sizeof own, MPI_BYTE, cards.data(), sizeof own, MPI_BYTE, communicator_),
        "MPI_Allgather");
  cpu_set_t cores{};
  int ranks = 0;
  int before = 0;  // of the ranks on this computer, those before this one
  bool same_cores = true;
  for (int r = 0; r < size_; ++r) {
    const Card& card = cards[static_cast<std::size_t>(r)];
    if (card.computer != own.computer) continue;
    CPU_OR(&cores, &cores, &card.cores);
    same_cores = same_cores && CPU_EQUAL(&card.cores, &own.cores);
    before += r < rank_ ? 1 : 0;
    ++ranks;
  }
  crowded_ = CPU_COUNT(&cores) > 0 && ranks > CPU_COUNT(&cores);
  if (same_cores) own_core_ = core_of(before, ranks, cores);
  one_computer_ = ranks == size_;
  // Others hold it until their runs end, which may be after this one's: they ring once they have sent.
  Arena::lend(own_door);
  const Tile lent(own_door.block(), own_door.data());
  doors_.resize(cards.size());
  int reachable = share_memory ? 1 : 0;
  for (int r = 0; r < size_; ++r) {
    const auto at = static_cast<std::size_t>(r);
    if (cards[at].computer != own.computer) continue;
    doors_[at] = r == rank_ ? own_door : find_door(cards[at]);
    reachable = reachable != 0 && doors_[at] ? 1 : 0;
  }
  check(MPI_Allreduce(MPI_IN_PLACE, &reachable, 1, MPI_INT, MPI_MIN, communicator_), "MPI_Allreduce");
  if (reachable == 0) doors_.assign(cards.size(), Tile());
  for (const Tile& door : doors_) neighbour_.push_back(door ? 1 : 0);
  neighbour_[static_cast<std::size_t>(rank_)] = 0;
  all_ring_ = std::ranges::all_of(doors_, [](const Tile& door) { return bool(door); });
}

/// A use of the memory that another rank of this computer told of, if it can be mapped.
Tile Transport::find_door(const Card& card) {
  if (card.loan.segment < 0) return {};
  Block* const found = Arena::instance().find(card.loan.owner, card.loan.segment, card.loan.block);
  if (found == nullptr) return {};
  if (std::memcmp(found->bytes(), &card.nonce, sizeof card.nonce) != 0) return {};
  found->users.fetch_add(1, std::memory_order_relaxed);  // its owner holds it until all have come so far
  return {found, found->bytes()};
}

Doorbell::Rings Transport::rings() const {
  const Tile& door = doors_[static_cast<std::size_t>(rank_)];
  return door ? door_in(door)->bell.rings() : 0;
}

void Transport::sleep(std::chrono::microseconds most_quiet, std::chrono::microseconds most_else) {
  const Doorbell::Rings heard = rings();
  const auto most = quiet_after(heard) ? most_quiet : most_else;
  if (const Tile& door = doors_[static_cast<std::size_t>(rank_)]) {
    door_in(door)->bell.wait(heard, most);
  } else {
    std::this_thread::sleep_for(most);
  }
}

Tile Transport::borrow(const Loan& loan) {
  Block* block = Arena::instance().find(loan.owner, loan.segment, loan.block);
  CYC_CHECK(block != nullptr, "memory of another rank cannot be mapped");
  return {block, block->bytes() + loan.start};
}

Transport::Chunk Transport::take_chunk(std::size_t at_least) {
  const std::size_t capacity = std::max(at_least, chunk_bytes);
  return {Arena::instance().take(capacity, Reach::computer), capacity, 0};
}

std::byte* Transport::room(int destination, std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw ExecutionError(
        {.code = "CYC730",
         .span = {},
         .message = fmt::format("a message of {} bytes is more than MPI sends at once", bytes),
         .notes = {},
         .help = "use smaller tiles"});
  }
  Chunk& chunk = outgoing_[static_cast<std::size_t>(destination)];
  if (chunk.size + bytes > chunk.capacity) {
    flush(destination);
    chunk = take_chunk(bytes);
  }
  std::byte* const at = chunk.bytes.data() + chunk.size;
  chunk.size += bytes;
  return at;
}

void Transport::send(int destination, Record record, const std::byte* numbers, const Tile& holder) {
  const bool large = record.bytes >= large_bytes;
  if (holder && holder.block()->segment >= 0 && lends(destination, record.bytes)) {
    record.numbers = Record::Numbers::lent;
    std::byte* const at = room(destination, sizeof record + padded(sizeof(Loan)));
    Block& block = *holder.block();
    const Loan loan{block.owner, block.segment, block.offset,
                    static_cast<std::uint64_t>(numbers - block.bytes())};
    Arena::lend(holder);
    lent_bytes_ += static_cast<std::int64_t>(record.bytes);
    std::memcpy(at, &record, sizeof record);
    std::memcpy(at + sizeof record, &loan, sizeof loan);
    return;
  }
  if (large) {  // in a message of its own
    record.numbers = Record::Numbers::aligned;
    flush(destination);
    std::byte* const at = room(destination, padded(sizeof record, 64) + padded(record.bytes));
    std::memcpy(at, &record, sizeof record);
    std::memcpy(at + padded(sizeof record, 64), numbers, record.bytes);
    flush(destination);
    return;
  }
  std::byte* const at = room(destination, sizeof record + padded(record.bytes));
  std::memcpy(at, &record, sizeof record);
  std::memcpy(at + sizeof record, numbers, record.bytes);
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
  check(MPI_Isend(chunk.bytes.data(), static_cast<int>(chunk.size), MPI_BYTE, destination, tag, communicator_,
                  &request),
        "MPI_Isend");
  if (tag != round_tag) {
    ++sent_;
    sent_bytes_ += static_cast<std::int64_t>(chunk.size);
  }
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  if (const Tile& door = doors_[static_cast<std::size_t>(destination)]) door_in(door)->bell.ring();
  if (done != 0) return;
  send_requests_.push_back(request);
  send_chunks_.push_back(std::move(chunk));
}

void Transport::post_terms(int destination, const Totals& terms) {
  Chunk chunk = take_chunk(sizeof terms);
  chunk.size = sizeof terms;
  std::memcpy(chunk.bytes.data(), &terms, sizeof terms);
  post(destination, round_tag, std::move(chunk));
}

void Transport::alarm() {
  for (int destination = 0; destination < size_; ++destination) {
    if (destination != rank_) post(destination, alarm_tag, take_chunk(0));
  }
}

/// Starts to receive all messages that a probe finds.
bool Transport::receive_probed() {
  bool moved = false;
  // A probe that finds nothing lets MPI take in what has come, and the next one finds that.
  for (bool again = awaits(rings());;) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &found, &message, &status), "MPI_Improbe");
    if (found == 0) {
      if (moved || !std::exchange(again, false)) return moved;
      continue;
    }
    moved = true;
    ++probed_;
    int count = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    Arrival& arrival = arrivals_.emplace_back();
    arrival.source = status.MPI_SOURCE;
    arrival.tag = status.MPI_TAG;
    arrival.chunk = take_chunk(static_cast<std::size_t>(count));
    arrival.chunk.size = static_cast<std::size_t>(count);
    check(MPI_Imrecv(arrival.chunk.bytes.data(), count, MPI_BYTE, &message, &arrival.request), "MPI_Imrecv");
    // One more would find nothing; where ranks are more than cores MPI gives the core away then.
    if (all_ring_ && !awaits(rings())) return true;
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
    send_chunks_[at] = std::move(send_chunks_.back());
    send_requests_[at] = send_requests_.back();
    send_chunks_.pop_back();
    send_requests_.pop_back();
  }
  return true;
}

void Transport::join(bool finished, bool stopped) {
  rounds_.join({sent_, received_, finished ? 1 : 0, stopped ? 1 : 0},
               [this](int destination, const Totals& terms) { post_terms(destination, terms); });
}

void Transport::take_round(int source, const std::byte* terms) {
  Totals read;
  std::memcpy(&read, terms, sizeof read);
  rounds_.take(source, read, [this](int destination, const Totals& sums) { post_terms(destination, sums); });
}

}  // namespace cyclotron::runtime::mpi
