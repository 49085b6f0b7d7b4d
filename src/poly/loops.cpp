#include <cyclotron/poly/loops.hpp>

#include <fmt/format.h>
#include <isl/union_set.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "box_loops.hpp"
#include "detail.hpp"
#include "group_regions.hpp"

namespace cyclotron::poly {

using detail::checked;
using detail::own;
using detail::Owned;
using detail::take_int;
using detail::with_times;

namespace {

/// (numerator / divisor), rounded down or up.
struct Quotient {
  Affine numerator;
  std::int64_t divisor = 1;
  bool up = false;
};

constexpr std::int64_t modulus_limit = 64;

/// Reads isl's syntax tree into plain nodes.
class Reader {
 public:
  Reader(const Context& context, std::size_t parameters, std::size_t times)
      : context_(context), parameters_(parameters), variables_(parameters + loop_variables(times)) {
    for (std::size_t p = 0; p < parameters; ++p) names_[fmt::format("p{}", p)] = variable(variables_, p);
  }

  Node read(isl_ast_node* node) {
    auto outer = std::exchange(lets_, {});
    Node result = read_node(node);
    for (; !lets_.empty(); lets_.pop_back(), --depth_) {
      lets_.back().children.push_back(std::move(result));
      result = std::move(lets_.back());
    }
    lets_ = std::move(outer);
    return result;
  }

  /// Throws LegalityError CYC226 if the nest that was read is none.
  void require_loops() const {
    if (!refused_) return;
    throw LegalityError({.code = "CYC226",
                         .span = {},
                         .message = "no loops with affine bounds run through the steps of a class of PEs",
                         .notes = {{{}, *refused_}},
                         .help = "use other forms for space and time, for example plain indices"});
  }

 private:
  Node read_node(isl_ast_node* node) {
    switch (isl_ast_node_get_type(node)) {
      case isl_ast_node_block: return read_block(node);
      case isl_ast_node_for: return read_loop(node);
      case isl_ast_node_if: return read_guard(node);
      case isl_ast_node_user: return read_visit(node);
      default: check_failed("known AST node", __FILE__, __LINE__, "");
    }
  }

  Node read_block(isl_ast_node* node) {
    Node result;
    const auto list = own(context_, isl_ast_node_block_get_children(node));
    for (int n = 0; n < isl_ast_node_list_n_ast_node(list.get()); ++n) {
      const auto child = own(context_, isl_ast_node_list_get_ast_node(list.get(), n));
      result.children.push_back(read(child.get()));
    }
    return result;
  }

  Node read_loop(isl_ast_node* node) {
    Node result;
    result.kind = Node::Kind::loop;
    const auto iterator = own(context_, isl_ast_node_for_get_iterator(node));
    const auto name = name_of(iterator.get());
    const auto init = own(context_, isl_ast_node_for_get_init(node));
    const auto body = own(context_, isl_ast_node_for_get_body(node));
    if (checked(context_, isl_ast_node_for_is_degenerate(node))) {
      names_[name] = affine(init.get());
      result = read(body.get());
    } else {
      for (auto& quotient : quotients(init.get(), isl_ast_expr_op_max))
        result.lower.push_back(lower_bound(quotient));
      const auto condition = own(context_, isl_ast_node_for_get_cond(node));
      const auto relation = isl_ast_expr_op_get_type(condition.get());
      CYC_CHECK(relation == isl_ast_expr_op_le || relation == isl_ast_expr_op_lt);
      const auto limit = operand(condition.get(), 1);
      for (auto& quotient : quotients(limit.get(), isl_ast_expr_op_min)) {
        if (relation == isl_ast_expr_op_lt) quotient.numerator.constant -= quotient.divisor;
        result.upper.push_back(upper_bound(quotient));
      }
      const auto step = own(context_, isl_ast_node_for_get_inc(node));
      result.step = take_int(context_, isl_ast_expr_get_val(step.get()));
      // Only now: quotients in the bounds have taken the variables of loops around this one.
      names_[name] = next_variable();
      ++depth_;
      result.children.push_back(read(body.get()));
      --depth_;
    }
    names_.erase(name);
    return result;
  }

  Node read_guard(isl_ast_node* node) {
    Node result;
    result.kind = Node::Kind::guard;
    const auto condition = own(context_, isl_ast_node_if_get_cond(node));
    result.condition = disjunction(condition.get());
    const auto then = own(context_, isl_ast_node_if_get_then(node));
    result.children.push_back(read(then.get()));
    if (!checked(context_, isl_ast_node_if_has_else(node))) return result;
    const auto otherwise = own(context_, isl_ast_node_if_get_else(node));
    Node negative;
    negative.kind = Node::Kind::guard;
    negative.condition = negation(result.condition);
    negative.children.push_back(read(otherwise.get()));
    Node both;
    both.children.push_back(std::move(result));
    both.children.push_back(std::move(negative));
    return both;
  }

  Node read_visit(isl_ast_node* node) {
    Node result;
    result.kind = Node::Kind::visit;
    const auto call = own(context_, isl_ast_node_user_get_expr(node));
    result.statement = std::stoul(name_of(operand(call.get(), 0).get()).substr(1));
    for (int a = 1; a < isl_ast_expr_get_op_n_arg(call.get()); ++a)
      result.time.push_back(affine(operand(call.get(), a).get()));
    return result;
  }

  [[nodiscard]] Owned<isl_ast_expr> operand(isl_ast_expr* expr, int position) const {
    return own(context_, isl_ast_expr_get_op_arg(expr, position));
  }
  [[nodiscard]] std::string name_of(isl_ast_expr* variable) const {
    return isl_id_get_name(own(context_, isl_ast_expr_get_id(variable)).get());
  }

  Affine affine(isl_ast_expr* expr) { return whole(quotient(expr)); }

  /// Notes why the loops are refused; values read after that are not used.
  void refuse(std::string why) {
    if (!refused_) refused_ = std::move(why);
  }

  /// Of the next loop.
  Affine next_variable() {
    if (parameters_ + depth_ < variables_) return variable(variables_, parameters_ + depth_);
    refuse(fmt::format("they need more than {} loops and quotients by constants", variables_ - parameters_));
    return constant(variables_, 0);
  }

  /// A quotient that is no bound becomes the variable of a loop of one step around the node: q = floor(n /
  /// d).
  Affine whole(Quotient quotient) {
    if (quotient.divisor == 1) return quotient.numerator;
    if (quotient.up) quotient.numerator.constant += quotient.divisor - 1;
    quotient.up = false;
    Node let;
    let.kind = Node::Kind::loop;
    let.lower.push_back(lower_bound(quotient));
    let.upper.push_back(upper_bound(quotient));
    lets_.push_back(std::move(let));
    auto result = next_variable();
    ++depth_;
    return result;
  }

  Quotient quotient(isl_ast_expr* expr) {
    switch (isl_ast_expr_get_type(expr)) {
      case isl_ast_expr_int: return {constant(variables_, take_int(context_, isl_ast_expr_get_val(expr)))};
      case isl_ast_expr_id: {
        const auto name = name_of(expr);
        CYC_CHECK(names_.contains(name));
        return {names_.at(name)};
      }
      default: break;
    }
    std::vector<Quotient> operands;
    for (int a = 0; a < isl_ast_expr_get_op_n_arg(expr); ++a)
      operands.push_back(quotient(operand(expr, a).get()));
    switch (isl_ast_expr_op_get_type(expr)) {
      case isl_ast_expr_op_minus: return scale(operands[0], -1);
      case isl_ast_expr_op_add: return sum(operands[0], operands[1]);
      case isl_ast_expr_op_sub: return sum(operands[0], scale(operands[1], -1));
      case isl_ast_expr_op_mul:
        CYC_CHECK(is_constant(operands[0].numerator) || is_constant(operands[1].numerator));
        return is_constant(operands[0].numerator) ? scale(operands[1], operands[0].numerator.constant)
                                                  : scale(operands[0], operands[1].numerator.constant);
      case isl_ast_expr_op_fdiv_q:
      case isl_ast_expr_op_pdiv_q:
      case isl_ast_expr_op_div:
        CYC_CHECK(is_constant(operands[1].numerator));
        return {whole(operands[0]), operands[1].numerator.constant, false};
      case isl_ast_expr_op_pdiv_r:
      case isl_ast_expr_op_zdiv_r: {
        CYC_CHECK(is_constant(operands[1].numerator));
        const auto modulus = operands[1].numerator.constant;
        const auto dividend = whole(operands[0]);
        return {dividend - modulus * whole({dividend, modulus, false})};
      }
      default:
        refuse("they need a case distinction within a bound");  // for which a program has no instruction
        return {constant(variables_, 1)};
    }
  }

  Quotient scale(const Quotient& a, std::int64_t factor) {
    if (a.divisor != 1 && factor != 1 && factor != -1) return {factor * whole(a)};
    return {factor * a.numerator, a.divisor, factor < 0 ? !a.up : a.up};
  }
  Quotient sum(const Quotient& a, const Quotient& b) {
    if (a.divisor != 1 && b.divisor != 1) return {whole(a) + whole(b)};
    const auto& rounded = a.divisor == 1 ? b : a;
    const auto& plain = a.divisor == 1 ? a : b;
    return {rounded.numerator + rounded.divisor * plain.numerator, rounded.divisor, rounded.up};
  }

  /// The operands of nested max (or min), or the expression itself.
  std::vector<Quotient> quotients(isl_ast_expr* expr, isl_ast_expr_op_type combine) {
    std::vector<Quotient> result;
    if (isl_ast_expr_get_type(expr) == isl_ast_expr_op && isl_ast_expr_op_get_type(expr) == combine) {
      for (int a = 0; a < isl_ast_expr_get_op_n_arg(expr); ++a) {
        for (auto& quotient : quotients(operand(expr, a).get(), combine))
          result.push_back(std::move(quotient));
      }
    } else {
      result.push_back(quotient(expr));
    }
    return result;
  }

  /// floor(n / d) = ceil((n - d + 1) / d).
  static Bound lower_bound(Quotient quotient) {
    if (!quotient.up) quotient.numerator.constant -= quotient.divisor - 1;
    return {std::move(quotient.numerator), quotient.divisor};
  }
  static Bound upper_bound(Quotient quotient) {
    if (quotient.up) quotient.numerator.constant += quotient.divisor - 1;
    return {std::move(quotient.numerator), quotient.divisor};
  }

  std::vector<Conjunction> disjunction(isl_ast_expr* expr) {
    if (isl_ast_expr_get_type(expr) == isl_ast_expr_int) {  // 0 or 1: never, or always
      const bool always = take_int(context_, isl_ast_expr_get_val(expr)) != 0;
      return std::vector<Conjunction>(always ? 1 : 0);
    }
    const auto op = isl_ast_expr_op_get_type(expr);
    const auto first = operand(expr, 0), second = operand(expr, 1);
    std::vector<Conjunction> result;
    if (op == isl_ast_expr_op_or || op == isl_ast_expr_op_or_else) {
      result = disjunction(first.get());
      for (auto& conjunction : disjunction(second.get())) result.push_back(std::move(conjunction));
    } else if (op == isl_ast_expr_op_and || op == isl_ast_expr_op_and_then) {
      const auto right = disjunction(second.get());
      for (const auto& a : disjunction(first.get())) {
        for (const auto& b : right) {
          auto& both = result.emplace_back(a);
          both.constraints.insert(both.constraints.end(), b.constraints.begin(), b.constraints.end());
          both.divisible.insert(both.divisible.end(), b.divisible.begin(), b.divisible.end());
        }
      }
    } else {
      result.push_back(comparison(op, first.get(), second.get()));
    }
    return result;
  }

  Conjunction comparison(isl_ast_expr_op_type op, isl_ast_expr* first, isl_ast_expr* second) {
    if (op == isl_ast_expr_op_eq && isl_ast_expr_get_type(first) == isl_ast_expr_op &&
        (isl_ast_expr_op_get_type(first) == isl_ast_expr_op_zdiv_r ||
         isl_ast_expr_op_get_type(first) == isl_ast_expr_op_pdiv_r)) {
      Affine form = affine(operand(first, 0).get()) - affine(second);
      const auto modulus = affine(operand(first, 1).get()).constant;
      return {{}, {{std::move(form), modulus}}};
    }
    const Affine difference = affine(first) - affine(second);
    const Affine one = constant(variables_, 1);
    switch (op) {
      case isl_ast_expr_op_eq: return {{{difference, true}}, {}};
      case isl_ast_expr_op_ge: return {{{difference, false}}, {}};
      case isl_ast_expr_op_gt: return {{{difference - one, false}}, {}};
      case isl_ast_expr_op_le: return {{{-1 * difference, false}}, {}};
      case isl_ast_expr_op_lt: return {{{-1 * difference - one, false}}, {}};
      default: check_failed("a known comparison in a guard", __FILE__, __LINE__, "");
    }
  }

  /// not (A or B) with A, B conjunctions, as a disjunction again.
  std::vector<Conjunction> negation(const std::vector<Conjunction>& condition) {
    std::vector<Conjunction> result{{}};
    const Affine one = constant(variables_, 1);
    for (const auto& conjunction : condition) {
      std::vector<Conjunction> next;
      for (const auto& partial : result) {
        for (const auto& [form, equality] : conjunction.constraints) {
          auto& below = next.emplace_back(partial);
          below.constraints.push_back({-1 * form - one, false});
          if (!equality) continue;
          auto& above = next.emplace_back(partial);
          above.constraints.push_back({form - one, false});
        }
        for (const auto& [form, modulus] : conjunction.divisible) {
          if (modulus > modulus_limit) {
            refuse(fmt::format("steps that are no multiples of {}, of {} at most", modulus, modulus_limit));
            return {};
          }
          for (std::int64_t r = 1; r < modulus; ++r) {
            next.emplace_back(partial).divisible.emplace_back(form - constant(variables_, r), modulus);
          }
        }
      }
      result = std::move(next);
    }
    return result;
  }

  const Context& context_;
  std::size_t parameters_;
  std::size_t variables_;
  std::size_t depth_ = 0;
  std::vector<Node> lets_;  ///< Loops of one step around the node that is being read.
  std::optional<std::string>
      refused_;  ///< Reason for which no loops with affine bounds do what the tree says.
  std::map<std::string, Affine> names_;
};

isl_set* with_parameters(isl_set* set, std::size_t parameters) {
  set = isl_set_move_dims(set, isl_dim_param, 0, isl_dim_set, 0, static_cast<unsigned>(parameters));
  for (std::size_t p = 0; p < parameters; ++p) {
    set = isl_set_set_dim_name(set, isl_dim_param, static_cast<unsigned>(p), fmt::format("p{}", p).c_str());
  }
  return set;
}

/// The region without what it says of parameters that no domain mentions.
Set mentioned(const Set& region, const std::vector<Set>& statements) {
  auto result = own(region.context(), region.copy());
  for (unsigned p = 0; p < region.dimensions(); ++p) {
    const bool used = std::ranges::any_of(statements, [&](const Set& domain) {
      return checked(region.context(), isl_set_involves_dims(domain.get(), isl_dim_set, p, 1));
    });
    if (!used) result = own(region.context(), isl_set_eliminate(result.release(), isl_dim_set, p, 1));
  }
  return {region.context(), result.release()};
}

/// The points of a domain in its first dimensions.
Owned<isl_set> outermost(const Set& domain, std::size_t dimensions) {
  const auto rest = static_cast<unsigned>(domain.dimensions() - dimensions);
  return own(domain.context(),
             isl_set_project_out(domain.copy(), isl_dim_set, static_cast<unsigned>(dimensions), rest));
}

/// True where conditions with remainders choose the points.
bool has_remainders(isl_set* set) {
  const auto without = [](isl_basic_set* piece, void*) {
    const auto divisions = isl_basic_set_dim(piece, isl_dim_div);
    isl_basic_set_free(piece);
    return divisions > 0 ? isl_stat_error : isl_stat_ok;
  };
  return isl_set_foreach_basic_set(set, without, nullptr) != isl_stat_ok;
}

/// True where a dimension takes one value, or not all in an interval, for values of those before it.
bool is_strided(const Context& context, isl_set* set, std::size_t dimension) {
  const auto position = static_cast<int>(dimension);
  const auto fixed =
      own(context, isl_set_plain_get_val_if_fixed(set, isl_dim_set, static_cast<unsigned>(position)));
  return !checked(context, isl_val_is_nan(fixed.get())) ||
         !checked(context, isl_val_is_one(own(context, isl_set_get_stride(set, position)).get()));
}

/// For each time coordinate, whether isl may not run strided domains of it in one loop, each shifted to the first.
///
/// It takes the distances from those at the same outer coordinates (isl_ast_codegen.c, generate_component), and
/// of domains that have none in common, as one of even rows and one of odd ones, it takes them to be 0: it
/// would run them out of order.
std::vector<bool> unshifted(const std::vector<Set>& statements, std::size_t parameters, std::size_t times) {
  std::vector<bool> result(times);
  if (statements.size() == 1) return result;
  const Context& context = statements.front().context();
  std::vector<Owned<isl_set>> outer;  // in their parameters and the coordinates before t
  for (const auto& domain : statements) outer.push_back(outermost(domain, parameters));
  for (std::size_t t = 0; t < times; ++t) {
    const bool alike =
        std::ranges::none_of(outer, [](const auto& set) { return has_remainders(set.get()); }) ||
        std::ranges::all_of(outer, [&](const auto& set) {
          return checked(context, isl_set_is_equal(set.get(), outer.front().get()));
        });
    std::vector<Owned<isl_set>> inner;
    for (const auto& domain : statements) inner.push_back(outermost(domain, parameters + t + 1));
    const auto strided = [&](const auto& set) { return is_strided(context, set.get(), parameters + t); };
    result[t] = !alike && std::ranges::any_of(inner, strided);
    outer = std::move(inner);
  }
  return result;
}

/// The option that pieces of domains get loops of their own; where they may not be shifted, with a condition
/// that all times meet, as isl shifts none of which an option speaks.
isl_union_map* separated(const Context& context, const std::vector<bool>& unshifted, bool all) {
  constexpr auto least = -(std::int64_t{1} << 31);
  std::string tuple, options;
  for (std::size_t t = 0; t <= unshifted.size(); ++t) tuple += fmt::format("{}t{}", t == 0 ? "" : ", ", t);
  for (std::size_t t = 0; t < unshifted.size(); ++t) {
    if (!all && !unshifted[t]) continue;
    const auto condition = unshifted[t] ? fmt::format(" : t{} {} {}", t, all ? ">=" : "<", least) : "";
    options += fmt::format("{} [{}] -> separate[{}]{}", options.empty() ? "" : ";", tuple, t, condition);
  }
  return isl_union_map_read_from_str(context.get(), fmt::format("{{{} }}", options).c_str());
}

/// The loops that visit a schedule's domain in its order; null where isl fails.
Owned<isl_ast_node> loop_tree(isl_union_map* schedule, isl_set* known, isl_union_map* options) {
  isl_ast_build* build = isl_ast_build_from_context(isl_set_copy(known));
  build = isl_ast_build_set_options(build, options);
  const Owned<isl_ast_build> owned(build);
  return Owned<isl_ast_node>(isl_ast_build_node_from_schedule_map(build, isl_union_map_copy(schedule)));
}

Node isl_nest(const std::vector<Set>& statements, const Set& region, std::size_t times) {
  const Context& context = region.context();
  const auto parameters = region.dimensions();
  if (statements.empty()) return {};
  isl_union_map* schedule = nullptr;
  for (std::size_t s = 0; s < statements.size(); ++s) {
    isl_set* domain = with_parameters(statements[s].copy(), parameters);
    domain = isl_set_set_tuple_name(domain, fmt::format("S{}", s).c_str());
    isl_map* time = isl_set_identity(domain);
    time = isl_map_reset_tuple_id(time, isl_dim_out);
    time = isl_map_add_dims(time, isl_dim_out, 1);
    time = isl_map_fix_si(time, isl_dim_out, static_cast<unsigned>(times), static_cast<int>(s));
    isl_union_map* one = isl_union_map_from_map(time);
    schedule = s == 0 ? one : isl_union_map_union(schedule, one);
  }
  const auto ordered = own(context, schedule);
  const auto known = own(context, isl_set_params(with_parameters(region.copy(), parameters)));
  // One conjunction is in one piece already.
  const bool in_pieces = statements.size() > 1 || isl_set_n_basic_set(statements.front().get()) > 1;
  const auto options = [&] { return separated(context, unshifted(statements, parameters, times), true); };
  auto tree = in_pieces ? loop_tree(ordered.get(), known.get(), options()) : nullptr;
  if (tree == nullptr) {  // isl fails to separate some domains with strides: these get guards
    if (in_pieces) detail::forgive(context);
    const std::vector<bool> none_shifted(times, true);
    tree = own(context,
               loop_tree(ordered.get(), known.get(), separated(context, none_shifted, false)).release());
  }
  Reader reader(context, parameters, times);
  Node result = reader.read(tree.get());
  reader.require_loops();
  return result;
}

Node nest_of(const std::vector<Set>& statements, const Set& region, std::size_t times);

/// Makes nests where the parameters lie in a region.
detail::NestMaker nests_in(const Set& region) {
  return [&region](const std::vector<Set>& statements, std::size_t times) {
    return nest_of(statements, mentioned(region, statements), times);
  };
}

/// Makes the nest of many statements coordinate by coordinate: isl orders each two of them in each piece of each coordinate.
/// Their points in the first coordinate alone are often the same, and within a piece of that most are boxes.
class FirstCoordinate {
 public:
  FirstCoordinate(const std::vector<Set>& statements, const Set& region, std::size_t times)
      : statements_(statements), region_(region), times_(times), parameters_(region.dimensions()) {}

  /// None where isl finds no pieces that follow each other, whatever the parameters are.
  [[nodiscard]] std::optional<Node> nest() {
    if (times_ < 2) return std::nullopt;
    std::vector<Set> firsts;
    for (const auto& domain : statements_) {
      const Set first(region_.context(), outermost(domain, parameters_ + 1).release());
      const auto known = std::ranges::find(firsts, first);
      alike_.push_back(static_cast<std::size_t>(known - firsts.begin()));
      if (known == firsts.end()) firsts.push_back(first);
    }
    if (2 * firsts.size() > statements_.size()) return std::nullopt;
    auto outer = isl_nest(firsts, region_, 1);
    if (!add_pieces(outer, region_) || !follow_each_other()) return std::nullopt;
    return replaced(outer);
  }

 private:
  /// Values of the first coordinate, the parameters for which it has them, and the statements that run at each of them.
  struct Piece {
    std::vector<Affine> low, high;  ///< From the greatest to the least; the same of one value.
    Set parameters;
    std::vector<bool> runs;
    [[nodiscard]] bool is_one() const { return low == high; }
    [[nodiscard]] const Affine& value() const { return low.front(); }
  };

  /// A form over the parameters alone.
  [[nodiscard]] Affine of_parameters(Affine form) const {
    form.coefficients.resize(parameters_);
    return form;
  }
  [[nodiscard]] bool is_of_parameters(const Affine& form) const {
    return std::all_of(form.coefficients.begin() + static_cast<std::ptrdiff_t>(parameters_),
                       form.coefficients.end(), [](auto factor) { return factor == 0; });
  }

  /// The parameters for which a guard of parameters alone lets through; else none.
  [[nodiscard]] std::optional<Set> guarded(const Node& guard, const Set& known) const {
    auto result = Set::empty(known.context(), parameters_);
    for (auto all : guard.condition) {
      for (auto& constraint : all.constraints) {
        if (!is_of_parameters(constraint.form)) return std::nullopt;
        constraint.form = of_parameters(std::move(constraint.form));
      }
      if (!all.divisible.empty()) return std::nullopt;
      result = result.unite(known.intersect(all.constraints));
    }
    return result;
  }

  /// The pieces of a nest in one coordinate, in order; its loops and visits get the numbers of theirs.
  bool add_pieces(Node& node, const Set& known) {
    const auto add_all = [&](const Set& parameters) {
      return std::ranges::all_of(node.children, [&](Node& child) { return add_pieces(child, parameters); });
    };
    if (node.kind == Node::Kind::block) return add_all(known);
    if (node.kind == Node::Kind::guard) {
      const auto parameters = guarded(node, known);
      return parameters && add_all(*parameters);
    }
    if (node.kind == Node::Kind::visit) {
      const auto& at = node.time.front();
      const bool goes_on = !pieces_.empty() && pieces_.back().is_one() && pieces_.back().value() == at;
      if (goes_on && !(pieces_.back().parameters == known)) return false;
      if (!goes_on) pieces_.push_back({{at}, {at}, known, std::vector(statements_.size(), false)});
      if (!is_of_parameters(at) || !add_statements(node)) return false;
      node.statement = pieces_.size() - 1;
      return true;
    }
    Piece piece{{}, {}, known, std::vector(statements_.size(), false)};
    if (node.step != 1 || !add_forms(node.lower, piece.low) || !add_forms(node.upper, piece.high))
      return false;
    pieces_.push_back(std::move(piece));
    node.statement = pieces_.size() - 1;
    return std::ranges::all_of(node.children, [&](const Node& child) { return add_statements(child); });
  }

  /// False where one is a quotient.
  static bool add_forms(const std::vector<Bound>& bounds, std::vector<Affine>& forms) {
    for (const auto& [form, divisor] : bounds) {
      if (divisor != 1) return false;
      forms.push_back(form);
    }
    return true;
  }

  bool add_statements(const Node& node) {
    if (node.kind == Node::Kind::block)
      return std::ranges::all_of(node.children, [&](const Node& child) { return add_statements(child); });
    if (node.kind != Node::Kind::visit) return false;
    auto& piece = pieces_.back();
    const auto counter = variable(node.time.front().coefficients.size(), parameters_);
    if (node.time.front() != (piece.is_one() ? piece.value() : counter)) return false;
    for (std::size_t s = 0; s < statements_.size(); ++s) {
      if (alike_[s] == node.statement) piece.runs[s] = true;
    }
    return true;
  }

  [[nodiscard]] bool follow_each_other() const {
    for (std::size_t n = 0; n < pieces_.size(); ++n) {
      for (std::size_t before = 0; before < n; ++before) {
        if (!follows(pieces_[n], pieces_[before])) return false;
      }
    }
    return true;
  }

  /// True where a bound of one is always beyond a bound of the other.
  [[nodiscard]] bool follows(const Piece& piece, const Piece& before) const {
    const auto both = piece.parameters.intersect(before.parameters);
    return std::ranges::any_of(piece.low, [&](const Affine& low) {
      return std::ranges::any_of(before.high, [&](const Affine& high) {
        const auto gap = of_parameters(low) - of_parameters(high) - constant(parameters_, 1);
        return both.satisfies({gap, false});
      });
    });
  }

  /// A nest in one coordinate with the loops of each piece instead of its visits.
  [[nodiscard]] Node replaced(const Node& outer) const {
    std::size_t next = 0;
    return replaced(outer, next).value_or(Node{});
  }
  /// None for a visit of a piece that has its loops already.
  std::optional<Node> replaced(const Node& node, std::size_t& next) const {
    if (node.kind == Node::Kind::loop || node.kind == Node::Kind::visit) {
      if (node.statement < next) return std::nullopt;
      return inner(pieces_[next++]);
    }
    Node result = node;
    result.children.clear();
    for (const auto& child : node.children) {
      if (auto one = replaced(child, next)) result.children.push_back(std::move(*one));
    }
    widen(result);
    return result;
  }

  /// The loops of a piece: in the other coordinates, of the statements that run there.
  [[nodiscard]] Node inner(const Piece& piece) const {
    const auto rest = times_ - 1, own = parameters_ + (piece.is_one() ? 0 : 1);
    std::vector<Affine> place;  // of the coordinates; the first is a form of the parameters, or one of them
    for (std::size_t c = 0; c < parameters_ + times_; ++c) {
      if (piece.is_one() && c == parameters_) {
        place.push_back(of_parameters(piece.value()));
        place.back().coefficients.resize(own + rest, 0);
      } else {
        place.push_back(variable(own + rest, piece.is_one() && c > parameters_ ? c - 1 : c));
      }
    }
    auto known = piece.parameters;
    if (!piece.is_one()) {
      std::vector<Constraint> bounds;
      const auto beyond = [&](const Affine& form, std::int64_t side) {
        auto bound = of_parameters(form);
        bound.coefficients.push_back(0);
        bounds.push_back({side * (variable(own, parameters_) - bound), false});
      };
      for (const auto& low : piece.low) beyond(low, 1);
      for (const auto& high : piece.high) beyond(high, -1);
      known = with_times(known, 1).intersect(bounds);
    }
    std::vector<Set> domains;
    std::vector<std::size_t> numbers;
    const auto context = with_times(known, rest);
    for (std::size_t s = 0; s < statements_.size(); ++s) {
      if (!piece.runs[s]) continue;
      const auto domain = statements_[s].preimage(place, own + rest);
      if (domain.intersect(context).is_empty()) continue;
      domains.push_back(domain.gist(context));
      numbers.push_back(s);
    }
    const auto other = nests_in(known);
    const auto boxes = detail::box_nest(domains, known, rest, other);
    auto body = boxes ? boxes->node : other(domains, rest);
    move_in(body, numbers, piece);
    if (piece.is_one()) return body;
    Node result;
    result.kind = Node::Kind::loop;
    for (const auto& low : piece.low) result.lower.push_back({low});
    for (const auto& high : piece.high) result.upper.push_back({high});
    widen(result);
    result.children.push_back(std::move(body));
    return result;
  }

  void widen(Affine& form) const { form.coefficients.resize(parameters_ + loop_variables(times_), 0); }

  /// Has a node's forms name the loops of all coordinates.
  void widen(Node& node) const {
    for (auto* bounds : {&node.lower, &node.upper}) {
      for (auto& bound : *bounds) widen(bound.form);
    }
    for (auto& all : node.condition) {
      for (auto& constraint : all.constraints) widen(constraint.form);
      for (auto& [form, modulus] : all.divisible) widen(form);
    }
    for (auto& form : node.time) widen(form);
  }

  void move_in(Node& node, const std::vector<std::size_t>& numbers, const Piece& piece) const {
    if (node.kind == Node::Kind::visit) {
      const auto counter = variable(parameters_ + loop_variables(times_), parameters_);
      node.time.insert(node.time.begin(), piece.is_one() ? piece.value() : counter);
      node.statement = numbers[node.statement];
    }
    widen(node);
    for (auto& child : node.children) move_in(child, numbers, piece);
  }

  const std::vector<Set>& statements_;
  const Set& region_;
  std::size_t times_, parameters_;
  std::vector<std::size_t> alike_;  ///< Of each statement: which points it has in the first coordinate.
  std::vector<Piece> pieces_;
};

/// Statements that isl orders about as soon in all coordinates as in one after the other.
constexpr std::size_t few_statements = 12;

Node nest_of(const std::vector<Set>& statements, const Set& region, std::size_t times) {
  if (statements.size() > few_statements) {
    if (auto nest = FirstCoordinate(statements, region, times).nest()) return std::move(*nest);
  }
  return isl_nest(statements, region, times);
}

/// The nest without what never runs where `known` holds of parameters and loop variables.
std::optional<Node> reachable(const Node& nest, const Set& known, std::size_t depth) {
  Node result = nest;
  result.children.clear();
  Set inside = known;
  if (nest.kind == Node::Kind::visit) return result;
  if (nest.kind == Node::Kind::guard) {
    inside = Set::empty(known.context(), known.dimensions());
    for (const auto& all : nest.condition)
      inside = inside.unite(known.intersect(Set::where(known.context(), known.dimensions(), all)));
  }
  if (nest.kind == Node::Kind::loop) {
    std::vector<Constraint> bounds;
    const auto counter = variable(known.dimensions(), depth);
    for (const auto& [form, divisor] : nest.lower) bounds.push_back({divisor * counter - form, false});
    for (const auto& [form, divisor] : nest.upper) bounds.push_back({form - divisor * counter, false});
    inside = inside.intersect(Set::where(known.context(), known.dimensions(), bounds));
    ++depth;
  }
  if (nest.kind != Node::Kind::block && inside.is_empty()) return std::nullopt;
  for (const auto& child : nest.children) {
    if (auto kept = reachable(child, inside, depth)) result.children.push_back(std::move(*kept));
  }
  if (result.children.empty()) return std::nullopt;
  return result;
}

}  // namespace

std::vector<Node> generate_loops(const std::vector<Region>& regions, std::size_t times) {
  std::vector<Node> result(regions.size());
  for (const auto& group : detail::group_regions(regions, times)) {
    const auto other = nests_in(group.parameters);
    const auto boxes = detail::box_nest(group.statements, group.parameters, times, other);
    const auto nest = boxes ? boxes->node : other(group.statements, times);
    if (group.regions.size() == 1 || group.is_plain || (boxes && boxes->is_plain)) {
      for (const auto r : group.regions) result[r] = nest;
      continue;
    }
    for (const auto r : group.regions) {
      const Set& parameters = regions[r].parameters;
      const auto known = with_times(parameters, loop_variables(times));
      result[r] = reachable(nest, known, parameters.dimensions()).value_or(Node{});
    }
  }
  return result;
}

}  // namespace cyclotron::poly
