#include <functional>

#include "sample_programs.hpp"

namespace cyclotron::testing {
namespace {

constexpr std::int64_t big = std::int64_t{1} << 61;

/// One way to break `everything()`, and what the verifier says of it.
struct Fault {
  const char* name;
  std::function<void(Program&)> change;
  const char* code;
  const char* path;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

template <class T>
T& action(Program& program, std::size_t pe_class, std::size_t at) {
  return std::get<T>(program.classes[pe_class].code[at].action);
}

std::vector<Fault> table_faults() {
  return {
      {"NoGrid", [](Program& p) { p.grid.clear(); }, "CYC606", "grid"},
      {"GridRank", [](Program& p) { p.grid.assign(9, 1); }, "CYC606", "grid"},
      {"EmptyGrid", [](Program& p) { p.grid[1] = 0; }, "CYC606", "grid[1]"},
      {"HugeGrid", [](Program& p) { p.grid = {big, big}; }, "CYC612", "grid"},
      {"GridNames", [](Program& p) { p.grid_names.pop_back(); }, "CYC608", "grid_names"},
      {"MachineGrid", [](Program& p) { p.machine.grid = {4, 5}; }, "CYC606", "machine.grid"},
      {"MachineUnit", [](Program& p) { p.machine.pe.matrix->shape.pop_back(); }, "CYC606", "machine"},
      {"MachineLink", [](Program& p) { p.machine.links[{0, 2}] = {}; }, "CYC606", "machine"},
      {"MachineDepth", [](Program& p) { p.machine.link.depth = 0; }, "CYC606", "machine"},
      {"TensorRank", [](Program& p) { p.tensors[0].shape.assign(9, 1); }, "CYC606", "tensors[0].shape"},
      {"TensorShape", [](Program& p) { p.tensors[0].shape[1] = -1; }, "CYC606", "tensors[0].shape[1]"},
      {"TensorTile", [](Program& p) { p.tensors[0].tile[0] = 0; }, "CYC606", "tensors[0].tile[0]"},
      {"TensorTiles", [](Program& p) { p.tensors[0].tile = {1}; }, "CYC608", "tensors[0].tile"},
      {"TensorSize", [](Program& p) { p.tensors[0].shape = {0, big}; }, "CYC612", "tensors[0].shape"},
      {"TensorName", [](Program& p) { p.tensors[1].name = "A"; }, "CYC611", "tensors[1].name"},
      {"TensorDType", [](Program& p) { p.tensors[1].dtype = static_cast<DType>(18); }, "CYC606",
       "tensors[1].dtype"},
      {"ChannelTile", [](Program& p) { p.channels[0].tile.rows = 0; }, "CYC606", "channels[0].tile"},
      {"ChannelDepth", [](Program& p) { p.channels[0].depth = -1; }, "CYC606", "channels[0].depth"},
      {"ChannelOffset", [](Program& p) { p.channels[0].offset = {1}; }, "CYC608", "channels[0].offset"},
      {"ChannelScale", [](Program& p) { p.channels[0].scale = {2}; }, "CYC608", "channels[0].scale"},
      {"ChannelScaleOfNothing", [](Program& p) { p.channels[0].scale = {1, 0}; }, "CYC606",
       "channels[0].scale[1]"},
      {"ChannelScaleOnAMesh", [](Program& p) { p.channels[0].scale = {1, 2}; }, "CYC611",
       "channels[0].scale"},
      {"NetworkScale", [](Program& p) { p.channels[2].scale = {1, 2}; }, "CYC608", "channels[2].scale"},
      {"ChannelAxis", [](Program& p) { p.channels[2].axis = 2; }, "CYC606", "channels[2].axis"},
      {"NetworkOffset", [](Program& p) { p.channels[2].offset = {1, 0}; }, "CYC608", "channels[2].offset"},
      {"SlotCount", [](Program& p) { p.classes[0].slots[1].count = 0; }, "CYC606",
       "classes[0].slots[1].count"},
      {"SlotTile", [](Program& p) { p.classes[0].slots[1].tile.columns = big; }, "CYC606",
       "classes[0].slots[1].tile"},
      {"SlotSize",
       [](Program& p) {
         p.classes[0].slots[1].tile = {1 << 15, 1 << 15};
         p.classes[0].slots[1].count = std::int64_t{1} << 40;
       },
       "CYC612", "classes[0].slots[1]"},
      {"SlotAddress", [](Program& p) { p.classes[0].slots[1].address = -2; }, "CYC613",
       "classes[0].slots[0].address"},
      {"ClassMemory", [](Program& p) { p.classes[0].memory_bytes = 48 * 1024 + 1; }, "CYC606",
       "classes[0].memory_bytes"},
      {"RegionLoop", [](Program& p) { p.classes[0].region[0][0].form = form({0, 0, 1}); }, "CYC608",
       "classes[0].region[0][0]"},
      {"RegionModulus", [](Program& p) { p.classes[2].region[0][0].modulus = 1; }, "CYC606",
       "classes[2].region[0][0].modulus"},
      {"StrayModulus", [](Program& p) { p.classes[0].region[0][1].modulus = 2; }, "CYC606",
       "classes[0].region[0][1].modulus"},
  };
}

std::vector<Fault> structure_faults() {
  return {
      {"UnclosedLoop", [](Program& p) { p.classes[0].code.pop_back(); }, "CYC609", "classes[0].code"},
      {"StrayEnd", [](Program& p) { p.classes[0].code.push_back(at(End{})); }, "CYC609",
       "classes[0].code[8]"},
      {"DeepNest", [](Program& p) { p.classes[0].code.assign(17, loop("j", 0, 1)); }, "CYC609",
       "classes[0].code[16]"},
      {"DeepConditions", [](Program& p) { p.classes[0].code.assign(65, at(If{{{}}})); }, "CYC609",
       "classes[0].code[64]"},
      {"LoopStep", [](Program& p) { action<Loop>(p, 0, 1).step = 0; }, "CYC606", "classes[0].code[1].step"},
      {"LoopLower", [](Program& p) { action<Loop>(p, 0, 1).lower.clear(); }, "CYC608",
       "classes[0].code[1].lower"},
      {"LoopUpper", [](Program& p) { action<Loop>(p, 0, 1).upper.clear(); }, "CYC608",
       "classes[0].code[1].upper"},
      {"LoopDivisor", [](Program& p) { action<Loop>(p, 2, 0).lower[1].divisor = 0; }, "CYC606",
       "classes[2].code[0].lower[1].divisor"},
      {"LoopOverItself", [](Program& p) { action<Loop>(p, 0, 1).upper[0].numerator = form({0, 0, 1}); },
       "CYC608", "classes[0].code[1].upper[0]"},
      {"LoopOverflow", [](Program& p) { action<Loop>(p, 0, 1).upper[0].numerator = form({big}); }, "CYC612",
       "classes[0].code[1].upper[0]"},
      {"IndexOverflow",
       [](Program& p) {
         action<Loop>(p, 1, 1).upper[0].numerator = form({}, big);
         action<Store>(p, 1, 6).index[1] = form({0, 0, 2});
       },
       "CYC612", "classes[1].code[6].index[1]"},
      {"ClosedLoop", [](Program& p) { std::swap(p.classes[1].code[6], p.classes[1].code[7]); }, "CYC608",
       "classes[1].code[7].index[1]"},
      {"IndexedNumber",  // which is no integer
       [](Program& p) {
         action<Compute>(p, 0, 5).op = Op::add;
         action<Compute>(p, 0, 5).operands = {slot(2), slot(0)};
         action<Compute>(p, 0, 5).indexed.emplace().number = slot(1);
       },
       "CYC611", "classes[0].code[5].indexed"},
      {"IndexedProduct", [](Program& p) { action<Compute>(p, 0, 5).indexed.emplace().number = slot(1); },
       "CYC611", "classes[0].code[5].indexed"},
      {"SlotId", [](Program& p) { action<Send>(p, 0, 4).source.slot = SlotId(3); }, "CYC607",
       "classes[0].code[4].source"},
      {"NoSlot", [](Program& p) { action<Send>(p, 0, 4).source.slot = SlotId(); }, "CYC607",
       "classes[0].code[4].source"},
      {"SlotIndex", [](Program& p) { action<Send>(p, 0, 4).source.index.constant = 1; }, "CYC606",
       "classes[0].code[4].source.index"},
      {"WrapModulus", [](Program& p) { action<Send>(p, 0, 4).source.wrap = {form({0, 0, 1}), 2, 1}; },
       "CYC606", "classes[0].code[4].source.wrap.modulus"},
      {"WrapStride", [](Program& p) { action<Send>(p, 0, 4).source.wrap = {form({0, 0, 1}), 1, 0}; },
       "CYC606", "classes[0].code[4].source.wrap.stride"},
      {"WrapWithoutModulus", [](Program& p) { action<Send>(p, 0, 4).source.wrap = {form({0, 0, 1}), 0, 1}; },
       "CYC606", "classes[0].code[4].source.wrap.modulus"},
      {"WrapForm", [](Program& p) { action<Send>(p, 0, 4).source.wrap = {form({0, 0, 0, 1}), 1, 1}; },
       "CYC608", "classes[0].code[4].source.wrap.form"},
      {"WrapPastTheEnd",
       [](Program& p) {
         p.classes[0].slots[1].count = 4;
         action<Send>(p, 0, 4).source = {SlotId(1), form({}, 1), {form({0, 0, 1}), 2, 3}};
       },
       "CYC606", "classes[0].code[4].source.index"},
  };
}

std::vector<Fault> operand_faults() {
  return {
      {"TensorId", [](Program& p) { action<Load>(p, 0, 0).tensor = TensorId(4); }, "CYC607",
       "classes[0].code[0].tensor"},
      {"TensorIndex", [](Program& p) { action<Load>(p, 0, 0).index.pop_back(); }, "CYC608",
       "classes[0].code[0].index"},
      {"LoadOutput", [](Program& p) { action<Load>(p, 0, 0).tensor = TensorId(2); }, "CYC611",
       "classes[0].code[0].tensor"},
      {"StoreInput", [](Program& p) { action<Store>(p, 1, 6).tensor = TensorId(1); }, "CYC611",
       "classes[1].code[6].tensor"},
      {"LoadDType", [](Program& p) { p.tensors[0].dtype = DType::float32; }, "CYC610", "classes[0].code[0]"},
      {"SendDType", [](Program& p) { p.channels[0].dtype = DType::int64; }, "CYC610", "classes[0].code[2]"},
      {"SendTile", [](Program& p) { p.classes[0].slots[1].tile = {2, 1}; }, "CYC611", "classes[0].code[2]"},
      {"SendOnNetwork", [](Program& p) { action<Send>(p, 0, 4).channel = ChannelId(2); }, "CYC611",
       "classes[0].code[4].channel"},
      {"BroadcastOnLink", [](Program& p) { action<Broadcast>(p, 2, 3).channel = ChannelId(0); }, "CYC611",
       "classes[2].code[3].channel"},
      {"BroadcastBounds", [](Program& p) { action<Broadcast>(p, 2, 3).upper.clear(); }, "CYC608",
       "classes[2].code[3].upper"},
      {"ChannelId", [](Program& p) { action<Receive>(p, 0, 2).channel = ChannelId(3); }, "CYC607",
       "classes[0].code[2].channel"},
      {"LinkSender", [](Program& p) { action<Receive>(p, 0, 2).sender = {form({})}; }, "CYC608",
       "classes[0].code[2].sender"},
      {"NetworkSender", [](Program& p) { action<Receive>(p, 2, 2).sender.clear(); }, "CYC608",
       "classes[2].code[2].sender"},
      {"OperandCount", [](Program& p) { action<Compute>(p, 0, 5).operands.pop_back(); }, "CYC608",
       "classes[0].code[5].operands"},
      {"OperandDType", [](Program& p) { p.classes[2].slots[0].dtype = DType::int32; }, "CYC610",
       "classes[2].code[8].operands"},
      {"OperandIndex",
       [](Program& p) { action<Compute>(p, 0, 5).operands[1] = SlotRef{SlotId(0), form({0, 0, 0, 1})}; },
       "CYC608", "classes[0].code[5].operands[1].index"},
      {"MoveDType",
       [](Program& p) {
         p.classes[2].code.insert(p.classes[2].code.begin(), at(Move{slot(0), slot(1)}));
         p.classes[2].slots[0].dtype = DType::float32;
       },
       "CYC610", "classes[2].code[0].source"},
      {"Alias", [](Program& p) { action<Compute>(p, 2, 8).destination = slot(1); }, "CYC611",
       "classes[2].code[8].operands[1]"},
      {"Flags", [](Program& p) { action<Compute>(p, 0, 5).flags = 64; }, "CYC606",
       "classes[0].code[5].flags"},
      {"Op", [](Program& p) { action<Compute>(p, 0, 5).op = static_cast<Op>(99); }, "CYC606",
       "classes[0].code[5].op"},
      {"IfForm",
       [](Program& p) {
         action<If>(p, 2, 1).condition[0][1].form.constant = std::numeric_limits<std::int64_t>::min();
       },
       "CYC612", "classes[2].code[1].condition[0][1]"},
  };
}

class VerifyRefuses : public ::testing::TestWithParam<Fault> {};

TEST_P(VerifyRefuses, WithCodeAndPath) {
  Program program = everything();
  ASSERT_NO_THROW(verify(program));
  GetParam().change(program);
  const Diagnostic diagnostic = thrown<ProgramError>([&] { verify(program); });
  EXPECT_EQ(diagnostic.code, GetParam().code) << diagnostic.message;
  const std::string path = std::string("`") + GetParam().path + "` ";
  EXPECT_EQ(diagnostic.message.substr(0, path.size()), path) << diagnostic.message;
  EXPECT_FALSE(diagnostic.help.empty());
}

const auto name = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Tables, VerifyRefuses, ::testing::ValuesIn(table_faults()), name);
INSTANTIATE_TEST_SUITE_P(Structure, VerifyRefuses, ::testing::ValuesIn(structure_faults()), name);
INSTANTIATE_TEST_SUITE_P(Operands, VerifyRefuses, ::testing::ValuesIn(operand_faults()), name);

TEST(Verify, IntegersAreNotDivided) {
  Program program = matmul();
  for (auto& slot : program.classes[0].slots) slot.dtype = DType::int64;
  program.classes[0].code = {at(Compute{Op::multiply, 0, {slot(0), slot(1)}, slot(2)}),
                             at(Compute{Op::divide, 0, {slot(0), slot(1)}, slot(2)})};
  const Diagnostic diagnostic = thrown<ProgramError>([&] { verify(program); });
  EXPECT_EQ(diagnostic.code, "CYC610");
  EXPECT_EQ(diagnostic.message, "`classes[0].code[1]` applies `divide` to int64");
}

TEST(Verify, ConditionsMayNestDeeperThanLoops) {
  Program program = matmul();
  auto& code = program.classes[0].code;
  code.insert(code.begin(), 40, at(If{{{}}}));
  code.insert(code.end(), 40, at(End{}));
  EXPECT_NO_THROW(verify(program));
}

TEST(Verify, NumbersThatBoundIterationsStay) {
  ASSERT_NO_THROW(verify(bounded_by_a_number()));
  const auto refusal = [](const std::function<void(Program&)>& change) {
    Program program = bounded_by_a_number();
    change(program);
    const auto diagnostic = thrown<ProgramError>([&] { verify(program); });
    EXPECT_EQ(diagnostic.code, "CYC611");
    return diagnostic.message;
  };
  const auto bound = [](Program& p) -> DataBound& { return action<If>(p, 0, 1).within[0]; };
  EXPECT_EQ(refusal([&](Program& p) { p.classes[0].slots[0].dtype = DType::int32; }),
            "`classes[0].code[1].within[0]` is no bound of the loop around by a scalar of int64, `n`");
  EXPECT_EQ(refusal([&](Program& p) { bound(p).form = form({0, 2}); }),
            "`classes[0].code[1].within[0]` is no bound of the loop around by a scalar of int64, `n`");
  EXPECT_EQ(refusal([&](Program& p) {
              p.classes[0].slots[0].count = 8;
              bound(p).number.index = form({0, 1});
            }),
            "`classes[0].code[1].within[0]` is no bound of the loop around by a scalar of int64, `n`");
  EXPECT_EQ(refusal([&](Program& p) { std::swap(p.classes[0].code[0], p.classes[0].code[1]); }),
            "`classes[0].code[0].within` is not directly in a loop");
  EXPECT_EQ(
      refusal([&](Program& p) { p.classes[0].code[2] = at(If{{{}}}); }),
      "`classes[0].code[2]` is within bounds that are numbers, and neither moves nor computes an element");
  EXPECT_EQ(refusal([&](Program& p) { p.classes[0].code[2] = at(Move{slot(0), Constant{1.0}}); }),
            "`classes[0].code[4]` ends a loop that writes `n`, which bounds its iterations");
}

TEST(Verify, FaultsInCodePointAtTheSource) {
  Program program = matmul();
  action<Store>(program, 1, 6).tensor = TensorId(9);
  EXPECT_EQ(thrown<ProgramError>([&] { verify(program); }).span.line, 10);
}

TEST(Verify, RegistersAreTheMachines) {
  Program program = matmul();
  program.machine.pe.registers = 4;
  auto& slots = program.classes[0].slots;
  slots[0].first_register = 0;
  slots[1].first_register = 1;
  slots[2].tile = {2, 1};
  program.channels[1].tile = {2, 1};
  slots[2].first_register = 2;
  EXPECT_NO_THROW(verify(program));
  const auto refused = [](const Program& bad) {
    const Diagnostic diagnostic = thrown<ProgramError>([&] { verify(bad); });
    EXPECT_EQ(diagnostic.message.substr(0, 24), "`classes[0].slots[2].fir");
    return diagnostic.code;
  };
  for (const std::int64_t first : {std::int64_t{-1}, std::int64_t{3}, big, -big}) {
    slots[2].first_register = first;
    EXPECT_EQ(refused(program), "CYC613") << first;
  }
  slots[2].first_register = 2;
  slots[2].count = std::int64_t{1} << 40;
  EXPECT_EQ(refused(program), "CYC613");
  slots[2].count = 1;
  slots[2].address = 0;
  EXPECT_EQ(thrown<ProgramError>([&] { verify(program); }).code, "CYC606");
  slots[2].address = -1;
  slots[0].first_register.reset();
  EXPECT_EQ(thrown<ProgramError>([&] { verify(program); }).code, "CYC613");
}

TEST(Verify, AddressesLieInMemory) {
  Program program = matmul();
  program.classes[0].memory_bytes = 40;
  for (std::size_t s = 0; s < 3; ++s) program.classes[0].slots[s].address = 16 * static_cast<std::int64_t>(s);
  EXPECT_NO_THROW(verify(program));
  program.classes[0].slots[2].address = 4;
  EXPECT_EQ(thrown<ProgramError>([&] { verify(program); }).code, "CYC613");
  program.classes[0].slots[2].address = 48;
  EXPECT_EQ(thrown<ProgramError>([&] { verify(program); }).code, "CYC613");
}

TEST(Verify, AccumulatorsAndElementwiseOperandsMayBeOverwritten) {
  Program program = matmul();
  program.classes[0].code = {at(Compute{Op::add, 0, {slot(0), slot(1)}, slot(1)}),
                             at(Compute{Op::matmul_subtract, 0, {slot(2), slot(0), slot(1)}, slot(2)}),
                             at(Compute{Op::multiply_add, 0, {slot(2), slot(0), slot(1)}, slot(1)})};
  EXPECT_NO_THROW(verify(program));
  program.classes[0].code = {at(Compute{Op::transpose, 0, {slot(0)}, slot(0)})};
  EXPECT_EQ(thrown<ProgramError>([&] { verify(program); }).code, "CYC611");
}

}  // namespace
}  // namespace cyclotron::testing
