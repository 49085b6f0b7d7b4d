// Each fault of a system of recurrences, with its code and a witness.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

template <class E>
void expect_fault(const System& system, const std::string& code, const std::string& message) {
  const auto diagnostic = error_of<E>([&] { recurrence::verify(system); });
  EXPECT_EQ(diagnostic.code, code);
  EXPECT_NE(diagnostic.message.find(message), std::string::npos) << diagnostic.message;
  EXPECT_TRUE(diagnostic.span.known()) << diagnostic.message;
  EXPECT_FALSE(diagnostic.help.empty());
}

/// R[i] = x[i] for i in the domain; R has 4 elements, x has 6.
SystemBuilder copy(const std::string& domain = "0 <= i < 4", const std::string& target = "i",
                   const std::string& source = "i") {
  SystemBuilder b("copy");
  b.input("x", {6}).output("R", {4}).local("T", {4}).names({"i"});
  b.equation("R", {target}, 1, domain, b.at("x", {source}));
  return b;
}

TEST(Verify, AcceptsTheSamples) {
  for (const auto& system : {matmul(3, 4, 5), matmul(7, 4, 5, 2), trsm(4, 3), trsm(7, 4, 3), trsv(4),
                             trsm_right(4, 3), trsm_right(8, 4, 4), cholesky(5), cholesky(7, 2),
                             prefix_sum(1), prefix_sum(5), suffix_sum(5), stencil(3, 5), copy().build()}) {
    EXPECT_NO_THROW(recurrence::verify(system)) << to_string(system);
  }
}

TEST(Verify, SingleAssignment) {
  auto b = copy();
  b.equation("R", {"i"}, 1, "3 <= i < 4", b.number(0));
  expect_fault<LegalityError>(b.build(), "CYC201", "`R[3]` is assigned twice, by two equations");

  SystemBuilder twice("twice");
  twice.output("R", {5}).names({"i", "j"});
  twice.equation("R", {"i+j"}, 2, "0 <= i < 3 and 0 <= j < 3", twice.number(1));
  expect_fault<LegalityError>(twice.build(), "CYC201",
                              "`R[i+j]` is assigned twice: at i = 0, j = 1 and at i = 1, j = 0");

  auto input = copy();
  input.equation("x", {"i"}, 1, "0 <= i < 2", input.number(0));
  expect_fault<LegalityError>(input.build(), "CYC201", "`x` is an input and cannot be assigned");
}

TEST(Verify, FullCover) {
  expect_fault<LegalityError>(copy("0 <= i < 2 or i = 3").build(), "CYC202",
                              "`R[2]` is never assigned, and `R` is returned");
  expect_fault<LegalityError>(copy("false").build(), "CYC202", "`R[0]` is never assigned");
}

TEST(Verify, Bounds) {
  expect_fault<LegalityError>(copy("0 <= i < 4", "i", "i+4").build(), "CYC203",
                              "`x[i+4]` is `x[6]` at i = 2, but `x` has shape (6)");
  expect_fault<LegalityError>(copy("0 <= i < 4", "i", "i-1").build(), "CYC203",
                              "`x[i-1]` is `x[-1]` at i = 0");
  expect_fault<LegalityError>(copy("0 <= i < 5").build(), "CYC203",
                              "`R[i]` is `R[4]` at i = 4, but `R` has shape (4)");
  // Elements of a blocked tensor are its tiles.
  SystemBuilder b("tiles");
  b.input("A", {7}, 3).output("R", {7}, 3).names({"i"});
  expect_fault<LegalityError>(b.equation("R", {"i"}, 1, "0 <= i < 4", b.at("A", {"i"})).build(), "CYC203",
                              "but `R` has shape (3)");
}

TEST(Verify, BoundsInsideReductions) {
  SystemBuilder b("conv");
  b.input("x", {5}).output("R", {4}).names({"i", "k"});
  b.equation("R", {"i"}, 1, "0 <= i < 4", b.sum("k", "0 <= k < 3", b.at("x", {"i+k"})));
  expect_fault<LegalityError>(b.build(), "CYC203", "`x[i+k]` is `x[5]` at i = 3, k = 2");
}

TEST(Verify, ReadsOfUnassignedElements) {
  auto b = copy();
  b.equation("T", {"i"}, 1, "0 <= i < 3", b.number(1));
  b.output("Q", {3});
  b.equation("Q", {"i"}, 1, "0 <= i < 3", b.at("T", {"i+1"}));
  expect_fault<LegalityError>(b.build(), "CYC204",
                              "`T[i+1]` reads `T[3]` at i = 2, which no equation assigns");
}

TEST(Verify, EmptyExtremes) {
  for (const auto kind : {Reduction::maximum, Reduction::minimum}) {
    SystemBuilder b("extreme");
    b.input("x", {4}).output("R", {4}).names({"i", "k"});
    b.equation("R", {"i"}, 1, "0 <= i < 4", b.reduce(kind, "k", "0 <= k < i", b.at("x", {"k"})));
    expect_fault<LegalityError>(b.build(), "CYC205", "the maximum or minimum over `k` is empty at i = 0");
  }
}

TEST(Verify, Shapes) {
  SystemBuilder b("shapes");
  b.input("A", {4, 4}, 2).input("x", {4}, 2).output("R", {4, 4}, 2).names({"i", "j"});
  b.equation("R", {"i", "j"}, 2, "0 <= i < 2 and 0 <= j < 2",
             b.apply(Op::matmul, {b.at("A", {"i", "j"}), b.at("x", {"j"})}));
  expect_fault<ShapeError>(b.build(), "CYC206", "a tile of 2x1 is assigned to `R`, whose tiles are 2x2");

  SystemBuilder c("operands");
  c.input("A", {4, 4}, 2).input("B", {6, 6}, 3).output("R", {4, 4}, 2).names({"i", "j"});
  c.equation("R", {"i", "j"}, 2, "0 <= i < 2 and 0 <= j < 2",
             c.apply(Op::matmul, {c.at("A", {"i", "j"}), c.at("B", {"i", "j"})}));
  expect_fault<ShapeError>(c.build(), "CYC206", "`matmul` cannot multiply a 2x2 tile by a 3x3 tile");
}

TEST(Verify, Dtypes) {
  using recurrence::DType;
  using recurrence::Role;
  const auto quotient = [](DType a, DType b, DType r, Op op) {
    SystemBuilder builder("dtypes");
    builder.tensor("A", Role::input, {4}, 0, a)
        .tensor("B", Role::input, {4}, 0, b)
        .tensor("R", Role::output, {4}, 0, r)
        .names({"i"});
    const auto value = builder.apply(op, {builder.at("A", {"i"}), builder.at("B", {"i"})});
    return builder.equation("R", {"i"}, 1, "0 <= i < 4", value).build();
  };
  EXPECT_NO_THROW(recurrence::verify(quotient(DType::int64, DType::int64, DType::int64, Op::multiply)));
  expect_fault<ShapeError>(quotient(DType::float64, DType::float32, DType::float64, Op::add), "CYC206",
                           "`add` mixes float64 and float32");
  expect_fault<ShapeError>(quotient(DType::float32, DType::float32, DType::float64, Op::add), "CYC206",
                           "a float32 value is assigned to `R`, which is float64");
  expect_fault<ShapeError>(quotient(DType::int64, DType::int64, DType::int64, Op::divide), "CYC206",
                           "`divide` is not defined on int64");
}

TEST(Print, ReadsLikeThePaper) {
  EXPECT_EQ(to_string(trsm(4, 3)),
            "recurrences trsm\n"
            "  L : input float64[4, 4]\n"
            "  B : input float64[4, 3]\n"
            "  X : output float64[4, 3]\n"
            "  X[i, r] = (B[i, r] - Σ_{j >= 0 and j < i} (L[i, j] · X[j, r])) / L[i, i]    0 <= i <= 3 and 0 "
            "<= r <= 2\n");
  EXPECT_NE(to_string(matmul(7, 4, 5, 2)).find("  A : input float64[7, 5] in tiles of 2x2\n"),
            std::string::npos);
}

TEST(Sets, TilesOfRaggedTensors) {
  const auto system = matmul(7, 4, 5, 3);
  EXPECT_EQ(system.tensors[0].extents(), (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(recurrence::tile_shape(system.tensors[0]), (operators::Shape{3, 3}));
  EXPECT_EQ(recurrence::tile_shape(matmul(2, 4, 5, 3).tensors[0]), (operators::Shape{2, 3}));
}

}  // namespace
}  // namespace cyclotron::testing
