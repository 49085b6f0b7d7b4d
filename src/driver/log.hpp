// Private to this folder: name and time of each stage.
#pragma once
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/driver/compile.hpp>
#include <cyclotron/support/interrupt.hpp>

namespace cyclotron::driver {

/// Keeps name and time of each stage; texts are made on demand by the stages themselves. Between stages the work may be
/// called off.
class Log {
 public:
  /// Goes on after the stages of earlier work.
  explicit Log(std::vector<Stage> stages = {}) : stages_(std::move(stages)) {}
  void stage(std::string name, std::string text = {}) {
    check_interrupt();
    const auto now = std::chrono::steady_clock::now();
    stages_.push_back(
        {std::move(name), std::move(text), std::chrono::duration<double, std::milli>(now - last_).count()});
    last_ = std::chrono::steady_clock::now();
  }
  std::vector<Stage> take() { return std::move(stages_); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<Stage> stages_;
};

}  // namespace cyclotron::driver
