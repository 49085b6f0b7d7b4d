#include <cyclotron/mapping/share_channels.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <cyclotron/mapping/live_range.hpp>
#include <cyclotron/mapping/message_order.hpp>
#include <cyclotron/mapping/verify_fifo.hpp>

namespace cyclotron::mapping {

namespace {

bool runs_apart(const Skew& skew) {
  return std::ranges::any_of(skew, [](const auto& steps) {
    return std::ranges::any_of(steps, [](std::int64_t step) { return step != 0; });
  });
}

class ChannelSharing {
 public:
  explicit ChannelSharing(const Mapping& mapping)
      : mapping_(mapping),
        channel_of_(mapping_.channels.size()),
        sends_(sends_by_message(mapping_)),
        receives_(mapping_.channels.size()),
        kinds_(mapping_.channels.size(), 1) {
    std::iota(channel_of_.begin(), channel_of_.end(), std::size_t{0});
    for (const auto& statement : mapping_.statements) {
      if (statement.kind == Kind::receive) receives_[statement.channel].push_back(&statement);
    }
  }

  Mapping run(std::size_t most) {
    const bool steady = std::ranges::all_of(mapping_.statements, [this](const Statement& statement) {
      return statement.kind != Kind::receive || is_steady(statement);
    });
    if (!steady) return std::move(mapping_);
    while (const auto pair = next_to_join(most)) join(pair->first, pair->second);
    if (std::ranges::any_of(kinds_, [](std::size_t kinds) { return kinds > 1; })) finish();
    return std::move(mapping_);
  }

 private:
  /// Of the class that uses most channels, two that may become one, if it uses too many: those of the fewest kinds.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> next_to_join(std::size_t most) {
    std::set<std::size_t> worst;
    for (const auto& pe_class : mapping_.classes) {
      std::set<std::size_t> used;
      for (const auto s : pe_class.statements) {
        if (is_message(mapping_.statements[s].kind)) used.insert(channel_of_[mapping_.statements[s].channel]);
      }
      if (used.size() > worst.size()) worst = std::move(used);
    }
    if (worst.size() <= most) return std::nullopt;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (const auto a : worst) {
      for (const auto b : worst) {
        if (a < b && is_alike(a, b)) pairs.emplace_back(a, b);
      }
    }
    std::ranges::stable_sort(pairs, {},
                             [&](const auto& pair) { return kinds_[pair.first] + kinds_[pair.second]; });
    const auto found =
        std::ranges::find_if(pairs, [&](const auto& pair) { return take_turns(pair.first, pair.second); });
    return found == pairs.end() ? std::nullopt : std::optional(*found);
  }

  [[nodiscard]] bool is_alike(std::size_t a, std::size_t b) const {
    const auto &one = mapping_.channels[a], &other = mapping_.channels[b];
    const auto& graph = mapping_.graph;
    return !one.network && !other.network && one.offset == other.offset && one.scale == other.scale &&
           graph.dtype_of(one.flow) == graph.dtype_of(other.flow) &&
           graph.at(one.flow).tile == graph.at(other.flow).tile;
  }

  [[nodiscard]] bool take_turns(std::size_t a, std::size_t b) {
    return std::ranges::all_of(receives_[a], [&](const Statement* one) {
      return std::ranges::all_of(receives_[b], [&](const Statement* other) {
        const auto key = std::minmax(one, other);
        const auto verdict = verdicts_.find(key);
        if (verdict != verdicts_.end()) return verdict->second;
        return verdicts_[key] = take_turns(*one, *other);
      });
    });
  }

  /// True where PEs that take each step together never wait for the link: as many of its messages are on the way as it
  /// holds (`delay_sends`), or those of one step. The steps of PEs that run apart have other numbers.
  [[nodiscard]] bool is_steady(const Statement& receive) const {
    const auto& skew = mapping_.skews[mapping_.graph.at(receive.target.flow).space.index()];
    const bool network = mapping_.channels[receive.channel].network;
    return !receive.prologue && skew && !runs_apart(*skew) &&
           std::ranges::all_of(mapping_.grid.time, [&](std::size_t d) {
             const auto steps = receive.target.point[d] - receive.from[d];
             return poly::is_constant(steps) && (!network || steps.constant == 0);
           });
  }

  /// A statement's place among all PEs' of a step, by rounds: what waited comes first.
  [[nodiscard]] std::int64_t place(const Statement& statement, FlowId flow) const {
    if (statement.position < 0) return statement.kind == Kind::receive ? -1 : -2;
    return mapping_.ranks[mapping_.rounds[mapping_.graph.at(flow).space.index()]];
  }

  /// True where of each two messages between the same PEs all PEs could have received one before any sends the other.
  [[nodiscard]] bool take_turns(const Statement& a, const Statement& b) const {
    const auto rank = mapping_.graph.dims.size();
    std::vector<poly::Affine> first, second;
    for (std::size_t d = 0; d < rank; ++d) {
      first.push_back(poly::variable(2 * rank, d));
      second.push_back(poly::variable(2 * rank, rank + d));
    }
    const auto of = [&](const std::vector<poly::Affine>& forms, const std::vector<poly::Affine>& point,
                        std::size_t d) { return poly::substitute(forms[d], point, 2 * rank); };
    auto pairs = a.domain.preimage(first, 2 * rank).intersect(b.domain.preimage(second, 2 * rank));
    for (const auto d : mapping_.grid.space) {
      pairs = pairs.intersect({of(a.target.point, first, d) - of(b.target.point, second, d), true});
      pairs = pairs.intersect({of(a.from, first, d) - of(b.from, second, d), true});
    }
    std::vector<poly::Affine> a_first, b_first;
    for (const auto d : mapping_.grid.time) {
      a_first.push_back(of(b.from, second, d) - of(a.target.point, first, d));
      b_first.push_back(of(a.from, first, d) - of(b.target.point, second, d));
    }
    const auto place_difference = [&](const Statement& received, const Statement& next) {
      const auto& send = *sends_[next.message];
      return poly::constant(2 * rank,
                            place(send, send.sources.front().flow) - place(received, received.target.flow));
    };
    a_first.push_back(place_difference(a, b));
    b_first.push_back(place_difference(b, a));
    return pairs.subtract(lex_positive(pairs, a_first)).subtract(lex_positive(pairs, b_first)).is_empty();
  }

  void join(std::size_t a, std::size_t b) {
    receives_[a].insert(receives_[a].end(), receives_[b].begin(), receives_[b].end());
    receives_[b].clear();
    kinds_[a] += std::exchange(kinds_[b], 0);
    std::ranges::replace(channel_of_, b, a);
  }

  void finish() {
    std::vector<Channel> kept;
    std::vector<std::size_t> number(channel_of_.size());
    for (std::size_t c = 0; c < channel_of_.size(); ++c) {
      if (channel_of_[c] != c) {
        auto& joined = kept[number[channel_of_[c]]];
        joined.name += ", " + mapping_.channels[c].name;
        joined.label += ", " + mapping_.channels[c].label;
        continue;
      }
      number[c] = kept.size();
      kept.push_back(mapping_.channels[c]);
    }
    const auto before = mapping_.channels.size();
    mapping_.channels = std::move(kept);
    for (auto& statement : mapping_.statements) {
      if (is_message(statement.kind)) statement.channel = number[channel_of_[statement.channel]];
    }
    verify_fifo(mapping_);
    mapping_.proofs.push_back(
        fmt::format("{} channels take turns on {}: all PEs could have received one's messages before any "
                    "sends the next's",
                    before, mapping_.channels.size()));
  }

  Mapping mapping_;
  std::vector<std::size_t> channel_of_;  ///< By channel: that with which it is one, the first of them.
  std::vector<const Statement*> sends_;  ///< By message.
  std::vector<std::vector<const Statement*>> receives_;  ///< By channel that is such a first.
  std::vector<std::size_t> kinds_;                       ///< The same: how many are one.
  std::map<std::pair<const Statement*, const Statement*>, bool> verdicts_;
};

}  // namespace

Mapping share_channels(const Mapping& mapping, std::size_t most) { return ChannelSharing(mapping).run(most); }

}  // namespace cyclotron::mapping
