#include <gtest/gtest.h>

#include <array>
#include <random>

#include <cyclotron/support/error.hpp>

#include "../../../src/runtime/local/lockstep.hpp"
#include "../../../src/runtime/simulator/timing/timed_engine.hpp"
#include "../../../src/runtime/simulator/timing/timed_program.hpp"
#include "programs.hpp"

namespace cyclotron::runtime::testing {
namespace {

constexpr std::size_t few = 1;  // bytes of messages: queues are as deep as the machine says

bool in_lockstep(const Program& program, const Arrays& arrays) {
  const PeArray array(program, true);
  return local::run_in_lockstep(array, access_tensors(program, arrays, true), few, {});
}

template <class T>
Array<T> numbers(std::vector<std::int64_t> shape) {
  Array<T> result(std::move(shape));
  std::mt19937 generator(7);
  for (auto& x : result.data) x = static_cast<T>(static_cast<int>(generator() % 64) - 31) / T(4);
  return result;
}

/// Each PE of the plane keeps a number, which `steps` times becomes what `add_step` makes of it and the neighbours'.
struct Plane {
  Program program;
  std::size_t own, north, west, other;
  Code code;

  Plane(std::int64_t rows, std::int64_t columns, DType dtype) : program(make_program({rows, columns})) {
    program.tensors = {{"x", dtype, Role::input, {rows, columns}, {1, 1}, false},
                       {"y", dtype, Role::output, {rows, columns}, {1, 1}, false}};
    program.channels = {link("down", {1, 0}, {}, dtype, 1), link("up", {-1, 0}, {}, dtype, 1),
                        link("right", {0, 1}, {}, dtype, 1), link("left", {0, -1}, {}, dtype, 1)};
    auto& all = program.classes[0];
    own = add_slot(all, "own", {}, dtype, 2), north = add_slot(all, "north", {}, dtype);
    west = add_slot(all, "west", {}, dtype), other = add_slot(all, "other", {}, dtype);
  }
  // Where there is a neighbour: along dimension d, before the PE or after it.
  Code& if_before(std::size_t d) { return code.if_not_negative(variable(d, -1)); }
  Code& if_after(std::size_t d) { return code.if_not_negative(minus(d, program.grid[d] - 2)); }
  void add(std::size_t term) { code.compute(Op::add, slot(own), {slot(own), slot(term)}); }

  Program finish() {
    program.classes[0].code = code.code;
    return program;
  }
};

/// All four neighbours' numbers of the step before.
Program jacobi(std::int64_t rows, std::int64_t columns, std::int64_t steps, DType dtype) {
  Plane plane(rows, columns, dtype);
  Code& code = plane.code;
  code.load(slot(plane.own), 0, {variable(0), variable(1)}).loop("t", constant(1), constant(steps));
  for (const std::size_t d : {0, 1}) {
    plane.if_after(d).send(2 * d, slot(plane.own)).end();
    plane.if_before(d).send(2 * d + 1, slot(plane.own)).end();
  }
  code.compute(Op::multiply, slot(plane.own), {slot(plane.own), Constant{0.5, 0}});
  for (const std::size_t d : {0, 1}) {
    plane.if_before(d).receive(2 * d, slot(plane.other));
    plane.add(plane.other);
    code.end();
    plane.if_after(d).receive(2 * d + 1, slot(plane.other));
    plane.add(plane.other);
    code.end();
  }
  code.end().store(1, {variable(0), variable(1)}, slot(plane.own));
  return plane.finish();
}

/// Two neighbours' numbers of the same step and two of the step before: only PEs of a diagonal can go on together.
Program gauss_seidel(std::int64_t rows, std::int64_t columns, std::int64_t steps) {
  Plane plane(rows, columns, DType::float64);
  Code& code = plane.code;
  code.load(slot(plane.own), 0, {variable(0), variable(1)});
  for (const std::size_t d : {0, 1}) plane.if_before(d).send(2 * d + 1, slot(plane.own)).end();
  code.loop("t", constant(1), constant(steps));
  code.compute(Op::multiply, slot(plane.own), {slot(plane.own), Constant{0.5, 0}});
  for (const std::size_t d : {0, 1}) {
    plane.if_before(d).receive(2 * d, slot(plane.other));
    plane.add(plane.other);
    code.end();
    plane.if_after(d).receive(2 * d + 1, slot(plane.other));
    plane.add(plane.other);
    code.end();
  }
  for (const std::size_t d : {0, 1}) plane.if_after(d).send(2 * d, slot(plane.own)).end();
  code.if_not_negative({{0, 0, -1}, steps - 1});  // t < steps
  for (const std::size_t d : {0, 1}) plane.if_before(d).send(2 * d + 1, slot(plane.own)).end();
  code.end().end().store(1, {variable(0), variable(1)}, slot(plane.own));
  return plane.finish();
}

template <class T>
void expect_bits_of_interpreter(const Program& program) {
  const auto& shape = program.tensors[0].shape;
  auto x = numbers<T>(shape);
  Array<T> expected(shape), result(shape);
  (void)simulate(program, {x.view(), expected.view()});  // with its events, so PE by PE
  ASSERT_TRUE(in_lockstep(program, {x.view(), result.view()}));
  EXPECT_EQ(result.data, expected.data);
}

TEST(Lockstep, GivesTheBitsOfTheInterpreter) {
  for (const auto& [rows, columns] : {std::pair{6, 7}, {1, 40}, {40, 1}, {33, 20}, {2, 300}}) {
    expect_bits_of_interpreter<double>(jacobi(rows, columns, 9, DType::float64));
    expect_bits_of_interpreter<float>(jacobi(rows, columns, 4, DType::float32));
  }
}

TEST(Lockstep, FindsTheLinesThatGoOnTogether) {
  for (const auto& [rows, columns] : {std::pair{40, 31}, {31, 60}})
    expect_bits_of_interpreter<double>(gauss_seidel(rows, columns, 6));
}

/// Numbers go round a ring, which circular buffers, values of forms and strided elements meet.
Program round_trips(std::int64_t n, std::int64_t steps) {
  Program program = make_program({n});
  program.machine.topology = {machine::Topology::ring};
  program.tensors = {{"x", DType::int64, Role::input, {2 * n, steps}, {1, 1}, false},
                     {"y", DType::int64, Role::output, {n, steps}, {1, 1}, false}};
  program.channels = {link("on", {1}, {}, DType::int64, 2)};
  auto& all = program.classes[0];
  const auto held = add_slot(all, "held", {}, DType::int64, 4),
             index = add_slot(all, "index", {}, DType::int64);
  Code code;
  code.move(slot(index), Affine{{3}, 1}).send(0, slot(index)).loop("t", constant(0), constant(steps - 1));
  const SlotRef place{SlotId(held), {}, Wrap{variable(1), 4, 1}};
  code.receive(0, place).load(slot(index), 0, {Affine{{2}, 1}, variable(1)});
  code.compute(Op::multiply_add, place, {place, slot(index), Constant{3, 0}});
  code.move(slot(index), Affine{{-1, 7}, 0}).compute(Op::subtract, place, {place, slot(index)});
  code.send(0, place).store(1, {variable(0), variable(1)}, place).end().receive(0, slot(index));
  all.code = code.code;
  return program;
}

TEST(Lockstep, RunsRingsOfPes) {
  constexpr std::int64_t n = 30, steps = 45;
  const Program program = round_trips(n, steps);
  auto x = numbers<std::int64_t>({2 * n, steps});
  Array<std::int64_t> expected({n, steps}), result({n, steps});
  (void)simulate(program, {x.view(), expected.view()});
  ASSERT_TRUE(in_lockstep(program, {x.view(), result.view()}));
  EXPECT_EQ(result.data, expected.data);
}

TEST(Lockstep, LeavesToOthersWhatItDoesNotFinish) {
  const auto run = [](const Program& program) {
    const auto& shape = program.tensors[0].shape;
    auto x = numbers<double>(shape);
    Array<double> y(shape);
    return in_lockstep(program, {x.view(), y.view()});
  };
  EXPECT_TRUE(run(jacobi(6, 6, 3, DType::float64)));
  EXPECT_FALSE(run(jacobi(2, 2, 3, DType::float64)));  // few PEs
  Program waits = jacobi(6, 6, 3, DType::float64);     // for messages that never come
  std::erase_if(waits.classes[0].code, [](const Instruction& one) {
    const auto* send = std::get_if<Send>(&one.action);
    return send != nullptr && send->channel.index() == 0;
  });
  EXPECT_FALSE(run(waits));
  Program one_way = jacobi(6, 6, 3, DType::float64);
  std::erase_if(one_way.classes[0].code, [](const Instruction& one) {
    const auto* send = std::get_if<Send>(&one.action);
    const auto* receive = std::get_if<Receive>(&one.action);
    return (send != nullptr && send->channel.index() % 2 == 1) ||
           (receive != nullptr && receive->channel.index() % 2 == 1);
  });
  EXPECT_FALSE(run(one_way));  // each PE may run ahead of the next one
  Program fails = jacobi(6, 6, 3, DType::float64);
  fails.classes[0].code.back().action = Store{TensorId(1), {variable(0, 1), variable(1)}, slot(0)};
  EXPECT_FALSE(run(fails));  // over the edge of its tensor
}

void expect_same(const Timing& one, const Timing& other) {
  EXPECT_EQ(one.cycles, other.cycles);
  EXPECT_EQ(one.instructions, other.instructions);
  EXPECT_EQ(one.events_dropped, other.events_dropped);
  EXPECT_EQ(one.busy_by_operator, other.busy_by_operator);
  EXPECT_EQ(one.counters.times, other.counters.times);
  ASSERT_EQ(one.pes.size(), other.pes.size());
  for (std::size_t pe = 0; pe < one.pes.size(); ++pe) {
    EXPECT_EQ(one.pes[pe].busy, other.pes[pe].busy);
    EXPECT_EQ(one.pes[pe].stall_empty, other.pes[pe].stall_empty);
    EXPECT_EQ(one.pes[pe].stall_full, other.pes[pe].stall_full);
    EXPECT_EQ(one.pes[pe].idle, other.pes[pe].idle);
  }
  ASSERT_EQ(one.channels.size(), other.channels.size());
  for (std::size_t c = 0; c < one.channels.size(); ++c) {
    EXPECT_EQ(one.channels[c].messages, other.channels[c].messages);
    EXPECT_EQ(one.channels[c].words, other.channels[c].words);
    EXPECT_EQ(one.channels[c].queues, other.channels[c].queues);
    EXPECT_EQ(one.channels[c].busy_cycles, other.channels[c].busy_cycles);
    EXPECT_EQ(one.channels[c].peak_occupancy, other.channels[c].peak_occupancy);
  }
}

/// Links of random latencies, widths and depths; operators of random cycles.
void set_random_costs(Program& program, std::mt19937& random) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  for (Channel& channel : program.channels) channel.depth = 0;
  program.machine.link.latency_cycles = 1 + below(4);
  program.machine.link.response_latency_cycles = below(4);
  constexpr std::array<std::int64_t, 5> depths{1, 2, 3, 17, machine::unbounded_depth};
  program.machine.link.depth = depths[random() % depths.size()];
  for (const char* name : {"add", "multiply", "subtract", "multiply_add"})
    program.machine.pe.cycles[name] = below(5);
}

TEST(TimedLockstep, MeasuresWhatTheEngineMeasures) {
  std::mt19937 random(25);
  std::size_t finished = 0;
  for (int n = 0; n < 90; ++n) {
    Program program = n % 3 == 0   ? jacobi(20, 13, 9, DType::float64)
                      : n % 3 == 1 ? gauss_seidel(31, 40, 5)
                                   : round_trips(40, 33);
    set_random_costs(program, random);
    const auto timed = simulator::time_program(program);
    ASSERT_TRUE(timed.has_value());
    simulator::TimedEngine together(*timed, {}), one_by_one(*timed, {});
    const bool ends = one_by_one.run();
    ASSERT_EQ(together.run_in_lockstep(), ends);
    if (!ends) continue;
    ++finished;
    expect_same(std::move(together).timing(), std::move(one_by_one).timing());
  }
  EXPECT_GT(finished, 60U);
}

TEST(TimedLockstep, LeavesLongLoopsToBeSkipped) {
  const Program program = jacobi(20, 13, std::int64_t{1} << 40, DType::float64);
  simulator::TimedEngine engine(*simulator::time_program(program), {});
  EXPECT_FALSE(engine.run_in_lockstep());
  EXPECT_EQ(simulate(program, {}, {.functional = false, .event_limit = 0}).engine, "fast-forward");
}

}  // namespace
}  // namespace cyclotron::runtime::testing
