#include <gtest/gtest.h>

#include <random>

#include <cyclotron/support/error.hpp>

#include "programs.hpp"

namespace cyclotron::runtime::testing {
namespace {

template <class T>
Array<T> random_array(std::vector<std::int64_t> shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Array<T> result(std::move(shape));
  for (auto& x : result.data) x = static_cast<T>(uniform(generator));
  return result;
}

struct Case {
  Matmul matmul;
  int threads;
};

class Local : public ::testing::TestWithParam<Case> {};

TEST_P(Local, GivesTheBitsOfTheSimulator) {
  const auto [m, threads] = GetParam();
  Program program = output_stationary(m);
  auto a = random_array<double>({m.rows, m.inner}, 1), b = random_array<double>({m.inner, m.columns}, 2);
  Array<double> simulated({m.rows, m.columns});
  (void)simulate(program, {a.view(), b.view(), simulated.view()});
  for (const std::int64_t depth : {1, 2, 100}) {
    program.machine.link.depth = depth;
    Array<double> c({m.rows, m.columns});
    run_local(program, {a.view(), b.view(), c.view()}, threads);
    EXPECT_EQ(c.data, simulated.data);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Local,
                         ::testing::Values(Case{{1, 1, 1}, 1}, Case{{3, 4, 5}, 1}, Case{{3, 4, 5}, 3},
                                           Case{{24, 24, 40}, 2}, Case{{24, 24, 40}, 4}, Case{{64, 64, 8}, 2},
                                           Case{{50, 70, 90, 8}, 3}, Case{{33, 29, 31, 16}, 0}));

TEST(FunctionalSimulation, GivesTheSameBitsAndCyclesOnAnyThreads) {
  for (const Matmul m :
       {Matmul{1, 1, 3}, Matmul{1, 90, 300}, Matmul{90, 1, 300}, Matmul{2, 50, 700}, Matmul{33, 29, 310}}) {
    const Program program = output_stationary(m);
    auto a = random_array<double>({m.rows, m.inner}, 1), b = random_array<double>({m.inner, m.columns}, 2);
    Array<double> kept({m.rows, m.columns});
    const auto expected = simulate(program, {a.view(), b.view(), kept.view()});
    for (const int threads : {1, 2, 3, 5}) {
      Array<double> c({m.rows, m.columns});
      const auto timing =
          simulate(program, {a.view(), b.view(), c.view()}, {.event_limit = 0, .threads = threads});
      EXPECT_EQ(c.data, kept.data);
      EXPECT_EQ(timing.cycles, expected.cycles);
    }
  }
}

/// PE (i, j) of column k mod n broadcasts to its row in step k: every PE sends and receives (as in SUMMA).
Program all_broadcast(std::int64_t n, std::int64_t steps) {
  Program result = make_program({n, n});
  result.tensors = {{"x", DType::float64, Role::input, {n, steps}, {1, 1}, false},
                    {"y", DType::float64, Role::output, {n, n}, {1, 1}, false}};
  result.channels = {network("x", 1)};
  PeClass& all = result.classes[0];
  const auto x = add_slot(all, "x"), sum = add_slot(all, "sum");
  Code code;
  code.move(slot(sum), program::Constant{0, 0});
  code.loop("r", constant(0), constant(steps / n - 1)).loop("c", constant(0), constant(n - 1));
  const Affine own{{0, 1, 0, -1}, 0}, k{{0, 0, n, 1}, 0};
  code.if_zero(own)
      .load(slot(x), 0, {variable(0), k})
      .broadcast(0, slot(x), constant(0), constant(n - 1))
      .end();
  code.add(If{{{{Condition::Kind::non_negative, {{0, 1, 0, -1}, -1}, 0}},
               {{Condition::Kind::non_negative, {{0, -1, 0, 1}, -1}, 0}}}});
  code.receive_from(0, slot(x), variable(3)).end();
  code.compute(Op::add, slot(sum), {slot(sum), slot(x)}).end().end();
  code.store(1, {variable(0), variable(1)}, slot(sum));
  all.code = code.code;
  return result;
}

TEST(LocalNetworks, EveryPeBroadcastsInTurn) {
  const std::int64_t n = 6, steps = 48;
  const Program program = all_broadcast(n, steps);
  auto x = random_array<double>({n, steps}, 3);
  Array<double> simulated({n, n}), y({n, n});
  (void)simulate(program, {x.view(), simulated.view()});
  for (const int threads : {1, 2, 4}) {
    run_local(program, {x.view(), y.view()}, threads);
    EXPECT_EQ(y.data, simulated.data);
  }
  double sum = 0;
  for (std::int64_t k = 0; k < steps; ++k) sum += x(2, k);
  EXPECT_EQ(y(2, 3), sum);
}

/// A ring of PEs, each sending `ahead` messages before it receives them.
Program ring(std::int64_t n, std::int64_t ahead) {
  Program result = make_program({n});
  result.machine.topology = {machine::Topology::torus};
  result.channels = {link("ring", {1})};
  PeClass& all = result.classes[0];
  const auto x = add_slot(all, "x");
  all.code = Code()
                 .move(slot(x), program::Constant{1, 0})
                 .loop("k", constant(0), constant(ahead - 1))
                 .send(0, slot(x))
                 .end()
                 .loop("k", constant(0), constant(ahead - 1))
                 .receive(0, slot(x))
                 .end()
                 .code;
  return result;
}

TEST(LocalDeadlock, IsTheSimulators) {
  const auto message = [](auto run) {
    try {
      run();
    } catch (const DeadlockError& error) {
      const auto& d = error.diagnostic();
      return d.message + "; " + d.notes.at(0).text + "; " + d.help;
    }
    return std::string("none");
  };
  for (const int threads : {1, 2, 4}) {
    EXPECT_EQ(message([&] { run_local(ring(5, 2), {}, threads); }), "none");
    const auto found = message([&] { run_local(ring(5, 3), {}, threads); });
    EXPECT_EQ(found, message([&] { (void)simulate(ring(5, 3), {}); }));
    EXPECT_EQ(
        found,
        "no PE can go on: 5 PEs wait for each other in a circle; PE (0) waits at cycle 1 to send on `ring` "
        "to PE (1): full "
        "(depth 2); a depth of 3 for `ring` (now 2) lets it pass: program.with_depths({\"ring\": 3}); so "
        "does a "
        "depth of 3 for every channel: cy.Machine(link=cy.Link(depth=3), ...)");
  }
}

TEST(LocalFailure, StopsAllThreadsAndReachesTheCaller) {
  const Matmul m{12, 12, 400};
  Program program = output_stationary(m);
  // PE (5, 5) takes the root of a negative number after most of the work; the others would go on or block.
  auto& code = program.classes[0].code;
  Code failing;
  failing.add(If{{{{Condition::Kind::zero, {{1, 0}, -5}, 0}, {Condition::Kind::zero, {{0, 1}, -5}, 0}}}});
  failing.compute(Op::sqrt, slot(2), {program::Constant{-1, 0}}, operators::checked).end();
  code.insert(code.end() - 2, failing.code.begin(), failing.code.end());
  Array<double> a({12, 400}), b({400, 12}), c({12, 12});
  for (const int threads : {1, 2, 4}) {
    try {
      run_local(program, {a.view(), b.view(), c.view()}, threads);
      FAIL();
    } catch (const ExecutionError& error) {
      EXPECT_EQ(error.diagnostic().message, "sqrt of a negative number, in PE (5, 5)");
    }
  }
}

TEST(LocalProgress, CanStopTheRun) {
  Program program = make_program({4});
  program.classes[0].code = Code().loop("k", constant(0), constant(std::int64_t{1} << 40)).end().code;
  int calls = 0;
  EXPECT_THROW(run_local(program, {}, 2, [&](double) { return ++calls < 2; }), ExecutionError);
  EXPECT_EQ(calls, 2);
}

TEST(LocalProgress, MostWorkStopsTheRun) {
  Program program = make_program({1});
  program.classes[0].code = Code().loop("k", constant(0), constant(std::int64_t{1} << 40)).end().code;
  Progress progress;
  progress.most_work = 1 << 18;
  EXPECT_THROW(run_local(program, {}, 1, progress), ExecutionError);
}

TEST(LocalFailure, ExceptionsOfTheCallbackPass) {
  Program program = make_program({4});
  program.classes[0].code = Code().loop("k", constant(0), constant(std::int64_t{1} << 40)).end().code;
  EXPECT_THROW(run_local(program, {}, 2, [](double) -> bool { throw std::runtime_error("mine"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace cyclotron::runtime::testing
