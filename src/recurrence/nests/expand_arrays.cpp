#include <cyclotron/recurrence/expand_arrays.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <cyclotron/operators/operators.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/recurrence/verify.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>
#include <cyclotron/support/refusal.hpp>

#include "cases.hpp"
#include "embedding.hpp"
#include "last_writes.hpp"
#include "uniform_tables.hpp"

namespace cyclotron::recurrence {

namespace {

using detail::Case;
using detail::Read;
using detail::Source;

Affine from_poly(const poly::Affine& form) { return {form.coefficients, form.constant}; }

std::vector<Affine> from_poly(const std::vector<poly::Affine>& forms) {
  std::vector<Affine> result;
  for (const auto& form : forms) result.push_back(from_poly(form));
  return result;
}

std::vector<poly::Affine> substituted(const std::vector<poly::Affine>& forms,
                                      const std::vector<poly::Affine>& values, std::size_t variables) {
  std::vector<poly::Affine> result;
  for (const auto& form : forms) result.push_back(poly::substitute(form, values, variables));
  return result;
}

/// Forms over some variables and one more, and that variable.
std::vector<poly::Affine> extended(const std::vector<poly::Affine>& forms, std::size_t variables) {
  auto result = forms;
  for (auto& form : result) form.coefficients.push_back(0);
  result.push_back(poly::variable(variables + 1, variables));
  return result;
}

class Expansion {
 public:
  explicit Expansion(const Nest& nest)
      : nest_(nest),
        writes_(context_, nest),
        live_(find_live()),
        embedding_(nest, writes_, reads_, live_, find_copies()) {
    result_.kernel = nest.system.kernel;
    result_.idle_nests = nest.system.idle_nests;
  }

  System run() {
    add_tensors();
    for (std::size_t s = 0; s < live_.size(); ++s) {
      if (!live_[s]) continue;
      if (!is_copy(s)) expand(s);
      publish(s);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] const Equation& at(std::size_t s) const { return nest_.system.equations[s]; }

  /// Fillings and copies of inputs need no tensor: what reads them can read what they copy.
  [[nodiscard]] bool is_copy(std::size_t s) const {
    if (strided_[s]) return false;
    const auto& node = nest_.system.at(at(s).expr).node;
    const auto* access = std::get_if<Access>(&node);
    return std::holds_alternative<Constant>(node) ||
           (access != nullptr && nest_.system.at(access->tensor).role == Role::input);
  }

  /// Nor do statements that assign what others did.
  [[nodiscard]] bool hands_on(std::size_t s) const { return through_[s]; }

  /// The number of loops around both statements.
  [[nodiscard]] std::size_t common_loops(std::size_t s, std::size_t other) const {
    const auto &one = nest_.positions[s].text, &two = nest_.positions[other].text;
    const auto common = static_cast<std::size_t>(std::ranges::mismatch(one, two).in1 - one.begin());
    return std::min({common, one.size() - 1, two.size() - 1});
  }

  /// True where what a statement copies is assigned again and again, in a loop after it that reads the copy or is before
  /// what does: there would be as many values of it as iterations.
  [[nodiscard]] bool outlives_source(std::size_t s) const {
    return std::ranges::any_of(reads_[s].front().sources, [&](const Source& source) {
      const auto writer = source.statement, around = common_loops(s, writer);
      const auto follows = [&](std::size_t later, std::size_t earlier) {
        const auto common = common_loops(later, earlier);
        return common > around || (common == around && nest_.positions[later].text[around] >
                                                           nest_.positions[earlier].text[around]);
      };
      const auto reads_copy = [&](const Read& read) {
        return std::ranges::find(read.sources, s, &Source::statement) != read.sources.end();
      };
      for (std::size_t reader = 0; reader < reads_.size(); ++reader) {
        if (follows(reader, writer) && std::ranges::any_of(reads_[reader], reads_copy))
          return follows(writer, s) && repeats(writer, around) && assigns_again(s, writer, around);
      }
      return false;
    });
  }

  /// True where no subscript of what a statement assigns names one of the loops around it but the first: it assigns the same
  /// elements in all iterations of that.
  [[nodiscard]] bool repeats(std::size_t s, std::size_t first) const {
    const auto& equation = at(s);
    for (auto v = first; v < equation.indices.size(); ++v) {
      const auto names = [&](const Affine& form) {
        return v < form.coefficients.size() && form.coefficients[v] != 0;
      };
      if (std::ranges::none_of(equation.index, names)) return true;
    }
    return false;
  }

  /// True where a statement writes, in the same iteration of the loops around both, an element that another has copied.
  [[nodiscard]] bool assigns_again(std::size_t copy, std::size_t writer, std::size_t around) const {
    const auto own = at(copy).indices.size(), total = own + at(writer).indices.size();
    std::vector<poly::Affine> here, there;
    for (std::size_t v = 0; v < total; ++v) (v < own ? here : there).push_back(poly::variable(total, v));
    const auto& access = std::get<Access>(nest_.system.at(at(copy).expr).node);
    std::vector<poly::Constraint> same;
    for (std::size_t v = 0; v < around; ++v) same.push_back({here[v] - there[v], true});
    for (std::size_t d = 0; d < access.index.size(); ++d) {
      same.push_back({poly::substitute(to_poly(access.index[d], own), here, total) -
                          poly::substitute(to_poly(at(writer).index[d], total - own), there, total),
                      true});
    }
    return !writes_.domain(copy)
                .preimage(here, total)
                .intersect(writes_.domain(writer).preimage(there, total))
                .intersect(same)
                .is_empty();
  }

  [[nodiscard]] std::vector<bool> find_copies() const {
    std::vector<bool> copies;
    for (std::size_t s = 0; s < live_.size(); ++s) copies.push_back(is_copy(s));
    return copies;
  }

  /// The statements whose values an output needs; notes all readings and last writes.
  std::vector<bool> find_live() {
    const auto count = nest_.system.equations.size();
    std::vector<bool> live(count, false);
    std::vector<std::size_t> todo;
    const auto need = [&](std::size_t s) {
      if (!live[s]) todo.push_back(s);
      live[s] = true;
    };
    for (std::size_t s = 0; s < count; ++s) {
      reads_.push_back(writes_.reads(s));
      const bool returned = nest_.system.at(at(s).target).role == Role::output;
      last_.push_back(returned ? writes_.last_points(s) : poly::Set::empty(context_, at(s).indices.size()));
      if (!last_.back().is_empty()) need(s);
    }
    strided_.assign(count, false);
    for (const auto& reads : reads_) {
      for (const auto& read : reads) {
        for (const auto& source : read.sources)
          strided_[source.statement] = strided_[source.statement] || source.divisor > 1;
      }
    }
    for (std::size_t s = 0; s < count; ++s)
      through_.push_back(!strided_[s] && writes_.hands_on(s) && !outlives_source(s));
    detail::LastWrites::read_through(reads_, through_);
    while (!todo.empty()) {
      const auto s = todo.back();
      todo.pop_back();
      for (const auto& read : reads_[s]) {
        for (const auto& source : read.sources) {
          if (!is_copy(source.statement)) need(source.statement);
        }
      }
    }
    return live;
  }

  void add_tensors() {
    for (const auto& original : nest_.system.tensors) {
      kept_.emplace_back();
      if (original.role == Role::local) continue;
      auto tensor = original;
      const auto is_input = [&](const Tensor& t) { return t.role == Role::input && t.name == tensor.name; };
      const bool in_place =
          tensor.role == Role::output && std::ranges::any_of(nest_.system.tensors, is_input);
      if (in_place) {
        tensor.variable = tensor.user_name();
        tensor.name = is_tensor(tensor.name + "_out") ? numbered(tensor.name) : tensor.name + "_out";
      }
      kept_.back() = add(std::move(tensor));
    }
    for (std::size_t s = 0; s < live_.size(); ++s) {
      // Where each write is the last one of its element, the output itself can hold the values.
      direct_.push_back(live_[s] && (hands_on(s) || last_[s] == writes_.domain(s)));
      made_.push_back(kept_[at(s).target.index()]);
      if (live_[s] && !is_copy(s) && !direct_[s]) {
        std::vector<std::int64_t> shape;
        for (const auto& [form, low] : strided_[s] ? uncounted(s) : box(s))
          shape.push_back(*writes_.domain(s).image({form}).maximum(0) - low + 1);
        if (strided_[s]) {
          const auto& extents = nest_.system.at(at(s).target).shape;
          shape.insert(shape.end(), extents.begin(), extents.end());
        }
        made_[s] = add_local(at(s).target, std::move(shape), at(s).span);
        if (!strided_[s]) result_.tensors.back().holds = by_subscripts(s, at(s).index);
      }
    }
  }

  TensorId add(Tensor tensor) {
    result_.tensors.push_back(std::move(tensor));
    return TensorId(result_.tensors.size() - 1);
  }

  TensorId add_local(TensorId array, std::vector<std::int64_t> shape, const Span& span) {
    const auto& original = nest_.system.at(array);
    std::vector<std::int64_t> tile(shape.size(), 1);
    return add({numbered(original.name), original.dtype, Role::local, std::move(shape), std::move(tile),
                false, span, original.user_name()});
  }

  [[nodiscard]] bool is_tensor(const std::string& name) const {
    const auto same = [&](const Tensor& tensor) { return tensor.name == name; };
    return std::ranges::any_of(result_.tensors, same) || std::ranges::any_of(nest_.system.tensors, same);
  }

  [[nodiscard]] std::string numbered(const std::string& base) const {
    for (int n = 1;; ++n) {
      if (auto name = fmt::format("{}_{}", base, n); !is_tensor(name)) return name;
    }
  }

  /// The new coordinates of a statement's loops in terms of its old indices, each with its least value.
  [[nodiscard]] std::vector<std::pair<poly::Affine, std::int64_t>> box(std::size_t s) const {
    const auto& embedded = embedding_.of(s);
    std::vector<std::pair<poly::Affine, std::int64_t>> result;
    for (std::size_t n = 0; n < embedded.names.size(); ++n) {
      if (!embedded.loop[n]) continue;
      const auto& form = embedded.coordinates[n];
      result.emplace_back(form, *writes_.domain(s).image({form}).minimum(0));
    }
    return result;
  }

  /// Forms of a statement's indices in terms of the subscripts that its box gives; empty where these do not tell.
  [[nodiscard]] std::vector<Affine> by_subscripts(std::size_t s, const std::vector<Affine>& forms) const {
    const auto loops = at(s).indices.size();
    std::vector<std::optional<Affine>> known(loops);
    const auto box = this->box(s);
    for (std::size_t d = 0; d < box.size(); ++d) {
      const auto& [form, low] = box[d];
      for (std::size_t v = 0; v < loops; ++v) {
        const auto sign = form.coefficients[v];
        if (sign * sign != 1 || !poly::is_constant(form - sign * poly::variable(loops, v))) continue;
        known[v] = Affine{std::vector<std::int64_t>(box.size(), 0), sign * (low - form.constant)};
        known[v]->coefficients[d] = sign;
      }
    }
    std::vector<Affine> result;
    for (const auto& form : forms) {
      auto& own = result.emplace_back(Affine{std::vector<std::int64_t>(box.size(), 0), form.constant});
      for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
        const auto factor = form.coefficients[v];
        if (factor == 0) continue;
        if (v >= loops || !known[v]) return {};
        for (std::size_t d = 0; d < box.size(); ++d)
          own.coefficients[d] += factor * known[v]->coefficients[d];
        own.constant += factor * known[v]->constant;
      }
    }
    return result;
  }

  /// The loops of which the element that a statement assigns does not tell the value, each with its least one.
  [[nodiscard]] std::vector<std::pair<poly::Affine, std::int64_t>> uncounted(std::size_t s) const {
    std::vector<std::pair<poly::Affine, std::int64_t>> result;
    const auto counts = writes_.counts(s);
    for (std::size_t v = 0; v < counts.size(); ++v) {
      if (!counts[v]) result.emplace_back(poly::variable(counts.size(), v), *writes_.domain(s).minimum(v));
    }
    return result;
  }

  /// The place where an output, or a tensor of what others read at another stride, holds what a statement makes.
  [[nodiscard]] std::vector<poly::Affine> place_of(std::size_t s) const {
    std::vector<poly::Affine> result;
    if (!direct_[s]) {
      for (const auto& [form, low] : uncounted(s))
        result.push_back(form - poly::constant(at(s).indices.size(), low));
    }
    const auto element = to_poly(at(s).index, at(s).indices.size());
    result.insert(result.end(), element.begin(), element.end());
    return result;
  }

  /// The element that holds what a statement made at a point.
  [[nodiscard]] std::vector<Affine> element_of(std::size_t s, const std::vector<poly::Affine>& point,
                                               std::size_t variables) const {
    if (direct_[s] || strided_[s]) return from_poly(substituted(place_of(s), point, variables));
    std::vector<Affine> index;
    for (const auto& [form, low] : box(s)) {
      index.push_back(from_poly(poly::substitute(form, point, variables)));
      index.back().constant -= low;
    }
    return index;
  }

  /// Points over a statement's old scope, over its new one, as constraints.
  [[nodiscard]] Region region(std::size_t s, const poly::Set& points, const std::vector<poly::Affine>& old,
                              std::size_t variables) const {
    const auto& embedded = embedding_.of(s);
    auto set = points.preimage(old, variables);
    for (std::size_t n = 0; n < embedded.names.size(); ++n) {
      if (embedded.loop[n]) continue;
      auto form = embedded.coordinates[n];
      form.coefficients.resize(old.size(), 0);
      set = set.intersect({poly::variable(variables, n) - poly::substitute(form, old, variables), true});
    }
    const auto parts = set.coalesce().conjunctions();
    if (!parts) {
      throw LegalityError(
          {.code = "CYC216",
           .obstacle = Obstacle::not_affine,
           .span = at(s).span,
           .message =
               fmt::format("the elements of `{}` that keep this value are {}, which is not affine",
                           nest_.system.at(at(s).target).user_name(), points.constraints_text(at(s).indices)),
           .notes = {},
           .help = "assign elements one stride apart in tensors or loops of their own"});
    }
    Region result;
    for (const auto& part : *parts) {
      auto& all = result.emplace_back();
      for (const auto& [form, equality] : part.constraints) all.push_back({from_poly(form), equality});
      for (const auto& [form, modulus] : part.divisible) all.push_back({from_poly(form), false, modulus});
    }
    return result;
  }

  ExprId add(decltype(Expr::node) node, const Span& span) {
    result_.exprs.push_back({std::move(node), span});
    return ExprId(result_.exprs.size() - 1);
  }

  /// The value that a source made, read where the old scope has these values.
  ExprId read_source(const Source& source, const std::vector<poly::Affine>& old, std::size_t variables,
                     const Span& span) {
    if (source.divisor > 1) return read_element(source, old, variables, span);
    const auto point = substituted(source.from, old, variables);
    if (!is_copy(source.statement)) {
      return add(Access{made_[source.statement], element_of(source.statement, point, variables)}, span);
    }
    return read_copy(source.statement, point, variables, span);
  }

  /// The value of a source of another stride: its element, of which no division is left.
  ExprId read_element(const Source& source, const std::vector<poly::Affine>& old, std::size_t variables,
                      const Span& span) {
    Access access{made_[source.statement], {}};
    for (const auto& form : place_of(source.statement)) {
      auto element = source.times_divisor(form, old.size());
      for (auto& coefficient : element.coefficients) coefficient /= source.divisor;
      element.constant /= source.divisor;
      access.index.push_back(from_poly(poly::substitute(element, old, variables)));
    }
    return add(std::move(access), span);
  }

  /// The value that a filling or a copy of an input assigns.
  ExprId read_copy(std::size_t s, const std::vector<poly::Affine>& point, std::size_t variables,
                   const Span& span) {
    const auto& node = nest_.system.at(at(s).expr).node;
    if (const auto* value = std::get_if<Constant>(&node)) return add(*value, span);
    const auto& access = std::get<Access>(node);
    const auto index = substituted(to_poly(access.index, at(s).indices.size()), point, variables);
    return add(Access{kept_[access.tensor.index()], from_poly(index)}, span);
  }

  /// The equations of a statement, one a case.
  void expand(std::size_t s) {
    const auto& embedded = embedding_.of(s);
    const auto variables = embedded.names.size();
    const auto cases = detail::cases_of(hands_on(s) ? last_[s] : writes_.domain(s), reads_[s]);
    std::vector<TensorId> apart;
    for (std::size_t r = 0; r < reads_[s].size(); ++r) {
      const bool several = !cases.empty() && cases.front().sources[r] == nullptr;
      const auto same = std::ranges::find_if(reads_[s], [&](const Read& read) {
        return nest_.system.at(read.expr).node == nest_.system.at(reads_[s][r].expr).node &&
               read.scope.names == reads_[s][r].scope.names && read.scope.points == reads_[s][r].scope.points;
      });
      const auto first = static_cast<std::size_t>(same - reads_[s].begin());
      apart.push_back(!several ? TensorId() : first < r ? apart[first] : set_apart(s, reads_[s][r]));
    }
    for (const auto& one : cases) {
      Copy copy{s, &one, &apart, 0};
      const auto value = copied(at(s).expr, embedded.point, variables, copy);
      result_.equations.push_back({made_[s], element_of(s, embedded.point, variables), embedded.names,
                                   region(s, one.points, embedded.point, variables), value, at(s).span});
    }
  }

  /// A tensor that holds what a reading finds, an equation for each source.
  TensorId set_apart(std::size_t s, const Read& read) {
    auto old = embedding_.of(s).point;
    auto variables = embedding_.of(s).names.size();
    for (auto n = at(s).indices.size(); n < read.scope.names.size(); ++n) old = extended(old, variables++);
    std::vector<poly::Affine> index;
    for (const auto& [form, low] : box(s)) {
      auto wide = form;
      wide.coefficients.resize(read.scope.names.size(), 0);
      wide.constant -= low;
      index.push_back(std::move(wide));
    }
    for (auto n = at(s).indices.size(); n < read.scope.names.size(); ++n) {
      index.push_back(poly::variable(read.scope.names.size(), n));
      index.back().constant = -read.scope.points.minimum(n).value_or(0);
    }
    std::vector<std::int64_t> shape;
    for (const auto& form : index)
      shape.push_back(read.scope.points.image({form}).maximum(0).value_or(0) + 1);
    const auto& expr = nest_.system.at(read.expr);
    const auto tensor = add_local(std::get<Access>(expr.node).tensor, std::move(shape), expr.span);
    result_.tensors.back().holds = by_subscripts(s, std::get<Access>(expr.node).index);
    for (const auto& source : read.sources) {
      const auto value = read_source(source, old, variables, expr.span);
      result_.equations.push_back({tensor, from_poly(substituted(index, old, variables)),
                                   embedding_.names(s, read.scope), region(s, source.points, old, variables),
                                   value, expr.span});
    }
    return tensor;
  }

  /// State of the copying of an expression: its readings come in the order of `reads_`.
  struct Copy {
    std::size_t statement;
    const Case* one;
    const std::vector<TensorId>* apart;
    std::size_t next_read;
  };

  ExprId copied(ExprId id, const std::vector<poly::Affine>& old, std::size_t variables, Copy& copy) {
    const Expr& expr = nest_.system.at(id);
    return std::visit(
        Overloaded{
            [&](const Constant& value) { return add(value, expr.span); },
            [&](const Index& index) {
              const auto form = poly::substitute(to_poly(index.form, old.size()), old, variables);
              return add(Index{from_poly(form), index.dtype}, expr.span);
            },
            [&](const Access& access) { return copied_access(access, expr.span, old, variables, copy); },
            [&](const Apply& apply) {
              Apply result{apply.op, apply.flags, {}};
              for (const auto operand : apply.operands)
                result.operands.push_back(copied(operand, old, variables, copy));
              type_numbers(apply, result);
              return add(std::move(result), expr.span);
            },
            [&](const Reduce& reduce) {
              Reduce result = reduce;
              result.index = embedding_.of(id);
              result.domain.clear();
              const auto inner = extended(old, variables);
              for (const auto& conjunction : reduce.domain) {
                auto& all = result.domain.emplace_back();
                for (const auto& constraint : conjunction) {
                  const auto form = to_poly(constraint.form, inner.size());
                  all.push_back({from_poly(poly::substitute(form, inner, variables + 1)), constraint.equality,
                                 constraint.modulus, constraint.most});
                }
              }
              result.body = typed(reduce.body, copied(reduce.body, inner, variables + 1, copy));
              if (const auto number = detail::number_found(result_, result, variables)) return *number;
              return add(std::move(result), expr.span);
            }},
        expr.node);
  }

  /// Numbers adopt their neighbours' dtype. Where the elements of filled arrays left only numbers, one of them has that of
  /// its array.
  void type_numbers(const Apply& old, Apply& made) {
    const auto typing = operators::info(made.op).typing;
    if (typing == operators::Typing::cast) return;
    const std::size_t first = typing == operators::Typing::select ? 1 : 0;
    std::optional<std::size_t> filled;
    for (auto n = first; n < made.operands.size(); ++n) {
      if (is_filled(old.operands[n], made.operands[n])) filled = n;
    }
    if (!filled) return;
    for (auto n = first; n < made.operands.size(); ++n) {
      if (dtype_of(result_, made.operands[n])) return;
    }
    made.operands[*filled] = typed(old.operands[*filled], made.operands[*filled]);
  }

  /// True where a number came in the place of a scalar that was read.
  [[nodiscard]] bool is_filled(ExprId old, ExprId made) const {
    const auto* access = std::get_if<Access>(&nest_.system.at(old).node);
    return access != nullptr && !nest_.system.at(access->tensor).blocked &&
           std::holds_alternative<Constant>(result_.at(made).node);
  }

  /// Such a number in the dtype of what was read; whatever else as it is.
  ExprId typed(ExprId old, ExprId made) {
    if (!is_filled(old, made)) return made;
    const auto& access = std::get<Access>(nest_.system.at(old).node);
    return add(Apply{operators::cast_to(nest_.system.at(access.tensor).dtype), 0, {made}},
               nest_.system.at(old).span);
  }

  ExprId copied_access(const Access& access, const Span& span, const std::vector<poly::Affine>& old,
                       std::size_t variables, Copy& copy) {
    if (!writes_.is_assigned(access.tensor)) {
      const auto index = substituted(to_poly(access.index, old.size()), old, variables);
      auto& kept = kept_[access.tensor.index()];
      if (!kept.valid())
        kept = add(nest_.system.at(access.tensor));  // read by reductions that are empty, if at all
      return add(Access{kept, from_poly(index)}, span);
    }
    const auto number = copy.next_read++;
    if (const auto* source = copy.one->sources[number]) return read_source(*source, old, variables, span);
    std::vector<Affine> index;
    for (const auto& [form, low] : box(copy.statement)) {
      auto wide = form;
      wide.coefficients.resize(old.size(), 0);
      index.push_back(from_poly(poly::substitute(wide, old, variables)));
      index.back().constant -= low;
    }
    const auto& scope = reads_[copy.statement][number].scope;
    for (auto n = at(copy.statement).indices.size(); n < scope.names.size(); ++n) {
      index.push_back(from_poly(old[n]));
      index.back().constant -= scope.points.minimum(n).value_or(0);
    }
    return add(Access{(*copy.apart)[number], std::move(index)}, span);
  }

  /// Outputs get the values that nothing replaces.
  void publish(std::size_t s) {
    if (last_[s].is_empty() || (direct_[s] && !is_copy(s))) return;
    const auto& embedded = embedding_.of(s);
    const auto variables = embedded.names.size();
    const auto index = substituted(to_poly(at(s).index, at(s).indices.size()), embedded.point, variables);
    const auto value = is_copy(s)
                           ? read_copy(s, embedded.point, variables, at(s).span)
                           : add(Access{made_[s], element_of(s, embedded.point, variables)}, at(s).span);
    result_.equations.push_back({kept_[at(s).target.index()], from_poly(index), embedded.names,
                                 region(s, last_[s], embedded.point, variables), value, at(s).span});
  }

  poly::Context context_;
  const Nest& nest_;
  detail::LastWrites writes_;
  std::vector<std::vector<Read>> reads_;  ///< Of each statement.
  std::vector<bool> strided_;    ///< Of each statement: whether others read what it makes at another stride.
  std::vector<bool> through_;    ///< Of each statement: whether others read through it what it copies.
  std::vector<poly::Set> last_;  ///< Of each statement: where it makes an output's last values.
  std::vector<bool> live_;
  detail::Embedding embedding_;
  std::vector<TensorId> kept_;  ///< Inputs and outputs in the result.
  std::vector<TensorId> made_;  ///< Of each statement: the tensor that holds its values.
  std::vector<bool> direct_;    ///< Of each statement: whether that is the output.
  System result_;
};

}  // namespace

System expand_arrays(const Nest& nest) {
  verify_statements(nest.system);
  return Expansion(nest).run();
}

std::optional<System> expand_arrays(const Nest& nest, bool required) {
  auto expanded = attempt([&] { return expand_arrays(nest); });
  if (expanded) return *std::move(expanded);
  if (required || expanded.error().obstacle() != Obstacle::not_affine) throw_error(expanded.error());
  return std::nullopt;
}

}  // namespace cyclotron::recurrence
