// The program file: a framed, versioned, checksummed JSON value (CY-114).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

inline constexpr std::uint16_t format_major = 1;  ///< A reader refuses any other.
inline constexpr std::uint16_t format_minor = 5;  ///< A reader takes any, and refuses unknown fields.

/// The bytes of the file: 24-byte preamble (`CYCP`, major, minor, body length, CRC-32 of the body, length of the
/// text), then the body: JSON in UTF-8, and after it the values of the constants, one after the other. The preamble is
/// little-endian: 4 bytes `CYCP`, 2 + 2 of version, 8 of length, 4 of checksum, 4 of the text's length, which is 0
/// where nothing comes after it.
/// Requires: verify(program).
[[nodiscard]] std::string serialize(const Program& program);

/// Reads a program from untrusted bytes and verifies it. Throws ProgramError naming what is wrong and
/// where; never reads out of bounds, allocates at most a small multiple of the input, and loops at most
/// linearly in it.
[[nodiscard]] Program deserialize(std::string_view bytes);

}  // namespace cyclotron::program
