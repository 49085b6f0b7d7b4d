// Private to this folder: the search for the placement of a kernel that has no schedule.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <cyclotron/driver/compile.hpp>
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/expected.hpp>
#include <cyclotron/support/refusal.hpp>

#include "candidates.hpp"
#include "choices.hpp"
#include "default_placements.hpp"
#include "log.hpp"
#include "reorder.hpp"
#include "search_limits.hpp"

namespace cyclotron::driver {

/// One that is so much faster is missed.
inline constexpr double much_faster = 1.25;

/// True where one placement takes so long to analyse that others are tried in brief once there is one.
[[nodiscard]] bool is_costly(const Reordered& system);

/// True of an index of space or time that is a sum of the kernel's.
[[nodiscard]] bool is_sum(const std::string& index);

/// The order of reductions: those from both ends, in trees, and from the last term on.
using Order = std::tuple<std::vector<std::string>, std::vector<recurrence::Tree>, std::set<std::string>>;

/// Compiles placements and simulates them, those first that promise the most; takes the fastest that is legal. What is tried,
/// and for how long, is counted, so that the outcome does not depend on the computer.
class PlacementSearch {
 public:
  /// Reductions over the indices `descending` take their last term first. Of placements that are there already, `to_beat` is
  /// the time of the best: only those that promise less are tried, but where none of them compiles.
  PlacementSearch(const Reordered& system, const machine::Machine& machine, Array array,
                  const std::vector<std::string>& descending, double to_beat, const Log& log);

  /// The best; refused where none compiles.
  Expected<Compiled, Refusal> run();

  /// The same where there is a placement to beat: each that promises more with few operations first, then with more.
  Expected<Compiled, Refusal> run_in_brief();

  /// To beat a placement with this estimate: where that is larger than its time, those of others are as well.
  void expect(double estimate) { estimate_to_beat_ = estimate; }
  /// To try nothing again that another search, of the same order of reductions, has refused.
  void go_on_from(const PlacementSearch& other);

  /// The placement that was chosen, without its program, and its time.
  [[nodiscard]] const Choice& taken() const { return choices_[taken_]; }
  [[nodiscard]] double time() const { return time_; }

  /// The same, with statements in the text's order: what another search has to beat, which tries them last, too.
  [[nodiscard]] double time_in_order() const;

  /// On one PE or one row or column of several.
  [[nodiscard]] bool is_narrow(const Choice& taken) const;

  /// True where it is not known of some placement whether that compiles.
  [[nodiscard]] bool lacked_effort() const;

  /// Its time, or its estimate where that is a little less, as those of others are. Where that is far less, only this array
  /// may make PEs wait so long.
  [[nodiscard]] double expected() const;

  /// The estimate that it would have if that were as much too large as the worst of all choices.
  [[nodiscard]] double largest_estimate() const;

  /// The least that any placement promises, if there is any: of its fullest PE, without ways, of which few values go all.
  [[nodiscard]] std::optional<double> promise() const;

  /// That a refused placement would be much faster than the one that is taken, or that one may be whose analysis took too
  /// long where that takes one PE, or one dimension. What loops compute in turn no placement makes faster for sure.
  [[nodiscard]] std::optional<Diagnostic> warning(const Choice& taken) const;

 private:
  /// A placement whose analysis took too many operations; each once.
  struct Lacked {
    schedule::Placement placement;
    bool routed;
    unsigned long operations = 0;  ///< That do not suffice, if it is known.
  };
  struct Refused {
    schedule::Placement placement;
    Refusal refusal;
  };

  /// The factor by which a placement would be faster, by estimates; one far too large promises no more than the time.
  static double times(const Choice& taken, const schedule::Placement& other);

  [[nodiscard]] bool is_worth_it(double cycles) const;

  /// Of a costly kernel that has a placement already.
  [[nodiscard]] bool is_in_brief() const;

  /// Of time, for one placement.
  [[nodiscard]] std::size_t orders() const;

  /// The first that compiles: of those that promise far more than the usual default, of the defaults, or of all.
  void find_first();

  [[nodiscard]] unsigned long operations_of_routes() const;

  /// A value that is late in one order rarely is in time in another, and each takes a second.
  [[nodiscard]] std::size_t orders_of_routes() const { return is_very_long_ ? 2 : orders(); }

  /// True where a placement compiles, other than one PE for a costly kernel.
  [[nodiscard]] bool is_found() const { return choices_.size() > (has_one_pe_ ? 1 : 0); }

  /// True where one with these indices in space compiles.
  [[nodiscard]] bool is_found(const std::vector<std::string>& space) const;

  void try_defaults();

  /// A placement that is not tried with so many operations.
  struct Attempt {
    schedule::Placement placement;
    bool routed;
    unsigned long operations;
    double cycles;  ///< Promised, and more where it costs more to find out.
  };

  /// Of the choices, or without any of what is there, or its estimate where others may be as much too large; with reductions in
  /// another order, estimates do not tell.
  [[nodiscard]] double time_to_beat() const;

  /// The placements of a costly kernel, those first that promise the most. One that lacks operations comes again later, with
  /// more.
  void try_best_first();

  /// The placements that promise more than the choices at hand.
  void try_rest();

  /// True where the same is refused with fewer of its indices in space, with values on long ways or without: more of them
  /// rarely help.
  [[nodiscard]] bool is_part_refused(const schedule::Placement& placement, bool routed) const;

  /// True where one PE would take so long that its time tells nothing of others.
  [[nodiscard]] bool is_one_pe_hopeless() const;

  /// The placement on one PE, which loses no early exit.
  [[nodiscard]] const schedule::Placement* one_pe() const;

  void try_one_pe();

  void try_one_pe_within(unsigned long operations);

  /// In all orders of its loops, whatever its analysis takes.
  void try_one_pe_in_full();

  /// True where loops of all choices run to their bound that another placement may end early.
  [[nodiscard]] bool loses_exits() const;

  /// The usual default and the best of the placements that links are missing for, where they promise more than the choices;
  /// and the best choice without the waves in which its PEs compute, where these take far longer than was estimated.
  void try_routes();

  [[nodiscard]] bool compiles_as(const schedule::Placement& placement) const;

  /// The defaults with all that is legal: in need.
  void try_turns();

  template <typename Condition>
  void try_others(std::size_t most, const Condition& condition);

  /// With reductions in another order where that is much faster by the estimates, as the kernel has them where not or where
  /// that is refused.
  void try_placement(const schedule::Placement& placement, std::size_t most);

  static Order order(const schedule::Schedule& schedule);

  using Key = std::tuple<std::vector<std::string>, Order, std::vector<std::string>, bool, bool, bool>;
  static Key key(const schedule::Placement& placement, bool routed = false);

  /// The placement with its reductions in the order that suits it, if that is so many times better.
  [[nodiscard]] const schedule::Placement* reordered(const schedule::Placement& placement,
                                                     double times = much_faster) const;

  /// The first with the same space.
  static const schedule::Placement* same_space(const std::vector<schedule::Placement>& others,
                                               const schedule::Placement& placement);

  /// True where links were missing for some order of it.
  [[nodiscard]] bool is_far(const schedule::Placement& placement) const;

  /// The estimate of the order that is tried first.
  [[nodiscard]] double hope(const schedule::Placement& placement) const;

  /// Returns why it is refused, if it is.
  std::optional<Obstacle> try_order(const schedule::Placement& placement, std::size_t most,
                                    bool routed = false);

  /// Another form of a placement that compiles, and the cycles that its time and the estimates of both promise.
  struct Hope {
    double cycles;
    const schedule::Placement* placement;
    bool routed;
    bool waits;  ///< That which compiles takes far longer than its estimate.
  };

  /// Those of all choices, the best first.
  [[nodiscard]] std::vector<Hope> hopes(const std::vector<schedule::Placement>& others) const;

  /// Reductions in another order, where that is the fastest as far as times and estimates tell.
  void try_reordered();

  /// The best placement with its dimensions the other way round, where the machine's are alike: a PE then goes through
  /// the values that share it in another order, which estimates do not tell.
  void try_swapped();

  /// The best placement with dimensions the other way, where it takes far longer than its estimate: values that pass PEs in
  /// turn may then come to their last one sooner, and what PEs wait for may be their neighbour's first element, not its last,
  /// which estimates do not tell.
  void try_turned();

  /// Tries a variant of the best placement, and keeps it only where it is faster.
  template <typename Try>
  bool gains(const Try& variant);

  /// The best placement with what runs in turn by the text, `statement`, innermost, where PEs wait: they then go on with what
  /// has come for the next statements.
  void try_statements_last();

  /// The best line with all inputs that PEs may hand on in each of its PEs, where there is room and they wait: nothing of
  /// these comes late then.
  void try_loaded();

  /// A form of the best placement in one order of its loops; keeps it only where it is faster.
  void try_variant(const schedule::Placement& placement, bool routed);

  /// Fewer PEs of the best line, where its values take far longer on their ways than was estimated.
  void try_narrower();

  /// The best placement with half of the PEs along an index of sums, a quarter and so on: totals have shorter ways then, which
  /// estimates tell in part only.
  void try_shorter_sums();

  /// Values dealt out in turn level what differs along an index, and share it among more PEs than blocks of a whole number
  /// do; estimates tell the first only in part.
  void try_dealt();

  /// True where it still is not known whether that compiles.
  [[nodiscard]] bool is_open(const Lacked& lacked) const;

  /// True where an analysis of it took too many operations, whatever became of it later.
  [[nodiscard]] bool has_lacked(const schedule::Placement& placement, bool routed) const;

  void note_lack(const schedule::Placement& placement, bool routed);

  /// As if it had not been tried: it is like the best, and promises no more.
  void forget_lack(const schedule::Placement& placement);

  /// The most promising placement whose analysis took too long, with more operations, where its estimate is much better
  /// than the best time: where that is of one PE, and others promise no more than that, it is worth some seconds. True where
  /// it is known then whether that compiles.
  bool try_long();
  void try_all_long();

  /// With more effort, and in other forms where that finds something better.
  void try_harder();

  Variant& variant(const schedule::Schedule& schedule);

  [[nodiscard]] std::size_t tried() const;

  /// The same, with those that are refused before their analysis ends as half.
  [[nodiscard]] std::size_t spent() const { return tried() - refusals_ / 2; }

  void keep(const schedule::Placement& placement, const Variant& variant,
            Expected<Compiled, Refusal> compiled, bool routed = false);

  /// Of what it tells of the choices at hand, an estimate is trusted where it is not far too small; on more PEs a
  /// placement is to be faster than about as fast.
  [[nodiscard]] bool is_promising(const schedule::Placement& placement) const;

  /// True where it takes far longer than estimated: PEs wait for each other, or for totals.
  [[nodiscard]] static bool is_slow(const Choice& choice, double times = far_slower);

  /// True where a placement may be faster than the best if its estimate is too large, as those of all choices at least are.
  [[nodiscard]] bool is_by_chance(const schedule::Placement& placement) const;

  /// The refused placement that promises the most, where that is much more than another.
  [[nodiscard]] const Refused* much_better(const Choice& other) const;

  /// In all orders of time and all ways, what would be warned of.
  void try_refused();

  /// Simulates what is the best by its estimate only, as long as that is so.
  void simulate_best();

  Expected<Compiled, Refusal> choose();

  const Reordered& system_;
  const machine::Machine& machine_;
  const Log& log_;
  schedule::Placements placements_;
  Order plain_;  ///< Of reductions, where placements say nothing of them.
  std::size_t cost_;
  double to_beat_;  ///< Infinite where there is none.
  double estimate_to_beat_ = 0;
  std::size_t budget_;  ///< Candidates to compile, by the size of the system alone.
  std::map<Order, Variant> variants_;
  std::set<Key>
      tried_;  ///< Space, the order of reductions, indices dealt out, whether PEs load tables, and with routes.
  std::set<Key> far_;   ///< Of these, those that may compile with values on long ways,
  std::set<Key> late_;  ///< and others of which values come late on short ones.
  std::vector<Choice> choices_;
  bool has_one_pe_ = false;    ///< First.
  bool is_very_long_ = false;  ///< One PE takes more than that first try may.
  std::vector<Refused> refused_;
  std::size_t refusals_ = 0;  ///< But for want of effort; those of other orders of reductions, too.
  std::vector<Lacked> lacked_;
  std::vector<std::vector<std::string>> unreachable_, unroutable_;  ///< Spaces that are refused.
  std::optional<Refusal> first_refusal_;
  std::size_t taken_ = 0;
  double time_ = no_time;
  std::exception_ptr misfit_;  ///< The first error of a grid that the machine cannot have.
};

}  // namespace cyclotron::driver
