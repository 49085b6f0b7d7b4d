// Errors carry their diagnostic; checks of our own say that they are ours.
#include <cyclotron/support/error.hpp>

#include <gtest/gtest.h>

#include "golden.hpp"

namespace cyclotron {
namespace {

TEST(Error, KeepsItsDiagnostic) {
  const ShapeError error({.code = "CYC206",
                          .span = {"kernel.py", 3, 4, 3, 9},
                          .message = "a message",
                          .notes = {{{}, "a note"}},
                          .help = "a help"});
  EXPECT_STREQ(error.what(), "a message [CYC206]");
  EXPECT_STREQ(error.python_name(), "ShapeError");
  EXPECT_TRUE(error.diagnostic().span.known());
  EXPECT_FALSE(error.diagnostic().notes.front().span.known());
}

TEST(Check, ReportsABugOfOurs) {
  EXPECT_NO_THROW(CYC_CHECK(1 + 1 == 2));
  try {
    CYC_CHECK(1 + 1 == 3, "arithmetic");
    FAIL();
  } catch (const InternalError& error) {
    Diagnostic diagnostic = error.diagnostic();
    EXPECT_EQ(diagnostic.code, "CYC900");
    const auto file = diagnostic.message.find(__FILE__);
    ASSERT_NE(file, std::string::npos);
    diagnostic.message.replace(file, diagnostic.message.rfind(": ") - file, "FILE:LINE");
    testing::expect_golden_refusal("internal-error", diagnostic);
    EXPECT_NE(error.diagnostic().message.find("1 + 1 == 3"), std::string::npos);
    EXPECT_NE(error.diagnostic().message.find("arithmetic"), std::string::npos);
  }
}

}  // namespace
}  // namespace cyclotron
