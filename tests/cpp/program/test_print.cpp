#include "sample_programs.hpp"

namespace cyclotron::testing {
namespace {

TEST(Print, ClassesReadLikeThePaper) {
  const Program program = matmul();
  EXPECT_EQ(to_string(program, program.classes[0]),
            "class 0    { [i, k] : 0 < i <= 2 and 0 < k <= 2 }\n"
            "  [i, k]_W ← A[i, k]   load\n"
            "  for j = 0 .. 4\n"
            "    [i, k]_B ← [i-1, k]_B   receive\n"
            "    [i, k]_C ← [i, k-1]_C   receive\n"
            "    [i, k]_B → [i+1, k]_B   send\n"
            "    [i, k]_C ← [i, k]_C + [i, k]_W · [i, k]_B\n"
            "    [i, k]_C → [i, k+1]_C   send\n");
}

TEST(Print, EveryInstructionHasAForm) {
  const Program program = everything();
  EXPECT_EQ(
      to_string(program, program.classes[2]),
      "class 2\n"
      "  for t = max(ceil((i + 1) / 2), 0) .. min(k + 9, floor((30) / 4)) step 2\n"
      "    if ((i + t) mod 3 = 0 and i = k) or true\n"
      "      [i, k]_x ← [i, t-1]_x   receive\n"
      "      [i, k]_x → [i, 1 .. floor((k) / 2)]_x   broadcast\n"
      "    [i, k]_y ← (-0+infj)\n"
      "    [i, k]_y ← (0.1-infj)\n"
      "    [i, k]_y ← solve_triangular([i, k]_x, 5e-324, transpose_a, lower, right_side, unit_diagonal)\n"
      "    [i, k]_y ← [i, k]_T[i+2*((t+1) mod 3)] @ [i, k]_xᵀ\n"
      "    [i, k]_y → [i+1, k]_y   send\n");
}

TEST(Print, NumbersBoundIterations) {
  EXPECT_EQ(to_string(bounded_by_a_number(), bounded_by_a_number().classes[0]),
            "class 0\n"
            "  for t = 0 .. 7\n"
            "    if t + 1 < [i]_n and 9 ≥ [i]_n\n"
            "      [i]_x ← [i]_x + [i]_x\n");
}

TEST(Print, ProgramsListTheirTables) {
  const std::string text = to_string(everything());
  EXPECT_NE(text.find("on torus 4x4, link latency 1"), std::string::npos) << text;
  EXPECT_NE(text.find("  input T: [10] float64 in tiles of [4]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  output C: [4, 5] float64\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  link B.i+1: 1x1 float64 by [1, 0]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  network X: 8x8 float64 along dimension 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("C[i, j] ← [i, k]_C   store\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  schedule: space i, k; time j\n"), std::string::npos) << text;
}

TEST(Print, ComparisonsHaveNoNeedlessMinus) {
  Program program = matmul();
  const auto text = [&](Condition::Kind kind, Affine affine) {
    program.classes[0].code = {at(If{{{{kind, std::move(affine), 0}}}}), at(End{})};
    const std::string all = to_string(program, program.classes[0]);
    const auto start = all.find("if ") + 3;
    return all.substr(start, all.find('\n', start) - start);
  };
  EXPECT_EQ(text(Condition::Kind::non_negative, form({1}, -1)), "i ≥ 1");
  EXPECT_EQ(text(Condition::Kind::non_negative, form({-1}, 4)), "i ≤ 4");
  EXPECT_EQ(text(Condition::Kind::non_negative, form({-1, 1}, 2)), "k + 2 ≥ i");
  EXPECT_EQ(text(Condition::Kind::non_negative, form({-1, 1}, -2)), "k ≥ i + 2");
  EXPECT_EQ(text(Condition::Kind::zero, form({2, 3}, -6)), "2*i + 3*k = 6");
  EXPECT_EQ(text(Condition::Kind::zero, form({-1, 0}, 0)), "i = 0");
}

// A program that the verifier refused is printed in the error's context; ids may point anywhere.
TEST(Print, BrokenProgramsStillPrint) {
  Program program = matmul();
  program.grid_names.clear();
  program.classes[0].code = {at(End{}),
                             at(Load{slot(9), TensorId(7), {form({0, 0, 0, 1})}}),
                             at(Receive{ChannelId(), SlotRef{}, {}}),
                             at(Compute{Op::syrk_add, 0, {}, slot(1)}),
                             at(Compute{Op::multiply_add, 0, {slot(1)}, slot(1)}),
                             loop("j", 0, 1)};
  const std::string text = to_string(program, program.classes[0]);
  EXPECT_NE(text.find("?[v3]"), std::string::npos) << text;
}

}  // namespace
}  // namespace cyclotron::testing
