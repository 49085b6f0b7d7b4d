// Tiles of distributed tensors: fetched before the first instruction, kept after the last.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "../engine/each_access.hpp"
#include "rank.hpp"

namespace cyclotron::runtime::mpi {
namespace {

struct Wish {
  std::uint32_t tensor;
  std::uint32_t tile;
};

/// Collective: passes each rank's wishes to the rank that they are for. `wishes` is by that rank.
std::vector<std::vector<Wish>> deliver(const std::vector<std::vector<Wish>>& wishes, MPI_Comm communicator) {
  const std::size_t ranks = wishes.size();
  std::vector<int> counts(ranks), received_counts(ranks), starts(ranks), received_starts(ranks);
  for (std::size_t r = 0; r < ranks; ++r) counts[r] = static_cast<int>(wishes[r].size() * sizeof(Wish));
  check(MPI_Alltoall(counts.data(), 1, MPI_INT, received_counts.data(), 1, MPI_INT, communicator),
        "MPI_Alltoall");
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  std::exclusive_scan(received_counts.begin(), received_counts.end(), received_starts.begin(), 0);
  std::vector<Wish> all;
  for (const auto& some : wishes) all.insert(all.end(), some.begin(), some.end());
  std::vector<Wish> received(static_cast<std::size_t>(received_starts.back() + received_counts.back()) /
                             sizeof(Wish));
  check(MPI_Alltoallv(all.data(), counts.data(), starts.data(), MPI_BYTE, received.data(),
                      received_counts.data(), received_starts.data(), MPI_BYTE, communicator),
        "MPI_Alltoallv");
  std::vector<std::vector<Wish>> result;
  auto at = received.begin();
  for (const int bytes : received_counts) {
    const auto count = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(bytes) / sizeof(Wish));
    result.emplace_back(at, at + count);
    at += count;
  }
  return result;
}

}  // namespace

void Rank::exchange_tiles() {
  if (std::all_of(distributed_.begin(), distributed_.end(), [](auto* tensor) { return tensor == nullptr; })) {
    return;
  }
  std::vector<std::vector<Wish>> wishes(static_cast<std::size_t>(transport_.size()));
  std::vector<std::vector<char>> asked;
  for (const auto& held : held_) asked.emplace_back(held.size());
  const VisitAccess ask = [&](const Step& step, const std::int64_t* index) {
    const std::uint32_t tensor = step.tensor;
    if (held_[tensor].empty() || !tensors_[tensor].contains(index)) return;
    const std::size_t tile = tensors_[tensor].linear(index);
    if (held_[tensor][tile] || std::exchange(asked[tensor][tile], 1) != 0) return;
    const int owner = distributed_[tensor]->owners[tile];
    if (owner < 0 || owner >= transport_.size()) return;
    wishes[static_cast<std::size_t>(owner)].push_back({tensor, static_cast<std::uint32_t>(tile)});
    ++missing_;
  };
  for (const Pe& pe : array_.pes()) each_access(array_.pe(pe.ordinal), Step::Kind::load, ask);
  const auto wanted = deliver(wishes, transport_.communicator());
  std::vector<std::int64_t> index;
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    for (const auto [tensor, number] : wanted[r]) {
      index.resize(std::max<std::size_t>(1, tensors_[tensor].rank()));
      tensors_[tensor].unravel(number, index.data());
      const TileSize size = tensors_[tensor].size(index.data());
      const Record record{.channel = Record::of_tensor | tensor,
                          .source = number,
                          .rows = size.rows,
                          .columns = size.columns,
                          .bytes = static_cast<std::uint64_t>(size.words()) *
                                   operators::size_bytes(array_.program().tensors[tensor].dtype)};
      const double begun = wall_seconds();
      // The next run finds it where this one leaves it.
      Tile& tile = distributed_[tensor]->tiles[number];
      make_lendable(tile, static_cast<int>(r), record.bytes);
      held_[tensor][number] = tile;
      transport_.send(static_cast<int>(r), record, tile.data(), tile);
      handed_over(record, static_cast<int>(r), begun);
    }
  }
  transport_.flush();
}

const Tile* Rank::held(const Step& step, const std::int64_t* index) const {
  const auto& tiles = held_[step.tensor];
  if (tiles.empty()) return nullptr;
  const Tile& tile = tiles[tensors_[step.tensor].linear(index)];
  if (tile) return &tile;
  throw KernelFailure{"CYC704",
                      "a tile of `" + array_.program().tensors[step.tensor].name + "` is on no rank",
                      "run the program that makes it first"};
}

bool Rank::keep(const Step& step, const std::int64_t* index, TileSize size, const std::byte* numbers,
                const Tile* reference) {
  if (held_[step.tensor].empty()) return false;
  const TensorAccess& tensor = tensors_[step.tensor];
  const TileSize expected = tensor.size(index);
  Tile& kept = held_[step.tensor][tensor.linear(index)];
  if (size == expected && reference != nullptr) {
    kept = *reference;
    return true;
  }
  if (size != expected && size != TileSize{1, 1}) return false;  // the array's refusal
  kept = filled(numbers, step.element, static_cast<std::size_t>(expected.words()));
  return true;
}

Tile Rank::filled(const std::byte* number, std::size_t element, std::size_t count) {
  const std::size_t bytes = count * element;
  if (filled_ && filled_bytes_ == bytes && filled_element_ == element &&
      std::memcmp(filled_.data(), number, element) == 0)
    return filled_;
  filled_ = Arena::instance().take(bytes, Reach::computer);
  filled_bytes_ = bytes;
  filled_element_ = element;
  for (std::size_t i = 0; i < count; ++i) copy_scalar(filled_.data() + i * element, number, element);
  return filled_;
}

void Rank::hand_over_outputs() {
  for (std::size_t t = 0; t < held_.size(); ++t) {
    const auto& tensor = array_.program().tensors[t];
    if (distributed_[t] == nullptr || tensor.role != program::Role::output) continue;
    Distributed& output = *distributed_[t];
    output.tensor = tensor;
    output.owners.assign(held_[t].size(), -1);
    for (std::size_t n = 0; n < held_[t].size(); ++n) {
      if (held_[t][n]) output.owners[n] = transport_.rank();
    }
    check(MPI_Allreduce(MPI_IN_PLACE, output.owners.data(), static_cast<int>(output.owners.size()), MPI_INT,
                        MPI_MAX, transport_.communicator()),
          "MPI_Allreduce");
    output.tiles = std::move(held_[t]);
  }
}

}  // namespace cyclotron::runtime::mpi
