// Plans of random code: what is read is what was written there.
#include <cyclotron/memory/layout.hpp>

#include <map>
#include <random>

#include "memory/slots.hpp"

namespace cyclotron::testing {
namespace {

using memory::allocate;
using memory::verify_layout;

/// Random code over a few slots; blocks are closed at the end.
std::vector<Instruction> random_code(std::mt19937& random, std::size_t slots) {
  std::vector<Instruction> code;
  std::size_t open = 0;
  const auto any = [&] { return static_cast<std::size_t>(random() % slots); };
  for (int i = 0; i < 24; ++i) {
    switch (random() % 8) {
      case 0:
        if (open < 4) {
          code.push_back(loop("j", 0, static_cast<int>(random() % 4) - 1));
          ++open;
        }
        break;
      case 1:
        if (open < 4) {
          code.push_back(maybe());
          ++open;
        }
        break;
      case 2:
        if (open > 0) {
          code.push_back(end());
          --open;
        }
        break;
      case 3:
      case 4: code.push_back(write(any())); break;
      case 5:
      case 6: code.push_back(read(any())); break;
      default: {
        const std::size_t from = any();
        code.push_back(negate(from, any()));
      }
    }
  }
  for (; open > 0; --open) code.push_back(end());
  return code;
}

/// Runs a class of scalars on PE (0, 0), with each write marking its address as owned by its slot, and
/// counts reads of a value that was written and has been overwritten through another slot since.
class Owners {
 public:
  explicit Owners(const PeClass& pe_class) : class_(pe_class), written_(pe_class.slots.size(), false) {}

  int clobbered_reads() {
    run(0, class_.code.size());
    return clobbered_;
  }

 private:
  void run(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const Action& action = class_.code[i].action;
      if (const auto* loop = std::get_if<Loop>(&action)) {
        const std::size_t close = end_of(i);
        for (auto v = loop->lower[0].numerator.constant; v <= loop->upper[0].numerator.constant; ++v) {
          run(i + 1, close);
        }
        i = close;
      } else if (std::holds_alternative<If>(action)) {
        const std::size_t close = end_of(i);
        if ((++branches_ & 1) != 0) run(i + 1, close);
        i = close;
      } else if (const auto* move = std::get_if<Move>(&action)) {
        write(move->destination);
      } else if (const auto* send = std::get_if<Send>(&action)) {
        read(send->source);
      } else if (const auto* compute = std::get_if<Compute>(&action)) {
        read(std::get<SlotRef>(compute->operands[0]));
        write(compute->destination);
      }
    }
  }
  std::size_t end_of(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open;; ++i) {
      const Action& action = class_.code[i].action;
      if (std::holds_alternative<Loop>(action) || std::holds_alternative<If>(action)) ++depth;
      if (std::holds_alternative<End>(action) && --depth == 0) return i;
    }
  }
  void read(const SlotRef& reference) {
    const std::size_t s = reference.slot.index();
    if (written_[s] && owner_[place(s)] != s) ++clobbered_;
  }
  void write(const SlotRef& reference) {
    const std::size_t s = reference.slot.index();
    written_[s] = true;
    owner_[place(s)] = s;
  }

  /// Registers come before the memory.
  std::int64_t place(std::size_t s) const {
    const Slot& slot = class_.slots[s];
    return slot.first_register ? -1 - *slot.first_register : slot.address;
  }

  const PeClass& class_;
  std::vector<bool> written_;
  std::map<std::int64_t, std::size_t> owner_;
  int branches_ = 0;
  int clobbered_ = 0;
};

// MA-107.
TEST(Allocate, NoValueIsOverwrittenBeforeItsLastRead) {
  std::mt19937 random(7);
  int shared = 0;
  for (int round = 0; round < 3000; ++round) {
    Program program = program_of(5, random_code(random, 5));
    ASSERT_NO_THROW(verify(program));
    program = allocate(std::move(program));
    ASSERT_NO_THROW(verify_layout(program));
    ASSERT_EQ(Owners(program.classes[0]).clobbered_reads(), 0) << to_string(program);
    if (program.classes[0].memory_bytes < 5 * 16) ++shared;
    const auto in_banks = banked(program, round % 4, 1 + round % 5, 16 * (5 + round % 7) * (1 + round % 5));
    ASSERT_EQ(Owners(in_banks.classes[0]).clobbered_reads(), 0) << to_string(program);
  }
  EXPECT_GT(shared, 100) << "nothing is ever shared, so nothing was tested";
}

}  // namespace
}  // namespace cyclotron::testing
