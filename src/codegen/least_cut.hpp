// Private to this folder: the cheapest values to pass on between two parts of a PE's code.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace cyclotron::codegen {

/// The least values to send so that none else goes from `sources` to what must be global, as a cut through the instructions
/// that compute them. `weight`: of the sends of each.
class LeastCut {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 4;

  explicit LeastCut(std::size_t instructions) : count_(instructions), to_(2 * instructions + 2) {}
  void passes(std::size_t instruction, std::int64_t weight) {
    add(in(instruction), out(instruction), weight);
  }
  void reads(std::size_t writer, std::size_t reader) { add(out(writer), in(reader), never); }
  void begins_at(std::size_t instruction) { add(source(), in(instruction), never); }
  void ends_at(std::size_t instruction) { add(out(instruction), sink(), never); }

  /// The instructions before the cut nearest to the sources, with those that it cuts.
  std::set<std::size_t> before() {
    while (augment()) {
    }
    std::set<std::size_t> result;
    for (std::size_t n = 0; n < count_; ++n) {
      if (reached_[in(n)]) result.insert(n);
    }
    return result;
  }

 private:
  struct Edge {
    std::size_t to;
    std::int64_t left;
    std::size_t back;  // Of its reverse, at `to`.
  };
  [[nodiscard]] static std::size_t in(std::size_t n) { return 2 * n; }
  [[nodiscard]] static std::size_t out(std::size_t n) { return 2 * n + 1; }
  [[nodiscard]] std::size_t source() const { return 2 * count_; }
  [[nodiscard]] std::size_t sink() const { return 2 * count_ + 1; }

  void add(std::size_t from, std::size_t to, std::int64_t capacity) {
    to_[from].push_back({to, capacity, to_[to].size()});
    to_[to].push_back({from, 0, to_[from].size() - 1});
  }

  bool augment() {
    std::vector<std::pair<std::size_t, std::size_t>> by(to_.size());  // Node and edge before.
    reached_.assign(to_.size(), false);
    reached_[source()] = true;
    std::vector<std::size_t> next{source()};
    for (std::size_t n = 0; n < next.size() && !reached_[sink()]; ++n) {
      for (std::size_t e = 0; e < to_[next[n]].size(); ++e) {
        const Edge& edge = to_[next[n]][e];
        if (edge.left == 0 || reached_[edge.to]) continue;
        reached_[edge.to] = true;
        by[edge.to] = {next[n], e};
        next.push_back(edge.to);
      }
    }
    if (!reached_[sink()]) return false;
    std::int64_t most = never;
    for (std::size_t at = sink(); at != source(); at = by[at].first)
      most = std::min(most, to_[by[at].first][by[at].second].left);
    for (std::size_t at = sink(); at != source(); at = by[at].first) {
      Edge& edge = to_[by[at].first][by[at].second];
      edge.left -= most;
      to_[edge.to][edge.back].left += most;
    }
    return true;
  }

  std::size_t count_;
  std::vector<std::vector<Edge>> to_;
  std::vector<bool> reached_;
};

}  // namespace cyclotron::codegen
