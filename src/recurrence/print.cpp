#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence {

namespace {

std::string shape_text(const Tensor& tensor) {
  std::string text = fmt::format("{}[{}]", operators::name(tensor.dtype), fmt::join(tensor.shape, ", "));
  if (tensor.blocked) text += fmt::format(" in tiles of {}", fmt::join(tensor.tile, "x"));
  return text;
}

std::string_view role_text(Role role) {
  switch (role) {
    case Role::input: return "input";
    case Role::output: return "output";
    case Role::local: return "local";
  }
  return "";
}

std::string number_text(const Constant& value) {
  if (value.rest != 0) return value.integer_text();
  if (value.imaginary == 0) return fmt::format("{}", value.real);
  return fmt::format("({}{:+}j)", value.real, value.imaginary);
}

class Printer {
 public:
  Printer(const System& system, const std::vector<std::string>& tensors, const poly::Context& context)
      : system_(system), tensors_(tensors), context_(context) {}

  std::string expr(ExprId id, const std::vector<std::string>& names, bool nested) const {
    return std::visit(Overloaded{[](const Constant& value) { return number_text(value); },
                                 [&](const Index& index) {
                                   const auto form = to_poly(index.form, names.size());
                                   return fmt::format("{}⟨{}⟩", operators::name(index.dtype),
                                                      poly::to_string(form, names));
                                 },
                                 [&](const Access& access) {
                                   return access_text(tensors_[access.tensor.index()], access.index, names);
                                 },
                                 [&](const Apply& apply) { return apply_text(apply, names, nested); },
                                 [&](const Reduce& reduce) { return reduce_text(reduce, names); }},
                      system_.at(id).node);
  }

 private:
  std::string apply_text(const Apply& apply, const std::vector<std::string>& names, bool nested) const {
    const auto& info = operators::info(apply.op);
    std::vector<std::string> operands;
    for (const auto operand : apply.operands) {
      const auto* reduce = std::get_if<Reduce>(&system_.at(operand).node);
      const bool onward = (apply.flags & operators::onward) != 0 && reduce != nullptr && !operands.empty();
      operands.push_back(onward ? reduce_text(*reduce, names, ", onward")
                                : expr(operand, names, !info.symbol.empty()));
    }
    if (!info.symbol.empty() && operands.size() == 2) {
      auto text =
          fmt::format("{}{} {} {}{}", operands[0], (apply.flags & operators::transpose_a) != 0 ? "ᵀ" : "",
                      info.symbol, operands[1], (apply.flags & operators::transpose_b) != 0 ? "ᵀ" : "");
      return nested ? "(" + text + ")" : text;
    }
    return fmt::format("{}({})", info.name, fmt::join(operands, ", "));
  }

  std::string reduce_text(const Reduce& reduce, std::vector<std::string> names,
                          std::string_view onward = "") const {
    static constexpr std::string_view symbols[] = {"Σ", "Π", "max", "min", "max", "min"};
    // Over truth values, as they are written.
    static constexpr std::string_view of_booleans[] = {"any", "all", "any", "all"};
    const bool boolean = dtype_of(system_, reduce.body, DType::float64) == DType::boolean;
    names.push_back(reduce.index);
    const auto domain = to_set(context_, reduce.domain, names.size()).constraints_text(names);
    return fmt::format("{}_{{{}{}{}}} {}",
                       (boolean ? of_booleans : symbols)[static_cast<std::size_t>(reduce.kind)], domain,
                       reduce.descending ? ", descending" : "", onward, expr(reduce.body, names, true));
  }

  const System& system_;
  const std::vector<std::string>& tensors_;
  const poly::Context& context_;
};

}  // namespace

std::string to_string(const System& system) {
  const poly::Context context;
  const auto tensors = listed_names(system);
  const Printer printer(system, tensors, context);
  std::string text = fmt::format("recurrences {}\n", system.kernel);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto& tensor = system.tensors[t];
    text += fmt::format("  {} : {} {}\n", tensors[t], role_text(tensor.role), shape_text(tensor));
  }
  for (const auto& equation : system.equations) {
    text += fmt::format("  {} = {}    {}\n",
                        access_text(tensors[equation.target.index()], equation.index, equation.indices),
                        printer.expr(equation.expr, equation.indices, false),
                        domain_of(context, equation).constraints_text(equation.indices));
  }
  return text;
}

}  // namespace cyclotron::recurrence
