// Lets a long check be called off.
#pragma once
#include <cyclotron/support/interrupt.hpp>

namespace cyclotron::proof {

/// Throws Interrupted where the check was called off, and looks once in a while: a tick costs next to nothing.
class Poll {
 public:
  void tick() {
    if (--left_ > 0) return;
    left_ = 1 << 16;
    check_interrupt();
  }

 private:
  int left_ = 1;
};

}  // namespace cyclotron::proof
