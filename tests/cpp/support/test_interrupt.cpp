// Work that is called off.
#include <gtest/gtest.h>

#include <cyclotron/support/interrupt.hpp>

namespace cyclotron {
namespace {

TEST(Interrupt, EndsTheWorkOfItsThreadAlone) {
  EXPECT_NO_THROW(check_interrupt());
  Interrupt outer, inner;
  outer.raise();
  {
    const Interrupt::Scope scope(outer);
    EXPECT_THROW(check_interrupt(), Interrupted);
    {
      const Interrupt::Scope within(inner);
      EXPECT_NO_THROW(check_interrupt());
    }
    EXPECT_EQ(Interrupt::of_this_thread(), &outer);
  }
  EXPECT_NO_THROW(check_interrupt());
}

TEST(Interrupt, CallsWhatStopsTheWork) {
  Interrupt interrupt;
  int stopped = 0;
  interrupt.on_raise([&] { ++stopped; });
  EXPECT_EQ(stopped, 0);
  interrupt.raise();
  EXPECT_EQ(stopped, 1);
  interrupt.on_raise([&] { ++stopped; });
  EXPECT_EQ(stopped, 2);
}

}  // namespace
}  // namespace cyclotron
