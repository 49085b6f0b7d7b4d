#include "../../../src/runtime/engine/triangle_products.hpp"

#include <gtest/gtest.h>

namespace cyclotron::runtime {
namespace {

/// Code in which every place is element 0 of the slot of its number.
class Steps {
 public:
  Steps() {
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
      SlotAccess access;
      access.slot = slot;
      code_.accesses.push_back(access);
    }
  }
  Steps& compute(Op op, std::uint32_t to, const std::vector<std::uint32_t>& from, Flags flags = 0) {
    return add(Step::Kind::compute, to, from, op, flags);
  }
  Steps& move(std::uint32_t to, std::uint32_t from) { return add(Step::Kind::move, to, {from}); }
  Steps& use(Step::Kind kind, std::uint32_t slot) { return add(kind, slot, {}); }

  /// Tells whether each step of the syrk family is marked.
  std::vector<bool> marks() {
    mark_lower_triangles(code_);
    std::vector<bool> result;
    for (const auto& step : code_.steps) {
      if (step.op == Op::syrk || step.op == Op::syrk_add || step.op == Op::syrk_subtract)
        result.push_back((step.flags & operators::lower) != 0);
    }
    return result;
  }

 private:
  Steps& add(Step::Kind kind, std::uint32_t access, const std::vector<std::uint32_t>& from, Op op = Op::add,
             Flags flags = 0) {
    Step step;
    step.kind = kind;
    step.op = op;
    step.flags = flags;
    step.access = access;
    step.operands = {static_cast<std::uint32_t>(code_.sources.size()),
                     static_cast<std::uint32_t>(from.size())};
    for (const auto slot : from) code_.sources.push_back({.constant = false, .width = 8, .index = slot});
    code_.steps.push_back(step);
    return *this;
  }

  Code code_;
};

using Marks = std::vector<bool>;

TEST(LowerHalves, UpdatesOfWhatIsFactored) {
  for (const Op factor : {Op::cholesky, Op::ldl}) {
    EXPECT_EQ(Steps()
                  .use(Step::Kind::load, 0)
                  .compute(Op::syrk_subtract, 0, {0, 1})
                  .compute(Op::syrk_add, 0, {0, 1})
                  .compute(factor, 2, {0})
                  .use(Step::Kind::store, 2)
                  .marks(),
              Marks({true, true}));
  }
}

TEST(LowerHalves, ThroughOtherSlots) {
  EXPECT_EQ(Steps()
                .compute(Op::syrk, 0, {3})
                .move(1, 0)
                .compute(Op::syrk_add, 2, {1, 3})
                .compute(Op::cholesky, 3, {2})
                .marks(),
            Marks({true, true}));
}

TEST(LowerHalves, NotOfWhatLeaves) {
  for (const auto kind : {Step::Kind::store, Step::Kind::send, Step::Kind::broadcast}) {
    EXPECT_EQ(Steps()
                  .compute(Op::syrk, 0, {3})
                  .move(1, 0)
                  .compute(Op::syrk_add, 2, {1, 3})
                  .compute(Op::cholesky, 3, {2})
                  .use(kind, 2)
                  .marks(),
              Marks({false, false}));
  }
}

TEST(LowerHalves, NotOfWhatOthersReadWhole) {
  EXPECT_EQ(
      Steps().compute(Op::syrk, 0, {1}).compute(Op::cholesky, 2, {0}).compute(Op::transpose, 3, {0}).marks(),
      Marks({false}));
  // The factor of a product, not its accumulator.
  EXPECT_EQ(Steps()
                .compute(Op::syrk, 0, {1})
                .compute(Op::syrk_add, 2, {3, 0})
                .compute(Op::cholesky, 3, {2})
                .marks(),
            Marks({false, true}));
}

TEST(LowerHalves, AMarkThatIsNotTrueIsCleared) {
  EXPECT_EQ(Steps().compute(Op::syrk, 0, {1}, operators::lower).use(Step::Kind::store, 0).marks(),
            Marks({false}));
}

}  // namespace
}  // namespace cyclotron::runtime
