// PE classes partition the grid, and illegal placements have a witness.
#include <gtest/gtest.h>

#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/mapping/map_to_grid.hpp>

#include "evaluate.hpp"
#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using mapping::Kind;
using mapping::Mapping;
using schedule::MovementKind;
using schedule::Schedule;

Mapping map(const System& system, const Schedule& schedule, const machine::Machine& machine = {}) {
  const auto complete = schedule::complete(system, schedule);
  return mapping::map_to_grid(dataflow::lower(system, complete), complete, machine);
}

const Schedule weight_stationary{{"i", "k"}, {"j"}, {}};

TEST(Classes, NineForWeightStationaryMatmul) {
  EXPECT_EQ(map(matmul(64, 16, 32), weight_stationary).classes.size(), 9U);
  EXPECT_EQ(map(matmul(3, 2, 3), weight_stationary).classes.size(), 9U);
  EXPECT_EQ(map(matmul(1024, 2, 512), weight_stationary).classes.size(), 9U);
}

// E2: thin grids have others.
TEST(Classes, OfThinGrids) {
  const auto regions = [](std::int64_t rows, std::int64_t columns) {
    std::vector<std::string> result;
    for (const auto& cell : map(matmul(rows, 2, columns), weight_stationary).classes)
      result.push_back(cell.region.constraints_text({"i", "k"}));
    return result;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(regions(1, 1), (Texts{"i = 0 and k = 0"}));
  EXPECT_EQ(regions(2, 2),
            (Texts{"i = 0 and k = 0", "i = 0 and k = 1", "i = 1 and k = 0", "i = 1 and k = 1"}));
  EXPECT_EQ(regions(1, 5), (Texts{"i = 0 and k = 0", "i = 0 and 1 <= k <= 3", "i = 0 and k = 4"}));
  EXPECT_EQ(regions(5, 1), (Texts{"i = 0 and k = 0", "1 <= i <= 3 and k = 0", "i = 4 and k = 0"}));
  EXPECT_EQ(regions(2, 5).size(), 6U);
}

void expect_partition(const System& system, const Schedule& schedule) {
  const auto mapping = map(system, schedule);
  std::vector<std::pair<std::vector<poly::Conjunction>, std::vector<std::size_t>>> cells;
  for (const auto& cell : mapping.classes) cells.emplace_back(*cell.region.conjunctions(), cell.statements);
  std::map<Point, std::set<std::size_t>> expected;
  const auto forms = mapping.pe_forms();
  for (std::size_t s = 0; s < mapping.statements.size(); ++s) {
    for (const auto& point : points_of(mapping.statements[s].domain)) {
      Point pe;
      for (const auto& form : forms) pe.push_back(poly::evaluate(form, point));
      expected[pe].insert(s);
    }
  }
  for (const auto& [pe, statements] : expected) {
    int count = 0;
    for (std::size_t g = 0; g < pe.size(); ++g) EXPECT_TRUE(pe[g] >= 0 && pe[g] < mapping.grid.extents[g]);
    for (const auto& [region, own] : cells) {
      if (!contains(region, pe)) continue;
      ++count;
      EXPECT_EQ(std::set<std::size_t>(own.begin(), own.end()), statements);
    }
    EXPECT_EQ(count, 1) << to_string(schedule);
  }
  std::size_t covered = 0;
  for (const auto& cell : mapping.classes) covered += points_of(cell.region).size();
  EXPECT_EQ(covered, expected.size()) << "a class has a PE without statements";
}

TEST(Classes, PartitionTheGrid) {
  for (const std::int64_t n : {1, 2, 3, 5}) {
    for (const Schedule& schedule :
         {Schedule{{"i", "j"}, {}, {}}, weight_stationary, Schedule{{"k"}, {}, {}}, Schedule{}}) {
      expect_partition(matmul(n, 3, 2), schedule);
    }
    expect_partition(trsv(n), {{"i"}, {}, {}});
    expect_partition(trsm(n, 2), {{"i"}, {}, {{"B", MovementKind::stream, {"i"}}}});
    expect_partition(trsm(n, 2), {{"i", "j"}, {}, {}});
    expect_partition(cholesky(n), {{"i", "j"}, {}, {}});
    expect_partition(prefix_sum(n), {{"i"}, {}, {}});
  }
}

TEST(Classes, RepresentEachRoleOnce) {
  const auto mapping = map(cholesky(6), {{"i", "j"}, {}, {}});
  for (std::size_t a = 0; a < mapping.classes.size(); ++a) {
    for (std::size_t b = a + 1; b < mapping.classes.size(); ++b) {
      EXPECT_NE(mapping.classes[a].statements, mapping.classes[b].statements)
          << "two classes with one program";
    }
  }
}

// E3: forwards of operands come before the compute, sends of results after it.
TEST(Statements, OrderWithinAStep) {
  const auto mapping = map(matmul(4, 3, 4), weight_stationary);
  std::map<Kind, std::pair<std::int64_t, std::int64_t>> range;
  for (const auto& statement : mapping.statements) {
    const auto [entry, fresh] = range.try_emplace(statement.kind, statement.position, statement.position);
    entry->second.first = std::min(entry->second.first, statement.position);
    entry->second.second = std::max(entry->second.second, statement.position);
  }
  const std::vector<Kind> order{Kind::load,    Kind::receive, Kind::forward,
                                Kind::compute, Kind::send,    Kind::store};
  for (std::size_t n = 0; n + 1 < order.size(); ++n)
    EXPECT_LT(range.at(order[n]).second, range.at(order[n + 1]).first);
}

// CY-080: each receive has exactly one send.
TEST(Statements, SendsAndReceivesPairUp) {
  for (const auto& mapping :
       {map(matmul(3, 4, 2), {{"i", "j"}, {}, {}}), map(cholesky(4), {{"i", "j"}, {}, {}}),
        map(trsm(4, 2), {{"i"}, {}, {{"B", MovementKind::stream, {"i"}}}})}) {
    std::map<std::size_t, std::size_t> sent, received;
    for (const auto& statement : mapping.statements) {
      if (statement.kind == Kind::receive) received[statement.channel] += points_of(statement.domain).size();
      if (statement.kind == Kind::send || statement.kind == Kind::forward)
        sent[statement.channel] += points_of(statement.domain).size();
    }
    EXPECT_EQ(sent, received);
    EXPECT_FALSE(sent.empty());
  }
}

TEST(Statements, TimeFunctions) {
  EXPECT_EQ(map(matmul(3, 3, 3), {{"i", "j"}, {}, {}}).time_function, "i+j+k");
  EXPECT_EQ(map(matmul(3, 3, 3), weight_stationary).time_function, "i+j+2k");
}

TEST(Legality, ProofsAreListed) {
  const auto proofs = map(trsm(4, 3), {{"i"}, {}, {}}).proofs;
  EXPECT_GE(proofs.size(), 4U);
  for (const auto& proof : proofs) EXPECT_FALSE(proof.empty());
}

TEST(Legality, AgainstTheOrderOfTime) {
  const auto diagnostic = error_of<LegalityError>([] { (void)map(suffix_sum(4), {{}, {"i"}, {}}); });
  EXPECT_EQ(diagnostic.code, "CYC221");
  EXPECT_NE(
      diagnostic.message.find(
          "`S` is needed at point (2), step i = 2 of PE (0), but made at point (3), step i = 3 of PE (0)"),
      std::string::npos)
      << diagnostic.message;
  EXPECT_FALSE(diagnostic.notes.empty());
  EXPECT_TRUE(diagnostic.span.known());
  // In space the same recurrence runs.
  EXPECT_NO_THROW((void)map(suffix_sum(4), {{"i"}, {}, {}}));
}

TEST(Legality, HopsJoinNeighbours) {
  SystemBuilder b("far");
  b.input("x", {24}).output("S", {24}).names({"i"});
  b.equation("S", {"i"}, 1, "0 <= i < 9", b.at("x", {"i"}));
  b.equation("S", {"i"}, 1, "9 <= i < 24", b.apply(Op::add, {b.at("S", {"i-9"}), b.at("x", {"i"})}));
  const auto diagnostic = error_of<LegalityError>([&] { (void)map(b.build(), {{"i"}, {}, {}}); });
  EXPECT_EQ(diagnostic.code, "CYC220");
  EXPECT_NE(diagnostic.message.find("PE (9) needs `S` from PE (0), 9 hops away"), std::string::npos)
      << diagnostic.message;
  EXPECT_NO_THROW((void)map(b.build(), {{}, {"i"}, {}}));
}

TEST(Legality, GridsFitTheMachine) {
  machine::Machine machine;
  machine.grid = {4, 4};
  EXPECT_NO_THROW((void)map(matmul(4, 2, 3), weight_stationary, machine));
  const auto diagnostic =
      error_of<CapacityError>([&] { (void)map(matmul(5, 2, 3), weight_stationary, machine); });
  EXPECT_EQ(diagnostic.code, "CYC502");
  EXPECT_NE(diagnostic.message.find("a grid of 5x3 PEs, and the machine has 4x4"), std::string::npos)
      << diagnostic.message;
}

}  // namespace
}  // namespace cyclotron::testing
