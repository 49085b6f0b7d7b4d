// The memory of a loop that is to be compiled, and whether a compiler can have it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <cyclotron/operators/operators.hpp>

#include "../code.hpp"
#include "../tensors.hpp"

namespace cyclotron::runtime {

/// Of loop variables and of coefficients, so that no index overflows.
inline constexpr std::int64_t variable_limit = std::int64_t{1} << 31,
                              coefficient_limit = std::int64_t{1} << 27;

/// The steps of a loop and of what it holds: from `opener` to its repeat at `end`.
struct LoopNest {
  std::uint32_t opener = 0, end = 0;
};

/// Bytes of slots that share some: an array of one dtype, or scalars alone.
struct Region {
  std::int64_t first = 0, end = 0;
  DType dtype = DType::float64;
  bool scalars = true, uniform = true;
};

/// A variable of the function for a scalar in memory. Of those that share bytes, as dtypes that never live together do, the
/// one that was written last is put back at the end.
struct Local {
  std::int64_t address = 0;
  DType dtype = DType::float64;
  bool written = false;
  std::vector<std::size_t> others;
  [[nodiscard]] std::int64_t end() const {
    return address + static_cast<std::int64_t>(operators::size_bytes(dtype));
  }
};

/// The memory of a loop's steps.
class LoopUses {
 public:
  /// None where the loop is not one for the compiler.
  static std::optional<LoopUses> of(const Code& code, const std::vector<TensorAccess>& tensors,
                                    LoopNest nest);

  /// In the order of addresses.
  [[nodiscard]] const std::vector<Region>& regions() const { return regions_; }
  [[nodiscard]] const std::vector<Local>& locals() const { return locals_; }
  [[nodiscard]] std::size_t region_of(const SlotAccess& access) const;
  /// The number of the variable; that of the next one where there is none.
  [[nodiscard]] std::size_t local_of(const SlotAccess& access, DType dtype) const;

 private:
  friend class UseFinder;
  /// An access to memory in a loop.
  struct Use {
    const SlotAccess* access = nullptr;
    DType dtype = DType::float64;
    bool writes = false;
  };

  /// False where bytes of an array are numbers of several dtypes.
  bool find_regions();

  std::vector<Use> uses_;
  std::vector<Region> regions_;
  std::vector<Local> locals_;
};

}  // namespace cyclotron::runtime
