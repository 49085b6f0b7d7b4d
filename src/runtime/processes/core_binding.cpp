#include "core_binding.hpp"

namespace cyclotron::runtime {

std::optional<int> core_of(int at, int ranks, const cpu_set_t& cores) {
  const int count = CPU_COUNT(&cores);
  if (count == 0 || ranks <= count || ranks % count != 0) return std::nullopt;
  int left = at % count;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores) && left-- == 0) return core;
  }
  return std::nullopt;
}

CoreBinding::CoreBinding(std::optional<int> core) {
  cpu_set_t before;
  if (!core || sched_getaffinity(0, sizeof before, &before) != 0) return;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(*core, &own);
  if (sched_setaffinity(0, sizeof own, &own) == 0) before_ = before;  // else it stays where it may run
}

CoreBinding::~CoreBinding() {
  if (before_) (void)sched_setaffinity(0, sizeof *before_, &*before_);
}

}  // namespace cyclotron::runtime
