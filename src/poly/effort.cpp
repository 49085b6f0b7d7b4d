#include <cyclotron/poly/effort.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace cyclotron::poly {

namespace {

constexpr auto unlimited = std::numeric_limits<unsigned long>::max();
thread_local unsigned long most_operations = unlimited;

}  // namespace

EffortLimit::EffortLimit(unsigned long operations)
    : before_(std::exchange(most_operations, std::min(most_operations, operations))) {}

EffortLimit::~EffortLimit() { most_operations = before_; }

bool EffortLimit::acts() { return most_operations != unlimited; }

unsigned long EffortLimit::at_most(unsigned long usual) { return std::min(usual, most_operations); }

}  // namespace cyclotron::poly
