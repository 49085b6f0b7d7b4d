#include <cyclotron/memory/layout.hpp>

#include "memory/slots.hpp"

namespace cyclotron::testing {
namespace {

using memory::allocate;
using memory::verify_layout;

/// Tells whether the first two slots were given the same address by an allocator that its own checker agrees with.
bool share(const Program& program) {
  EXPECT_NO_THROW(verify(program));
  const Program laid_out = allocate(program);
  EXPECT_NO_THROW(verify(laid_out));
  EXPECT_NO_THROW(verify_layout(laid_out));
  return laid_out.classes[0].slots[0].address == laid_out.classes[0].slots[1].address;
}

// MA-095, MA-102.
TEST(Lifetimes, ValuesThatDoNotMeetShare) {
  EXPECT_TRUE(share(program_of(2, {write(0), read(0), write(1), read(1)})));
}

TEST(Lifetimes, ValuesThatMeetDoNot) {
  EXPECT_FALSE(share(program_of(2, {write(0), write(1), read(0), read(1)})));
}

TEST(Lifetimes, ADestinationDoesNotOverlapADyingOperand) {
  EXPECT_FALSE(share(program_of(2, {write(0), negate(0, 1), read(1)})));
}

TEST(Lifetimes, ValuesOfOneIterationShare) {
  EXPECT_TRUE(share(program_of(2, {loop("j", 0, 4), write(0), read(0), write(1), read(1), end()})));
  EXPECT_TRUE(share(program_of(2, {loop("j", 0, 4), loop("k", 0, 4), write(0), read(0), end(),
                                   loop("k", 0, 4), write(1), read(1), end(), end()})));
}

// MA-095, with reading M1.
TEST(Lifetimes, WhatIsLiveIntoALoopLivesToItsEnd) {
  EXPECT_FALSE(share(program_of(2, {write(0), loop("j", 0, 4), read(0), write(1), read(1), end()})));
}

TEST(Lifetimes, WhatALoopCarriesLivesOverIt) {
  // Written at the bottom for the next pass, which reads it at the top: free between.
  EXPECT_FALSE(share(program_of(2, {loop("j", 0, 4), write(1), read(0), read(1), write(0), end()})));
  EXPECT_FALSE(share(program_of(2, {loop("j", 0, 4), read(0), write(1), write(0), read(1), end()})));
  EXPECT_TRUE(share(program_of(2, {loop("j", 0, 4), read(0), write(1), read(1), write(0), end()})));
  // In the middle only, but the sum goes round.
  EXPECT_FALSE(share(program_of(2, {loop("j", 0, 4), write(1), read(1), negate(0, 0), end()})));
}

TEST(Lifetimes, WhatLeavesALoopLivesFromItsWrite) {
  EXPECT_TRUE(share(program_of(2, {loop("j", 0, 4), write(1), read(1), write(0), end(), read(0)})));
  EXPECT_FALSE(share(program_of(2, {loop("j", 0, 4), write(0), write(1), read(1), end(), read(0)})));
  // Where the loop may not run, what was there before it is kept until it does.
  EXPECT_FALSE(share(program_of(
      2, {write(0), loop("j", 0, 4), write(1), read(1), maybe(), write(0), end(), end(), read(0)})));
  EXPECT_TRUE(share(program_of(2, {loop("j", 0, 4), write(0), end(), read(0), write(1), read(1)})));
}

TEST(Lifetimes, WhatAnOuterLoopCarriesLivesOverAllOfIt) {
  // s0 is used in the inner loop only, but is not written first there.
  EXPECT_FALSE(share(
      program_of(2, {loop("i", 0, 4), loop("j", 0, 4), read(0), write(0), end(), write(1), read(1), end()})));
}

TEST(Lifetimes, ValuesBetweenTwoOfAnotherShare) {
  EXPECT_TRUE(share(program_of(2, {write(0), read(0), write(1), read(1), write(0), read(0)})));
  EXPECT_FALSE(share(program_of(2, {write(0), read(0), write(1), read(0), read(1), write(0), read(0)})));
}

TEST(Lifetimes, WhatIsNeverReadTakesItsPlaceAtTheWrite) {
  EXPECT_TRUE(share(program_of(2, {write(0), write(1), read(1)})));
  EXPECT_FALSE(share(program_of(2, {write(1), write(0), read(1)})));
}

TEST(Lifetimes, AWriteUnderAnIfDoesNotKill) {
  EXPECT_FALSE(
      share(program_of(2, {loop("j", 0, 4), maybe(), write(0), end(), read(0), write(1), read(1), end()})));
  // Inside the if, it does.
  EXPECT_TRUE(
      share(program_of(2, {loop("j", 0, 4), maybe(), write(0), read(0), end(), write(1), read(1), end()})));
}

TEST(Lifetimes, AnInnerLoopMayRunNotAtAll) {
  EXPECT_FALSE(share(
      program_of(2, {loop("i", 0, 4), loop("j", 0, 4), write(0), end(), read(0), write(1), read(1), end()})));
}

TEST(Lifetimes, SeveralTilesLiveOverTheOutermostLoop) {
  Program program =
      program_of(2, {loop("i", 0, 4), write(1), read(1), loop("j", 0, 4), write(0), read(0), end(), end()});
  EXPECT_TRUE(share(program));
  program.classes[0].slots[0].count = 2;
  EXPECT_FALSE(share(program));
}

TEST(Lifetimes, PersistentSlotsAreNeverShared) {
  Program program = program_of(2, {write(0), read(0), write(1), read(1)});
  program.classes[0].slots[1].persistent = true;
  EXPECT_FALSE(share(program));
  EXPECT_EQ(allocate(program).classes[0].slots[1].address, 0);
}

// MA-098, MA-099, and the peak of MA-106.
TEST(Allocate, AlignsAndReportsThePeak) {
  Program program = program_of(3, {write(0), write(1), write(2), read(0), read(1), read(2)});
  program.classes[0].slots[1].tile = {3, 3};
  const Program laid_out = allocate(program);
  EXPECT_EQ(laid_out.classes[0].memory_bytes, 8 + 72 + 8);
}

TEST(Allocate, AlignsToTheDtypesNumbers) {
  Program program = program_of(5, {});
  const DType dtypes[] = {DType::boolean, DType::float32, DType::complex64, DType::float64,
                          DType::complex128};
  const std::int64_t alignments[] = {2, 4, 4, 8, 8};
  for (std::size_t s = 0; s < 5; ++s) {
    program.classes[0].slots[s].dtype = dtypes[s];
    program.classes[0].slots[s].tile = {3, 1};
    program.classes[0].slots[s].persistent = true;
  }
  const Program laid_out = allocate(program);
  ASSERT_NO_THROW(verify(laid_out));
  ASSERT_NO_THROW(verify_layout(laid_out));
  for (std::size_t s = 0; s < 5; ++s) EXPECT_EQ(laid_out.classes[0].slots[s].address % alignments[s], 0);
  EXPECT_EQ(laid_out.classes[0].memory_bytes, 3 * (16 + 8 + 8 + 4 + 1));
}

// MA-103, MA-104.
TEST(Allocate, TakesTheBestFittingHole) {
  // Holes of 80 (s0) and 64 bytes (s2), kept apart by s1 and s3; s4 of 48 bytes goes into the second.
  Program program = program_of(
      5, {write(0), write(1), write(2), write(3), read(0), read(2), write(4), read(4), read(1), read(3)});
  for (std::size_t s = 0; s < 5; ++s)
    program.classes[0].slots[s].tile = {10 - static_cast<std::int64_t>(s), 1};
  const Program laid_out = allocate(program);
  EXPECT_EQ(laid_out.classes[0].slots[2].address, 80 + 72);
  EXPECT_EQ(laid_out.classes[0].slots[4].address, 80 + 72);
}

TEST(Allocate, PutsLargeSlotsWhereSeveralSmallOnesWere) {
  // s0, s1 and s2 die one by one; s4 needs the places of all three.
  Program program = program_of(
      5, {write(0), write(1), write(2), write(3), read(0), read(2), read(1), write(4), read(4), read(3)});
  program.classes[0].slots[4].tile = {3, 1};
  const Program laid_out = allocate(program);
  EXPECT_EQ(laid_out.classes[0].slots[4].address, 0);
  EXPECT_EQ(laid_out.classes[0].memory_bytes, 32);
}

TEST(Allocate, TakesTheBestOfSeveralOrders) {
  // The largest, s1, at 0 would leave s2 above it and both s0 and s3 beside that: 7 numbers where 6 live at once.
  Program program =
      program_of(4, {write(0), write(2), write(3), read(3), read(0), write(1), read(2), read(1)});
  for (const std::size_t s : {0, 2, 3}) program.classes[0].slots[s].tile = {2, 1};
  program.classes[0].slots[1].tile = {3, 1};
  const Program laid_out = allocate(program);
  EXPECT_NO_THROW(verify_layout(laid_out));
  EXPECT_EQ(laid_out.classes[0].memory_bytes, 6 * 8);
}

// MA-105.
TEST(Allocate, GrowsTheBlockAtTheTop) {
  Program program = program_of(3, {write(0), write(1), read(1), write(2), read(2), read(0)});
  program.classes[0].slots[2].tile = {4, 1};
  EXPECT_EQ(allocate(program).classes[0].memory_bytes, 8 + 32);
}

TEST(Allocate, RefusesWhatDoesNotFit) {
  Program program = program_of(2, {write(0), write(1), read(0), read(1)});
  program.kernel = "big";
  program.classes[0].slots[0].tile = {64, 64};
  program.classes[0].slots[0].count = 2;
  program.classes[0].slots[0].persistent = true;
  const Diagnostic diagnostic = thrown<CapacityError>([&] { (void)allocate(program); });
  EXPECT_EQ(diagnostic.code, "CYC501");
  EXPECT_EQ(diagnostic.message,
            "class 0 of `big` needs 65544 bytes of PE memory, but the machine has 49152 a PE");
  ASSERT_EQ(diagnostic.notes.size(), 3U);
  EXPECT_EQ(diagnostic.notes[0].text, "most is live here: 2 values of 65544 bytes");
  EXPECT_EQ(diagnostic.notes[1].text, "`s0` takes 65536 bytes (2 tiles of 64x64 float64, persistent)");
  EXPECT_NE(diagnostic.help.find("65544 bytes"), std::string::npos);
}

TEST(Allocate, NamesWhatLivesAtThePeak) {
  // s1 to s6 are there together, s0 only at the end of these or before them.
  Program program = program_of(7, {write(0), read(0), write(1), write(2), write(3), write(4), write(5),
                                   write(6), write(0), read(1), read(2), read(3), read(4), read(5), read(6)});
  program.channels[0].tile = {6 * 1024, 1};
  for (auto& slot : program.classes[0].slots) slot.tile = {1024 + 8, 1};
  program.classes[0].slots[0].tile = {6, 1};
  program.classes[0].code[8].span = {.file = "peak.py", .line = 8};
  const Diagnostic diagnostic = thrown<CapacityError>([&] { (void)allocate(program); });
  ASSERT_EQ(diagnostic.notes.size(), 7U);
  EXPECT_EQ(diagnostic.notes[0].text, "most is live here: 7 values of 49584 bytes");
  EXPECT_EQ(diagnostic.notes[0].span.line, 8);
  EXPECT_EQ(diagnostic.notes[1].text, "`s1` takes 8256 bytes (1032x1 float64)");
  EXPECT_EQ(diagnostic.notes[6].text, "and 2 smaller ones");
  program.classes[0].slots[0].tile = {6 * 1024 + 1, 1};  // lives alone, and is a little less
  program.classes[0].code.erase(program.classes[0].code.begin() + 8);
  EXPECT_EQ(thrown<CapacityError>([&] { (void)allocate(program); }).notes[0].text,
            "most is live here: 6 values of 49536 bytes");
}

TEST(Allocate, SizesBeyondAnyMemoryAreRefusedToo) {
  Program program = program_of(4, {});
  for (auto& slot : program.classes[0].slots) {
    slot.tile = {1 << 10, 1 << 10};
    slot.count = std::int64_t{1} << 38;
    slot.persistent = true;
  }
  ASSERT_NO_THROW(verify(program));
  EXPECT_EQ(thrown<CapacityError>([&] { (void)allocate(program); }).code, "CYC501");
}

std::vector<std::int64_t> registers_of(const Program& program) {
  std::vector<std::int64_t> result;
  for (const auto& slot : program.classes[0].slots) result.push_back(slot.first_register.value_or(-1));
  return result;
}
std::vector<std::int64_t> banks_of(const Program& program) {
  std::vector<std::int64_t> result;
  for (const auto& slot : program.classes[0].slots)
    result.push_back(slot.address / machine::bank_bytes(program.machine.pe));
  return result;
}

TEST(Registers, HoldWhatOperatorsUseMost) {
  // s2 is used once, s0 twice, s1 four times in a loop; s3 by messages alone.
  const Program program =
      program_of(4, {write(0), write(1), write(2), write(3), negate(2, 0), negate(0, 0), loop("j", 0, 1),
                     negate(1, 1), end(), read(0), read(1), read(2), read(3)});
  EXPECT_EQ(registers_of(banked(program, 0, 4)), (std::vector<std::int64_t>{-1, -1, -1, -1}));
  EXPECT_EQ(registers_of(banked(program, 1, 4)), (std::vector<std::int64_t>{-1, 0, -1, -1}));
  EXPECT_EQ(registers_of(banked(program, 2, 4)), (std::vector<std::int64_t>{1, 0, -1, -1}));
  EXPECT_EQ(registers_of(banked(program, 9, 4)), (std::vector<std::int64_t>{1, 0, 2, -1}));
  EXPECT_EQ(banked(program, 9, 4).classes[0].memory_bytes, 8);
}

TEST(Registers, AreSharedByValuesThatDoNotMeet) {
  const Program program = program_of(2, {write(0), negate(0, 0), read(0), write(1), negate(1, 1), read(1)});
  EXPECT_EQ(registers_of(banked(program, 1, {})), (std::vector<std::int64_t>{0, 0}));
}

TEST(Registers, HoldWholeSlots) {
  Program program =
      program_of(2, {write(0), write(1), negate(0, 0), negate(0, 0), negate(1, 1), read(0), read(1)});
  program.classes[0].slots[0].count = 3;
  EXPECT_EQ(registers_of(banked(program, 2, {})), (std::vector<std::int64_t>{-1, 0}));
  EXPECT_EQ(registers_of(banked(program, 3, {})),
            (std::vector<std::int64_t>{0, -1}));  // which saves 4 words, not 2
  EXPECT_EQ(registers_of(banked(program, 4, {})), (std::vector<std::int64_t>{1, 0}));
}

// MA-058.
TEST(Banks, HoldOperandsThatMeetApart) {
  const Program program = program_of(4, {write(0), write(1), write(2), write(3), negate(0, 1), negate(2, 3),
                                         read(0), read(1), read(2), read(3)});
  EXPECT_EQ(banks_of(banked(program, {}, 1)), (std::vector<std::int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(banks_of(banked(program, {}, 4)), (std::vector<std::int64_t>{0, 1, 0, 1}));
}

TEST(Banks, ThatAreFullLeaveSlotsToOthers) {
  const Program program = program_of(4, {write(0), write(1), write(2), write(3), negate(0, 1), negate(2, 3),
                                         read(0), read(1), read(2), read(3)});
  EXPECT_EQ(banks_of(banked(program, {}, 4, 32)), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(banks_of(banked(program, {}, 2, 32)), (std::vector<std::int64_t>{0, 1, 0, 1}));
}

TEST(Banks, AreJoinedForLargeSlots) {
  Program program = program_of(2, {write(0), write(1), negate(0, 0), read(0), read(1)});
  program.channels[0].tile = {8, 8};
  program.classes[0].slots[1].tile = {5, 1};  // of 40 bytes
  const Program laid_out = banked(program, {}, 4, 96);
  EXPECT_EQ(laid_out.classes[0].slots[1].address, 0);  // in two banks, before those of one
  EXPECT_EQ(laid_out.classes[0].slots[0].address, 40);
}

TEST(Banks, GiveWayToTheMemorysSize) {
  // 32 + 48 bytes fit the memory of 80, but no bank of 40 holds 48 and two banks leave no 32.
  Program program = program_of(2, {write(0), write(1), negate(0, 0), read(0), read(1)});
  program.channels[0].tile = {8, 8};
  program.classes[0].slots[0].tile = {4, 1};
  program.classes[0].slots[1].tile = {6, 1};
  const Program laid_out = banked(program, {}, 2, 80);
  EXPECT_EQ(laid_out.classes[0].memory_bytes, 80);
  program.machine.pe.memory_bytes = 64;
  program.machine.pe.banks = 2;
  EXPECT_EQ(thrown<CapacityError>([&] { (void)allocate(program); }).code, "CYC501");
}

TEST(Banks, OtherMachinesHaveTheirOwnPlan) {
  const Program plain = allocate(matmul());
  const Program in_banks = banked(matmul(), 1, 4, 48 * 1024);
  EXPECT_EQ(memory::with_machine(plain, in_banks.machine), in_banks);
  EXPECT_EQ(memory::with_machine(in_banks, plain.machine), plain);
  machine::Machine small = plain.machine;
  small.pe.memory_bytes = 16;
  EXPECT_EQ(thrown<CapacityError>([&] { (void)memory::with_machine(plain, small); }).code, "CYC501");
  small.pe.registers = 1;
  EXPECT_EQ(memory::with_machine(plain, small).classes[0].memory_bytes, 16);
}

TEST(VerifyLayout, RefusesBadRegisters) {
  const Program good = banked(matmul(), 3, 4);
  const auto refused = [&](auto change) {
    Program program = good;
    change(program.classes[0]);
    return thrown<ProgramError>([&] { verify_layout(program); }).message;
  };
  EXPECT_EQ(refused([](PeClass& c) { c.slots[1].first_register = c.slots[2].first_register; }),
            "class 0: slots `C` and `B` are live together and share registers");
  EXPECT_EQ(refused([](PeClass& c) { c.slots[1].first_register = 3; }),
            "class 0: slot `B` has 1 words at register 3, outside the machine's 3");
  EXPECT_EQ(refused([](PeClass& c) { c.slots[1].count = 9; }).substr(0, 33),
            "class 0: slot `B` has 9 words at ");
  EXPECT_NE(refused([](PeClass& c) { c.slots[1].address = 0; }), "");
}

TEST(VerifyLayout, RefusesBadPlans) {
  const Program good = allocate(matmul());
  EXPECT_NO_THROW(verify_layout(good));
  const auto refused = [&](auto change) {
    Program program = good;
    change(program.classes[0]);
    const Diagnostic diagnostic = thrown<ProgramError>([&] { verify_layout(program); });
    EXPECT_EQ(diagnostic.code, "CYC613") << diagnostic.message;
    return diagnostic.message;
  };
  EXPECT_EQ(refused([](PeClass& c) { c.slots[1].address = c.slots[2].address; }),
            "class 0: slots `C` and `B` are live together and share memory");
  EXPECT_EQ(refused([](PeClass& c) { c.slots[0].address = -1; }), "class 0: slot `W` has no address");
  EXPECT_EQ(refused([](PeClass& c) { c.slots[0].address = 4; }),
            "class 0: slot `W` is at 4, not a multiple of 8");
  EXPECT_EQ(refused([](PeClass& c) { c.slots[0].address = 48; }),
            "class 0: slot `W` has 8 bytes at 48, outside the 24 bytes of the class");
  refused([](PeClass& c) { c.memory_bytes = 48 * 1024 + 1; });
  refused([](PeClass& c) { c.slots[0].tile = {3, 1}; });
  EXPECT_THROW(verify_layout(matmul()), ProgramError);
}

// MA-096.
TEST(MemoryMap, ListsSlotsByAddress) {
  const Program program = allocate(matmul());
  EXPECT_EQ(memory::memory_map(program, 0, {}),
            "class 0: 24 of 49152 bytes\n"
            "   address      bytes  live            slot\n"
            "         0          8  0 .. 7          W (persistent)\n"
            "         8          8  2 .. 5          B\n"
            "        16          8  3 .. 6          C\n");
  const Program in_banks = banked(matmul(), 1, 4, 4096);
  EXPECT_EQ(memory::memory_map(in_banks, 0, {}),
            "class 0: 16 of 4096 bytes in 4 banks, 1 of 1 registers\n"
            "   address   bank      bytes  live            slot\n"
            "        r0      -          8  3 .. 6          C\n"
            "         0      0          8  0 .. 7          W (persistent)\n"
            "      1024      1          8  2 .. 5          B\n");
}

}  // namespace
}  // namespace cyclotron::testing
