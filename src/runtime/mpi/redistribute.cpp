#include "redistribute.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime::mpi {
namespace {

using Index = std::vector<std::int64_t>;

/// A tensor cut into tiles; those are numbered row-major.
class Tiling {
 public:
  Tiling(Index shape, Index tile) : shape_(std::move(shape)), tile_(std::move(tile)) {
    for (std::size_t d = 0; d < shape_.size(); ++d) extents_.push_back((shape_[d] + tile_[d] - 1) / tile_[d]);
  }
  [[nodiscard]] std::size_t rank() const { return shape_.size(); }
  [[nodiscard]] std::size_t tiles() const {
    return static_cast<std::size_t>(
        std::accumulate(extents_.begin(), extents_.end(), std::int64_t{1}, std::multiplies{}));
  }
  [[nodiscard]] std::int64_t tile(std::size_t d) const { return tile_[d]; }
  [[nodiscard]] std::int64_t first(std::size_t d, std::int64_t index) const { return index * tile_[d]; }
  [[nodiscard]] std::int64_t end(std::size_t d, std::int64_t index) const {
    return std::min(shape_[d], (index + 1) * tile_[d]);
  }
  [[nodiscard]] Index index(std::size_t number) const {
    Index result(rank());
    auto rest = static_cast<std::int64_t>(number);
    for (std::size_t d = rank(); d-- > 0; rest /= extents_[d]) result[d] = rest % extents_[d];
    return result;
  }
  [[nodiscard]] std::size_t number(const Index& index) const {
    std::int64_t result = 0;
    for (std::size_t d = 0; d < rank(); ++d) result = result * extents_[d] + index[d];
    return static_cast<std::size_t>(result);
  }
  [[nodiscard]] std::size_t words(const Index& index) const {
    std::int64_t result = 1;
    for (std::size_t d = 0; d < rank(); ++d) result *= end(d, index[d]) - first(d, index[d]);
    return static_cast<std::size_t>(result);
  }

 private:
  Index shape_, tile_, extents_;
};

/// Scalars that a tile of one tiling and a tile of another have in common.
struct Overlap {
  std::size_t source, target;          ///< Tile numbers.
  const Index &source_at, &target_at;  ///< Tile indices.
  const Index &first, &end;            ///< In the tensor.
  [[nodiscard]] std::size_t words() const {
    std::size_t result = 1;
    for (std::size_t d = 0; d < first.size(); ++d) result *= static_cast<std::size_t>(end[d] - first[d]);
    return result;
  }
};

/// Steps through the indices of a box, the last dimension fastest; false after the last.
bool advance(Index& at, const Index& first, const Index& end) {
  for (std::size_t d = at.size(); d-- > 0;) {
    if (++at[d] < end[d]) return true;
    at[d] = first[d];
  }
  return false;
}

/// Calls visit(overlap) for all overlaps, ordered by target, then by source: sender and receiver of a message
/// go through it in the same order.
template <class Visit>
void each_overlap(const Tiling& from, const Tiling& to, Visit visit) {
  const std::size_t rank = to.rank();
  Index lowest(rank), highest(rank), first(rank), end(rank);
  for (std::size_t target = 0; target < to.tiles(); ++target) {
    const Index at = to.index(target);
    for (std::size_t d = 0; d < rank; ++d) {
      lowest[d] = to.first(d, at[d]) / from.tile(d);
      highest[d] = (to.end(d, at[d]) - 1) / from.tile(d) + 1;
    }
    Index source = lowest;
    do {
      for (std::size_t d = 0; d < rank; ++d) {
        first[d] = std::max(from.first(d, source[d]), to.first(d, at[d]));
        end[d] = std::min(from.end(d, source[d]), to.end(d, at[d]));
      }
      visit(Overlap{from.number(source), target, source, at, first, end});
    } while (advance(source, lowest, highest));
  }
}

/// Calls copy(position, length) for each row of an overlap in a tile, both in scalars.
template <class Copy>
void each_row(const Tiling& tiling, const Index& tile, const Overlap& overlap, Copy copy) {
  const std::size_t rank = tiling.rank();
  Index at = overlap.first;
  Index end = overlap.end;
  const auto length = static_cast<std::size_t>(overlap.end[rank - 1] - overlap.first[rank - 1]);
  end[rank - 1] = overlap.first[rank - 1] + 1;
  do {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t first = tiling.first(d, tile[d]);
      position = position * (tiling.end(d, tile[d]) - first) + at[d] - first;
    }
    copy(static_cast<std::size_t>(position), length);
  } while (advance(at, overlap.first, end));
}

/// The blocks that one rank sends to, or receives from, each of the others: consecutive in memory.
class Parts {
 public:
  /// A unit of a message, since MPI counts in int.
  static constexpr std::size_t unit = 64;

  explicit Parts(std::size_t ranks) : bytes_(ranks), counts_(ranks), starts_(ranks), at_(ranks) {}
  void add(int rank, std::size_t bytes) { bytes_[static_cast<std::size_t>(rank)] += bytes; }
  /// Throws ExecutionError CYC730 where there are more units than MPI can count.
  void allocate() {
    std::size_t units = 0;
    for (std::size_t r = 0; r < bytes_.size(); ++r) {
      at_[r] = units * unit;
      starts_[r] = static_cast<int>(units);
      counts_[r] = static_cast<int>((bytes_[r] + unit - 1) / unit);
      units += static_cast<std::size_t>(counts_[r]);
      if (units > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw ExecutionError({.code = "CYC730",
                              .span = {},
                              .message = "a rank has more than 128 GiB to send or receive at once",
                              .notes = {},
                              .help = "use more ranks"});
      }
    }
    memory_ = std::make_unique_for_overwrite<std::byte[]>(units * unit);  // NOLINT(modernize-avoid-c-arrays)
  }
  /// The next bytes of a rank's part.
  [[nodiscard]] std::byte* next(int rank, std::size_t bytes) {
    return memory_.get() +
           std::exchange(at_[static_cast<std::size_t>(rank)], at_[static_cast<std::size_t>(rank)] + bytes);
  }
  [[nodiscard]] std::byte* data() const { return memory_.get(); }
  [[nodiscard]] const int* counts() const { return counts_.data(); }
  [[nodiscard]] const int* starts() const { return starts_.data(); }

 private:
  std::vector<std::size_t> bytes_;
  std::vector<int> counts_, starts_;
  std::vector<std::size_t> at_;
  std::unique_ptr<std::byte[]> memory_;  // NOLINT(modernize-avoid-c-arrays)
};

void exchange(const Parts& sent, const Parts& received, MPI_Comm communicator) {
  MPI_Datatype unit = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(static_cast<int>(Parts::unit), MPI_BYTE, &unit), "MPI_Type_contiguous");
  check(MPI_Type_commit(&unit), "MPI_Type_commit");
  check(MPI_Alltoallv(sent.data(), sent.counts(), sent.starts(), unit, received.data(), received.counts(),
                      received.starts(), unit, communicator),
        "MPI_Alltoallv");
  check(MPI_Type_free(&unit), "MPI_Type_free");
}

}  // namespace

Distributed redistribute(const Distributed& from, std::vector<std::int64_t> tile, std::vector<int> owners,
                         MPI_Comm communicator) {
  int own = 0, ranks = 0;
  check(MPI_Comm_rank(communicator, &own), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator, &ranks), "MPI_Comm_size");
  Distributed result{from.tensor, std::move(owners), {}};
  result.tensor.tile = std::move(tile);
  const Tiling old_tiling(from.tensor.shape, from.tensor.tile);
  const Tiling new_tiling(from.tensor.shape, result.tensor.tile);
  const std::size_t element = operators::size_bytes(from.tensor.dtype);
  CYC_CHECK(result.owners.size() == new_tiling.tiles(), "an owner for each tile");
  result.tiles.resize(new_tiling.tiles());
  if (from.tensor.tile == result.tensor.tile && from.owners == result.owners) {
    result.tiles = from.tiles;
    return result;
  }
  const bool gaps = std::any_of(from.owners.begin(), from.owners.end(), [](int owner) { return owner < 0; });
  for (std::size_t n = 0; n < result.tiles.size(); ++n) {
    if (result.owners[n] != own) continue;
    const std::size_t bytes = new_tiling.words(new_tiling.index(n)) * element;
    result.tiles[n] = Arena::instance().take(bytes, Reach::computer);
    if (gaps) std::memset(result.tiles[n].data(), 0, bytes);
  }
  Parts sent(static_cast<std::size_t>(ranks)), received(static_cast<std::size_t>(ranks));
  // Calls give where this rank has the source, then take where it gets the target.
  const auto each_own = [&](auto give, auto take) {
    each_overlap(old_tiling, new_tiling, [&](const Overlap& overlap) {
      const int giver = from.owners[overlap.source];
      const int taker = result.owners[overlap.target];
      if (giver < 0 || taker < 0) return;
      if (giver == own) give(overlap, taker);
      if (taker == own) take(overlap, giver);
    });
  };
  each_own([&](const Overlap& overlap, int taker) { sent.add(taker, overlap.words() * element); },
           [&](const Overlap& overlap, int giver) { received.add(giver, overlap.words() * element); });
  sent.allocate();
  received.allocate();
  each_own(
      [&](const Overlap& overlap, int taker) {
        const std::byte* const numbers = from.tiles[overlap.source].data();
        std::byte* to = sent.next(taker, overlap.words() * element);
        each_row(old_tiling, overlap.source_at, overlap, [&](std::size_t position, std::size_t length) {
          std::memcpy(to, numbers + position * element, length * element);
          to += length * element;
        });
      },
      [](const Overlap&, int) {});
  exchange(sent, received, communicator);
  each_own([](const Overlap&, int) {},
           [&](const Overlap& overlap, int giver) {
             std::byte* const numbers = result.tiles[overlap.target].data();
             const std::byte* at = received.next(giver, overlap.words() * element);
             each_row(new_tiling, overlap.target_at, overlap, [&](std::size_t position, std::size_t length) {
               std::memcpy(numbers + position * element, at, length * element);
               at += length * element;
             });
           });
  return result;
}

}  // namespace cyclotron::runtime::mpi
