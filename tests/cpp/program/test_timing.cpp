// Cycles of operators: by name, by the passes of a unit, by flops, by words in banks.
#include <cyclotron/program/storage.hpp>
#include <cyclotron/program/timing.hpp>

#include <vector>

#include <gtest/gtest.h>

namespace cyclotron::program {
namespace {

using operators::Shape;

std::int64_t cycles(const machine::Pe& pe, Op op, std::vector<Shape> operands, Flags flags = 0) {
  return cycles_of(pe, op, flags, operands);
}

TEST(Timing, WithoutUnitsFlopsCount) {
  machine::Pe pe;
  pe.flops_per_cycle = 4;
  EXPECT_EQ(cycles(pe, Op::matmul, {{5, 7}, {7, 3}}), 53);  // 210 / 4
  EXPECT_EQ(cycles(pe, Op::add, {{1, 1}, {1, 1}}), 1);
  EXPECT_EQ(cycles(pe, Op::transpose, {{4, 4}}), 1);
}

TEST(Timing, ProductsTakeThePassesOfTheMatrixUnit) {
  machine::Pe pe;
  pe.matrix = machine::Unit{{2, 2, 4}, 3};
  EXPECT_EQ(cycles(pe, Op::matmul, {{5, 7}, {7, 3}}), 3 * 2 * 2 * 3);
  EXPECT_EQ(cycles(pe, Op::matmul_add, {{5, 3}, {7, 5}, {7, 3}}, operators::transpose_a), 3 * 2 * 2 * 3);
  EXPECT_EQ(cycles(pe, Op::syrk, {{5, 7}}), 3 * 3 * 2 * 3);
  EXPECT_EQ(cycles(pe, Op::add, {{4, 4}, {4, 4}}), 8);
}

TEST(Timing, TheVectorUnitTakesElementsAndReductions) {
  machine::Pe pe;
  pe.vector = machine::Unit{{8}, 2};
  EXPECT_EQ(cycles(pe, Op::add, {{5, 1}, {1, 7}}), 5 * 2);
  EXPECT_EQ(cycles(pe, Op::row_max, {{5, 7}}), 5 * 2);
  EXPECT_EQ(cycles(pe, Op::where, {{1, 1}, {1, 1}, {1, 1}}), 2);
  EXPECT_EQ(cycles(pe, Op::matmul, {{2, 2}, {2, 2}}), 8);
  pe.scalar = machine::Unit{{}, 5};
  EXPECT_EQ(cycles(pe, Op::where, {{1, 1}, {1, 1}, {1, 1}}), 5);
  EXPECT_EQ(cycles(pe, Op::row_max, {{1, 1}}), 2);
}

TEST(Timing, TheLargestProductsDoNotOverflow) {
  machine::Pe pe;
  pe.matrix = machine::Unit{{1, 1, 1}, std::int64_t{1} << 16};
  const Shape largest{std::int64_t{1} << 15, std::int64_t{1} << 15};
  EXPECT_EQ(cycles(pe, Op::matmul, {largest, largest}), std::int64_t{1} << 61);
}

TEST(Timing, NamesComeFirst) {
  machine::Pe pe;
  pe.cycles["matmul"] = 0;
  EXPECT_EQ(given_cycles(pe, Op::matmul), 0);
  EXPECT_EQ(given_cycles(pe, Op::add), std::nullopt);
}

/// s0 <- multiply_add(s0, s1, s2) of 2x3 float64 tiles at these addresses; -1: in registers.
std::int64_t cycles_in_banks(const machine::Pe& pe, const std::vector<std::int64_t>& addresses) {
  PeClass pe_class;
  Compute compute{Op::multiply_add, 0, {}, {SlotId(0), {}}};
  for (std::size_t s = 0; s < addresses.size(); ++s) {
    Slot& slot = pe_class.slots.emplace_back();
    slot.tile = {2, 3};
    slot.address = addresses[s];
    if (addresses[s] < 0) slot.first_register = 6 * static_cast<std::int64_t>(s);
    compute.operands.emplace_back(SlotRef{SlotId(s), {}});
  }
  return cycles_of(pe, pe_class, compute, std::vector<Shape>(3, {2, 3}));
}

TEST(Timing, TheBusiestBankCounts) {
  machine::Pe pe;
  pe.memory_bytes = 256;
  pe.flops_per_cycle = 4;
  EXPECT_EQ(cycles_in_banks(pe, {0, 48, 96}), 3);    // 12 flops: memory costs nothing
  pe.banks = 4;                                      // of 64 bytes
  EXPECT_EQ(cycles_in_banks(pe, {0, 64, 128}), 12);  // read and written
  EXPECT_EQ(cycles_in_banks(pe, {0, 64, 0}), 18);
  EXPECT_EQ(cycles_in_banks(pe, {32, 64, 128}), 12);  // half of s0 in each of two, one of them with s1
  EXPECT_EQ(cycles_in_banks(pe, {32, 128, 192}), 6);
  EXPECT_EQ(cycles_in_banks(pe, {-1, 64, 128}), 6);
  EXPECT_EQ(cycles_in_banks(pe, {-1, 0, 32}), 9);  // s1 in one, s2 from there into the next
  EXPECT_EQ(cycles_in_banks(pe, {-1, -1, -1}), 3);
  pe.cycles["multiply_add"] = 10;
  EXPECT_EQ(cycles_in_banks(pe, {-1, 64, 128}), 10);
  EXPECT_EQ(cycles_in_banks(pe, {0, 64, 128}), 12);
  pe.banks.reset();
  pe.registers = 0;
  EXPECT_EQ(cycles_in_banks(pe, {0, 64, 128}), 24);  // one bank
}

TEST(Timing, NoProgramIsFasterThanItsBanks) {
  machine::Pe pe;
  PeClass pe_class;
  pe_class.slots.resize(2);
  pe_class.slots[0].address = pe_class.slots[1].address = 0;
  const SlotRef first{SlotId(0), {}}, second{SlotId(1), {}};
  pe_class.code = {{Compute{Op::multiply_add, 0, {first, first, second}, first}, {}}};
  EXPECT_EQ(peak_flops_per_cycle(pe, pe_class), 2);
  pe.banks = 1;
  EXPECT_EQ(peak_flops_per_cycle(pe, pe_class), 0.5);
}

TEST(Storage, KeepsWhatIsUsedSideBySide) {
  PeClass pe_class;
  pe_class.slots.resize(6);
  const std::int64_t addresses[] = {0, 4096, 4096, 8192};
  for (std::size_t s = 0; s < 4; ++s) pe_class.slots[s].address = addresses[s];
  pe_class.slots[1].tile = {3, 1};
  pe_class.slots[4].first_register = 100;
  pe_class.slots[5].first_register = 101;
  const Storage storage(pe_class);
  EXPECT_EQ(storage.offsets, (std::vector<std::int64_t>{0, 8, 8, 32, 40, 56}));
  EXPECT_EQ(storage.memory_bytes, 40);
  EXPECT_EQ(storage.registers, 2);
  EXPECT_EQ(storage.bytes, 72);
}

}  // namespace
}  // namespace cyclotron::program
