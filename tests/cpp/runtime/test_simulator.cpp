#include <gtest/gtest.h>

#include <cyclotron/support/error.hpp>

#include "programs.hpp"

namespace cyclotron::runtime::testing {
namespace {

Array<double> product(Array<double>& a, Array<double>& b) {
  Array<double> c({a.shape[0], b.shape[1]});
  for (std::int64_t i = 0; i < c.shape[0]; ++i)
    for (std::int64_t j = 0; j < c.shape[1]; ++j)
      for (std::int64_t k = 0; k < a.shape[1]; ++k) c(i, j) += a(i, k) * b(k, j);
  return c;
}

struct Run {
  Timing timing;
  Array<double> c;
};

Run run(const Program& program, const Matmul& m, SimulatorOptions options = {}) {
  Array<double> a({m.rows, m.inner}), b({m.inner, m.columns}), c({m.rows, m.columns});
  fill(a, 1);
  fill(b, 2);
  const auto timing = simulate(program, {a.view(), b.view(), c.view()}, options);
  if (options.functional) {
    EXPECT_EQ(c.data, product(a, b).data);
  }
  return {timing, c};
}

class Matmuls : public ::testing::TestWithParam<Matmul> {};

TEST_P(Matmuls, PointRunsAtCycleIPlusJPlusK) {
  const Matmul m = GetParam();
  Program program = output_stationary(m);
  program.machine.pe.cycles = {{"matmul", 1}, {"matmul_add", 1}};
  program.machine.link.words_per_cycle = m.tile * m.tile;
  const auto [timing, c] = run(program, m);
  const auto grid = program.grid;
  const auto inner = (m.inner + m.tile - 1) / m.tile;
  EXPECT_EQ(timing.cycles, grid[0] + grid[1] + inner - 2);
  EXPECT_EQ(timing.events.size(), static_cast<std::size_t>(grid[0] * grid[1] * inner));
  for (const Event& event : timing.events) {
    const auto i = event.pe / grid[1], j = event.pe % grid[1];
    ASSERT_EQ(event.loops.size(), 1U);
    EXPECT_EQ(event.start, i + j + event.loops[0]);
    EXPECT_EQ(event.end, event.start + 1);
  }
  for (const PeCycles& pe : timing.pes) {
    EXPECT_EQ(pe.busy, inner);
    EXPECT_EQ(pe.busy + pe.stall_empty + pe.stall_full + pe.idle, timing.cycles);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Matmuls,
                         ::testing::Values(Matmul{1, 1, 1}, Matmul{2, 2, 2}, Matmul{3, 4, 5}, Matmul{8, 8, 8},
                                           Matmul{5, 7, 9, 2}, Matmul{10, 9, 11, 4}, Matmul{1, 6, 3}));

TEST(Simulator, TimeOnlyNeedsNoArraysAndTakesTheSameCycles) {
  const Matmul m{10, 9, 11, 4};
  const Program program = output_stationary(m);
  const auto full = run(program, m).timing;
  const auto time = simulate(program, {}, {.functional = false, .event_limit = 0});
  EXPECT_EQ(time.cycles, full.cycles);
  EXPECT_EQ(time.instructions, full.instructions);
  EXPECT_TRUE(time.events.empty());
  for (std::size_t p = 0; p < time.pes.size(); ++p) EXPECT_EQ(time.pes[p].busy, full.pes[p].busy);
}

TEST(Simulator, RaggedTilesCostTheirOwnFlops) {
  Matmul m{3, 3, 3, 2};
  Program program = output_stationary(m);
  program.machine.pe.flops_per_cycle = 2;
  const auto timing = run(program, m).timing;
  EXPECT_EQ(timing.pes[0].busy, 2 * 2 * 2 + 2 * 2);  // inner tiles of 2 and of 1
  EXPECT_EQ(timing.pes[3].busy, 2 + 1);
  EXPECT_EQ(timing.busy_by_operator.at("matmul")[3], 2);
  EXPECT_EQ(timing.busy_by_operator.at("matmul_add")[3], 1);
}

TEST(Simulator, CountsMessagesAndWords) {
  const Matmul m{3, 3, 3, 2};
  const auto timing = run(output_stationary(m), m).timing;
  EXPECT_EQ(timing.channels[0].name, "A.j+1");
  EXPECT_EQ(timing.channels[0].messages, 4);
  EXPECT_EQ(timing.channels[0].words, 9);
  EXPECT_GE(timing.channels[0].peak_occupancy, 1);
}

TEST(Simulator, ReadsAndWritesAnyStrides) {
  const Matmul m{3, 4, 5};
  const Program program = output_stationary(m);
  Array<double> a({3, 5}), b({5, 4}), c({4, 3});
  fill(a, 1);
  fill(b, 2);
  Array<double> expected = product(a, b);
  // A backwards in both dimensions, C transposed.
  Array<double> reversed = a;
  std::reverse(reversed.data.begin(), reversed.data.end());
  const ArrayView view{reversed.data.data() + 14, {-40, -8}};
  (void)simulate(program, {view, b.view(), {c.data.data(), {8, 24}}});
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j) EXPECT_EQ(c(j, i), expected(i, j));
}

/// A feeder sends `messages` numbers to a PE that computes `cycles` on each.
Program pipe(std::int64_t messages, std::int64_t cycles, machine::Link link_parameters = {}) {
  Program result = make_program({2});
  result.machine.link = link_parameters;
  result.machine.pe.cycles = {{"negative", cycles}};
  result.tensors = {{"x", DType::float64, Role::input, {messages}, {1}, false},
                    {"y", DType::float64, Role::output, {messages}, {1}, false}};
  result.channels = {link("x.i+1", {1})};
  PeClass& all = result.classes[0];
  const auto x = add_slot(all, "x"), y = add_slot(all, "y");
  Code code;
  code.loop("k", constant(0), constant(messages - 1));
  code.if_zero(variable(0)).load(slot(x), 0, {variable(1)}).send(0, slot(x)).end();
  code.if_zero(variable(0, -1))
      .receive(0, slot(x))
      .compute(Op::negative, slot(y), {slot(x)})
      .store(1, {variable(1)}, slot(y))
      .end();
  code.end();
  all.code = code.code;
  return result;
}

Timing run_pipe(const Program& program, std::int64_t messages) {
  Array<double> x({messages}), y({messages});
  fill(x, 1);
  const auto timing = simulate(program, {x.view(), y.view()});
  for (std::size_t n = 0; n < x.data.size(); ++n) EXPECT_EQ(y.data[n], -x.data[n]);
  return timing;
}

TEST(Simulator, FullChannelStallsTheSender) {
  // Sends at 0 and 1 fill the channel. Message k leaves at 1 + 5k, its place is free a cycle later: message k
  // + 2 then enters.
  const auto timing = run_pipe(pipe(4, 5), 4);
  EXPECT_EQ(timing.cycles, 1 + 4 * 5);
  EXPECT_EQ(timing.pes[0].stall_full, 1 + 1 + 5);  // sent at 0, 1, 2, 7
  EXPECT_EQ(timing.pes[0].idle, timing.cycles - 7);
  EXPECT_EQ(timing.pes[1].stall_empty, 1);
  EXPECT_EQ(timing.pes[1].busy, 20);
  EXPECT_EQ(timing.channels[0].peak_occupancy, 2);
}

TEST(Simulator, LatencyResponseAndBandwidthAreThoseOfTheMachine) {
  // Latency 3; a place returns 4 cycles after it was emptied; depth 1: message k is sent at 7k.
  const auto timing = run_pipe(
      pipe(3, 1, {.latency_cycles = 3, .response_latency_cycles = 4, .words_per_cycle = 1, .depth = 1}), 3);
  EXPECT_EQ(timing.cycles, 3 + 7 + 7 + 1);
  EXPECT_EQ(timing.pes[0].stall_full, 14);
  EXPECT_EQ(timing.channels[0].peak_occupancy, 1);
}

TEST(Simulator, WideMessagesKeepTheLinkBusy) {
  const Matmul m{2, 4, 2, 2};
  Program program = output_stationary(m);
  program.machine.pe.cycles = {{"matmul", 1}};
  program.machine.link.words_per_cycle = 2;
  EXPECT_EQ(run(program, m).timing.cycles, 3);  // 4 words: arrival one cycle later than with one word
}

TEST(Simulator, MoreEventsThanTheLimitAreCountedOnly) {
  const Matmul m{2, 2, 4};
  for (const bool functional : {true, false}) {
    const auto events = [&](std::int64_t limit) {
      const auto timing =
          run(output_stationary(m), m, {.functional = functional, .event_limit = limit}).timing;
      return std::pair(std::int64_t(timing.events.size()), timing.events_dropped);
    };
    EXPECT_EQ(events(16), std::pair(std::int64_t{16}, std::int64_t{0}));
    EXPECT_EQ(events(15), std::pair(std::int64_t{0}, std::int64_t{16}));
    EXPECT_EQ(events(0), std::pair(std::int64_t{0}, std::int64_t{0}));
  }
}

/// PE 0 of each row broadcasts x[i, k] along the row; all PEs add what they got.
Program row_broadcast(std::int64_t rows, std::int64_t columns, std::int64_t messages) {
  Program result = make_program({rows, columns});
  result.tensors = {{"x", DType::float64, Role::input, {rows, messages}, {1, 1}, false},
                    {"y", DType::float64, Role::output, {rows, columns}, {1, 1}, false}};
  result.channels = {network("x", 1)};
  PeClass& all = result.classes[0];
  const auto x = add_slot(all, "x"), sum = add_slot(all, "sum");
  Code code;
  code.move(slot(sum), program::Constant{0, 0});
  code.loop("k", constant(0), constant(messages - 1));
  code.if_zero(variable(1))
      .load(slot(x), 0, {variable(0), variable(2)})
      .broadcast(0, slot(x), constant(0), constant(columns - 1))
      .end();
  code.if_not_negative(variable(1, -1)).receive_from(0, slot(x), constant(0)).end();
  code.compute(Op::add, slot(sum), {slot(sum), slot(x)}).end();
  code.store(1, {variable(0), variable(1)}, slot(sum));
  all.code = code.code;
  return result;
}

TEST(Simulator, BroadcastArrivesEverywhereAtOnce) {
  const Program program = row_broadcast(2, 4, 3);
  Array<double> x({2, 3}), y({2, 4});
  fill(x, 3);
  const auto timing = simulate(program, {x.view(), y.view()});
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 4; ++j) EXPECT_EQ(y(i, j), x(i, 0) + x(i, 1) + x(i, 2));
  EXPECT_EQ(timing.cycles, 4);
  for (const Event& event : timing.events)
    EXPECT_EQ(event.start, event.loops[0] + (event.pe % 4 == 0 ? 0 : 1));
  EXPECT_EQ(timing.channels[0].messages, 18);
}

TEST(Simulator, OneSlowReceiverHoldsTheBroadcastBack) {
  Program program = row_broadcast(1, 3, 6);
  program.machine.broadcast.depth = 1;
  program.machine.broadcast.response_latency_cycles = 3;
  const auto timing = simulate(program, {}, {.functional = false, .event_limit = 0});
  EXPECT_EQ(timing.cycles, 5 * 4 + 1 + 1);  // a send each 4 cycles
}

TEST(FastForward, SkipsBroadcastsTooAndMeasuresTheSame) {
  Program program = row_broadcast(2, 5, 10'000);
  program.machine.broadcast = {
      .latency_cycles = 3, .response_latency_cycles = 2, .words_per_cycle = 1, .depth = 2};
  const auto run = [&](Engine engine) {
    return simulate(program, {}, {.functional = false, .event_limit = 0, .engine = engine});
  };
  const Timing general = run(Engine::general), forward = run(Engine::automatic);
  EXPECT_EQ(forward.engine, "fast-forward");
  EXPECT_GT(forward.cycles_skipped, general.cycles * 9 / 10);
  EXPECT_EQ(forward.cycles, general.cycles);
  EXPECT_EQ(forward.instructions, general.instructions);
  EXPECT_EQ(forward.busy_by_operator, general.busy_by_operator);
  EXPECT_EQ(forward.channels[0].messages, 2 * 4 * 10'000);
  EXPECT_EQ(forward.channels[0].peak_occupancy, general.channels[0].peak_occupancy);
  for (std::size_t p = 0; p < general.pes.size(); ++p) {
    EXPECT_EQ(forward.pes[p].stall_empty, general.pes[p].stall_empty);
    EXPECT_EQ(forward.pes[p].stall_full, general.pes[p].stall_full);
  }
}

TEST(Simulator, StopsWhereTheCallbackSaysSo) {
  Program program = make_program({1});
  Code code;
  code.loop("k", constant(0), constant(std::int64_t{1} << 40)).end();
  program.classes[0].code = code.code;
  double seen = -1;
  try {
    (void)simulate(program, {}, {}, [&](double fraction) {
      seen = fraction;
      return false;
    });
    FAIL();
  } catch (const ExecutionError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC702");
  }
  EXPECT_GE(seen, 0);
  EXPECT_LE(seen, 1);
}

std::string failure(const Program& program, const Arrays& arrays, const char* code,
                    const SimulatorOptions& options = {}) {
  try {
    (void)simulate(program, arrays, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostic().code, code);
    return error.diagnostic().message;
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(Failures, NameThePeTheInstructionAndTheSource) {
  Program program = make_program({2});
  program.tensors = {{"x", DType::float64, Role::input, {2, 3}, {1, 1}, false}};
  PeClass& all = program.classes[0];
  const auto x = add_slot(all, "x");
  Code code;
  code.loop("k", constant(0), constant(2)).load(slot(x), 0, {variable(0), variable(1)});
  code.compute(Op::sqrt, slot(x), {slot(x)}, operators::checked).end();
  all.code = code.code;
  Array<double> array({2, 3});
  array(1, 2) = -4;
  try {
    (void)simulate(program, {array.view()});
    FAIL();
  } catch (const ExecutionError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC701");
    EXPECT_EQ(error.diagnostic().message, "sqrt of a negative number, in PE (1)");
    EXPECT_EQ(error.diagnostic().span.line, 3);
    EXPECT_EQ(error.diagnostic().notes[0].text, "at instruction 2 of class 0, where k = 2");
  }
}

TEST(Failures, IndexOutsideATensorOrASlot) {
  Program program = make_program({1});
  program.tensors = {{"x", DType::float64, Role::input, {2}, {1}, false}};
  PeClass& all = program.classes[0];
  const auto x = add_slot(all, "x", {}, DType::float64, 2);
  Code code;
  code.loop("k", constant(0), constant(2)).load(slot(x), 0, {variable(1)}).end();
  all.code = code.code;
  Array<double> array({2});
  EXPECT_EQ(failure(program, {array.view()}, "CYC703"),
            "`x[2]` is outside the tensor of 2 elements, in PE (0)");
  Code other;
  other.loop("k", constant(0), constant(2)).move(slot(x, variable(1)), program::Constant{1, 0}).end();
  all.code = other.code;
  EXPECT_EQ(failure(program, {array.view()}, "CYC703"),
            "slot `x` has 2 elements; element 2 is none of them, in PE (0)");
}

TEST(Failures, TilesThatDoNotFit) {
  Program program = make_program({1});
  program.tensors = {{"x", DType::float64, Role::input, {4, 4}, {2, 2}, true},
                     {"y", DType::float64, Role::output, {4, 4}, {2, 2}, true}};
  PeClass& all = program.classes[0];
  const auto big = add_slot(all, "big", {2, 2}), small = add_slot(all, "small", {1, 2});
  Array<double> x({4, 4}), y({4, 4});
  const Arrays arrays{x.view(), y.view()};
  const auto with = [&](Code code) {
    all.code = code.code;
    return failure(program, arrays, "CYC704");
  };
  EXPECT_EQ(with(Code().load(slot(small), 0, {constant(0), constant(0)})),
            "a 2x2 tile does not fit slot `small` of 1x2 tiles, in PE (0)");
  EXPECT_EQ(with(Code().store(1, {constant(0), constant(0)}, slot(big))),
            "slot `big` is read before it is written, in PE (0)");
  program.tensors[0].shape = {4, 3};
  EXPECT_EQ(with(Code()
                     .load(slot(big), 0, {constant(0), constant(1)})
                     .store(1, {constant(0), constant(0)}, slot(big))),
            "a 2x1 tile is stored where `y` has a 2x2 tile, in PE (0)");
  EXPECT_NE(with(Code()
                     .load(slot(big), 0, {constant(0), constant(1)})
                     .compute(Op::cholesky, slot(small), {slot(big)}))
                .find("square"),
            std::string::npos);
}

TEST(Failures, SendOverTheEdgeAndNetworkBesideTheGrid) {
  Program program = pipe(1, 1);
  std::get<If>(program.classes[0].code[1].action).condition = {{}};
  Array<double> x({1}), y({1});
  EXPECT_EQ(failure(program, {x.view(), y.view()}, "CYC706"), "a send on `x.i+1` leaves the grid, in PE (1)");
  EXPECT_EQ(failure(program, {}, "CYC706", {.functional = false}),
            "a send on `x.i+1` leaves the grid, in PE (1)");
  program.machine.topology = {machine::Topology::torus};
  EXPECT_NO_THROW((void)simulate(program, {x.view(), y.view()}));
  Program wide = row_broadcast(1, 2, 1);
  std::get<Broadcast>(wide.classes[0].code[4].action).upper[0].numerator.constant = 2;
  Array<double> rows({1, 1}), sums({1, 2});
  EXPECT_EQ(failure(wide, {rows.view(), sums.view()}, "CYC706"),
            "a network along grid dimension 1 has no PE at 2, in PE (0, 0)");
  EXPECT_EQ(failure(wide, {}, "CYC706", {.functional = false}),
            "a network along grid dimension 1 has no PE at 2, in PE (0, 0)");
}

TEST(Failures, ArraysThatDoNotFitTheTensorTable) {
  EXPECT_EQ(failure(pipe(1, 1), {}, "CYC208"), "the program has 2 tensors, got 0 arrays");
  Array<double> x({1});
  EXPECT_EQ(failure(pipe(1, 1), {x.view(), {}}, "CYC208"), "`y` has no array");
  EXPECT_EQ(failure(pipe(1, 1), {x.view(), {x.data.data(), {}}}, "CYC208"),
            "`y` has 1 dimensions, its array 0");
}

TEST(Failures, GridsThatNoComputerHolds) {
  EXPECT_EQ(failure(make_program({1 << 20, 1 << 20}), {}, "CYC705"),
            "a grid of 1048576 x 1048576 has more than 4194304 PEs");
}

TEST(Failures, OperatorsThatADtypeHasNot) {
  Program program = make_program({1});
  PeClass& all = program.classes[0];
  const auto x = add_slot(all, "x", {}, DType::boolean);
  all.code = Code().compute(Op::negative, slot(x), {slot(x)}).code;
  EXPECT_EQ(failure(program, {}, "CYC610"), "`classes[0].code[0]` applies `negative` to bool");
  all.slots[0].address = -1;
  all.code.clear();
  EXPECT_EQ(failure(program, {}, "CYC613"), "`class 0` cannot be run: a slot is not inside the PE's memory");
}

TEST(Simulator, PesWithoutAProgramAreIdle) {
  Program program = pipe(2, 3);
  program.grid = program.machine.grid = {4};
  program.classes[0].region = {{{Condition::Kind::non_negative, minus(0, 1), 0}}};
  const auto timing = run_pipe(program, 2);
  ASSERT_EQ(timing.pes.size(), 4U);
  EXPECT_EQ(timing.pes[3].idle, timing.cycles);
}

TEST(Simulator, EmptyProgram) {
  const auto timing = simulate(make_program({2, 2}), {});
  EXPECT_EQ(timing.cycles, 0);
  EXPECT_EQ(timing.pes.size(), 4U);
}

}  // namespace
}  // namespace cyclotron::runtime::testing
