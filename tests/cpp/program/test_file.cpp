#include <cyclotron/program/file.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "sample_programs.hpp"

namespace cyclotron::testing {
namespace {

constexpr std::size_t preamble = 24;

// Written apart from the one under test: bit by bit.
std::uint32_t slow_crc32(std::string_view bytes) {
  std::uint32_t value = 0xffffffffU;
  for (const char byte : bytes) {
    value ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) * 0xedb88320U);
  }
  return ~value;
}

void put(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t byte = 0; byte < width; ++byte)
    bytes[at + byte] = static_cast<char>((value >> (8 * byte)) & 0xffU);
}

/// The file of any body, with a preamble that fits it.
std::string framed(const std::string& body) {
  std::string bytes(preamble, '\0');
  bytes.replace(0, 4, "CYCP");
  put(bytes, 4, format_major, 2);
  put(bytes, 6, format_minor, 2);
  put(bytes, 8, body.size(), 8);
  put(bytes, 16, slow_crc32(body), 4);
  return bytes + body;
}

std::string body_of(const Program& program) { return serialize(program).substr(preamble); }

/// `everything()` with one occurrence of a text in its body replaced.
std::string edited(const std::string& from, const std::string& to) {
  std::string body = body_of(everything());
  const auto found = body.find(from);
  EXPECT_NE(found, std::string::npos) << from;
  return framed(body.replace(found, from.size(), to));
}

Diagnostic refusal(const std::string& bytes) {
  return thrown<ProgramError>([&] { (void)deserialize(bytes); });
}

TEST(File, Crc32IsTheOneOfZlib) { EXPECT_EQ(slow_crc32("123456789"), 0xcbf43926U); }

TEST(File, RoundTripIsExact) {
  for (const Program& program : {matmul(), everything()}) {
    const std::string bytes = serialize(program);
    const Program again = deserialize(bytes);
    EXPECT_EQ(again, program);
    EXPECT_EQ(serialize(again), bytes);
    EXPECT_EQ(to_string(again), to_string(program));
  }
}

TEST(File, WhatVersion10DoesNotHaveIsWrittenWhereItIsThere) {
  for (const char* key : {"matrix", "banks", "register"})
    EXPECT_EQ(serialize(matmul()).find(key), std::string::npos) << key;
  Program program = matmul();
  program.machine.pe.registers = 8;
  program.classes[0].memory_bytes = 32;
  program.classes[0].slots[0].address = 0;
  program.classes[0].slots[1].address = 16;
  program.classes[0].slots[2].first_register = 7;
  EXPECT_NE(serialize(program).find("\"registers\":8"), std::string::npos);
  EXPECT_NE(serialize(program).find("\"first_register\":7"), std::string::npos);
  EXPECT_EQ(deserialize(serialize(program)), program);
  program.machine.pe.vector = machine::Unit{{16}, 2};
  program.machine.links[{0, 1}].depth = 7;
  EXPECT_NE(serialize(program).find("\"vector\":{\"shape\":[16],\"cycles\":2}"), std::string::npos);
  EXPECT_NE(serialize(program).find("\"links\":[{\"offset\":[0,1],\"link\":{"), std::string::npos);
  EXPECT_EQ(deserialize(serialize(program)), program);
  program.classes[0].code[0].span = {"kernel.py", 3, 4, 3, 9, 2};  // in the second `with cy.fuse():`
  EXPECT_NE(serialize(program).find(",3,4,3,9,2]"), std::string::npos);
  EXPECT_EQ(deserialize(serialize(program)), program);
}

TEST(File, BoundsByNumbersAreKept) {
  const Program program = bounded_by_a_number();
  EXPECT_EQ(deserialize(serialize(program)), program);
  EXPECT_EQ(serialize(everything()).find("within"), std::string::npos);
}

TEST(File, PreambleIsAsDocumented) {
  const std::string bytes = serialize(matmul());
  EXPECT_EQ(bytes, framed(bytes.substr(preamble)));
  EXPECT_EQ(bytes.substr(0, 8), std::string("CYCP\1\0\5\0", 8));
  EXPECT_EQ(bytes.substr(preamble, 20), "{\"kernel\":\"matmul\",\"");
}

TEST(File, ConstantsKeepEveryBit) {
  const double values[] = {0.0,      -0.0,     0.1, 1e308, 5e-324, -3.0, 1e22, std::nextafter(1.0, 2.0),
                           INFINITY, -INFINITY};
  for (const double value : values) {
    Program program = matmul();
    program.classes[0].code = {at(Move{slot(0), Constant{value, -value}})};
    const Program again = deserialize(serialize(program));
    const auto& constant = std::get<Constant>(std::get<Move>(again.classes[0].code[0].action).source);
    EXPECT_EQ(constant.real, value);
    EXPECT_EQ(std::signbit(constant.real), std::signbit(value));
    EXPECT_EQ(constant.imaginary, -value);
    EXPECT_EQ(std::signbit(constant.imaginary), std::signbit(-value));
  }
  Program program = matmul();
  program.classes[0].code = {at(Move{slot(0), Constant{NAN, 0}})};
  const Program again = deserialize(serialize(program));
  EXPECT_TRUE(std::isnan(std::get<Constant>(std::get<Move>(again.classes[0].code[0].action).source).real));
}

TEST(File, IntegersKeepEveryBit) {
  Program program = matmul();
  const auto kept = Constant::of(std::numeric_limits<std::int64_t>::max());
  program.classes[0].code = {at(Move{slot(0), kept})};
  const std::string bytes = serialize(program);
  EXPECT_EQ(std::get<Constant>(std::get<Move>(deserialize(bytes).classes[0].code[0].action).source), kept);
  std::string text = bytes.substr(preamble);
  const auto at_number = text.find("9.223372036854776e+18");
  ASSERT_NE(at_number, std::string::npos);
  text.replace(at_number, 21, "1e300");
  EXPECT_THROW(deserialize(framed(text)), ProgramError);
}

TEST(File, PreamblesAreChecked) {
  const std::string good = serialize(matmul());
  EXPECT_EQ(refusal("").code, "CYC601");
  EXPECT_EQ(refusal("PK\3\4 a zip file, say").code, "CYC601");
  EXPECT_EQ(refusal(good.substr(0, 10)).code, "CYC601");
  EXPECT_EQ(refusal(good + " ").code, "CYC601");
  std::string bytes = good;
  bytes[4] = 2;
  EXPECT_EQ(refusal(bytes).code, "CYC602");
  bytes = good;
  bytes[6] = 9;  // A newer minor version with nothing new in it.
  EXPECT_EQ(deserialize(bytes), matmul());
  bytes = good;
  bytes.back() = ' ';
  EXPECT_EQ(refusal(bytes).code, "CYC603");
  bytes = good;
  put(bytes, 8, ~std::uint64_t{0}, 8);
  EXPECT_EQ(refusal(bytes).code, "CYC601");
  bytes = good;
  put(bytes, 20, ~std::uint64_t{0}, 4);
  EXPECT_EQ(refusal(bytes).code, "CYC601");
  bytes = good;
  bytes[20] = 1;
  EXPECT_EQ(refusal(bytes).code, "CYC604");
}

TEST(File, ValuesOfConstantsFollowTheText) {
  Program program = matmul();
  program.tensors[1].role = Role::constant;
  program.tensors[1].values.assign(*scalar_bytes(program.tensors[1]), std::byte{0xff});  // NaNs
  const std::string bytes = serialize(program);
  EXPECT_EQ(deserialize(bytes), program);
  EXPECT_EQ(serialize(deserialize(bytes)), bytes);
  EXPECT_EQ(bytes.substr(bytes.size() - program.tensors[1].values.size()),
            std::string(program.tensors[1].values.size(), '\xff'));
  program.tensors[1].values.pop_back();
  EXPECT_EQ(thrown<ProgramError>([&] { verify(program); }).code, "CYC615");
}

TEST(File, BodiesAreJson) {
  EXPECT_EQ(refusal(framed("")).code, "CYC604");
  EXPECT_EQ(refusal(framed("{\"kernel\":")).code, "CYC604");
  EXPECT_EQ(refusal(framed("{} {}")).code, "CYC604");
  EXPECT_EQ(refusal(framed("\"\xff\"")).message,
            "the program file's body is not JSON: it goes wrong at byte 2");
  EXPECT_EQ(refusal(framed(std::string(100000, '['))).code, "CYC604");
  EXPECT_EQ(refusal(framed("[1e999]")).code, "CYC604");
  EXPECT_EQ(refusal(framed("[]")).code, "CYC605");
  EXPECT_EQ(refusal(framed("null")).code, "CYC605");
}

TEST(File, FieldsAreChecked) {
  const auto message = [](const std::string& from, const std::string& to) {
    return refusal(edited(from, to)).message;
  };
  EXPECT_EQ(message("\"grid\":[4,4],\"grid_names\"", "\"grid_names\""), "`grid` is missing");
  EXPECT_EQ(message("\"grid_names\"", "\"x\":1,\"grid_names\""), "`program` has an unknown field `x`");
  EXPECT_EQ(message("\"step\":1", "\"step\":1,\"jump\":2"),
            "`classes[0].code[1]` has an unknown field `jump`");
  EXPECT_EQ(message("\"grid\":[4,4]", "\"grid\":[4,true]"),
            "`machine.grid[1]` is boolean, expected an integer");
  EXPECT_EQ(message("\"grid\":[4,4]", "\"grid\":[4,4.0]"),
            "`machine.grid[1]` is number, expected an integer");
  EXPECT_EQ(message("\"role\":\"input\"", "\"role\":\"inout\""),
            "`tensors[0].role` is `inout`, which this version does not know");
  EXPECT_EQ(message("\"do\":\"send\"", "\"do\":\"jump\""),
            "`classes[0].code[4].do` is `jump`, which this version does not know");
  EXPECT_EQ(message("\"multiply_add\"", "\"multiply_odd\""),
            "`classes[0].code[5].op` is `multiply_odd`, which this version does not know");
  EXPECT_EQ(message("\"at\":[0,9", "\"at\":[2,9").substr(0, 30), "`classes[0].code[0].at` is 2, ");
  EXPECT_EQ(message("\"at\":[0,9", "\"at\":[0,4294967296").substr(0, 36),
            "`classes[0].code[0].at[1]` is 429496");
  EXPECT_EQ(message("\"channel\":0", "\"channel\":-1").substr(0, 37),
            "`classes[0].code[2].channel` is -1, o");
  EXPECT_EQ(message("\"depth\":0", "\"depth\":9223372036854775808").substr(0, 27),
            "`channels[0].depth` is 9223");
  EXPECT_EQ(message("\"form\":[-1,1]", "\"form\":[]").substr(0, 37), "`classes[0].region[0][0].form` has 0 ");
  EXPECT_EQ(message("\"real\":-0.0", "\"real\":\"one\""),
            "`classes[2].code[5].source.real` is `one`, which this version does not know");
  EXPECT_EQ(message("\"tile\":[1,1],\"count\"", "\"tile\":[1],\"count\""),
            "`classes[0].slots[0].tile` has 1 entries, expected 2");
  EXPECT_EQ(message("\"clock_hz\":", "\"clock_hz\":-"),
            "`machine` is out of range: machine `clock_hz` is -1500000000, not a positive number");
  EXPECT_EQ(message("\"links\":[{", "\"links\":[1,{"), "`machine.links[0]` is number, expected an object");
  EXPECT_EQ(message("\"links\":[{", "\"links\":[{\"x\":1,"), "`machine.links[0]` has an unknown field `x`");
  const std::string again =
      R"({"offset":[1,0],"link":{"latency_cycles":1,"response_latency_cycles":1,"words_per_cycle":1,"depth":1}},)";
  EXPECT_EQ(message("\"links\":[", "\"links\":[" + again),
            "`machine.links[1]` is a second link along one hop");
  EXPECT_EQ(message("\"modulus\":3,\"stride\":2", "\"modulus\":0,\"stride\":2"),
            "`classes[2].code[8].operands[0].wrap.modulus` is 0, less than 1");
  EXPECT_EQ(message("\"move\":0", "\"move\":\"0\""),
            "`machine.pe.cycles.move` is string, expected an integer");
}

TEST(File, NamesMustBeUtf8ToBeWritten) {
  Program program = matmul();
  program.kernel = "\xff";
  EXPECT_EQ(thrown<ProgramError>([&] { (void)serialize(program); }).code, "CYC605");
}

TEST(HostileFile, EveryTruncationIsRefused) {
  const std::string good = serialize(everything());
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW((void)deserialize(std::string_view(good).substr(0, length)), ProgramError) << length;
  }
  const std::string body = good.substr(preamble);
  for (std::size_t length = 0; length < body.size(); ++length) {
    EXPECT_THROW((void)deserialize(framed(body.substr(0, length))), ProgramError) << length;
  }
}

TEST(HostileFile, EveryFlippedBitIsNoticed) {
  const std::string good = serialize(matmul());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    if (bit / 8 == 6 || bit / 8 == 7) continue;  // The minor version: any is taken.
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THROW((void)deserialize(bytes), ProgramError) << bit;
  }
}

/// Changes that get past the checksum: bytes, whole numbers, and pieces of the body copied elsewhere.
std::string mutated(std::string body, std::mt19937_64& random) {
  static constexpr std::array<const char*, 12> numbers{"-1",
                                                       "0",
                                                       "2",
                                                       "99",
                                                       "4294967295",
                                                       "4611686018427387904",
                                                       "9223372036854775807",
                                                       "-9223372036854775808",
                                                       "1e300",
                                                       "18446744073709551615",
                                                       "\"\"",
                                                       "null"};
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  for (std::size_t change = 0; change <= below(3); ++change) {
    const std::size_t at = below(body.size());
    switch (below(4)) {
      case 0: body[at] = static_cast<char>(random()); break;
      case 1: body.replace(at, below(40), body.substr(below(body.size()), below(40))); break;
      case 2: body.erase(at, below(20)); break;
      default: {
        const auto first = body.find_first_of("0123456789", at);
        if (first == std::string::npos) break;
        const auto last = std::min(body.find_first_not_of("0123456789", first), body.size());
        body.replace(first, last - first, numbers[below(numbers.size())]);
      }
    }
    if (body.empty()) body = "{}";
  }
  return body;
}

TEST(HostileFile, MutationsAreRefusedOrVerified) {
  std::mt19937_64 random(20240607);
  const std::string body = body_of(everything());
  int accepted = 0;
  for (int round = 0; round < 6000; ++round) {
    const std::string bytes = framed(mutated(body, random));
    try {
      const Program program = deserialize(bytes);
      ++accepted;
      EXPECT_NO_THROW(verify(program));
      EXPECT_EQ(to_string(deserialize(serialize(program))), to_string(program));
      (void)program.class_of({0, 0});
    } catch (const ProgramError& error) {
      EXPECT_EQ(error.diagnostic().code.substr(0, 4), "CYC6");
    }
  }
  // Some harmless ones (names, numbers) must get through, or the test looks at nothing beyond the parser.
  EXPECT_GT(accepted, 20);
  EXPECT_LT(accepted, 3000);
}

}  // namespace
}  // namespace cyclotron::testing
