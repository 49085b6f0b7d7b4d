#include <cyclotron/codegen/bound_iterations.hpp>

#include <gtest/gtest.h>

namespace cyclotron::codegen::bounds {
namespace {

using namespace program;

Affine constant(std::int64_t value) { return {{}, value}; }
Affine j(std::int64_t plus = 0) { return {{0, 1}, plus}; }  // the loop's variable, after the PE's coordinate

constexpr std::size_t number = 0, place = 1, is_below = 2, is_above = 3, both = 4, x = 5, y = 6, twice = 7,
                      term = 8, sum = 9, start = 10, shifted = 11;

SlotRef slot(std::size_t id, Affine index = {}) { return {SlotId(id), std::move(index)}; }

template <class T>
void add(Program& program, T action) {
  program.classes[0].code.push_back({std::move(action), {}});
}
void apply(Program& program, Op op, std::vector<Operand> operands, SlotRef to) {
  add(program, Compute{op, 0, std::move(operands), std::move(to)});
}

/// An open loop over j.
Program loop() {
  Program program;
  program.grid = {1};
  program.grid_names = {"i"};
  program.classes.emplace_back().slots = {
      {"number", DType::int64, {}},  {"place", DType::int64, {}},   {"below", DType::boolean, {}},
      {"above", DType::boolean, {}}, {"both", DType::boolean, {}},  {"x", DType::float64, {}, 8},
      {"y", DType::float64, {}, 8},  {"twice", DType::float64, {}}, {"term", DType::float64, {}},
      {"sum", DType::float64, {}},   {"start", DType::int64, {}},   {"shifted", DType::int64, {}}};
  add(program, Loop{"j", {{constant(1)}}, {{constant(6)}}});
  return program;
}

/// The same, with `below = j < number`.
Program compared(std::size_t with = number, const Affine& form = j()) {
  auto program = loop();
  add(program, Move{slot(place), form});
  apply(program, Op::less, {slot(place), slot(with)}, slot(is_below));
  return program;
}

/// y[j] = where(condition, 2 x[j], other)
Program choice(Program program, std::size_t condition, Operand other) {
  apply(program, Op::multiply, {slot(x, j()), Constant{2.0}}, slot(twice));
  apply(program, Op::where, {slot(condition), slot(twice), std::move(other)}, slot(y, j()));
  add(program, End{});
  return program;
}

std::string text(const Program& program) {
  auto result = to_string(program, program.classes[0]);
  return result.substr(result.find('\n') + 1);
}
std::string bounded(const Program& program) { return text(bound_iterations(program)); }
void expect_unchanged(const Program& program) {
  EXPECT_EQ(bound_iterations(program), program) << text(program);
}

TEST(BoundIterations, ComputeWhatIsChosenWithinThem) {
  EXPECT_EQ(bounded(choice(compared(), is_below, slot(x, j()))),
            "  for j = 1 .. 6\n"
            "    [i]_y[j] ← [i]_x[j]\n"
            "    if j < [i]_number\n"
            "      [i]_y[j] ← [i]_x[j] · 2\n");
}

TEST(BoundIterations, LeaveWhatIsChangedInPlace) {
  EXPECT_EQ(bounded(choice(compared(), is_below, slot(y, j()))),
            "  for j = 1 .. 6\n"
            "    if j < [i]_number\n"
            "      [i]_y[j] ← [i]_x[j] · 2\n");
}

TEST(BoundIterations, MayHaveTwoEnds) {
  auto program = compared();
  add(program, Move{slot(place), j(1)});
  apply(program, Op::greater_equal, {slot(place), slot(start)}, slot(is_above));
  apply(program, Op::logical_and, {slot(is_below), slot(is_above)}, slot(both));
  EXPECT_EQ(bounded(choice(program, both, Constant{0.0})),
            "  for j = 1 .. 6\n"
            "    [i]_y[j] ← 0\n"
            "    if j < [i]_number and j + 1 ≥ [i]_start\n"
            "      [i]_y[j] ← [i]_x[j] · 2\n");
}

TEST(BoundIterations, AddNothingElsewhere) {
  const auto total = [](double neutral) {
    auto program = compared();
    apply(program, Op::where, {slot(is_below), slot(x, j()), Constant{neutral}}, slot(term));
    apply(program, Op::add, {slot(sum), slot(term)}, slot(sum));
    add(program, End{});
    return program;
  };
  EXPECT_EQ(bounded(total(-0.0)),
            "  for j = 1 .. 6\n"
            "    if j < [i]_number\n"
            "      [i]_sum ← [i]_sum + [i]_x[j]\n");
  // -0.0 + 0.0 is 0.0.
  EXPECT_NE(bounded(total(0.0)).find("    [i]_sum ← [i]_sum + [i]_term\n"), std::string::npos);
}

TEST(BoundIterations, AreComputedBeforeTheLoops) {
  auto program = loop();
  auto& code = program.classes[0].code;
  code.insert(code.begin(), {Move{slot(number), Constant{3.0}}, {}});
  add(program, Loop{"k", {{constant(0)}}, {{constant(3)}}});
  apply(program, Op::add, {slot(number), Constant{8.0}}, slot(shifted));
  add(program, Move{slot(place), Affine{{0, 0, 1}, 0}});
  apply(program, Op::less, {slot(place), slot(shifted)}, slot(is_below));
  program = choice(program, is_below, slot(y, j()));
  add(program, End{});
  EXPECT_EQ(bounded(program),
            "  [i]_number ← 3\n"
            "  [i]_shifted ← [i]_number + 8\n"
            "  for j = 1 .. 6\n"
            "    for k = 0 .. 3\n"
            "      if k < [i]_shifted\n"
            "        [i]_y[j] ← [i]_x[j] · 2\n");
}

TEST(BoundIterations, AreNotComputedWhereTheirNumberMayBeNone) {
  auto program = loop();
  auto& code = program.classes[0].code;
  code.insert(code.begin(), {{If{{{{Condition::Kind::zero, {{1}, 0}, 0}}}}, {}},
                             {Move{slot(number), Constant{3.0}}, {}},
                             {End{}, {}}});
  apply(program, Op::add, {slot(number), Constant{8.0}}, slot(shifted));
  add(program, Move{slot(place), j()});
  apply(program, Op::less, {slot(place), slot(shifted)}, slot(is_below));
  expect_unchanged(choice(program, is_below, slot(y, j())));
}

TEST(BoundIterations, LeaveWhatOthersNeed) {
  auto program = compared();
  apply(program, Op::multiply, {slot(x, j()), Constant{2.0}}, slot(twice));
  apply(program, Op::where, {slot(is_below), slot(twice), slot(y, j())}, slot(y, j()));
  apply(program, Op::add, {slot(sum), slot(twice)}, slot(sum));
  add(program, End{});
  EXPECT_EQ(bounded(program),
            "  for j = 1 .. 6\n"
            "    [i]_twice ← [i]_x[j] · 2\n"
            "    if j < [i]_number\n"
            "      [i]_y[j] ← [i]_twice\n"
            "    [i]_sum ← [i]_sum + [i]_twice\n");
}

TEST(BoundIterations, AreNumbersThatStay) {
  auto written = compared();
  apply(written, Op::add, {slot(number), Constant{1.0}}, slot(number));
  expect_unchanged(choice(written, is_below, slot(x, j())));
  auto loaded = compared();
  add(loaded, Load{slot(number), TensorId(0), {j()}});
  expect_unchanged(choice(loaded, is_below, slot(x, j())));
  expect_unchanged(choice(compared(number, {{0, 2}, 0}), is_below, slot(x, j())));  // every second one
  expect_unchanged(choice(compared(number, {{0, -1}, 0}), is_below, slot(x, j())));
  auto narrow = compared();
  narrow.classes[0].slots[number].dtype = DType::int32;
  expect_unchanged(choice(narrow, is_below, slot(x, j())));
}

TEST(BoundIterations, AreNotThoseOfALoopThatMayEnd) {
  auto program = compared();
  program.exit_plans.push_back({"j", 6, 1, 6});
  apply(program, Op::where, {slot(is_below), slot(x, j()), slot(y, j())}, slot(y, j()));
  add(program, Exit{ExitPlanId(0), slot(is_above)});
  add(program, End{});
  expect_unchanged(program);
}

TEST(BoundIterations, KeepWhatMayFail) {
  auto program = compared();
  apply(program, Op::normalize_index, {slot(start), Constant{8.0}}, slot(shifted));
  apply(program, Op::where, {slot(is_below), slot(shifted), slot(number)}, slot(place));
  add(program, Move{slot(start), slot(place)});
  add(program, End{});
  EXPECT_EQ(bounded(program),
            "  for j = 1 .. 6\n"
            "    [i]_shifted ← normalize_index([i]_start, 8)\n"
            "    [i]_place ← [i]_number\n"
            "    if j < [i]_number\n"
            "      [i]_place ← [i]_shifted\n"
            "    [i]_start ← [i]_place\n");
}

TEST(BoundIterations, KeepAValueThatTheOtherChoiceNeeds) {
  auto program = compared();
  apply(program, Op::multiply, {slot(x, j()), Constant{2.0}}, slot(twice));
  apply(program, Op::add, {slot(twice), Constant{1.0}}, slot(term));
  apply(program, Op::where, {slot(is_below), slot(term), slot(twice)}, slot(y, j()));
  add(program, End{});
  EXPECT_EQ(bounded(program),
            "  for j = 1 .. 6\n"
            "    [i]_twice ← [i]_x[j] · 2\n"
            "    [i]_y[j] ← [i]_twice\n"
            "    if j < [i]_number\n"
            "      [i]_term ← [i]_twice + 1\n"
            "      [i]_y[j] ← [i]_term\n");
}

TEST(BoundIterations, MayHaveTheNumberFirst) {
  auto program = loop();
  add(program, Move{slot(place), j()});
  apply(program, Op::greater, {slot(number), slot(place)}, slot(is_below));
  apply(program, Op::less_equal, {slot(start), slot(place)}, slot(is_above));
  apply(program, Op::logical_and, {slot(is_below), slot(is_above)}, slot(both));
  EXPECT_EQ(bounded(choice(program, both, slot(y, j()))),
            "  for j = 1 .. 6\n"
            "    if j < [i]_number and j ≥ [i]_start\n"
            "      [i]_y[j] ← [i]_x[j] · 2\n");
  program = loop();  // `j <= number` is no bound
  add(program, Move{slot(place), j()});
  apply(program, Op::greater_equal, {slot(number), slot(place)}, slot(is_below));
  expect_unchanged(choice(program, is_below, slot(y, j())));
}

/// y[j] = where(condition, shifted, y[j]), with `shifted` the index that `place` is chosen as, or `other`.
Program guarded(std::size_t condition, double other) {
  auto program = compared();
  apply(program, Op::where, {slot(condition), slot(start), Constant{other}}, slot(place));
  apply(program, Op::normalize_index, {slot(place), Constant{8.0}}, slot(shifted));
  apply(program, Op::where, {slot(is_below), slot(shifted), slot(number)}, slot(place));
  add(program, Move{slot(start), slot(place)});
  add(program, End{});
  return program;
}

TEST(BoundIterations, TakeAnIndexThatElsewhereIsOne) {
  EXPECT_EQ(bounded(guarded(is_below, 0)),
            "  for j = 1 .. 6\n"
            "    [i]_place ← [i]_number\n"
            "    if j < [i]_number\n"
            "      [i]_place ← where(1, [i]_start, 0)\n"
            "      [i]_place ← normalize_index([i]_place, 8)\n"
            "    [i]_start ← [i]_place\n");
  const auto stays = "    [i]_shifted ← normalize_index([i]_place, 8)\n";
  EXPECT_NE(bounded(guarded(is_below, 8)).find(stays), std::string::npos);  // which is none
  EXPECT_NE(bounded(guarded(is_above, 0)).find(stays), std::string::npos);  // chosen by another condition
}

}  // namespace
}  // namespace cyclotron::codegen::bounds
