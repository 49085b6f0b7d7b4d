// A PE class's program, decoded once: flat steps with jump targets, sparse affine forms, resolved slots.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <cyclotron/program/program.hpp>
#include <cyclotron/program/units.hpp>
#include <cyclotron/support/division.hpp>

#include "kernels/kernels.hpp"

namespace cyclotron::runtime {

/// Rows and columns of a tile in PE memory; 0x0 until it is first written.
struct TileSize {
  std::int32_t rows = 0;
  std::int32_t columns = 0;
  bool operator==(const TileSize&) const = default;
  [[nodiscard]] Shape shape() const { return {rows, columns}; }
  [[nodiscard]] std::int64_t words() const { return std::int64_t{rows} * columns; }
};

struct Term {
  std::int64_t coefficient;
  std::uint32_t variable;
};

/// constant + the terms [first, first + count) of the code's pool.
struct Form {
  std::int64_t constant = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct Limit {
  Form numerator;
  std::int64_t divisor = 1;
};

struct Test {
  program::Condition::Kind kind;
  Form form;
  std::int64_t modulus;
};

/// stride * (form mod modulus).
struct Wrapped {
  Form form;
  std::int64_t modulus = 1;
  std::int64_t stride = 1;
};

/// An element of a slot: the index, and what the code's pool has of this number.
struct SlotAccess {
  static constexpr std::uint32_t no_wrap = 0xffffffffU;
  Form index;
  std::int64_t address = 0;  ///< Of element 0, in bytes (`program::Storage`).
  std::int64_t stride = 0;   ///< Bytes of one element.
  std::int64_t count = 0;
  TileSize tile;            ///< Largest.
  std::uint32_t sizes = 0;  ///< First of the sizes of the slot's tiles; `scalar` slots have none.
  std::uint32_t slot = 0;
  std::uint32_t wrap = no_wrap;
  bool scalar = false;
  bool sent = false;  ///< The slot's values go to other PEs; see `mark_sent_slots`.
};

/// An operand: an element of a slot, or a number of the dtype that the operator takes there: a constant, or of a move the value of a
/// form.
struct Source {
  bool constant = false;     ///< It is no element of a slot.
  bool form = false;         ///< The value of a form; `constant` too.
  std::uint8_t width = 0;    ///< Bytes of a scalar.
  std::uint32_t index = 0;   ///< In `accesses`, `constants` or `forms`.
  std::uint16_t region = 0;  ///< In a body: see `Scalar`.
  bool fixed = false;        ///< In a body: a PE always finds it at the same address.
};

struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Name of a queue in a PE's code; the host resolves it for each PE.
struct Port {
  enum class Kind : std::uint8_t { link_out, link_in, network_out, network_in };
  std::uint32_t channel = 0;
  Kind kind = Kind::link_out;
  bool operator==(const Port&) const = default;
};

/// As `program::Indexed`.
struct IndexedElement {
  std::uint32_t number = 0;  ///< In `accesses`.
  Form lower{};
  Form upper{};
  std::int64_t stride = 1;
  bool scatters = false;
  std::uint32_t neutral = 0;  ///< In `constants`.
};

/// As `program::DataBound`.
struct NumberLimit {
  std::uint32_t number = 0;  ///< In `accesses`.
  Form form{};
  bool last = true;
};

struct Step {
  static constexpr std::uint32_t no_body = 0xffffffffU;
  static constexpr std::uint32_t not_indexed = 0xffffffffU;
  enum class Kind : std::uint8_t {
    loop,
    branch,
    repeat,
    skip,
    load,
    store,
    send,
    receive,
    broadcast,
    move,
    compute,
    exit,
    halt
  };
  Kind kind = Kind::halt;
  DType dtype = DType::float64;
  DType factors =
      DType::float64;  ///< Of a compute: of a product's factors as its unit takes them; else `dtype`.
  Op op = Op::add;
  bool scalar = false;    ///< Every tile named is 1x1 by its type.
  bool sized = false;     ///< Cycles depend on the shapes; else they are `cycles`.
  bool resident = false;  ///< Of a load or a store: of a resident tensor.
  bool unit_input =
      false;  ///< Of a compute: a conversion as a unit takes its operands (`program::unit_inputs`).
  bool begins_call = false;  ///< It is the first of a procedure, and the program has a controller call these.
  std::uint8_t element = 0;  ///< Bytes of a scalar.
  Flags flags = 0;
  std::uint32_t variable = 0;  ///< Of a loop; of an exit, that of the loop around.
  std::uint32_t target = 0;    ///< Next step: past the End (loop, branch), the loop's first one (repeat).
  std::uint32_t access = 0;    ///< Destination, or what is stored or sent.
  std::uint32_t tensor = 0;
  std::uint32_t plan = 0;        ///< Of an exit.
  std::uint32_t port = 0;        ///< In the class's ports.
  std::uint32_t body = no_body;  ///< Of a loop and its repeat: in `bodies`.
  /// Sources of a compute or move; index forms of a load or store; of a loop and its repeat the numbers, in `Code::within`,
  /// without whose bounds an iteration does nothing.
  Range operands{};
  Range lower{}, upper{};  ///< Limits of a loop or broadcast; conjunctions of a branch, and its `within`.
  std::int64_t step = 1;
  std::int64_t cycles = 0;
  std::int64_t flops = 0;  ///< Of a computation on scalars.
  ScalarKernel kernel = nullptr;
  Form sender{};                        ///< Of a receive from a network.
  std::uint32_t indexed = not_indexed;  ///< Of a compute: in `indexed`.
};

/// A loop's iteration without control but bounds of numbers, on scalars and links alone, so that many iterations can run at once
/// (body.hpp).
struct Body {
  static constexpr std::size_t most_lanes = 16;
  /// Iterations at once of a body with values of forms, so that these stay in the first cache.
  static constexpr std::int64_t most_indices = 512;
  /// A port that it uses.
  struct Lane {
    std::uint32_t port = 0;
    bool sends = false;
    std::uint32_t messages = 0;  ///< An iteration.
  };
  struct Operation {
    Step::Kind kind = Step::Kind::compute;
    std::uint32_t at = 0;  ///< Its step.
    DType dtype = DType::float64;
    std::uint8_t element = 0;  ///< Bytes of a scalar.
    std::uint8_t lane = 0;
    std::uint8_t operands = 0;
    ScalarKernel kernel = nullptr;
    VectorKernel vector = nullptr;  ///< None where the operator may fail.
    Source result{};                ///< Of a send or a store: what it reads.
    std::array<Source, 3> sources{};
    std::uint32_t tensor = 0;  ///< Of a load or a store.
    std::uint16_t region = 0;  ///< Of the element or the message; see `Scalar`.
    Range index{};
  };
  std::vector<Lane> lanes;
  std::vector<Operation> operations;
  std::size_t indices = 0;     ///< Operations that are values of forms.
  bool vectors = false;        ///< They are few, and all operators have vector kernels.
  std::uint32_t first = 0;     ///< Its first step.
  std::uint32_t variable = 0;  ///< Of the loop.
  std::int64_t step = 1;
  /// Numbers that bound iterations, in `Code::within`: of those within, the next body is what there is to do, and this one of
  /// the others.
  Range within{};
  [[nodiscard]] std::int64_t steps() const { return static_cast<std::int64_t>(operations.size()) + 1; }
};

struct alignas(16) ConstantBytes {
  std::array<std::byte, 16> bytes{};
};

struct Code {
  std::vector<Step> steps;  ///< One an instruction, then `halt`.
  std::vector<Term> terms;
  std::vector<Form> forms;
  std::vector<Limit> limits;
  std::vector<Test> tests;
  std::vector<Range> conjunctions;
  std::vector<SlotAccess> accesses;
  std::vector<Wrapped> wraps;
  std::vector<Source> sources;
  std::vector<ConstantBytes> constants;
  std::vector<Port> ports;
  std::vector<Body> bodies;
  std::vector<IndexedElement> indexed;
  std::vector<NumberLimit> within;
  program::UnitInputs unit_inputs;  ///< By slot.
  std::uint32_t dimensions = 0;     ///< Of the grid.
  std::uint32_t variables = 0;      ///< Coordinates and the deepest nest's loop variables.
  std::uint32_t sizes = 0;          ///< Tile sizes that a PE keeps.
  std::int64_t memory_bytes = 0;
  std::uint32_t index = 0;  ///< Of the class.
};

/// Decodes one class. Throws ProgramError where running it could leave its memory or its tables.
[[nodiscard]] Code decode(const program::Program& program, std::size_t class_index);

/// Cycles of an operator of the code's class on tiles of these shapes.
[[nodiscard]] std::int64_t operator_cycles(const program::Program& program, const Code& code,
                                           const Step& step, std::span<const Shape> operands);

/// Affine arithmetic wraps: a hostile program computes nonsense, not undefined behaviour.
[[nodiscard]] inline std::int64_t evaluate(const Code& code, const Form& form,
                                           const std::int64_t* variables) {
  auto value = static_cast<std::uint64_t>(form.constant);
  const Term* term = code.terms.data() + form.first;
  for (std::uint32_t i = 0; i < form.count; ++i, ++term) {
    value +=
        static_cast<std::uint64_t>(term->coefficient) * static_cast<std::uint64_t>(variables[term->variable]);
  }
  return static_cast<std::int64_t>(value);
}

/// Of a variable in a form; 0 where that does not name it.
[[nodiscard]] std::int64_t coefficient(const Code& code, const Form& form, std::uint32_t variable);

/// The element of its slot.
[[nodiscard]] inline std::int64_t evaluate(const Code& code, const SlotAccess& access,
                                           const std::int64_t* variables) {
  std::int64_t element = access.index.constant;
  if (access.index.count > 0) element = evaluate(code, access.index, variables);
  if (access.wrap == SlotAccess::no_wrap) return element;
  const auto& [form, modulus, stride] = code.wraps[access.wrap];
  return element + stride * floor_modulo(evaluate(code, form, variables), modulus);
}

/// Largest of the lower limits, each rounded up.
[[nodiscard]] std::int64_t lower_limit(const Code& code, Range range, const std::int64_t* variables);
/// Smallest of the upper limits, each rounded down.
[[nodiscard]] std::int64_t upper_limit(const Code& code, Range range, const std::int64_t* variables);
[[nodiscard]] bool holds(const Code& code, const Test& test, const std::int64_t* variables);
/// Tells whether any conjunction of a branch holds.
[[nodiscard]] bool holds(const Code& code, Range conjunctions, const std::int64_t* variables);

}  // namespace cyclotron::runtime
