// Golden files: expected texts under tests/golden; CYCLOTRON_UPDATE_GOLDEN=1 rewrites them.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::testing {

/// Compares the text with tests/golden/<name>.
inline void expect_golden(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(CYCLOTRON_GOLDEN_DIR) / name;
  const char* update = std::getenv("CYCLOTRON_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing: run with CYCLOTRON_UPDATE_GOLDEN=1 and look at what it wrote";
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << "differs from " << path << "; CYCLOTRON_UPDATE_GOLDEN=1 rewrites it";
}

/// Compares what an error says, but for its places, with tests/golden/refusals/<name>.txt.
inline void expect_golden_refusal(const std::string& name, const Diagnostic& diagnostic) {
  std::string text = diagnostic.message + " [" + diagnostic.code + "]\n";
  for (const auto& note : diagnostic.notes) text += "     = note: " + note.text + "\n";
  expect_golden("refusals/" + name + ".txt", text + "     = help: " + diagnostic.help + "\n");
}

/// The diagnostic of the error that the call throws; a test failure where it throws none or another.
template <class E, class F>
Diagnostic error_of(F call) {
  try {
    call();
  } catch (const E& error) {
    return error.diagnostic();
  } catch (const Error& error) {
    ADD_FAILURE() << "a " << error.python_name() << " was thrown: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace cyclotron::testing
