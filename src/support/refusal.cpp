#include <cyclotron/support/refusal.hpp>

namespace cyclotron {

Refusal refusal_of(const LegalityError& error) { return {error.diagnostic()}; }

Refusal refusal_of(const ScheduleError& error) {
  Refusal result{error.diagnostic()};
  result.diagnostic.obstacle = Obstacle::schedule;
  return result;
}

Refusal refusal_of(const CapacityError& error) {
  Refusal result{error.diagnostic()};
  result.diagnostic.obstacle = Obstacle::capacity;
  return result;
}

void throw_error(const Refusal& refusal) {
  switch (refusal.diagnostic.obstacle) {
    case Obstacle::schedule: throw ScheduleError(refusal.diagnostic);
    case Obstacle::capacity: throw CapacityError(refusal.diagnostic);
    case Obstacle::other:
    case Obstacle::effort:
    case Obstacle::late_value:
    case Obstacle::overtaking:
    case Obstacle::distance:
    case Obstacle::access:
    case Obstacle::not_affine: break;
  }
  throw LegalityError(refusal.diagnostic);
}

}  // namespace cyclotron
