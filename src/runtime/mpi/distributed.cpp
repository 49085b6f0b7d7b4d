#include "distributed.hpp"

#include <algorithm>

#include "../engine/tensors.hpp"

namespace cyclotron::runtime::mpi {
namespace {

std::size_t bytes_of(TileSize size, DType dtype) {
  return static_cast<std::size_t>(size.words()) * operators::size_bytes(dtype);
}

/// Follows one PE's control flow, past what loads nothing.
class Walk {
 public:
  Walk(Pe& pe, const std::function<void(std::uint32_t, const std::int64_t*)>& visit)
      : pe_(pe), code_(*pe.code), visit_(visit) {}

  void run() {
    for (std::uint32_t at = 0; code_.steps[at].kind != Step::Kind::halt;) at = next(at);
  }

 private:
  std::uint32_t next(std::uint32_t at) {
    const Step& step = code_.steps[at];
    std::int64_t* const variables = pe_.variables;
    switch (step.kind) {
      case Step::Kind::loop: {
        if (!loads_between(at, step.target)) return step.target;
        const std::int64_t first = lower_limit(code_, step.lower, variables);
        variables[step.variable] = first;
        pe_.limits[step.variable] = upper_limit(code_, step.upper, variables);
        return first <= pe_.limits[step.variable] ? at + 1 : step.target;
      }
      case Step::Kind::repeat:
        if (pe_.limits[step.variable] - variables[step.variable] < step.step) return at + 1;
        variables[step.variable] += step.step;
        return step.target;
      case Step::Kind::branch:
        return loads_between(at, step.target) && holds(code_, step.lower, variables) ? at + 1 : step.target;
      case Step::Kind::load: load(step); return at + 1;
      case Step::Kind::skip:
      case Step::Kind::exit:
      case Step::Kind::store:
      case Step::Kind::send:
      case Step::Kind::receive:
      case Step::Kind::broadcast:
      case Step::Kind::move:
      case Step::Kind::compute:
      case Step::Kind::halt: return at + 1;
    }
    return at + 1;
  }

  [[nodiscard]] bool loads_between(std::uint32_t first, std::uint32_t last) const {
    return std::any_of(code_.steps.begin() + first, code_.steps.begin() + last,
                       [](const Step& step) { return step.kind == Step::Kind::load; });
  }

  void load(const Step& step) {
    index_.resize(step.operands.count);
    for (std::uint32_t d = 0; d < step.operands.count; ++d) {
      index_[d] = evaluate(code_, code_.forms[step.operands.first + d], pe_.variables);
    }
    visit_(step.tensor, index_.data());
  }

  Pe& pe_;
  const Code& code_;
  const std::function<void(std::uint32_t, const std::int64_t*)>& visit_;
  std::vector<std::int64_t> index_;
};

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

void each_load(PeArray& array, const std::function<void(std::uint32_t, const std::int64_t*)>& visit) {
  for (const Pe& pe : array.pes()) Walk(array.pe(pe.ordinal), visit).run();
}

}  // namespace cyclotron::runtime::mpi
