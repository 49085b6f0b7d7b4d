// Programs of a few slots, for the tests of this folder.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/memory/layout.hpp>

#include "sample_programs.hpp"

namespace cyclotron::testing {

/// A program of one class with `slots` float64 scalars `s0`, `s1` … and this code.
inline Program program_of(std::size_t slots, std::vector<Instruction> code) {
  Program result = matmul();
  result.classes.resize(1);
  result.classes[0].slots.clear();
  for (std::size_t s = 0; s < slots; ++s) {
    std::string name = "s";
    result.classes[0].slots.push_back(scalar(name += std::to_string(s)));
  }
  result.classes[0].code = std::move(code);
  return result;
}

inline Instruction write(std::size_t s) { return at(Move{slot(s), Constant{}}); }
inline Instruction read(std::size_t s) { return at(Send{ChannelId(0), slot(s)}); }
inline Instruction negate(std::size_t from, std::size_t to) {
  return at(Compute{Op::negative, 0, {slot(from)}, slot(to)});
}
inline Instruction maybe() { return at(If{{{{Condition::Kind::zero, form({1}), 0}}}}); }
inline Instruction end() { return at(End{}); }

/// On a machine of `memory` bytes a PE.
inline Program banked(Program program, std::optional<std::int64_t> registers,
                      std::optional<std::int64_t> banks, std::int64_t memory = 1024) {
  program.machine.pe.registers = registers;
  program.machine.pe.banks = banks;
  program.machine.pe.memory_bytes = memory;
  const Program laid_out = memory::allocate(std::move(program));
  EXPECT_NO_THROW(verify(laid_out));
  EXPECT_NO_THROW(memory::verify_layout(laid_out));
  return laid_out;
}

}  // namespace cyclotron::testing
