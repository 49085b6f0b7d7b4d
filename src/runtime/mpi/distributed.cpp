#include "distributed.hpp"

#include <algorithm>

#include "../engine/tensors.hpp"

namespace cyclotron::runtime::mpi {
namespace {

std::size_t bytes_of(TileSize size, DType dtype) {
  return static_cast<std::size_t>(size.words()) * operators::size_bytes(dtype);
}

}  // namespace

Distributed distribute(const program::Tensor& tensor, std::vector<int> owners, const ArrayView& array,
                       int rank) {
  Distributed result{tensor, std::move(owners), {}};
  const TensorAccess access(result.tensor, array);
  result.tiles.resize(access.tiles());
  CYC_CHECK(result.owners.size() == result.tiles.size(), "an owner for each tile");
  std::vector<std::int64_t> index(std::max<std::size_t>(1, access.rank()));
  for (std::size_t n = 0; n < result.tiles.size(); ++n) {
    if (result.owners[n] != rank) continue;
    access.unravel(n, index.data());
    result.tiles[n] =
        Arena::instance().take(bytes_of(access.size(index.data()), tensor.dtype), Reach::computer);
    access.read(index.data(), result.tiles[n].data());
  }
  return result;
}

void gather(const Distributed& tensor, const ArrayView& array, MPI_Comm communicator) {
  int rank = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  const TensorAccess access(tensor.tensor, array);
  std::vector<std::int64_t> index(std::max<std::size_t>(1, access.rank()));
  std::vector<std::byte> received;
  for (std::size_t n = 0; n < tensor.tiles.size(); ++n) {
    if (tensor.owners[n] < 0) continue;
    access.unravel(n, index.data());
    const TileSize size = access.size(index.data());
    const bool own = tensor.owners[n] == rank;
    received.resize(bytes_of(size, tensor.tensor.dtype));
    std::byte* const numbers = own ? tensor.tiles[n].data() : received.data();
    check(MPI_Bcast(numbers, static_cast<int>(received.size()), MPI_BYTE, tensor.owners[n], communicator),
          "MPI_Bcast");
    access.write(index.data(), numbers, size);
  }
}

}  // namespace cyclotron::runtime::mpi
