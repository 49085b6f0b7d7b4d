// Seeds of random tests: fresh ones, printed, and CYCLOTRON_SEED to run one again; how many cases to try.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

namespace cyclotron::proof::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// In [first, last].
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(first, last)(engine_);
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(between(0, static_cast<std::int64_t>(count) - 1));
  }
  template <class T>
  auto& pick(T& list) {
    return list[below(list.size())];
  }
  double real() { return std::uniform_real_distribution<double>(-1, 1)(engine_); }

 private:
  std::mt19937_64 engine_;
};

inline std::uint64_t fresh_seed(const char* test) {
  const char* given = std::getenv("CYCLOTRON_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << test << ": seed " << seed << "\n";
  return seed;
}

/// Number of cases to try: `usual`, or what the environment says, for longer campaigns.
inline int how_many(const char* variable, int usual) {
  const char* given = std::getenv(variable);
  return given != nullptr ? std::atoi(given) : usual;
}

}  // namespace cyclotron::proof::testing
