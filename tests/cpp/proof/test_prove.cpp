// Each violation, made by hand, with the witness that names it.
#include <gtest/gtest.h>

#include <functional>

#include <cyclotron/driver/compile.hpp>
#include <cyclotron/proof/channels.hpp>
#include <cyclotron/proof/proof.hpp>
#include <cyclotron/runtime/runtime.hpp>
#include <cyclotron/support/interrupt.hpp>

#include "golden.hpp"
#include "runtime/programs.hpp"
#include "sample_systems.hpp"

namespace cyclotron::proof::testing {
namespace {

namespace samples = cyclotron::testing;
using namespace program;
using runtime::testing::constant;
using runtime::testing::slot;
using runtime::testing::variable;

/// PE 0 sends x[k] to PE 1, which stores y[k] = x[k] + x[k], for k = 0, 1, 2.
Program doubled() {
  Program result = runtime::testing::make_program({2});
  result.tensors = {{"x", DType::float64, Role::input, {3}, {1}, false},
                    {"y", DType::float64, Role::output, {3}, {1}, false}};
  result.channels = {runtime::testing::link("right", {1})};
  PeClass first = result.classes.front(), second = first;
  first.region = {{{Condition::Kind::zero, variable(0), 0}}};
  second.region = {{{Condition::Kind::zero, variable(0, -1), 0}}};
  second.name = "class 1";
  runtime::testing::add_slot(first, "a");
  runtime::testing::add_slot(second, "b");
  runtime::testing::add_slot(second, "s");
  runtime::testing::Code sender, receiver;
  sender.loop("k", constant(0), constant(2)).load(slot(0), 0, {variable(1)}).send(0, slot(0)).end();
  receiver.loop("k", constant(0), constant(2)).receive(0, slot(0));
  receiver.compute(Op::add, slot(1), {slot(0), slot(0)}).store(1, {variable(1)}, slot(1)).end();
  first.code = sender.code;
  second.code = receiver.code;
  result.classes = {first, second};
  return result;
}

recurrence::System doubled_system() {
  samples::SystemBuilder b("doubled");
  b.input("x", {3}).output("y", {3}).names({"k"});
  const auto x = b.at("x", {"k"});
  return b.equation("y", {"k"}, 1, samples::range("k", 3), b.apply(Op::add, {x, x})).build();
}

Options options(std::int64_t limit) {
  Options result;
  result.limit = limit;
  return result;
}

template <class T>
T& action(Program& program, std::size_t pe_class, std::size_t at) {
  return std::get<T>(program.classes[pe_class].code[at].action);
}

Diagnostic fault_of(const Program& program, const recurrence::System* system = nullptr) {
  try {
    (void)prove(program, system);
  } catch (const Error& error) {
    return error.diagnostic();
  }
  ADD_FAILURE() << "accepted:\n" << to_string(program);
  return {};
}

/// The fault of a changed `doubled`.
Diagnostic fault(const std::function<void(Program&)>& change) {
  Program program = doubled();
  change(program);
  const auto system = doubled_system();
  return fault_of(program, &system);
}

TEST(Prove, AcceptsWhatIsRight) {
  const auto system = doubled_system();
  const Proof proof = prove(doubled(), &system);
  EXPECT_TRUE(proof.ok());
  EXPECT_EQ(proof.events, 15);
  std::vector<std::string> names;
  for (const auto& property : proof.properties) {
    EXPECT_EQ(property.status, Property::Status::proven) << property.name;
    EXPECT_FALSE(property.text.empty());
    names.push_back(property.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"structure", "bounds", "reads", "outputs", "messages",
                                             "deadlock", "rendezvous", "terms"}));
}

TEST(Prove, SaysWhatItDoesNotCheck) {
  const Proof loaded = prove(doubled(), nullptr);
  EXPECT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.properties.back().name, "terms");
  EXPECT_EQ(loaded.properties.back().status, Property::Status::not_checked);
  EXPECT_EQ(loaded.properties[2].status, Property::Status::proven);

  const auto system = doubled_system();
  const Proof small = prove(doubled(), &system, options(20));  // 23 steps
  EXPECT_FALSE(small.ok());
  EXPECT_EQ(small.properties.size(), 8U);
  EXPECT_EQ(small.events, 0);
  for (std::size_t p = 1; p < 8; ++p) {
    EXPECT_EQ(small.properties[p].status, Property::Status::not_checked);
    EXPECT_NE(small.properties[p].text.find("the limit is 20"), std::string::npos)
        << small.properties[p].text;
  }
  EXPECT_TRUE(prove(doubled(), &system, options(30)).ok());
}

TEST(Prove, LoopsWithoutEndAreTooLargeAtOnce) {
  const Proof proof = prove(
      [] {
        Program program = doubled();
        action<Loop>(program, 0, 0).upper.front().numerator = constant(std::int64_t{1} << 60);
        program.classes[0].code.erase(program.classes[0].code.begin() + 1,
                                      program.classes[0].code.begin() + 3);
        return program;
      }(),
      nullptr, options(1000));
  EXPECT_EQ(proof.properties[1].status, Property::Status::not_checked);
  Program wide = doubled();
  wide.grid = wide.machine.grid = {std::int64_t{1} << 40};
  EXPECT_EQ(prove(wide, nullptr).properties[1].status, Property::Status::not_checked);
}

TEST(Prove, AccessesOutside) {
  auto found = fault([](Program& p) { action<Load>(p, 0, 1).index = {variable(1, 1)}; });
  EXPECT_EQ(found.code, "CYC660");
  EXPECT_EQ(found.message, "`x[3]` is outside the tensor of 3, in PE (0)");
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_EQ(found.notes[0].text, "at instruction 1 of class 0, where k = 2");
  EXPECT_EQ(found.span.line, 2);

  found = fault([](Program& p) { action<Load>(p, 0, 1).destination.index = variable(1); });
  EXPECT_EQ(found.code, "CYC660");
  EXPECT_EQ(found.message, "element 1 of slot `a` is used, which has 1, in PE (0)");

  found = fault([](Program& p) { p.channels[0].offset = {-1}; });
  EXPECT_EQ(found.code, "CYC660");
  EXPECT_EQ(found.message, "a send on `right` leaves the grid, in PE (0)");
}

TEST(Prove, NetworksOutside) {
  Program program = doubled();
  program.channels[0] = runtime::testing::network("line", 0);
  program.classes[0].code[2].action =
      Broadcast{ChannelId(0), slot(0), {{constant(1), 1}}, {{constant(1), 1}}};
  action<Receive>(program, 1, 1).sender = {constant(0)};
  const auto system = doubled_system();
  EXPECT_TRUE(prove(program, &system).ok());
  auto wrong = program;
  action<Receive>(wrong, 1, 1).sender = {constant(2)};
  EXPECT_EQ(fault_of(wrong).code, "CYC660");
  wrong = program;
  action<Broadcast>(wrong, 0, 2).upper = {{constant(2), 1}};
  EXPECT_EQ(fault_of(wrong).message, "a network along grid dimension 0 has no PE at 2, in PE (0)");
}

TEST(Prove, ReadsOfNoValue) {
  auto found = fault([](Program& p) { action<Compute>(p, 1, 2).operands[1] = slot(1); });
  EXPECT_EQ(found.code, "CYC661");
  EXPECT_EQ(found.message, "slot `s` is read before it is written, in PE (1)");

  found = fault([](Program& p) {  // `b` is received over `s`
    p.classes[1].slots[0].address = p.classes[1].slots[1].address;
    std::swap(p.classes[1].code[1], p.classes[1].code[2]);
    p.classes[1].code[1].action = Move{slot(1), program::Constant{1, 0}};
  });
  EXPECT_EQ(found.code, "CYC661");
  EXPECT_EQ(found.message, "slot `s` is read after slot `b` has overwritten it, in PE (1)");
}

TEST(Prove, ReuseThatComesTooEarly) {
  // Two elements of 8 bytes under one slot of 16: the second half is overwritten, not the first.
  Program program = doubled();
  PeClass& second = program.classes[1];
  second.slots = {{"b", DType::float64, {1, 1}, 2, 0, false}, {"s", DType::float64, {1, 1}, 1, 16, false}};
  action<Receive>(program, 1, 1).destination.index = constant(1);
  action<Compute>(program, 1, 2).operands = {slot(0, constant(1)), slot(0, constant(1))};
  const auto system = doubled_system();
  EXPECT_TRUE(prove(program, &system).ok());
  second.slots.push_back({"t", DType::complex128, {1, 1}, 1, 0, false});
  second.code.insert(second.code.begin() + 2, Instruction{Move{slot(2), program::Constant{0, 0}}, Span{}});
  EXPECT_EQ(fault_of(program).message,
            "element 1 of slot `b` is read after slot `t` has overwritten it, in PE (1)");
}

TEST(Prove, OutputsStoredOnce) {
  auto found = fault([](Program& p) {
    auto& code = p.classes[1].code;
    code.insert(code.begin() + 3, code[3]);
  });
  EXPECT_EQ(found.code, "CYC662");
  EXPECT_EQ(found.message, "`y[0]` is stored a second time, in PE (1)");
  found = fault([](Program& p) { p.classes[1].code.erase(p.classes[1].code.begin() + 3); });
  EXPECT_EQ(found.code, "CYC662");
  EXPECT_EQ(found.message, "`y[0]` is never stored");
}

TEST(Prove, MessagesThatAreLeft) {
  const auto found = fault([](Program& p) {
    auto& code = p.classes[0].code;
    code.push_back(code[2]);
  });
  EXPECT_EQ(found.code, "CYC663");
  EXPECT_EQ(found.message, "1 messages on `right` from PE (0) to PE (1) are never received");
}

TEST(Prove, TilesThatDoNotFit) {
  const auto make = [] {
    Program program = runtime::testing::make_program({1});
    program.tensors = {{"x", DType::float64, Role::input, {2, 4}, {2, 2}, true},
                       {"y", DType::float64, Role::output, {2, 4}, {2, 2}, true}};
    PeClass& all = program.classes.front();
    runtime::testing::add_slot(all, "a", {2, 2});
    runtime::testing::add_slot(all, "r", {2, 2});
    runtime::testing::Code code;
    code.loop("k", constant(0), constant(1)).load(slot(0), 0, {constant(0), variable(1)});
    all.code = code.store(1, {constant(0), variable(1)}, slot(0)).end().code;
    return program;
  };
  EXPECT_NO_THROW((void)prove(make(), nullptr));
  Program program = make();
  program.classes[0].slots[0].tile = {2, 1};
  EXPECT_EQ(fault_of(program).message, "a 2x2 tile does not fit slot `a`, of 2x1 tiles, in PE (0)");
  program = make();
  program.classes[0].code.insert(program.classes[0].code.begin() + 2,
                                 Instruction{Compute{Op::row_sum, 0, {slot(0)}, slot(1)}, Span{}});
  action<Store>(program, 0, 3).source = slot(1);
  EXPECT_EQ(fault_of(program).code, "CYC664");
  EXPECT_EQ(fault_of(program).message, "a 2x1 tile is stored to `y[0, 0]`, which is 2x2, in PE (0)");
  action<Compute>(program, 0, 2) = Compute{Op::matmul_add, 0, {slot(1), slot(0), slot(0)}, slot(1)};
  EXPECT_EQ(fault_of(program).code, "CYC661");  // the accumulator has no value

  program = make();
  action<Store>(program, 0, 2).source = slot(1);
  program.classes[0].code.insert(program.classes[0].code.begin() + 2,
                                 Instruction{Compute{Op::transpose, 0, {slot(0)}, slot(1)}, Span{}});
  EXPECT_NO_THROW((void)prove(program, nullptr));
  program.classes[0].slots[1].address = program.classes[0].slots[0].address;
  const auto found = fault_of(program);
  EXPECT_EQ(found.code, "CYC667");
  samples::expect_golden_refusal("proof-of-an-overwritten-factor", found);
  EXPECT_EQ(found.message, "`transpose` reads slot `a` while it writes slot `r` over it, in PE (0)");
}

TEST(Prove, AnotherTermThanTheEquations) {
  auto found = fault([](Program& p) { action<Compute>(p, 1, 2).op = Op::multiply; });
  EXPECT_EQ(found.code, "CYC665");
  EXPECT_EQ(found.message, "`y[0]` is stored with another value than its equation's, in PE (1)");
  ASSERT_EQ(found.notes.size(), 3U);
  EXPECT_EQ(found.notes[0].text, "at instruction 3 of class 1, where k = 0");
  EXPECT_EQ(found.notes[1].text, "the equation gives x[0] + x[0]");
  EXPECT_EQ(found.notes[2].text, "the program stores x[0] · x[0]");

  found = fault([](Program& p) { action<Load>(p, 0, 1).index = {constant(1)}; });
  EXPECT_EQ(found.code, "CYC665");
  EXPECT_EQ(found.notes.back().text, "they first differ where the equation has x[0] and the program x[1]");

  found = fault([](Program& p) {  // nobody reads it, but it fails where x is negative
    auto& code = p.classes[1].code;
    code.insert(code.begin() + 4, Instruction{Compute{Op::sqrt, 0, {slot(0)}, slot(0)}, Span{}});
  });
  EXPECT_EQ(found.code, "CYC665");
  EXPECT_EQ(found.message,
            "sqrt(x[0]) is computed, which no equation contains and which may fail, in PE (1)");
}

TEST(Prove, OtherTensorsThanTheRecurrences) {
  EXPECT_EQ(fault([](Program& p) { p.tensors[0].name = "z"; }).code, "CYC666");
  EXPECT_EQ(fault([](Program& p) { p.tensors[1].name = "z"; }).code, "CYC666");
  EXPECT_EQ(fault([](Program& p) {
              p.tensors.push_back({"z", DType::float64, Role::output, {3}, {1}, false});
              auto& code = p.classes[1].code;
              code.insert(code.begin() + 3, code[3]);
              std::get<Store>(code[3].action).tensor = TensorId(2);
            }).message,
            "`z[0]` is stored, which no equation assigns, in PE (1)");
}

TEST(Prove, EquationsThatAreNone) {
  const auto message = [](const samples::System& system) {
    const auto found = fault_of(doubled(), &system);
    EXPECT_EQ(found.code, "CYC668");
    return found.message;
  };
  const auto start = [] {
    samples::SystemBuilder b("doubled");
    b.input("x", {3}).output("y", {3}).names({"k"});
    return b;
  };
  auto b = start();
  const auto gap = b.equation("y", {"k"}, 1, "0 <= k < 2", b.at("x", {"k"})).build();
  EXPECT_EQ(message(gap), "`y[2]` is never assigned");
  samples::expect_golden_refusal("proof-of-a-gap", fault_of(doubled(), &gap));
  b = start();
  b.equation("y", {"k"}, 1, "0 <= k < 3", b.at("x", {"k"}));
  EXPECT_EQ(message(b.equation("y", {"k"}, 1, "k = 1", b.at("x", {"k"})).build()),
            "`y[1]` is assigned twice");
  b = start();
  EXPECT_EQ(message(b.equation("y", {"k"}, 1, "0 <= k < 3", b.at("y", {"k"})).build()),
            "`y[0]` depends on itself");
  b = start();
  b.equation("y", {"k"}, 1, "k = 0", b.at("y", {"k+1"})).equation("y", {"k"}, 1, "k = 1", b.at("y", {"k-1"}));
  EXPECT_EQ(message(b.equation("y", {"k"}, 1, "k = 2", b.at("x", {"k"})).build()),
            "`y[0]` depends on itself");
  b = start();
  EXPECT_EQ(message(b.equation("y", {"k"}, 1, "0 <= k < 3", b.at("x", {"k+1"})).build()),
            "`x` is used outside its 3 elements in dimension 0, at 3");
  b = start();
  b.names({"k", "j"});
  const auto most = b.reduce(recurrence::Reduction::maximum, "j", "0 <= j < k", b.at("x", {"j"}));
  EXPECT_EQ(message(b.equation("y", {"k"}, 1, "0 <= k < 3", most).build()),
            "a maximum or minimum over nothing has no value");
}

TEST(Prove, ChannelsThatAreTooShallow) {
  Program program = doubled();
  auto& code = program.classes[1].code;
  code.insert(code.begin(), Instruction{Receive{ChannelId(1), slot(1), {}}, Span{}});
  program.channels.push_back(runtime::testing::link("late", {1}));
  program.classes[0].code.push_back(Instruction{Send{ChannelId(1), slot(0)}, Span{}});
  const auto system = doubled_system();
  const auto found = fault_of(program, &system);
  EXPECT_EQ(found.code, "CYC802");
  EXPECT_EQ(found.message, "the program deadlocks: 2 PEs wait for each other in a circle");
  EXPECT_EQ(found.help, "deeper channels let it pass: `least_depths()` lists how deep");
  const Proof proof = prove(program, &system, {default_limit, {}, false});
  EXPECT_FALSE(proof.ok());
  for (const auto& property : proof.properties) {
    const bool blocks = property.name == "deadlock" || property.name == "rendezvous";
    EXPECT_EQ(property.status == Property::Status::does_not_hold, blocks) << property.name;
  }
  program.channels[0].depth = 3;
  EXPECT_TRUE(prove(program, &system).ok());
  program.classes[0].code.pop_back();
  EXPECT_EQ(fault_of(program, &system).help,
            "no channel depth helps: a message that is waited for is never sent");
}

TEST(Prove, MemoryThatIsNotLaidOut) {
  const auto found = fault([](Program& p) {
    for (auto& pe_class : p.classes) {
      for (auto& one : pe_class.slots) one.address = -1;
    }
  });
  EXPECT_EQ(found.code, "CYC613");
}

TEST(Prove, UnionsAndDiagonalDomains) {
  // y[0] and y[2] by one equation over a union; a sum over a union with a gap and a common value.
  samples::SystemBuilder b("doubled");
  b.input("x", {3}).output("y", {3}).names({"k", "j"});
  recurrence::System system =
      b.equation("y", {"k"}, 1, "k = 0 or k = 2", b.apply(Op::add, {b.at("x", {"k"}), b.at("x", {"k"})}))
          .build();
  const auto twice = b.sum("j", "j = k", b.at("x", {"j"}));
  system = b.equation("y", {"k"}, 1, "k = 1", b.apply(Op::add, {twice, twice})).build();
  system.equations[0].domain.push_back(system.equations[0].domain.front());  // the same points again
  auto& reduce = std::get<recurrence::Reduce>(system.exprs[twice.index()].node);
  reduce.domain.push_back(reduce.domain.front());
  EXPECT_TRUE(prove(doubled(), &system).ok());

  // Bounds that name a later index: a domain that only isl can bound.
  system = doubled_system();
  auto& equation = system.equations.front();
  equation.indices = {"k", "m"};
  equation.domain = {
      {{{{1, 0}, 0}, false, 0}, {{{-1, 1}, 0}, false, 0}, {{{0, -1}, 2}, false, 0}, {{{1, -1}, 0}, true, 0}}};
  EXPECT_TRUE(prove(doubled(), &system).ok());
}

TEST(Prove, CanBeCalledOff) {
  const auto system = samples::matmul(20, 20, 20);
  const auto program = driver::compile(system, std::nullopt, {}).program;
  Interrupt interrupt;
  const Interrupt::Scope scope(interrupt);
  EXPECT_TRUE(prove(program, &system).ok());
  interrupt.raise();
  EXPECT_THROW((void)prove(program, &system), Interrupted);
  EXPECT_THROW((void)least_depths(program, default_limit), Interrupted);
}

TEST(Prove, EverySampleKernelUnderItsDefault) {
  using samples::cholesky, samples::matmul, samples::trsm;
  for (const auto& system : {matmul(4, 3, 5), matmul(7, 5, 6, 2), trsm(4, 2), trsm(7, 3, 2), samples::trsv(5),
                             samples::trsm_right(4, 4, 2), cholesky(5), cholesky(7, 2),
                             samples::prefix_sum(6), samples::suffix_sum(6), samples::prefix_sum(1)}) {
    const auto compiled = driver::compile(system, std::nullopt, {});
    EXPECT_TRUE(prove(compiled.program, &system).ok()) << system.kernel;
  }
}

}  // namespace
}  // namespace cyclotron::proof::testing
