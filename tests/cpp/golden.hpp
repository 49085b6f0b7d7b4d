// Golden files: expected texts under tests/golden; CYCLOTRON_UPDATE_GOLDEN=1 rewrites them.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

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

/// The upper part of a golden file of a pass: lines `# key: value`, then an IR in text.
struct PassInput {
  std::map<std::string, std::string> keys;
  std::string text;

  /// The words of a key's value, which commas separate.
  [[nodiscard]] std::vector<std::string> words(const std::string& key) const {
    std::vector<std::string> result;
    std::istringstream value(keys.at(key));
    for (std::string word; std::getline(value >> std::ws, word, ',');) result.push_back(word);
    return result;
  }
};

/// Runs a pass on each file of tests/golden/<layer>/<pass>, one a behaviour: `run` makes the text below the line `---`
/// from what is above it. CYCLOTRON_UPDATE_GOLDEN=1 rewrites the lower part. Every file there is used, and says in its
/// first line whose it is: `# pass: <layer>.<pass>`.
template <class Run>
void expect_golden_pass(const std::string& layer, const std::string& pass, Run run) {
  const auto folder = std::filesystem::path(CYCLOTRON_GOLDEN_DIR) / layer / pass;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  EXPECT_GE(files.size(), 2U) << folder;
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    std::ifstream stream(file);
    PassInput input;
    std::string above;
    for (std::string line; std::getline(stream, line) && line != "---";) {
      above += line + "\n";
      const auto colon = line.find(": ");
      if (line.starts_with("# ") && colon != std::string::npos) {
        input.keys.emplace(line.substr(2, colon - 2), line.substr(colon + 2));
      } else {
        input.text += line + "\n";
      }
    }
    ASSERT_EQ(input.keys["pass"], layer + "." + pass);
    expect_golden(layer + "/" + pass + "/" + file.filename().string(),
                  above + "---\n" + run(std::as_const(input)));
  }
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
