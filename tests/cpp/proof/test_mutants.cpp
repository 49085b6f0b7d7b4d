// Mutation: thousands of changed programs. What the checker accepts must run to the same bits.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <optional>

#include <cyclotron/driver/compile.hpp>
#include <cyclotron/proof/proof.hpp>
#include <cyclotron/runtime/runtime.hpp>

#include "mutate.hpp"
#include "sample_systems.hpp"

namespace cyclotron::proof::testing {
namespace {

namespace samples = cyclotron::testing;
using schedule::MovementKind;
using schedule::Schedule;

constexpr std::int64_t point_limit = 100'000;

using Bits = std::vector<std::vector<std::uint64_t>>;  ///< Of each output.

/// Arrays of random numbers: triangles and positive definite matrices where the kernel needs them.
std::vector<std::vector<double>> random_inputs(const Program& program, Random& random) {
  std::vector<std::vector<double>> result;
  for (const auto& tensor : program.tensors) {
    std::size_t size = 1;
    for (const auto extent : tensor.shape) size *= static_cast<std::size_t>(extent);
    auto& values = result.emplace_back(size);
    for (auto& value : values) value = random.real();
    const bool definite = program.kernel == "cholesky" && tensor.role == Role::input;
    if (tensor.shape.size() != 2 || (tensor.name != "L" && !definite)) continue;
    const auto n = static_cast<std::size_t>(tensor.shape[0]);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (definite) values[j * n + i] = values[i * n + j];
      }
      values[i * n + i] = 2 + static_cast<double>(n) + values[i * n + i];
    }
  }
  return result;
}

/// None where the run deadlocks or fails.
std::optional<Bits> run(const Program& program, std::vector<std::vector<double>> arrays) {
  runtime::Arrays views;
  for (std::size_t t = 0; t < arrays.size(); ++t) {
    const auto& shape = program.tensors[t].shape;
    if (program.tensors[t].role == Role::output)
      arrays[t].assign(arrays[t].size(), std::bit_cast<double>(0x7ff8dead00000000ULL));
    runtime::ArrayView view{arrays[t].data(), std::vector<std::int64_t>(shape.size(), sizeof(double))};
    for (std::size_t d = shape.size(); d-- > 1;) view.strides[d - 1] = view.strides[d] * shape[d];
    views.push_back(std::move(view));
  }
  try {
    (void)runtime::simulate(program, views, {.functional = true, .event_limit = 0});
  } catch (const DeadlockError&) {
    return std::nullopt;
  } catch (const ExecutionError&) {
    return std::nullopt;
  }
  Bits bits;
  for (std::size_t t = 0; t < arrays.size(); ++t) {
    if (program.tensors[t].role != Role::output) continue;
    auto& output = bits.emplace_back();
    for (const double value : arrays[t]) output.push_back(std::bit_cast<std::uint64_t>(value));
  }
  return bits;
}

struct Subject {
  recurrence::System system;
  Program program;
};

std::vector<Subject> subjects() {
  using samples::cholesky, samples::matmul, samples::stencil, samples::trsm;
  const std::vector<std::pair<recurrence::System, std::vector<Schedule>>> cases{
      {matmul(3, 3, 3),
       {{{"i", "j"}, {"k"}, {}},
        {{"i", "k"}, {"j"}, {}},
        {{"j"}, {"i", "k"}, {}},
        {{}, {"i", "j", "k"}, {}},
        {{"i", "j"}, {"k"}, {{"A", MovementKind::broadcast, {}}, {"B", MovementKind::broadcast, {}}}},
        {{"i", "k"}, {"j"}, {{"A", MovementKind::prefetch, {}}}}}},
      {matmul(4, 5, 3, 2), {{{"i", "j"}, {"k"}, {}}, {{"i", "k"}, {"j"}, {}}}},
      {trsm(4, 2),
       {{{"i"}, {"r", "j"}, {}},
        {{"i", "j"}, {"r"}, {}},
        {{"i"}, {"r", "j"}, {{"B", MovementKind::prefetch, {}}}}}},
      {trsm(5, 3, 2), {{{"i"}, {"r", "j"}, {}}}},
      {samples::trsv(4), {{{"i"}, {"j"}, {}}}},
      {samples::trsm_right(4, 3, 2), {{{"i"}, {"r", "j"}, {}}}},
      {cholesky(4), {{{"i", "j"}, {"k"}, {}}, {{"i"}, {"j", "k"}, {}}, {{}, {"j", "i", "k"}, {}}}},
      {cholesky(5, 2), {{{"i", "j"}, {"k"}, {}}}},
      {samples::prefix_sum(5), {{{"i"}, {}, {}}}},
      {stencil(3, 5), {{{"x"}, {"t"}, {}}}},
  };
  std::vector<Subject> result;
  for (const auto& [system, schedules] : cases) {
    for (const auto& schedule : schedules) {
      try {
        result.push_back({system, driver::compile(system, schedule, {}).program});
      } catch (const LegalityError& error) {
        ADD_FAILURE() << system.kernel << ": " << error.what();
      }
    }
  }
  return result;
}

std::string slots_text(const Program& program) {
  std::string text;
  for (const auto& pe_class : program.classes) {
    text += pe_class.name + "\n";
    for (const auto& slot : pe_class.slots)
      text += "  " + slot.name + " x " + std::to_string(slot.count) + " at " + std::to_string(slot.address) +
              "\n";
  }
  return text;
}

enum class Verdict : std::uint8_t { ill_formed, too_large, rejected, accepted };

Verdict judge(const Program& mutant, const recurrence::System& system, std::map<std::string, int>& codes) {
  try {
    verify(mutant);
  } catch (const ProgramError&) {
    return Verdict::ill_formed;
  }
  try {
    const Proof proof = prove(mutant, &system, Options{point_limit, {}, true});
    return proof.ok() ? Verdict::accepted : Verdict::too_large;
  } catch (const Error& error) {
    ++codes[error.diagnostic().code];
    return Verdict::rejected;
  }
}

TEST(Mutants, EveryAcceptedOneRunsToTheSameBits) {
  const int wanted = how_many("CYCLOTRON_MUTANTS", 12'000);
  Random random(fresh_seed("mutants"));
  Mutator mutate(random);
  const auto all = subjects();
  std::map<Verdict, int> counts;
  std::map<std::string, int> codes;
  int changed = 0;  // Accepted ones that are not the original program.
  int judged = 0;
  while (judged < wanted) {
    const Subject& subject = all[random.below(all.size())];
    Program mutant = mutate(subject.program);
    while (random.chance(10)) mutant = mutate(std::move(mutant));
    const Verdict verdict = judge(mutant, subject.system, codes);
    ++counts[verdict];
    if (verdict != Verdict::ill_formed) ++judged;
    if (verdict != Verdict::accepted || mutant == subject.program) continue;
    ++changed;
    for (int trial = 0; trial < 3; ++trial) {
      const auto inputs = random_inputs(subject.program, random);
      const auto expected = run(subject.program, inputs);
      ASSERT_TRUE(expected.has_value());
      ASSERT_EQ(run(mutant, inputs), expected)
          << "the checker accepts this program:\n"
          << to_string(mutant) << "\nmade from the one of " << subject.system.kernel << ":\n"
          << to_string(subject.program) << "\nslots:\n"
          << slots_text(mutant);
    }
  }
  std::cout << judged << " mutants of " << all.size() << " programs judged: " << counts[Verdict::rejected]
            << " rejected, " << counts[Verdict::accepted] << " accepted (" << changed
            << " of them changed, all run to the same bits), " << counts[Verdict::too_large] << " too large; "
            << counts[Verdict::ill_formed] << " more refused by program::verify\n";
  for (const auto& [code, count] : codes) std::cout << "  " << code << "  " << count << "\n";
  EXPECT_GT(counts[Verdict::rejected], wanted / 2);
  EXPECT_GT(changed, wanted / 100);
  EXPECT_LT(counts[Verdict::too_large], wanted / 20);
}

TEST(Mutants, TheProgramsThemselvesAreProven) {
  for (const auto& [system, program] : subjects()) {
    const Proof proof = prove(program, &system, Options{point_limit, {}, true});
    EXPECT_TRUE(proof.ok()) << to_string(program);
    EXPECT_EQ(proof.properties.size(), 8U);
  }
}

}  // namespace
}  // namespace cyclotron::proof::testing
