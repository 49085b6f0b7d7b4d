#include "read_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cyclotron::dataflow::detail {

namespace {

constexpr int term_depth_limit = 128;

class TermReader {
 public:
  TermReader(TextReader& reader, const Graph& graph) : reader_(reader), graph_(graph) {}

  std::vector<Term> run() {
    expression(0);
    return std::move(terms_);
  }

 private:
  struct Operand {
    std::size_t term = 0;
    bool transposed = false;
  };

  /// Returns the index of its last term.
  std::size_t expression(int depth) {
    if (depth > term_depth_limit) reader_.fail("the expression nests too deeply");
    const auto first = operand(depth);
    const auto symbol = infix();
    if (!symbol) {
      if (first.transposed) reader_.fail("an operator is expected after `ᵀ`");
      return first.term;
    }
    const auto second = operand(depth);
    const bool accumulates = *symbol == Op::add || *symbol == Op::subtract;
    const bool product = accumulates && !first.transposed && (reader_.peek("·") || reader_.peek("@"));
    if (!product) return apply(*symbol, flags(first, second), {first.term, second.term});
    const bool adds = *symbol == Op::add;
    const auto fused = infix() == Op::matmul ? (adds ? Op::matmul_add : Op::matmul_subtract)
                                             : (adds ? Op::multiply_add : Op::multiply_subtract);
    const auto third = operand(depth);
    return apply(fused, flags(second, third), {first.term, second.term, third.term});
  }

  static Flags flags(const Operand& a, const Operand& b) {
    return (a.transposed ? operators::transpose_a : 0U) | (b.transposed ? operators::transpose_b : 0U);
  }

  std::size_t apply(Op op, Flags flags, std::vector<std::size_t> operands) {
    terms_.emplace_back(Apply{op, flags, std::move(operands)});
    return terms_.size() - 1;
  }

  std::optional<Op> infix() {
    // Longest first.
    for (const auto op : {Op::power, Op::add, Op::subtract, Op::multiply, Op::divide, Op::matmul}) {
      if (reader_.accept(operators::info(op).symbol)) return op;
    }
    return std::nullopt;
  }

  Operand operand(int depth) {
    const auto term = primary(depth);
    return {term, reader_.accept("ᵀ")};
  }

  std::size_t primary(int depth) {
    if (reader_.peek("(")) {
      if (!reader_.after_parenthesis().starts_with("_")) {
        reader_.expect("(");
        const auto inner = expression(depth + 1);
        reader_.expect(")");
        return inner;
      }
      auto [flow, point] = read_flow(reader_, graph_);
      terms_.emplace_back(FlowRef{flow, offset(flow, point)});
      return terms_.size() - 1;
    }
    if (reader_.peek("-") || reader_.peek_digit() || next_is("inf") || next_is("nan")) {
      terms_.emplace_back(reader_.number());
      return terms_.size() - 1;
    }
    return call(depth);
  }

  bool next_is(std::string_view word) const {
    auto ahead = reader_;
    return ahead.accept_word(word);
  }

  std::vector<std::int64_t> offset(FlowId flow, const std::vector<poly::Affine>& point) const {
    const auto steps = constant_offset(graph_.at(graph_.at(flow).space), point);
    if (!steps) reader_.fail("an operand of a computation lies at a constant distance");
    return *steps;
  }

  /// name[flags](a, b), or dtype⟨form⟩
  std::size_t call(int depth) {
    const auto name = reader_.name("an operator");
    if (name == "complex") {
      reader_.expect("(");
      const auto real = reader_.real();
      reader_.expect(",");
      const auto imaginary = reader_.real();
      reader_.expect(")");
      terms_.emplace_back(Constant{real, imaginary, 0});
      return terms_.size() - 1;
    }
    if (reader_.accept("⟨")) {
      const auto dtype = operators::dtype_from_name(name);
      if (!dtype || !operators::holds_index(*dtype))
        reader_.fail(fmt::format("an index has no dtype `{}`", name));
      terms_.emplace_back(Index{reader_.affine(graph_.dims), *dtype});
      reader_.expect("⟩");
      return terms_.size() - 1;
    }
    const auto op = operators::op_from_name(name);
    if (!op) reader_.fail(fmt::format("there is no operator `{}`", name));
    Flags set = operators::no_flags;
    if (reader_.accept("[")) {
      do {
        set |= flag();
      } while (reader_.accept(","));
      reader_.expect("]");
    }
    reader_.expect("(");
    std::vector<std::size_t> operands;
    do {
      operands.push_back(expression(depth + 1));
    } while (reader_.accept(","));
    reader_.expect(")");
    const auto arity = static_cast<std::size_t>(operators::info(*op).arity);
    if (operands.size() != arity)
      reader_.fail(fmt::format("`{}` takes {} operands, and {} are given", name, arity, operands.size()));
    return apply(*op, set, std::move(operands));
  }

  Flags flag() {
    using operators::Flag;
    static constexpr std::array<std::pair<std::string_view, Flag>, 6> flags{
        {{"transpose_a", Flag::transpose_a},
         {"transpose_b", Flag::transpose_b},
         {"lower", Flag::lower},
         {"right_side", Flag::right_side},
         {"unit_diagonal", Flag::unit_diagonal},
         {"checked", Flag::checked}}};
    const auto name = reader_.name("a flag");
    const auto found = std::ranges::find(flags, name, &std::pair<std::string_view, Flag>::first);
    if (found == flags.end()) reader_.fail(fmt::format("there is no flag `{}`", name));
    return found->second;
  }

  TextReader& reader_;
  const Graph& graph_;
  std::vector<Term> terms_;
};

}  // namespace

FlowText read_flow_text(TextReader& reader, const std::vector<std::string>& dims) {
  FlowText text;
  reader.expect("(");
  text.point = reader.affine_list(dims, ")");
  if (text.point.size() != dims.size()) {
    reader.fail(fmt::format("the point has {} coordinates, and the graph {} indices", text.point.size(),
                            dims.size()));
  }
  reader.expect("_");
  text.name = reader.name("a value");
  reader.expect("^");
  text.space = reader.name("a space");
  return text;
}

FlowAt read_flow(TextReader& reader, const Graph& graph) {
  auto text = read_flow_text(reader, graph.dims);
  const auto found = std::ranges::find_if(graph.flows, [&](const Flow& flow) {
    return flow.name == text.name && graph.at(flow.space).name == text.space;
  });
  if (found == graph.flows.end())
    reader.fail(fmt::format("`{}^{}` is not among the flows above", text.name, text.space));
  return {FlowId(static_cast<std::size_t>(found - graph.flows.begin())), std::move(text.point)};
}

std::vector<Term> read_terms(TextReader& reader, const Graph& graph) {
  return TermReader(reader, graph).run();
}

}  // namespace cyclotron::dataflow::detail
