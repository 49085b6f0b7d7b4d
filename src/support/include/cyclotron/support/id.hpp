// Typed indices: an Id only fits its own table.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace cyclotron {

/// An index into the table of `Tag`s. Default-constructed: none.
template <class Tag>
struct Id {
  static constexpr std::uint32_t none = 0xffffffffU;
  std::uint32_t value = none;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : value(static_cast<std::uint32_t>(index)) {}
  [[nodiscard]] constexpr bool valid() const { return value != none; }
  [[nodiscard]] constexpr std::size_t index() const { return value; }
  auto operator<=>(const Id&) const = default;
};

}  // namespace cyclotron

template <class Tag>
struct std::hash<cyclotron::Id<Tag>> {
  std::size_t operator()(cyclotron::Id<Tag> id) const noexcept {
    return std::hash<std::uint32_t>{}(id.value);
  }
};
