// Stages of the compiler that may be tried again in another way.
#pragma once
#include <functional>
#include <type_traits>
#include <utility>

#include <cyclotron/support/error.hpp>
#include <cyclotron/support/expected.hpp>

namespace cyclotron {

/// The reason why a stage cannot go on from what it was given.
struct Refusal {
  Diagnostic diagnostic;

  [[nodiscard]] Obstacle obstacle() const { return diagnostic.obstacle; }
  /// True where the stage would break a dependence of the kernel; else the schedule or the machine is at fault.
  [[nodiscard]] bool is_illegal() const {
    return obstacle() != Obstacle::schedule && obstacle() != Obstacle::capacity;
  }
};

/// The refusal that an error of one of these classes stands for.
[[nodiscard]] Refusal refusal_of(const LegalityError& error);
[[nodiscard]] Refusal refusal_of(const ScheduleError& error);
[[nodiscard]] Refusal refusal_of(const CapacityError& error);
/// Throws the error that the refusal stands for.
[[noreturn]] void throw_error(const Refusal& refusal);

/// The result of a stage, or its LegalityError, ScheduleError or CapacityError as a refusal. Other errors pass.
template <class Stage>
[[nodiscard]] Expected<std::invoke_result_t<Stage>, Refusal> attempt(Stage stage) {
  try {
    return std::invoke(std::move(stage));
  } catch (const LegalityError& error) {
    return refusal_of(error);
  } catch (const ScheduleError& error) {
    return refusal_of(error);
  } catch (const CapacityError& error) {
    return refusal_of(error);
  }
}

}  // namespace cyclotron
