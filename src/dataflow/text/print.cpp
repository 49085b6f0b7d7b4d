// The paper's notation (Figs. 4 and 6), with E5 to E8's corrections.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <cyclotron/dataflow/describe.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::dataflow {

namespace {

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

std::string flags_text(Flags flags) {
  std::vector<std::string_view> names;
  if ((flags & operators::transpose_a) != 0) names.emplace_back("transpose_a");
  if ((flags & operators::transpose_b) != 0) names.emplace_back("transpose_b");
  if ((flags & operators::lower) != 0) names.emplace_back("lower");
  if ((flags & operators::right_side) != 0) names.emplace_back("right_side");
  if ((flags & operators::unit_diagonal) != 0) names.emplace_back("unit_diagonal");
  if ((flags & operators::checked) != 0) names.emplace_back("checked");
  return names.empty() ? "" : fmt::format("[{}]", fmt::join(names, ", "));
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string run() const {
    std::string text = fmt::format("dataflow {} over ({})\n", graph_.kernel, fmt::join(graph_.dims, ", "));
    text += "tensors\n";
    for (const auto& tensor : graph_.tensors) text += "  " + tensor_text(tensor) + "\n";
    text += "spaces\n";
    for (const auto& space : graph_.spaces) {
      text += fmt::format("  ({})^{}    {}\n", tuple_text(space.tuple), space.name,
                          domain_text(space, space.domain, false));
    }
    text += "flows\n";
    for (std::size_t f = 0; f < graph_.flows.size(); ++f) text += "  " + flow_line(FlowId(f)) + "\n";
    text += "rules\n" + rules();
    const auto between = interfaces();
    if (!between.empty()) text += "interfaces\n" + between;
    const auto out = sends();
    if (!out.empty()) text += "sends, induced by the receives\n" + out;
    return text;
  }

  RuleText text_of(const Rule& rule) const {
    const auto& space = graph_.at(graph_.at(rule.flow).space);
    return {statement(rule), domain_text(space, rule.domain, true), note(rule)};
  }

  /// Constraints over the free coordinates, without what the space says already.
  std::string domain_text(const Space& space, const poly::Set& domain, bool relative) const {
    std::vector<std::string> names;
    for (const auto d : space.own) names.push_back(graph_.dims[d]);
    auto set = domain.project(space.own);
    if (relative) set = set.gist(space.domain.project(space.own));
    auto text = set.constraints_text(names);
    replace_all(text, " and ", ", ");
    replace_all(text, "<=", "≤");
    replace_all(text, ">=", "≥");
    return text == "true" ? "everywhere" : text;
  }

 private:
  using Row = std::vector<std::string>;

  static std::string tensor_text(const Tensor& tensor) {
    static constexpr const char* roles[] = {"input", "output", "local"};
    auto text =
        fmt::format("{} : {} {}[{}]", tensor.listed_name(), roles[static_cast<std::size_t>(tensor.role)],
                    operators::name(tensor.dtype), fmt::join(tensor.shape, ", "));
    if (tensor.blocked) text += fmt::format(" in tiles of {}", fmt::join(tensor.tile, "x"));
    return text;
  }

  std::string tuple_text(const std::vector<poly::Affine>& tuple) const {
    std::vector<std::string> parts;
    for (const auto& form : tuple) parts.push_back(poly::to_string(form, graph_.dims));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  std::string element_text(const Flow& flow) const {
    return fmt::format("{}[{}]", graph_.at(flow.tensor).listed_name(), tuple_text(flow.element));
  }

  std::string flow_line(FlowId id) const {
    const auto& flow = graph_.at(id);
    auto text = fmt::format("{} {} {}", flow_text(graph_, id), flow.computed ? "computes" : "carries",
                            element_text(flow));
    if (!(flow.tile == Shape{1, 1}))
      text += fmt::format(" in tiles of {}x{}", flow.tile.rows, flow.tile.columns);
    if (flow.dtype) text += fmt::format(" as {}", operators::name(*flow.dtype));
    if (flow.prefetched) text += " prefetched";
    return text;
  }

  static std::string align(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths;
    const auto width = [](const std::string& text) {
      return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
    };
    for (const auto& row : rows) {
      widths.resize(std::max(widths.size(), row.size()), 0);
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
    }
    std::string text;
    for (const auto& row : rows) {
      std::string line = " ";
      for (std::size_t c = 0; c < row.size(); ++c) {
        line += (c == 0 ? " " : "    ") + row[c];
        if (c + 1 < row.size()) line += std::string(widths[c] - width(row[c]), ' ');
      }
      text += line + "\n";
    }
    return text;
  }

  std::string rules() const {
    std::vector<Row> rows;
    for (const auto& rule : graph_.rules) {
      auto [statement, domain, action] = text_of(rule);
      rows.push_back({std::move(statement), std::move(domain), std::move(action),
                      fmt::format("[{}]", name(rule.origin))});
    }
    return align(rows);
  }

  std::string statement(const Rule& rule) const {
    return std::visit(Overloaded{[&](const Inject&) {
                                   return fmt::format("{} ← {}", flow_text(graph_, rule.flow),
                                                      element_text(graph_.at(rule.flow)));
                                 },
                                 [&](const Transfer& transfer) {
                                   return fmt::format("{} ← {}", flow_text(graph_, rule.flow),
                                                      flow_text(graph_, transfer.source, transfer.from));
                                 },
                                 [&](const Compute& compute) {
                                   return fmt::format("{} ← {}", flow_text(graph_, rule.flow),
                                                      term(compute, compute.terms.size() - 1, false));
                                 },
                                 [&](const Export&) {
                                   return fmt::format("{} ← {}", element_text(graph_.at(rule.flow)),
                                                      flow_text(graph_, rule.flow));
                                 }},
                      rule.action);
  }

  std::string note(const Rule& rule) const {
    const auto& tensor = graph_.at(graph_.at(rule.flow).tensor).listed_name();
    return std::visit(Overloaded{[&](const Inject&) { return fmt::format("load {}", tensor); },
                                 [&](const Transfer& transfer) {
                                   const char* verb = transfer.broadcast ? "broadcast" : "receive";
                                   const auto along = direction(rule, transfer);
                                   return along.empty() ? fmt::format("{} {}", verb, tensor)
                                                        : fmt::format("{} {} along {}", verb, tensor, along);
                                 },
                                 [&](const Compute&) { return fmt::format("compute {}", tensor); },
                                 [&](const Export&) { return fmt::format("store {}", tensor); }},
                      rule.action);
  }

  /// The one coordinate that a transfer steps along, if it is one.
  std::string direction(const Rule& rule, const Transfer& transfer) const {
    const auto& tuple = graph_.at(graph_.at(rule.flow).space).tuple;
    std::string along;
    for (std::size_t d = 0; d < tuple.size(); ++d) {
      if (transfer.from[d] == tuple[d]) continue;
      if (!along.empty()) return "";
      along = graph_.dims[d];
    }
    return along;
  }

  std::string term(const Compute& compute, std::size_t index, bool nested) const {
    return std::visit(Overloaded{[&](const FlowRef& ref) {
                                   auto point = graph_.at(graph_.at(ref.flow).space).tuple;
                                   for (std::size_t d = 0; d < point.size(); ++d)
                                     point[d].constant += ref.offset[d];
                                   return flow_text(graph_, ref.flow, point);
                                 },
                                 [](const Constant& value) {
                                   if (value.rest != 0) return value.integer_text();
                                   return value.imaginary == 0
                                              ? fmt::format("{}", value.real)
                                              : fmt::format("complex({}, {})", value.real, value.imaginary);
                                 },
                                 [&](const Index& value) {
                                   return fmt::format("{}⟨{}⟩", operators::name(value.dtype),
                                                      poly::to_string(value.form, graph_.dims));
                                 },
                                 [&](const Apply& apply) { return application(compute, apply, nested); }},
                      compute.terms[index]);
  }

  std::string application(const Compute& compute, const Apply& apply, bool nested) const {
    const auto operand = [&](std::size_t n, bool inner) { return term(compute, apply.operands[n], inner); };
    const auto product = [&](std::size_t a, std::size_t b, const char* symbol) {
      return fmt::format("{}{} {} {}{}", operand(a, true),
                         (apply.flags & operators::transpose_a) != 0 ? "ᵀ" : "", symbol, operand(b, true),
                         (apply.flags & operators::transpose_b) != 0 ? "ᵀ" : "");
    };
    // Without parentheses, `x + a · b` is the accumulating form; a sum of a product has them. So for `-`.
    const auto enclosed = [&](const std::string& text) { return nested ? "(" + text + ")" : text; };
    const auto& info = operators::info(apply.op);
    // Infix forms say transposition only; an operator with other flags is written as a call.
    if ((apply.flags & ~(operators::transpose_a | operators::transpose_b)) == 0) {
      const bool of_tiles = apply.op == Op::matmul_add || apply.op == Op::matmul_subtract;
      const bool adds = apply.op == Op::multiply_add || apply.op == Op::matmul_add;
      if (adds || of_tiles || apply.op == Op::multiply_subtract) {
        const auto product_text = product(1, 2, of_tiles ? "@" : "·");
        return enclosed(fmt::format("{} {} {}", operand(0, true), adds ? "+" : "-", product_text));
      }
      if (!info.symbol.empty()) return enclosed(product(0, 1, std::string(info.symbol).c_str()));
    }
    std::vector<std::string> operands;
    for (std::size_t n = 0; n < apply.operands.size(); ++n) operands.push_back(operand(n, false));
    return fmt::format("{}{}({})", info.name, flags_text(apply.flags), fmt::join(operands, ", "));
  }

  /// Interface maps between spaces (CY-055).
  std::string interfaces() const {
    std::vector<Row> rows;
    for (const auto& rule : graph_.rules) {
      if (!crosses_spaces(graph_, rule)) continue;
      const auto& transfer = std::get<Transfer>(rule.action);
      const auto& target = graph_.at(graph_.at(rule.flow).space);
      rows.push_back({fmt::format("Φ{}", rows.size() + 1),
                      fmt::format("{} → {}", graph_.at(graph_.at(transfer.source).space).name, target.name),
                      fmt::format("({}) ↦ ({})", tuple_text(transfer.from), tuple_text(target.tuple)),
                      domain_text(target, rule.domain, true)});
    }
    return align(rows);
  }

  std::string sends() const {
    std::vector<Row> rows;
    for (const auto& rule : graph_.rules) {
      const auto* transfer = std::get_if<Transfer>(&rule.action);
      if (transfer == nullptr) continue;
      const auto& target = graph_.at(graph_.at(rule.flow).space);
      const auto& source = graph_.at(graph_.at(transfer->source).space);
      const auto offset = constant_offset(target, transfer->from);
      if (offset) {
        auto point = source.tuple;
        for (std::size_t d = 0; d < point.size(); ++d) point[d].constant -= (*offset)[d];
        rows.push_back(
            {fmt::format("{} → {}", flow_text(graph_, transfer->source), flow_text(graph_, rule.flow, point)),
             domain_text(source, rule.domain.image(transfer->from), true), "[Send]"});
      } else {
        rows.push_back({fmt::format("{} → {}", flow_text(graph_, transfer->source, transfer->from),
                                    flow_text(graph_, rule.flow)),
                        domain_text(target, rule.domain, true), "[Send]"});
      }
    }
    return align(rows);
  }

  const Graph& graph_;
};

}  // namespace

std::string to_string(const Graph& graph) { return Printer(graph).run(); }

RuleText text_of(const Graph& graph, const Rule& rule) { return Printer(graph).text_of(rule); }

std::string domain_text(const Graph& graph, const Space& space) {
  return Printer(graph).domain_text(space, space.domain, false);
}

}  // namespace cyclotron::dataflow
