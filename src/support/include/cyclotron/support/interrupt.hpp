// Work that another thread may call off.
#pragma once
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

namespace cyclotron {

/// Thrown out of work that was called off. No `Error`, so that no search takes it for a refusal.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

/// Shared by a thread at work and one that waits for it: tells whether the work was called off.
class Interrupt {
 public:
  /// Calls the work off; from any thread.
  void raise();
  [[nodiscard]] bool raised() const { return raised_.load(std::memory_order_relaxed); }
  /// `stop` is called, in the thread that calls the work off, when that happens; at once where it has.
  void on_raise(std::function<void()> stop);

  /// Of the work that this thread is at; null where nobody can call it off.
  [[nodiscard]] static Interrupt* of_this_thread();

  /// From here on this thread does the interrupt's work.
  class Scope {
   public:
    explicit Scope(Interrupt& interrupt);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    Interrupt* before_;
  };

 private:
  std::atomic<bool> raised_ = false;
  std::mutex mutex_;
  std::vector<std::function<void()>> stops_;
};

/// Throws Interrupted where the work of this thread was called off.
void check_interrupt();

}  // namespace cyclotron
