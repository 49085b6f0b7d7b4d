#include "gather_accounts.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include "transport.hpp"

namespace cyclotron::runtime::mpi {
namespace {

/// As many plain values of each rank.
template <class T>
std::vector<std::vector<T>> gather_values(const std::vector<T>& own, int ranks, MPI_Comm communicator) {
  static_assert(std::is_trivially_copyable_v<T>);
  MPI_Datatype value = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(sizeof(T), MPI_BYTE, &value), "MPI_Type_contiguous");
  check(MPI_Type_commit(&value), "MPI_Type_commit");
  const int count = static_cast<int>(own.size());
  std::vector<int> counts(static_cast<std::size_t>(ranks)), starts(counts.size());
  check(MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, communicator), "MPI_Allgather");
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  std::vector<T> all(static_cast<std::size_t>(starts.back() + counts.back()));
  check(
      MPI_Allgatherv(own.data(), count, value, all.data(), counts.data(), starts.data(), value, communicator),
      "MPI_Allgatherv");
  check(MPI_Type_free(&value), "MPI_Type_free");
  std::vector<std::vector<T>> result;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const auto first = all.begin() + starts[r];
    result.emplace_back(first, first + counts[r]);
  }
  return result;
}

}  // namespace

std::vector<Account> gather(Account own, double begun, MPI_Comm communicator, bool one_clock) {
  int rank = 0, ranks = 1;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator, &ranks), "MPI_Comm_size");
  if (one_clock) {
    check(MPI_Allreduce(MPI_IN_PLACE, &begun, 1, MPI_DOUBLE, MPI_MIN, communicator), "MPI_Allreduce");
  }
  for (Event& event : own.events) {
    event.rank = static_cast<std::uint32_t>(rank);
    event.start -= begun;
    event.end -= begun;
  }
  // A wait is known, and kept, when it ends.
  std::ranges::stable_sort(own.events, {}, &Event::start);
  const auto profiles = gather_values<Profile>({own.profile}, ranks, communicator);
  auto channels = gather_values(own.channels, ranks, communicator);
  auto tensors = gather_values(own.tensors, ranks, communicator);
  auto events = gather_values(own.events, ranks, communicator);
  const auto dropped = gather_values<std::int64_t>({own.events_dropped}, ranks, communicator);
  std::vector<Account> result;
  for (std::size_t r = 0; r < profiles.size(); ++r) {
    result.push_back({profiles[r].front(), std::move(channels[r]), std::move(tensors[r]),
                      std::move(events[r]), dropped[r].front()});
  }
  return result;
}

}  // namespace cyclotron::runtime::mpi
