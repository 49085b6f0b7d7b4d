// Lets a long check be stopped.
#pragma once
#include <functional>
#include <utility>

#include <cyclotron/support/error.hpp>

namespace cyclotron::proof {

/// Asked now and then whether to go on; empty: always. False ends the check with ExecutionError CYC702.
using GoOn = std::function<bool()>;

/// Asks once in a while; a tick costs next to nothing.
class Poll {
 public:
  explicit Poll(GoOn go_on) : go_on_(std::move(go_on)) { ask(); }

  void tick() {
    if (--left_ == 0) ask();
  }

 private:
  void ask() {
    left_ = 1 << 16;
    if (!go_on_ || go_on_()) return;
    throw ExecutionError(
        {.code = "CYC702", .span = {}, .message = "interrupted", .notes = {}, .help = "run it again"});
  }

  GoOn go_on_;
  int left_ = 0;
};

}  // namespace cyclotron::proof
