// Constants of programs: inputs that get scalars of their own, and the way back.
#include <cyclotron/program/constants.hpp>

#include <vector>

#include "sample_programs.hpp"

namespace cyclotron::testing {
namespace {

TEST(Constants, AreInputsWithScalarsOfTheirOwn) {
  const Program plain = matmul();
  const std::string name = plain.tensors[0].name;
  const std::vector<std::byte> scalars(*scalar_bytes(plain.tensors[0]), std::byte{3});
  const std::string output = plain.tensors[2].name;
  const Program changed = with_constants(plain, {{name, scalars}, {output, scalars}, {"of nothing", {}}});
  EXPECT_EQ(changed.tensors[0].role, Role::constant);
  EXPECT_EQ(changed.tensors[0].values, scalars);
  EXPECT_EQ(changed.tensors[2], plain.tensors[2]);
  const program::ConstantValues found = constants(changed);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at(name).data(), changed.tensors[0].values.data());
  EXPECT_EQ(without_constants(changed), plain);
  EXPECT_TRUE(constants(plain).empty());
}

TEST(Constants, HaveAsManyScalarsAsTheirShape) {
  const Program plain = matmul();
  const std::vector<std::byte> scalars(*scalar_bytes(plain.tensors[0]) - 1);
  EXPECT_EQ(
      thrown<ProgramError>([&] { (void)with_constants(plain, {{plain.tensors[0].name, scalars}}); }).code,
      "CYC615");
}

}  // namespace
}  // namespace cyclotron::testing
