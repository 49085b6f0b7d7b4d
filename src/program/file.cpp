// The frame of a program file: preamble and checksum around the JSON text and the values of constants.
#include <cyclotron/program/file.hpp>

#include <array>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

#include "checks.hpp"
#include "json_format.hpp"

namespace cyclotron::program {
namespace {

constexpr std::string_view magic = "CYCP";
constexpr std::size_t preamble_bytes = 24;
constexpr std::size_t text_limit = std::size_t{256} << 20;
constexpr int json_depth_limit = 64;

[[noreturn]] void bad_file(const char* code, const std::string& what, std::string help) {
  throw ProgramError({.code = code, .span = {}, .message = what, .notes = {}, .help = std::move(help)});
}

/// CRC-32 (IEEE 802.3), as zlib's.
std::uint32_t crc32(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1U) != 0 ? 0xedb88320U ^ (value >> 1U) : value >> 1U;
      entries[i] = value;
    }
    return entries;
  }();
  std::uint32_t value = 0xffffffffU;
  for (const char byte : bytes)
    value = table[(value ^ static_cast<unsigned char>(byte)) & 0xffU] ^ (value >> 8U);
  return value ^ 0xffffffffU;
}

void append_little_endian(std::string& bytes, std::uint64_t value, int width) {
  for (int byte = 0; byte < width; ++byte) bytes += static_cast<char>((value >> (8 * byte)) & 0xffU);
}

/// Refuses deep nesting before the parser, so that neither it nor what it builds recurses deeply.
void check_depth(std::string_view body) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > json_depth_limit) {
        bad_file("CYC604",
                 fmt::format("the program file nests deeper than {} at byte {}", json_depth_limit, i),
                 "this is not a file that Cyclotron wrote");
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t byte = 0; byte < width; ++byte) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + byte])} << (8 * byte);
  }
  return value;
}

/// The contents of a file after its preamble: the JSON text, and the values of constants.
struct Body {
  std::string_view text;
  std::string_view values;
};

/// The body, once the preamble and the checksum hold.
Body unframe(std::string_view bytes) {
  const std::string hint = "give a file that `Program.save` wrote";
  if (bytes.substr(0, magic.size()) != magic)
    bad_file("CYC601", "this is not a Cyclotron program file", hint);
  if (bytes.size() < preamble_bytes) {
    bad_file("CYC601",
             fmt::format("the program file has {} bytes, fewer than its preamble of {}", bytes.size(),
                         preamble_bytes),
             hint);
  }
  const auto major = little_endian(bytes, 4, 2);
  if (major != format_major) {
    bad_file("CYC602",
             fmt::format("the program file has format {}.{}, this version reads {}.x", major,
                         little_endian(bytes, 6, 2), format_major),
             "compile the program again with this version");
  }
  const auto length = little_endian(bytes, 8, 8);
  const std::string_view body = bytes.substr(preamble_bytes);
  const auto text = little_endian(bytes, 20, 4);
  if (length != body.size() || text > length) {
    bad_file("CYC601",
             fmt::format("the program file has {} bytes after its preamble, which promises {}", body.size(),
                         length),
             "the file was cut off or changed; write it again");
  }
  const std::size_t text_bytes = text == 0 ? body.size() : text;
  if (text_bytes > text_limit) {
    bad_file("CYC604",
             fmt::format("the text of the program file has {} bytes, more than {}", text_bytes, text_limit),
             hint);
  }
  const auto stored = little_endian(bytes, 16, 4);
  const auto actual = crc32(body);
  if (stored != actual) {
    bad_file("CYC603",
             fmt::format("the program file has checksum {:08x}, its preamble says {:08x}", actual, stored),
             "the file was changed; write it again");
  }
  return {body.substr(0, text_bytes), body.substr(text_bytes)};
}

/// Gives the constants their values, which a file has in the order of the tensors.
void take_values(Program& program, std::string_view values) {
  const Path root;
  const Path tensors(root, "tensors");
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = program.tensors[t];
    if (tensor.role != Role::constant) continue;
    const auto bytes = scalar_bytes(tensor);
    if (!bytes || *bytes > values.size()) {
      fail("CYC615", Path(tensors, t),
           fmt::format("has {} bytes of values, and its shape needs {}", values.size(),
                       bytes ? std::to_string(*bytes) : "more than there can be"),
           "the file was changed; write it again");
    }
    const auto own = std::as_bytes(std::span(values.substr(0, *bytes)));
    tensor.values.assign(own.begin(), own.end());
    values.remove_prefix(*bytes);
  }
  if (!values.empty()) {
    fail("CYC615", tensors, fmt::format("leave {} bytes of values that are of none", values.size()),
         "the file was changed; write it again");
  }
}

}  // namespace

std::string serialize(const Program& program) {
  std::string body = format::to_json(program);
  const std::size_t text = body.size();
  for (const Tensor& tensor : program.tensors)
    body.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size());
  std::string bytes(magic);
  append_little_endian(bytes, format_major, 2);
  append_little_endian(bytes, format_minor, 2);
  append_little_endian(bytes, body.size(), 8);
  append_little_endian(bytes, crc32(body), 4);
  append_little_endian(bytes, body.size() == text ? 0 : text, 4);
  CYC_CHECK(bytes.size() == preamble_bytes);
  return bytes + body;
}

Program deserialize(std::string_view bytes) {
  const auto [text, values] = unframe(bytes);
  check_depth(text);
  Program program = format::from_json(text);
  take_values(program, values);
  verify(program);
  return program;
}

}  // namespace cyclotron::program
