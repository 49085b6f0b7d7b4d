#include "../../../src/runtime/engine/sent_slots.hpp"

#include <gtest/gtest.h>

namespace cyclotron::runtime {
namespace {

/// Code of some slots, with two places each.
class Uses {
 public:
  Uses() {
    for (std::uint32_t access = 0; access < 2 * slots; ++access) {
      code_.accesses.emplace_back();
      code_.accesses.back().slot = access % slots;
    }
  }
  Uses& use(Step::Kind kind, std::uint32_t slot) {
    Step step;
    step.kind = kind;
    step.access = slot;
    code_.steps.push_back(step);
    return *this;
  }
  Uses& from(Step::Kind kind, std::uint32_t to, std::uint32_t slot, bool constant = false) {
    use(kind, to);
    code_.steps.back().operands = {static_cast<std::uint32_t>(code_.sources.size()), 1};
    code_.sources.push_back({.constant = constant, .index = slot + slots});
    return *this;
  }

  /// Tells whether each slot is marked, by both of its places.
  std::vector<bool> marks() {
    mark_sent_slots(code_);
    std::vector<bool> result;
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      EXPECT_EQ(code_.accesses[slot].sent, code_.accesses[slot + slots].sent);
      result.push_back(code_.accesses[slot].sent);
    }
    return result;
  }

 private:
  static constexpr std::uint32_t slots = 4;
  Code code_;
};

using Marks = std::vector<bool>;
using Kind = Step::Kind;

TEST(SentSlots, WhatIsSentOrBroadcast) {
  EXPECT_EQ(Uses().use(Kind::load, 0).use(Kind::store, 1).use(Kind::receive, 2).marks(), Marks(4, false));
  EXPECT_EQ(Uses().use(Kind::send, 1).use(Kind::broadcast, 3).marks(), Marks({false, true, false, true}));
}

TEST(SentSlots, WhatIsMovedThere) {
  EXPECT_EQ(Uses().from(Kind::move, 1, 0).from(Kind::move, 2, 1).use(Kind::send, 2).marks(),
            Marks({true, true, true, false}));
  EXPECT_EQ(Uses().from(Kind::move, 2, 1).from(Kind::move, 1, 0).use(Kind::send, 1).marks(),
            Marks({true, true, false, false}));
}

TEST(SentSlots, NotWhatIsComputedWith) {
  EXPECT_EQ(Uses().from(Kind::compute, 1, 0).use(Kind::send, 1).marks(), Marks({false, true, false, false}));
  EXPECT_EQ(Uses().from(Kind::move, 1, 0, true).use(Kind::send, 1).marks(),
            Marks({false, true, false, false}));
}

}  // namespace
}  // namespace cyclotron::runtime
