// Sums over all ranks of a run, again and again, passed up a tree of ranks and down again.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

namespace cyclotron::runtime {

/// One rank's part. A rank joins a round when it likes to; a round ends once all have joined. `Terms` has `+=`.
template <class Terms>
class SumRounds {
 public:
  SumRounds(int rank, int size) : rank_(rank) {
    const std::int64_t first = std::int64_t{rank} * fan + 1;  // as wide as int does not overflow
    for (std::int64_t child = first; child < first + fan && child < size; ++child) ++children_;
  }

  /// Until the result was fetched.
  [[nodiscard]] bool joined() const { return joined_ || result_; }
  /// Requires: not joined. What is sent goes by send(rank, terms).
  template <class Send>
  void join(const Terms& own, Send send) {
    joined_ = true;
    sums_ += own;
    pass_on(send);
  }
  /// Takes a message that another rank's part has sent here.
  template <class Send>
  void take(int source, const Terms& terms, Send send) {
    if (rank_ > 0 && source == parent()) return end(terms, send);
    sums_ += terms;
    ++reported_;
    pass_on(send);
  }
  /// The sums of the round that ended, once.
  [[nodiscard]] std::optional<Terms> result() { return std::exchange(result_, std::nullopt); }

 private:
  /// Of few levels, since a rank that hears of it may have to be woken first.
  static constexpr int fan = 8;
  [[nodiscard]] int parent() const { return (rank_ - 1) / fan; }

  template <class Send>
  void pass_on(Send send) {
    if (!joined_ || reported_ < children_) return;
    if (rank_ > 0) return send(parent(), sums_);
    end(Terms(sums_), send);
  }

  /// Children join the next round only after this.
  template <class Send>
  void end(const Terms& all, Send send) {
    result_ = all;
    sums_ = {};
    joined_ = false;
    reported_ = 0;
    for (int child = 0; child < children_; ++child) send(rank_ * fan + 1 + child, all);
  }

  int rank_;
  int children_ = 0;
  int reported_ = 0;
  bool joined_ = false;
  Terms sums_{};
  std::optional<Terms> result_;
};

}  // namespace cyclotron::runtime
