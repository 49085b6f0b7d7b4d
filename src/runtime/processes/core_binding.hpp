#pragma once

#include <sched.h>

#include <optional>

namespace cyclotron::runtime {

/// The core for the `at`-th of `ranks` ranks that may run on the same `cores`. None where they need not share
/// cores, and where shares would be uneven: the system balances these better.
[[nodiscard]] std::optional<int> core_of(int at, int ranks, const cpu_set_t& cores);

/// Keeps the calling thread on one core for as long as it lives. Ranks that take turns wait and wake a thousand
/// times a second, and the system lets one whose data a core's cache still holds queue there while another core
/// stands idle: up to a quarter of the time of eight ranks on two cores.
class CoreBinding {
 public:
  explicit CoreBinding(std::optional<int> core);
  ~CoreBinding();
  CoreBinding(const CoreBinding&) = delete;
  CoreBinding& operator=(const CoreBinding&) = delete;

 private:
  std::optional<cpu_set_t> before_;
};

}  // namespace cyclotron::runtime
