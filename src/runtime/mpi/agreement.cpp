#include "agreement.hpp"

#include <array>
#include <cstdint>

#include "transport.hpp"

namespace cyclotron::runtime::mpi {
namespace {

/// FNV-1a: tells apart what differs by mistake.
std::uint64_t hash(std::string_view bytes) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char byte : bytes) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return value;
}

}  // namespace

bool agree(std::string_view bytes, MPI_Comm communicator) {
  const std::uint64_t own = hash(bytes);
  std::array<std::uint64_t, 2> extremes{own, ~own};
  check(MPI_Allreduce(MPI_IN_PLACE, extremes.data(), 2, MPI_UINT64_T, MPI_MIN, communicator),
        "MPI_Allreduce");
  return extremes[0] == ~extremes[1];
}

std::string broadcast(std::string_view bytes, int root, MPI_Comm communicator) {
  std::uint64_t size = bytes.size();
  check(MPI_Bcast(&size, 1, MPI_UINT64_T, root, communicator), "MPI_Bcast");
  int rank = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  std::string result(rank == root ? bytes : std::string_view());
  result.resize(size);
  check(MPI_Bcast(result.data(), static_cast<int>(size), MPI_BYTE, root, communicator), "MPI_Bcast");
  return result;
}

}  // namespace cyclotron::runtime::mpi
