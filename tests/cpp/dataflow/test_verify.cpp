// A graph that is wrong is found out, whoever wrote it (CYC214).
#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/support/error.hpp>

#include <gtest/gtest.h>

#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::dataflow {
namespace {

Graph matmul() {
  const auto system = cyclotron::testing::matmul(3, 4, 5);
  return lower(system, schedule::complete(system, {{"i", "j"}, {}, {}}));
}

void expect_refused(const Graph& graph, const char* fault, const std::string& name) {
  const auto found = cyclotron::testing::error_of<LegalityError>([&] { verify(graph); });
  EXPECT_EQ(found.code, "CYC214");
  EXPECT_NE(found.message.find(fault), std::string::npos) << found.message;
  cyclotron::testing::expect_golden_refusal(name, found);
}

TEST(Verify, AcceptsWhatLowerMakes) { EXPECT_NO_THROW(verify(matmul())); }

TEST(Verify, FindsAValueDefinedTwice) {
  auto graph = matmul();
  graph.rules.push_back(graph.rules.front());
  expect_refused(graph, "for the second time", "dataflow-defined-twice");
}

TEST(Verify, FindsAValueThatNoRuleDefines) {
  auto graph = matmul();
  graph.rules.erase(graph.rules.begin());
  expect_refused(graph, "that no rule defines", "dataflow-of-an-undefined-value");
}

TEST(Verify, FindsAnotherElementsValue) {
  auto graph = matmul();
  auto& element = graph.flows.at(graph.rules.front().flow.index()).element;
  element.front() = element.front() + poly::variable(3, 1);  // now it varies along the stream
  expect_refused(graph, "another element", "dataflow-of-another-element");
}

}  // namespace
}  // namespace cyclotron::dataflow
