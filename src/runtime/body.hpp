// Many iterations of a loop on scalars: its places are found once, and messages are read and written where their
// queues keep them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "code.hpp"
#include "pe_array.hpp"
#include "tensors.hpp"

namespace cyclotron::runtime {

/// Scalars that stand side by side: the next messages of a queue, or its next free places.
struct Scalars {
  std::byte* first = nullptr;
  std::int64_t count = 0;
};

class BodyRunner {
 public:
  explicit BodyRunner(const std::vector<TensorAccess>& tensors) : tensors_(tensors) {}

  /// By lane of the body, where its next messages stand.
  using Streams = std::array<std::byte*, Body::most_lanes>;

  /// Runs so many iterations (at least one) from the PE's loop variable on, or none (false) where one would leave a slot
  /// or a tensor. The variable and the counter stay as they are, unless a kernel throws: then they tell where.
  bool run(Pe& pe, const Body& body, Streams streams, std::int64_t iterations);

 private:
  /// Where a scalar is, and how many bytes farther it is in the next iteration.
  struct Scalar {
    std::byte* at = nullptr;
    std::ptrdiff_t advance = 0;
  };
  struct Operation {
    std::array<const void*, 3> in{};
    std::array<std::ptrdiff_t, 3> advance{};
    Scalar out;
    ScalarKernel kernel = nullptr;
    Step::Kind kind = Step::Kind::compute;
    std::uint8_t element = 0;
    std::uint8_t lane = 0;
    bool moves = false;  ///< Some scalar does.
  };
  bool find(Pe& pe, const Body& body, std::int64_t iterations);
  [[nodiscard]] static bool find_place(const Pe& pe, const Body& body, const Source& source,
                                       std::int64_t iterations, Scalar& found);
  [[nodiscard]] bool find_element(Pe& pe, const Body& body, const Body::Operation& access,
                                  std::int64_t iterations, Scalar& found) const;
  static void set_input(Operation& operation, std::size_t n, const Scalar& scalar);
  void run(Streams& streams, std::int64_t& left, const Operation*& computing);

  const std::vector<TensorAccess>& tensors_;
  std::vector<Operation> operations_;
};

}  // namespace cyclotron::runtime
