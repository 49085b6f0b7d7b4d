#include <cyclotron/support/interrupt.hpp>

#include <utility>

namespace cyclotron {

namespace {

// Contexts of isl are made many calls below the seam that waits for them.
thread_local Interrupt* current = nullptr;

}  // namespace

void Interrupt::raise() {
  const std::lock_guard lock(mutex_);
  raised_ = true;
  for (const auto& stop : stops_) stop();
}

void Interrupt::on_raise(std::function<void()> stop) {
  const std::lock_guard lock(mutex_);
  if (raised_) stop();
  stops_.push_back(std::move(stop));
}

Interrupt* Interrupt::of_this_thread() { return current; }

Interrupt::Scope::Scope(Interrupt& interrupt) : before_(std::exchange(current, &interrupt)) {}
Interrupt::Scope::~Scope() { current = before_; }

void check_interrupt() {
  if (current != nullptr && current->raised()) throw Interrupted();
}

}  // namespace cyclotron
