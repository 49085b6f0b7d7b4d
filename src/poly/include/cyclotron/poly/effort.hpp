// Less effort than usual for analyses that only may help.
#pragma once
#include <memory>
#include <optional>

struct isl_ctx;

namespace cyclotron::poly {

/// While it lives, contexts made by this thread give up after at most so many operations (see `Context`). Counted, so
/// that the outcome does not depend on the computer.
class EffortLimit {
 public:
  explicit EffortLimit(unsigned long operations);
  EffortLimit(const EffortLimit&) = delete;
  EffortLimit& operator=(const EffortLimit&) = delete;
  ~EffortLimit();

  /// True while one lives in this thread.
  [[nodiscard]] static bool acts();
  /// Operations that each analysis of this thread may take; none where they have a budget together.
  [[nodiscard]] static std::optional<unsigned long> of_each();
  /// Limits the operations of a new context to the usual ones, or to this thread's while one lives: what was analysed
  /// lives on, with the usual limit.
  static void apply(const std::shared_ptr<isl_ctx>& context, unsigned long usual);

 private:
  unsigned long before_;
};

/// A limit for all operations together: while it lives, contexts made by this thread are one, whatever analysis is under
/// way. What it made lives on with the usual limit, once no `EffortLimit` is left.
class EffortBudget {
 public:
  explicit EffortBudget(unsigned long operations);
  EffortBudget(const EffortBudget&) = delete;
  EffortBudget& operator=(const EffortBudget&) = delete;
  ~EffortBudget();

  /// True while one lives in this thread.
  [[nodiscard]] static bool acts();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cyclotron::poly
