#include "halo.hpp"

#include <algorithm>
#include <array>

#include "../engine/each_access.hpp"
#include "../engine/tensors.hpp"
#include "transport.hpp"

namespace cyclotron::runtime::mpi {
namespace {

/// By tile number, those of a tensor that this rank's PEs load, or store.
std::vector<char> accessed(PeArray& array, const TensorAccess& tensor, std::size_t number, Step::Kind kind) {
  std::vector<char> result(tensor.tiles(), 0);
  const VisitAccess visit = [&](const Step& step, const std::int64_t* index) {
    if (step.tensor == number && tensor.contains(index)) result[tensor.linear(index)] = 1;
  };
  for (const Pe& pe : array.pes()) each_access(array.pe(pe.ordinal), kind, visit);
  return result;
}

/// Collective: tells each rank what this one takes of it; returns what each takes of this one.
std::vector<std::vector<std::uint32_t>> tell(const std::vector<std::vector<std::uint32_t>>& taken,
                                             MPI_Comm communicator) {
  std::vector<int> counts, received(taken.size());
  for (const auto& some : taken) counts.push_back(static_cast<int>(some.size()));
  check(MPI_Alltoall(counts.data(), 1, MPI_INT, received.data(), 1, MPI_INT, communicator), "MPI_Alltoall");
  std::vector<std::vector<std::uint32_t>> result(taken.size());
  std::vector<MPI_Request> requests;
  for (std::size_t r = 0; r < taken.size(); ++r) {
    const int rank = static_cast<int>(r);
    result[r].resize(static_cast<std::size_t>(received[r]));
    if (received[r] > 0)
      check(MPI_Irecv(result[r].data(), received[r], MPI_UINT32_T, rank, 0, communicator,
                      &requests.emplace_back()),
            "MPI_Irecv");
    if (counts[r] > 0)
      check(MPI_Isend(taken[r].data(), counts[r], MPI_UINT32_T, rank, 0, communicator,
                      &requests.emplace_back()),
            "MPI_Isend");
  }
  check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  return result;
}

/// Calls visit(index, bytes) for each tile.
template <class Visit>
void each_tile(const TensorAccess& tensor, std::size_t element, const std::vector<std::uint32_t>& tiles,
               Visit visit) {
  std::vector<std::int64_t> index(std::max<std::size_t>(1, tensor.rank()));
  for (const std::uint32_t tile : tiles) {
    tensor.unravel(tile, index.data());
    visit(index.data(), static_cast<std::size_t>(tensor.size(index.data()).words()) * element);
  }
}

}  // namespace

Halo find_halo(const program::Program& program, std::size_t output, std::size_t input,
               const std::optional<BlockCyclic>& dealt, MPI_Comm communicator) {
  int own = 0, ranks = 0;
  check(MPI_Comm_rank(communicator, &own), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator, &ranks), "MPI_Comm_size");
  PeArray array(program, false, {static_cast<std::uint32_t>(own), static_cast<std::uint32_t>(ranks), dealt});
  const TensorAccess tensor(program.tensors.at(output), {});
  const auto stored = accessed(array, tensor, output, Step::Kind::store);
  const auto loaded = accessed(array, tensor, input, Step::Kind::load);
  std::vector<int> owners(stored.size());
  for (std::size_t n = 0; n < stored.size(); ++n) owners[n] = stored[n] != 0 ? own : -1;
  check(MPI_Allreduce(MPI_IN_PLACE, owners.data(), static_cast<int>(owners.size()), MPI_INT, MPI_MAX,
                      communicator),
        "MPI_Allreduce");
  Halo halo{
      program.tensors[output], std::vector<std::vector<std::uint32_t>>(static_cast<std::size_t>(ranks)), {}};
  for (std::size_t n = 0; n < stored.size(); ++n) {
    if (loaded[n] != 0 && owners[n] >= 0 && owners[n] != own)
      halo.taken[static_cast<std::size_t>(owners[n])].push_back(static_cast<std::uint32_t>(n));
  }
  halo.given = tell(halo.taken, communicator);
  std::array<std::int64_t, 2> sent{};
  for (const auto& some : halo.given) {
    if (!some.empty()) ++sent[0];
    each_tile(tensor, operators::size_bytes(halo.tensor.dtype), some,
              [&](const std::int64_t*, std::size_t bytes) { sent[1] += static_cast<std::int64_t>(bytes); });
  }
  check(MPI_Allreduce(MPI_IN_PLACE, sent.data(), 2, MPI_INT64_T, MPI_SUM, communicator), "MPI_Allreduce");
  halo.sent = {sent[0], sent[1]};
  return halo;
}

void exchange(const Halo& halo, const ArrayView& array, MPI_Comm communicator) {
  const TensorAccess tensor(halo.tensor, array);
  const std::size_t element = operators::size_bytes(halo.tensor.dtype);
  const std::size_t ranks = halo.taken.size();
  std::vector<std::vector<std::byte>> received(ranks), sent(ranks);
  std::vector<MPI_Request> requests;
  for (std::size_t r = 0; r < ranks; ++r) {
    std::size_t bytes = 0;
    each_tile(tensor, element, halo.taken[r], [&](const std::int64_t*, std::size_t some) { bytes += some; });
    received[r].resize(bytes);
    if (bytes == 0) continue;
    check(MPI_Irecv(received[r].data(), static_cast<int>(bytes), MPI_BYTE, static_cast<int>(r), 0,
                    communicator, &requests.emplace_back()),
          "MPI_Irecv");
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    each_tile(tensor, element, halo.given[r], [&](const std::int64_t* index, std::size_t some) {
      sent[r].resize(sent[r].size() + some);
      tensor.read(index, sent[r].data() + sent[r].size() - some);
    });
    if (sent[r].empty()) continue;
    check(MPI_Isend(sent[r].data(), static_cast<int>(sent[r].size()), MPI_BYTE, static_cast<int>(r), 0,
                    communicator, &requests.emplace_back()),
          "MPI_Isend");
  }
  check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::byte* at = received[r].data();
    each_tile(tensor, element, halo.taken[r], [&](const std::int64_t* index, std::size_t some) {
      tensor.write(index, at, tensor.size(index));
      at += some;
    });
  }
}

void combine(std::byte* bytes, std::size_t count, MPI_Comm communicator) {
  constexpr std::size_t most = std::size_t{1} << 28;
  for (std::size_t at = 0; at < count; at += most) {
    check(MPI_Allreduce(MPI_IN_PLACE, bytes + at, static_cast<int>(std::min(most, count - at)), MPI_UINT8_T,
                        MPI_BOR, communicator),
          "MPI_Allreduce");
  }
}

}  // namespace cyclotron::runtime::mpi
