#include <cyclotron/poly/effort.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace cyclotron::poly {

namespace {

constexpr auto unlimited = std::numeric_limits<unsigned long>::max();
thread_local unsigned long limit_of_thread = unlimited;

}  // namespace

EffortLimit::EffortLimit(unsigned long operations)
    : before_(std::exchange(limit_of_thread, std::min(limit_of_thread, operations))) {}

EffortLimit::~EffortLimit() { limit_of_thread = before_; }

bool EffortLimit::acts() { return limit_of_thread != unlimited; }

unsigned long EffortLimit::at_most(unsigned long usual) { return std::min(usual, limit_of_thread); }

}  // namespace cyclotron::poly
