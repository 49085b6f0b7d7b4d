// Less effort than usual for analyses that only may help.
#pragma once

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
  /// Of this thread, or `usual` where that is less.
  [[nodiscard]] static unsigned long at_most(unsigned long usual);

 private:
  unsigned long before_;
};

}  // namespace cyclotron::poly
