// The tiles that are computed together, and a proof that the others need each other in no circle.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include <cyclotron/support/error.hpp>

#include "tiles.hpp"

namespace cyclotron::blocking {

namespace {

using Pair = std::pair<TensorId, TensorId>;
constexpr std::size_t most_searched = 400;  ///< Tiles among which a circle is looked for one by one.
constexpr int most_tried = 20'000;          ///< Times of tiles, of one group of tensors.

class TileGraph {
 public:
  TileGraph(const System& system, std::vector<Cell>& cells) : system_(system), cells_(cells) {}

  void run() {
    for (const auto& cell : cells_) {
      const auto known = tiles_.find(cell.tensor);
      tiles_.insert_or_assign(cell.tensor,
                              known == tiles_.end() ? cell.tiles : known->second.unite(cell.tiles));
    }
    find_reads();
    find_together();
    for (auto& cell : cells_) {
      for (auto& piece : cell.pieces) split(cell, piece);
    }
    for (auto& [pair, points] : reads_) {
      if (const auto own = together_.find(pair); own != together_.end())
        points = points.subtract(own->second);
    }
    check_order();
  }

 private:
  [[nodiscard]] std::size_t rank(TensorId tensor) const { return rank_of(system_, tensor); }

  /// (tile, tile read) as one point.
  [[nodiscard]] static std::vector<poly::Affine> pair_forms(const TileTerm& term, const TileFactor& factor,
                                                            std::size_t rank) {
    return pair_forms(term, factor.tile, rank);
  }
  [[nodiscard]] static std::vector<poly::Affine> pair_forms(const TileTerm& term,
                                                            const std::vector<poly::Affine>& tile,
                                                            std::size_t rank) {
    auto forms = identity_forms(term.tiles.dimensions(), rank);
    forms.insert(forms.end(), tile.begin(), tile.end());
    return forms;
  }

  void find_reads() {
    for (const auto& cell : cells_) {
      for (const auto& piece : cell.pieces) {
        for (const auto& term : piece.terms) {
          for (const auto& factor : term.factors) {
            if (!tiles_.contains(factor.tensor)) continue;
            for (const auto& tile : tiles_of(factor)) {
              const auto pairs = term.tiles.image(pair_forms(term, tile, rank(cell.tensor)));
              const Pair key{cell.tensor, factor.tensor};
              const auto known = reads_.find(key);
              reads_.insert_or_assign(key,
                                      known == reads_.end() ? pairs : known->second.unite(pairs).coalesce());
            }
          }
        }
      }
    }
  }

  void find_together() {
    for (const auto& [key, pairs] : reads_) {
      const auto& [from, to] = key;
      const auto back = reads_.find({to, from});
      if (back == reads_.end()) continue;
      const auto swapped = poly::Map::from_pairs(back->second, rank(to)).reverse().wrap();
      auto both = pairs.intersect(swapped).coalesce();
      if (both.is_empty()) continue;
      const auto map = poly::Map::from_pairs(both, rank(from));
      if (from == to) {
        const auto same = poly::Map::function(tiles_.at(from), identity_forms(rank(from), rank(from))).wrap();
        if (const auto others = poly::Map::from_pairs(both.subtract(same), rank(from)).sample())
          refuse_circle({{from, others->first}, {to, others->second}, {from, others->first}});
      } else if (!map.is_single_valued() || !map.is_injective()) {
        const auto pair = map.sample();
        refuse_circle({{from, pair->first}, {to, pair->second}, {from, pair->first}});
      }
      together_.emplace(key, std::move(both));
    }
  }

  void split(const Cell& cell, TilePiece& piece) const {
    std::vector<TileTerm> done;
    std::vector<TileTerm> left = std::move(piece.terms);
    while (!left.empty()) {
      auto term = std::move(left.back());
      left.pop_back();
      bool whole = true;
      for (auto& factor : term.factors) {
        const auto together = together_.find({cell.tensor, factor.tensor});
        if (together == together_.end()) continue;
        if (factor.further_rows + factor.further_columns > 0)
          refuse(piece.span, "windows reach into tiles that are computed together");
        const auto own = term.tiles.intersect(
            together->second.preimage(pair_forms(term, factor, rank(cell.tensor)), term.tiles.dimensions()));
        if (own.is_empty()) continue;
        if (term.tiles.is_subset(own)) {
          factor.own = true;
          continue;
        }
        auto other = term;
        other.tiles = term.tiles.subtract(own).coalesce();
        term.tiles = own.coalesce();
        left.push_back(std::move(other));
        left.push_back(term);
        whole = false;
        break;
      }
      if (whole) done.push_back(std::move(term));
    }
    std::ranges::reverse(done);
    piece.terms = std::move(done);
  }

  using Tile = std::pair<TensorId, std::vector<std::int64_t>>;

  [[noreturn]] void refuse_circle(const std::vector<Tile>& circle) const {
    std::vector<std::string> parts;
    for (const auto& [tensor, place] : circle)
      parts.push_back(
          fmt::format("tile ({}) of `{}`", fmt::join(place, ", "), system_.at(tensor).user_name()));
    throw LegalityError(
        {.code = "CYC230",
         .span = system_.at(circle.front().first).span,
         .message = fmt::format("tiles need each other in a circle: {}", fmt::join(parts, " needs ")),
         .notes = {},
         .help = "give the index of the circle tiles of 1, or leave out `tile`"});
  }

  /// Tensors that need each other, directly or not.
  [[nodiscard]] std::vector<std::vector<TensorId>> strongly_connected() const {
    std::map<Pair, bool> reach;
    for (const auto& [key, pairs] : reads_) reach[key] = !pairs.is_empty();
    for (const auto& [middle, m] : tiles_) {
      for (const auto& [from, f] : tiles_) {
        for (const auto& [to, t] : tiles_) {
          if (reach[{from, middle}] && reach[{middle, to}]) reach[{from, to}] = true;
        }
      }
    }
    std::vector<std::vector<TensorId>> result;
    for (const auto& [tensor, tiles] : tiles_) {
      if (!reach[{tensor, tensor}]) continue;
      const auto known = std::ranges::find_if(result, [&, id = tensor](const auto& group) {
        return reach[{group.front(), id}] && reach[{id, group.front()}];
      });
      if (known == result.end())
        result.push_back({tensor});
      else
        known->push_back(tensor);
    }
    return result;
  }

  void check_order() const {
    for (const auto& group : strongly_connected()) {
      std::map<TensorId, poly::Affine> chosen;
      tried_ = 0;
      if (!find_times(group, 0, chosen)) search_circle(group);
    }
  }

  /// Times of tiles, linear in their coordinates with a place among those of one time, so that each comes after what it
  /// reads: a proof that there is no circle.
  bool find_times(const std::vector<TensorId>& group, std::size_t next,
                  std::map<TensorId, poly::Affine>& chosen) const {
    if (next == group.size()) return true;
    const auto tensor = group[next];
    const auto places = static_cast<std::int64_t>(group.size());
    const std::int64_t most = rank(tensor) == 1 ? 2 : 1;
    poly::Affine form = poly::constant(rank(tensor), 0);
    const std::function<bool(std::size_t)> choose = [&](std::size_t axis) {
      if (axis < rank(tensor)) {
        for (std::int64_t c = 0; c <= 2 * most; ++c) {
          form.coefficients[axis] = places * ((c + 1) / 2) * (c % 2 == 1 ? 1 : -1);  // 0, 1, -1, 2, -2 times
          if (choose(axis + 1)) return true;
        }
        return false;
      }
      for (form.constant = 0; form.constant < places && ++tried_ <= most_tried; ++form.constant) {
        chosen.insert_or_assign(tensor, form);
        if (in_order(tensor, chosen) && find_times(group, next + 1, chosen)) return true;
        chosen.erase(tensor);
      }
      return false;
    };
    return choose(0);
  }

  [[nodiscard]] bool in_order(TensorId tensor, const std::map<TensorId, poly::Affine>& chosen) const {
    return std::ranges::all_of(reads_, [&](const auto& read) {
      const auto& [from, to] = read.first;
      if ((from != tensor && to != tensor) || !chosen.contains(from) || !chosen.contains(to)) return true;
      const auto variables = rank(from) + rank(to);
      const auto later = insert_variables(chosen.at(from), rank(from), rank(to));
      const auto earlier = insert_variables(chosen.at(to), 0, rank(from));
      return read.second.satisfies({later - earlier - poly::constant(variables, 1), false});
    });
  }

  void search_circle(const std::vector<TensorId>& group) const {
    std::map<Tile, std::vector<Tile>> needs;
    for (const auto tensor : group) {
      for (auto& place : tiles_.at(tensor).points()) {
        needs[{tensor, std::move(place)}];
        if (needs.size() > most_searched)
          refuse(system_.at(tensor).span,
                 fmt::format("no order of its tiles is proven to be free of circles, and it has more than {}",
                             most_searched));
      }
    }
    for (const auto& [key, pairs] : reads_) {
      const auto& [from, to] = key;
      if (std::ranges::find(group, from) == group.end() || std::ranges::find(group, to) == group.end())
        continue;
      for (const auto& pair : pairs.points()) {
        const auto middle = pair.begin() + static_cast<std::ptrdiff_t>(rank(from));
        needs[{from, {pair.begin(), middle}}].emplace_back(to, std::vector<std::int64_t>(middle, pair.end()));
      }
    }
    std::map<Tile, int> state;  // 1: on the way, 2: done
    std::vector<Tile> way;
    const std::function<void(const Tile&)> visit = [&](const Tile& tile) {
      state[tile] = 1;
      way.push_back(tile);
      for (const auto& next : needs[tile]) {
        if (state[next] == 1) {
          std::vector<Tile> circle(std::ranges::find(way, next), way.end());
          circle.push_back(next);
          refuse_circle(circle);
        }
        if (state[next] == 0) visit(next);
      }
      state[tile] = 2;
      way.pop_back();
    };
    std::vector<Tile> all;
    for (const auto& [tile, others] : needs) all.push_back(tile);
    for (const auto& tile : all) {
      if (state[tile] == 0) visit(tile);
    }
  }

  const System& system_;
  std::vector<Cell>& cells_;
  std::map<TensorId, poly::Set> tiles_;
  std::map<Pair, poly::Set> reads_;
  std::map<Pair, poly::Set> together_;
  mutable int tried_ = 0;
};

}  // namespace

void mark_own(const System& system, std::vector<Cell>& cells) { TileGraph(system, cells).run(); }

}  // namespace cyclotron::blocking
