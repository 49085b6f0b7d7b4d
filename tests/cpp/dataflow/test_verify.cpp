// A graph that is wrong is found out, whoever wrote it (CYC214).
#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/support/error.hpp>

#include <gtest/gtest.h>

#include "sample_systems.hpp"

namespace cyclotron::dataflow {
namespace {

Graph matmul() {
  const auto system = cyclotron::testing::matmul(3, 4, 5);
  return lower(system, schedule::complete(system, {{"i", "j"}, {}, {}}));
}

void expect_refused(const Graph& graph, const char* fault) {
  try {
    verify(graph);
    FAIL() << fault;
  } catch (const LegalityError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC214");
    EXPECT_NE(error.diagnostic().message.find(fault), std::string::npos) << error.what();
  }
}

TEST(Verify, AcceptsWhatLowerMakes) { EXPECT_NO_THROW(verify(matmul())); }

TEST(Verify, FindsAValueDefinedTwice) {
  auto graph = matmul();
  graph.rules.push_back(graph.rules.front());
  expect_refused(graph, "for the second time");
}

TEST(Verify, FindsAValueThatNoRuleDefines) {
  auto graph = matmul();
  graph.rules.erase(graph.rules.begin());
  expect_refused(graph, "that no rule defines");
}

TEST(Verify, FindsAnotherElementsValue) {
  auto graph = matmul();
  auto& element = graph.flows.at(graph.rules.front().flow.index()).element;
  element.front() = element.front() + poly::variable(3, 1);  // now it varies along the stream
  expect_refused(graph, "another element");
}

}  // namespace
}  // namespace cyclotron::dataflow
