// The names in program files, and the two directions between a program and its JSON text.
#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program::format {

/// Names of an enumeration's values in files.
template <class E, std::size_t N>
using EnumNames = std::array<std::pair<std::string_view, E>, N>;

inline constexpr EnumNames<machine::Topology, 5> topologies{{{"mesh", machine::Topology::mesh},
                                                             {"torus", machine::Topology::torus},
                                                             {"hexagonal", machine::Topology::hexagonal},
                                                             {"ring", machine::Topology::ring},
                                                             {"custom", machine::Topology::custom}}};
inline constexpr EnumNames<machine::Spread, 3> spreads{{{"constant", machine::Spread::constant},
                                                        {"distance", machine::Spread::distance},
                                                        {"tree", machine::Spread::tree}}};
inline constexpr EnumNames<Role, 3> roles{
    {{"input", Role::input}, {"output", Role::output}, {"constant", Role::constant}}};
inline constexpr EnumNames<Channel::Kind, 2> channel_kinds{
    {{"link", Channel::Kind::link}, {"network", Channel::Kind::network}}};
inline constexpr EnumNames<Condition::Kind, 3> condition_kinds{
    {{"non_negative", Condition::Kind::non_negative},
     {"zero", Condition::Kind::zero},
     {"divisible", Condition::Kind::divisible}}};
inline constexpr EnumNames<operators::Flag, 6> flags{{{"transpose_a", operators::transpose_a},
                                                      {"transpose_b", operators::transpose_b},
                                                      {"lower", operators::lower},
                                                      {"right_side", operators::right_side},
                                                      {"unit_diagonal", operators::unit_diagonal},
                                                      {"checked", operators::checked}}};

/// The JSON text of a program, and its inverse. Throw ProgramError (CYC604 … CYC608) for text that cannot be.
[[nodiscard]] std::string to_json(const Program& program);
[[nodiscard]] Program from_json(std::string_view body);

}  // namespace cyclotron::program::format
