#include <cyclotron/codegen/index_selections.hpp>

#include <algorithm>

#include <gtest/gtest.h>

namespace cyclotron::codegen {
namespace {

using namespace program;

Affine constant(std::int64_t value) { return {{}, value}; }
Affine j() { return {{0, 1}, 0}; }  // the loop's variable, after the PE's coordinate

constexpr std::size_t number = 0, table = 1, place = 2, found = 3, term = 4, sum = 5;

SlotRef slot(std::size_t id, Affine index = {}) { return {SlotId(id), std::move(index)}; }

template <class T>
void add(PeClass& pe_class, T action) {
  pe_class.code.push_back({std::move(action), {}});
}

/// sum += where(number == at, table[at], neutral).
void add_term(PeClass& pe_class, const Affine& at, double neutral = -0.0) {
  add(pe_class, Move{slot(place), at});
  add(pe_class, Compute{Op::equal, 0, {slot(number), slot(place)}, slot(found)});
  add(pe_class, Compute{Op::where, 0, {slot(found), slot(table, at), Constant{neutral}}, slot(term)});
  add(pe_class, Compute{Op::add, 0, {slot(sum), slot(term)}, slot(sum)});
}

/// The terms 1 to 6 in a loop.
Program selection(double neutral = -0.0) {
  Program program;
  program.grid = {1};
  program.grid_names = {"i"};
  auto& pe_class = program.classes.emplace_back();
  pe_class.slots = {{"number", DType::int64, {}}, {"table", DType::float64, {}, 8},
                    {"place", DType::int64, {}},  {"found", DType::boolean, {}},
                    {"term", DType::float64, {}}, {"sum", DType::float64, {}}};
  add(pe_class, Loop{"j", {{constant(1)}}, {{constant(6)}}});
  add_term(pe_class, j(), neutral);
  add(pe_class, End{});
  return program;
}

const std::vector<Instruction>& code(const Program& program) { return program.classes[0].code; }

TEST(IndexSelections, ALoopIsOneInstruction) {
  const auto program = index_selections(selection());
  ASSERT_EQ(code(program).size(), 1U);
  const auto& compute = std::get<Compute>(code(program)[0].action);
  EXPECT_EQ(compute.op, Op::add);
  EXPECT_EQ(std::get<SlotRef>(compute.operands[1]), slot(table, constant(1)));
  ASSERT_TRUE(compute.indexed);
  EXPECT_EQ(compute.indexed->number, slot(number));
  EXPECT_EQ(compute.indexed->lower, constant(1));
  EXPECT_EQ(compute.indexed->upper, constant(6));
  EXPECT_EQ(compute.indexed->stride, 1);
  EXPECT_FALSE(compute.indexed->scatters);
}

TEST(IndexSelections, TermsBeforeAndAfterJoin) {
  auto given = selection();
  PeClass ends;
  add_term(ends, constant(0));
  add_term(ends, constant(7));
  auto& all = given.classes[0].code;
  all.insert(all.begin(), ends.code.begin(), ends.code.begin() + 4);
  all.insert(all.end(), ends.code.begin() + 4, ends.code.end());
  const auto program = index_selections(given);
  ASSERT_EQ(code(program).size(), 1U);
  const auto& indexed = *std::get<Compute>(code(program)[0].action).indexed;
  EXPECT_EQ(indexed.lower, constant(0));
  EXPECT_EQ(indexed.upper, constant(7));
}

TEST(IndexSelections, WhatElseALoopDoesStays) {
  auto given = selection();
  auto& all = given.classes[0].code;
  all.insert(all.begin() + 1, {Load{slot(table, j()), TensorId(0), {j()}}, {}});
  const auto program = index_selections(given);
  ASSERT_EQ(code(program).size(), 4U);
  EXPECT_TRUE(std::holds_alternative<Load>(code(program)[1].action));
  EXPECT_TRUE(std::get<Compute>(code(program)[3].action).indexed);
}

TEST(IndexSelections, WhatALoopChangesLaterIsReadFirst) {
  auto given = selection();
  auto& all = given.classes[0].code;
  all.insert(all.end() - 1, {Load{slot(table, j()), TensorId(0), {j()}}, {}});
  const auto program = index_selections(given);
  ASSERT_EQ(code(program).size(), 4U);
  EXPECT_TRUE(std::get<Compute>(code(program)[0].action).indexed);
  EXPECT_TRUE(std::holds_alternative<Load>(code(program)[2].action));
  all.insert(all.begin() + 1, {Load{slot(table, j()), TensorId(0), {j()}}, {}});  // and filled before
  EXPECT_EQ(index_selections(given), given);
}

/// table[j] = where(number == j, value, base) for j from 1 to 6.
Program overwriting(const Operand& value, const Operand& base) {
  Program program;
  program.grid = {1};
  program.grid_names = {"i"};
  auto& pe_class = program.classes.emplace_back();
  pe_class.slots = {{"number", DType::int64, {}},  {"table", DType::float64, {}, 8},
                    {"place", DType::int64, {}},   {"found", DType::boolean, {}},
                    {"value", DType::float64, {}}, {"other", DType::float64, {}, 8}};
  add(pe_class, Loop{"j", {{constant(1)}}, {{constant(6)}}});
  add(pe_class, Move{slot(place), j()});
  add(pe_class, Compute{Op::equal, 0, {slot(number), slot(place)}, slot(found)});
  add(pe_class, Compute{Op::where, 0, {slot(found), value, base}, slot(table, j())});
  add(pe_class, End{});
  return program;
}

TEST(IndexSelections, AnElementIsOverwritten) {
  const auto program = index_selections(overwriting(slot(4), slot(table, j())));
  ASSERT_EQ(code(program).size(), 1U);
  const auto& compute = std::get<Compute>(code(program)[0].action);
  EXPECT_EQ(compute.op, Op::copy);
  EXPECT_EQ(compute.operands, std::vector<Operand>{slot(4)});
  EXPECT_EQ(compute.destination, slot(table, constant(1)));
  ASSERT_TRUE(compute.indexed);
  EXPECT_TRUE(compute.indexed->scatters);
  EXPECT_EQ(compute.indexed->lower, constant(1));
  EXPECT_EQ(compute.indexed->upper, constant(6));
}

TEST(IndexSelections, RowsOfATableAreOne) {
  auto given = overwriting(slot(4), slot(table, j()));
  auto& pe_class = given.classes[0];
  pe_class.slots[table].count = 32;
  const Affine at{{0, 7, 1}, 0};  // of row j and the column, the innermost loop's
  std::get<Move>(pe_class.code[1].action).source = at;
  auto& where = std::get<Compute>(pe_class.code[3].action);
  where.operands[2] = where.destination = slot(table, at);
  std::get<Loop>(pe_class.code[0].action) = Loop{"k", {{constant(0)}}, {{constant(6)}}};
  pe_class.code.insert(pe_class.code.begin(), {Loop{"j", {{constant(1)}}, {{constant(3)}}}, {}});
  add(pe_class, End{});
  const auto program = index_selections(given);
  ASSERT_EQ(code(program).size(), 1U);
  const auto& compute = std::get<Compute>(code(program)[0].action);
  EXPECT_EQ(compute.destination, slot(table, constant(7)));
  EXPECT_EQ(compute.indexed->lower, constant(7));
  EXPECT_EQ(compute.indexed->upper, constant(27));
  auto apart = given;  // rows of which each has an element of no number
  std::get<Loop>(apart.classes[0].code[1].action).upper = {{constant(5)}};
  EXPECT_EQ(code(index_selections(apart)).size(), 3U);
}

TEST(IndexSelections, OthersAreCopiedFirst) {
  for (const Operand& base : {Operand(slot(5, j())), Operand(Constant{2.5}), Operand(Constant{-0.0})}) {
    const auto program = index_selections(overwriting(Constant{1.5}, base));
    ASSERT_EQ(code(program).size(), 4U);
    const auto& move = std::get<Move>(code(program)[1].action);
    EXPECT_EQ(move.destination, slot(table, j()));
    EXPECT_TRUE(std::get<Compute>(code(program)[3].action).indexed->scatters);
  }
}

TEST(IndexSelections, WhatALoopNeedsOnTheWayIsComparedWithAll) {
  const auto unchanged = [](const Program& given) { return index_selections(given) == given; };
  EXPECT_TRUE(unchanged(overwriting(slot(table, constant(0)), slot(table, j()))));  // it may be the element
  EXPECT_TRUE(unchanged(overwriting(slot(5, j()), slot(table, j()))));              // another one each time
  EXPECT_TRUE(unchanged(overwriting(slot(4), slot(table, constant(3)))));
  auto read_before = overwriting(slot(4), slot(table, j()));
  read_before.classes[0].code.insert(read_before.classes[0].code.begin() + 1,
                                     {Send{ChannelId(0), slot(table, j())}, {}});
  EXPECT_TRUE(unchanged(read_before));
}

TEST(IndexSelections, OthersStayAsTheyAre) {
  const auto unchanged = [](const Program& given) { return index_selections(given) == given; };
  EXPECT_TRUE(unchanged(selection(0.0)));  // -0.0 + 0.0 is 0.0
  auto seen = selection();                 // the sums on the way
  auto& all = seen.classes[0].code;
  all.insert(all.end() - 1, {Send{ChannelId(0), slot(sum)}, {}});
  EXPECT_TRUE(unchanged(seen));
  auto overwritten = selection();  // a table of one element, another one each time
  overwritten.classes[0].code.insert(overwritten.classes[0].code.begin() + 1,
                                     {Load{slot(table, constant(3)), TensorId(0), {j()}}, {}});
  EXPECT_TRUE(unchanged(overwritten));
  auto changing = selection();  // the number
  changing.classes[0].code.insert(changing.classes[0].code.begin() + 1,
                                  {Load{slot(number), TensorId(0), {j()}}, {}});
  EXPECT_TRUE(unchanged(changing));
  auto kept = selection();  // a term that is needed later
  add(kept.classes[0], Store{TensorId(0), {constant(0)}, slot(term)});
  EXPECT_TRUE(unchanged(kept));
  auto left = kept;  // by the loop, after another value
  left.classes[0].code.insert(left.classes[0].code.begin(), {Move{slot(term), Constant{1}}, {}});
  EXPECT_TRUE(unchanged(left));
}

TEST(IndexSelections, AnElementThatIsReadAgainAfterALoopStays) {
  auto program = selection();
  auto element = std::get<Compute>(code(index_selections(program))[0].action);
  element.op = Op::copy;
  element.operands = {slot(table, constant(1))};
  element.destination = slot(term);
  auto& pe_class = program.classes[0];
  pe_class.slots.push_back({"output", DType::float64, {}});
  add(pe_class, element);
  add(pe_class, Move{slot(sum + 1), slot(term)});
  const auto joined = index_selections(program);
  EXPECT_EQ(std::get<Compute>(code(joined).back().action).destination, slot(sum + 1));
  add(pe_class, Loop{"k", {{constant(1)}}, {{constant(2)}}});
  add(pe_class, Send{ChannelId(0), slot(number)});
  add(pe_class, End{});
  add(pe_class, Send{ChannelId(0), slot(term)});
  const auto apart = index_selections(program);
  EXPECT_EQ(std::get<Compute>(code(apart)[1].action).destination, slot(term));
}

TEST(IndexSelections, AFlagMayLeaveWhatIsOverwritten) {
  const auto overwritten = [](bool reads_next) {
    Program program = selection();
    auto& pe_class = program.classes[0];
    pe_class.slots.push_back({"flag", DType::boolean, {}});
    pe_class.code.clear();
    add(pe_class, Loop{"j", {{constant(1)}}, {{constant(6)}}});
    add(pe_class, Move{slot(place), j()});
    add(pe_class, Compute{Op::equal, 0, {slot(number), slot(place)}, slot(found)});
    add(pe_class, Compute{Op::where, 0, {slot(found), slot(sum), slot(table, j())}, slot(term)});
    add(pe_class, Compute{Op::where, 0, {slot(6), slot(term), slot(table, j())}, slot(table, j())});
    const Affine next{{0, 1}, 1};
    add(pe_class, Store{TensorId(0), {j()}, slot(table, reads_next ? next : j())});
    add(pe_class, End{});
    return program;
  };
  const auto program = index_selections(overwritten(false));
  ASSERT_EQ(code(program).size(), 5U);
  const auto& one = std::get<Compute>(code(program)[0].action);
  EXPECT_EQ(one.op, Op::where);
  EXPECT_EQ(one.operands[0], Operand(slot(6)));
  EXPECT_EQ(one.operands[1], Operand(slot(number)));
  const auto& put = std::get<Compute>(code(program)[1].action);
  ASSERT_TRUE(put.indexed);
  EXPECT_TRUE(put.indexed->scatters);
  EXPECT_EQ(put.indexed->number, one.destination);
  // The next element is read before it is overwritten.
  EXPECT_EQ(index_selections(overwritten(true)), overwritten(true));
}

/// For j = 1 .. 6, for k = 0 .. 3: sum[at] += where(number[number_at] == j, table[j], nothing).
Program nest(const Affine& at, const Affine& number_at) {
  Program program = selection();
  auto& pe_class = program.classes[0];
  for (const auto id : {number, sum}) pe_class.slots[id].count = 16;
  pe_class.code.clear();
  add(pe_class, Loop{"j", {{constant(1)}}, {{constant(6)}}});
  add(pe_class, Loop{"k", {{constant(0)}}, {{constant(3)}}});
  add(pe_class, Move{slot(place), j()});
  add(pe_class, Compute{Op::equal, 0, {slot(number, number_at), slot(place)}, slot(found)});
  add(pe_class, Compute{Op::where, 0, {slot(found), slot(table, j()), Constant{-0.0}}, slot(term)});
  add(pe_class, Compute{Op::add, 0, {slot(sum, at), slot(term)}, slot(sum, at)});
  add(pe_class, End{});
  add(pe_class, End{});
  return program;
}

TEST(IndexSelections, LoopsOfSeveralNumbersGoOutside) {
  const Affine k{{0, 0, 1}, 0}, second{{0, 0, 2}, 1};
  const auto program = index_selections(nest(second, k));
  EXPECT_EQ(to_string(program, program.classes[0]),
            "\n"
            "  for k = 0 .. 3\n"
            "    [i]_sum[2*k+1] ← [i]_sum[2*k+1] + [i]_table[1+([i]_number[k]-1)]   where 1 <= [i]_number[k] "
            "<= 6\n");
  const Affine both{{0, 1, 1}, 0};  // elements that several iterations of both loops change, or all of one
  for (const auto& at : {both, constant(2), j()}) {
    const auto other = nest(at, k);
    EXPECT_EQ(index_selections(other), other);
  }
  auto overwritten = nest(both, k);  // of which the last in the loops' order counts
  auto& all = overwritten.classes[0].code;
  all[4].action = Compute{Op::where, 0, {slot(found), slot(table, k), slot(sum, both)}, slot(sum, both)};
  all.erase(all.begin() + 5);
  EXPECT_EQ(index_selections(overwritten), overwritten);
}

}  // namespace
}  // namespace cyclotron::codegen
