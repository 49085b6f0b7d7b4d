#include <cyclotron/dataflow/lower.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "lowering.hpp"
#include "spaces.hpp"

namespace cyclotron::dataflow {

namespace {

using recurrence::Equation;
using recurrence::ExprId;
using recurrence::Reduce;
using recurrence::Reduction;
using recurrence::System;

/// Builds spaces, accumulators and outer computations (LowerSum, OuterSend), and collects the operands to
/// route.
class Lowering {
 public:
  Lowering(const System& system, const schedule::Schedule& schedule, FreeIndexPlacement free_indices,
           Relays relays, const std::vector<std::int64_t>& grid)
      : system_(system),
        schedule_(schedule),
        relays_(relays),
        grid_(grid),
        graph_{system.kernel, {}, schedule::index_names(system), {}, {}, {}, {}},
        placement_(system, graph_.context, graph_.dims, free_indices,
                   detail::grid_dimensions(schedule, graph_.dims)) {}

  Graph run() {
    const auto listed = recurrence::listed_names(system_);
    for (std::size_t t = 0; t < listed.size(); ++t) {
      const auto& tensor = system_.tensors[t];
      graph_.tensors.push_back({tensor.name, tensor.dtype, static_cast<Role>(tensor.role), tensor.shape,
                                tensor.tile, tensor.blocked, tensor.user_name(), listed[t]});
    }
    for (const auto& equation : system_.equations) lower_equation(equation);
    detail::Router router(graph_, schedule_, holders_, relays_, demands_, grid_);
    std::vector<Rule> computes = std::move(graph_.rules);
    std::vector<Rule> routes;
    detail::add_residents(graph_, schedule_, operands_, holders_, routes);
    for (const auto flow : operands_) {
      auto rules = router.route(flow);
      routes.insert(routes.end(), rules.begin(), rules.end());
    }
    order_rules(std::move(routes), std::move(computes));
    name_flows();
    use_free_coordinates();
    return std::move(graph_);
  }

 private:
  void lower_equation(const Equation& equation) {
    const auto reduction = detail::reduction_of(system_, equation);
    if (!reduction) {
      lower_outer(equation, nullptr, std::nullopt);
      return;
    }
    const Fold fold = fold_of(equation, *reduction);
    Space inner = placement_.inner(equation, fold.reduce);
    inner.name = space_name(fold.reduce.body, "sum");
    std::optional<detail::Holder> total;
    if (!inner.domain.is_empty()) total = lower_sum(equation, fold, add_space(std::move(inner)));
    const bool identity = equation.expr == fold.id;
    if (!identity) {
      lower_outer(equation, &fold, total);
      return;
    }
    if (total) holders_.push_back(*total);
    lower_empty(equation, fold, total);
  }

  /// A reduction, or one that goes on from a value.
  struct Fold {
    ExprId id;
    const Reduce& reduce;
    std::optional<ExprId> onset;  ///< The value that it goes on from.
    bool subtracts = false;
  };

  [[nodiscard]] Fold fold_of(const Equation& equation, ExprId reduction) const {
    Fold fold{detail::whole_of(system_, equation, reduction), std::get<Reduce>(system_.at(reduction).node),
              std::nullopt};
    if (fold.id == reduction) return fold;
    const auto& apply = std::get<recurrence::Apply>(system_.at(fold.id).node);
    fold.onset = apply.operands[0];
    fold.subtracts = apply.op == Op::subtract;
    return fold;
  }

  /// LowerSum: the first term starts the accumulator, or goes on from its onset; every further one is added to the
  /// predecessor's (E5).
  detail::Holder lower_sum(const Equation& equation, const Fold& fold, SpaceId space) {
    const auto& reduce = fold.reduce;
    const ExprId id = fold.id;
    const auto& domain = graph_.at(space).domain;
    const auto dim = placement_.dim(reduce.index);
    const auto rotation = detail::rotation_of(schedule_, graph_.dims, dim, domain);
    const std::int64_t step = reduce.descending ? -1 : 1;
    const auto next = detail::step_along(graph_.at(space), dim, step);
    const auto previous = detail::step_along(graph_.at(space), dim, -step);
    const auto first = rotation ? detail::rotation_starts(*rotation, domain)
                                : domain.subtract(domain.translate(next)).coalesce();
    check_contiguous(graph_.at(space), first, dim, reduce, system_.at(id).span);

    const FlowId sum = add_flow(equation, space, id);
    const auto names = scope_names(equation, &reduce);
    Compute start;
    if (fold.onset) {
      demand_ = first;
      const auto onset = emit(*fold.onset, space, names, start.terms, {});
      demand_.reset();
      accumulate(fold, space, names, start.terms, onset);
    } else {
      emit(reduce.body, space, names, start.terms, {});
    }
    add_rule({start, sum, first, Origin::lower_sum, system_.at(id).span});
    const auto continue_from = [&](const std::vector<std::int64_t>& offset, const poly::Set& where) {
      if (where.is_empty()) return;
      Compute further;
      further.terms.push_back(FlowRef{sum, offset});
      accumulate(fold, space, names, further.terms, 0);
      add_rule({further, sum, where, Origin::lower_sum, system_.at(id).span});
    };
    const auto further = domain.subtract(first);
    continue_from(previous, further.intersect(domain.translate(next)).coalesce());
    if (!rotation) return {sum, domain.subtract(domain.translate(previous)).coalesce()};
    // Round the end of the range, back to its beginning; the last term is the one before the first.
    const auto around = detail::step_along(graph_.at(space), dim, rotation->extent - 1);
    const auto back = detail::step_along(graph_.at(space), dim, 1 - rotation->extent);
    continue_from(around, further.intersect(domain.translate(back)).coalesce());
    const auto last = first.translate(previous).unite(first.translate(around)).intersect(domain);
    return {sum, last.coalesce()};
  }

  void check_contiguous(const Space& space, const poly::Set& first, std::size_t dim, const Reduce& reduce,
                        const Span& span) const {
    std::vector<poly::Affine> rest;
    for (const auto d : space.own) {
      if (d != dim) rest.push_back(poly::variable(graph_.dims.size(), d));
    }
    if (poly::Map::function(first, rest).is_injective()) return;
    throw LegalityError(
        {.code = "CYC213",
         .span = span,
         .message = fmt::format("the range of `{}` has gaps, so the fold has no neighbour to continue from",
                                reduce.index),
         .notes = {},
         .help = "run over the whole range, with a term that does not matter in the gaps"});
  }

  /// OuterSend: totals go to the outer space at r_end, which applies the outer expression (B - Sum, E11).
  void lower_outer(const Equation& equation, const Fold* fold, const std::optional<detail::Holder>& total) {
    Space outer = placement_.outer(equation, fold == nullptr ? nullptr : &fold->reduce);
    if (outer.domain.is_empty()) return;
    outer.name = space_name(equation.expr, "copy");
    const SpaceId space = add_space(std::move(outer));
    const auto domain = graph_.at(space).domain;
    poly::Set nonempty = poly::Set::empty(graph_.context, graph_.dims.size());
    std::optional<FlowId> sum;
    if (total) {
      sum = add_flow(equation, space, fold->id);
      graph_.flows[sum->index()].computed = false;
      sums_.push_back(*sum);
      const auto received = totals_at(domain, *total, equation.span);
      for (const auto& piece : received) {
        add_rule({Transfer{total->flow, piece.forms, false}, *sum, piece.domain, Origin::outer_send,
                  system_.at(fold->id).span});
        nonempty = nonempty.unite(piece.domain);
      }
      nonempty = nonempty.coalesce();
    }
    const FlowId result = add_flow(equation, space, equation.expr);
    results_.push_back(result);
    const auto add_compute = [&](const poly::Set& part, std::optional<FlowId> value) {
      if (part.is_empty()) return;
      Compute compute;
      emit(equation.expr, space, scope_names(equation, nullptr), compute.terms,
           {fold, value, keeps_dtype(equation.expr), part});
      add_rule({compute, result, part, Origin::outer, equation.span});
    };
    add_compute(domain.subtract(nonempty).coalesce(), std::nullopt);
    add_compute(nonempty, sum);
    holders_.push_back({result, domain});
    if (const auto* number = std::get_if<Number>(&system_.at(equation.expr).node))
      holders_.back().constant = *number;
  }

  /// An identity outer expression needs no space of its own, but for the points whose sum is empty.
  void lower_empty(const Equation& equation, const Fold& fold, const std::optional<detail::Holder>& total) {
    Space outer = placement_.outer(equation, &fold.reduce);
    if (total) {
      for (const auto& piece : totals_at(outer.domain, *total, equation.span))
        outer.domain = outer.domain.subtract(piece.domain).coalesce();
    }
    if (outer.domain.is_empty()) return;
    outer.name = "empty";
    const SpaceId space = add_space(std::move(outer));
    const FlowId result = add_flow(equation, space, equation.expr);
    results_.push_back(result);
    Compute compute;
    emit(equation.expr, space, scope_names(equation, nullptr), compute.terms,
         {&fold, std::nullopt, true, graph_.at(space).domain});
    add_rule({compute, result, graph_.at(space).domain, Origin::outer, equation.span});
    holders_.push_back({result, graph_.at(space).domain});
  }

  /// Outer points to the last points of their sums, as affine pieces.
  [[nodiscard]] std::vector<poly::Map::Piece> totals_at(const poly::Set& outer, const detail::Holder& total,
                                                        Span span) const {
    std::vector<poly::Affine> key;
    for (const auto d : graph_.at(graph_.at(total.flow).space).own) {
      const auto& element = graph_.at(total.flow).element;
      const bool free =
          std::ranges::any_of(element, [d](const poly::Affine& f) { return f.coefficients[d] != 0; });
      if (free) key.push_back(poly::variable(graph_.dims.size(), d));
    }
    const auto last = poly::Map::function(total.domain, key);
    auto pieces = poly::Map::function(outer, key).then(last.reverse()).pieces();
    if (!pieces) {
      throw ScheduleError({.code = "CYC317",
                           .span = std::move(span),
                           .message =
                               "the schedule rotates this sum, which PEs far apart take: where it ends is no "
                               "affine form of their coordinates",
                           .notes = {},
                           .help = "leave the rotation out, or let all PEs between them take the sum too"});
    }
    for (auto& piece : *pieces) piece.forms = detail::as_shifts(piece.domain, std::move(piece.forms));
    return std::move(*pieces);
  }

  /// A number adopts the dtype of its neighbours; where those are of another one than it stands for, it is
  /// converted.
  void type_number(const Reduce& reduce, bool adopts, std::vector<Term>& terms) const {
    const auto dtype = recurrence::dtype_of(system_, reduce.body);
    if (adopts || !dtype) return;
    terms.push_back(Apply{operators::cast_to(*dtype), 0, {terms.size() - 1}});
  }

  /// True where all operators of an expression keep the dtype of their operands.
  [[nodiscard]] bool keeps_dtype(ExprId id) const {
    const auto* apply = std::get_if<recurrence::Apply>(&system_.at(id).node);
    if (apply == nullptr) return true;
    return operators::info(apply->op).typing == operators::Typing::same &&
           std::ranges::all_of(apply->operands, [this](ExprId operand) { return keeps_dtype(operand); });
  }

  /// The meaning of the reduction inside an outer expression: a flow, or the value of an empty sum.
  struct Total {
    const Fold* fold = nullptr;
    std::optional<FlowId> flow;
    bool adopts = true;                  ///< A number in its place has the dtype of the reduction anyway.
    std::optional<poly::Set> part = {};  ///< The points of the value.
  };

  /// The number of an expression's last term: of scalars, what is computed already is so once.
  std::size_t emit(ExprId id, SpaceId space, const std::vector<std::string>& names, std::vector<Term>& terms,
                   const Total& total) {
    if (total.fold != nullptr && id == total.fold->id) return emit_total(space, names, terms, total);
    const auto& expr = system_.at(id);
    const std::vector<std::int64_t> here(graph_.dims.size(), 0);
    const auto before = terms.size();
    std::optional<std::size_t> known;
    std::visit(Overloaded{[&](const Number& value) { terms.push_back(value); },
                          [&](const recurrence::Index& index) {
                            terms.push_back(Index{placement_.lift(index.form, names), index.dtype});
                          },
                          [&](const recurrence::Access&) {
                            terms.push_back(FlowRef{operand(id, space, names), here});
                          },
                          [&](const recurrence::Apply& apply) {
                            const auto fused = fused_product(apply);
                            Apply result = fused ? Apply{fused->op, fused->flags, {}}
                                                 : Apply{apply.op, apply.flags & ~operators::onward, {}};
                            for (const auto child : fused ? fused->operands : apply.operands)
                              result.operands.push_back(emit(child, space, names, terms, total));
                            if (is_of_scalars(id)) known = known_term(terms, before, result);
                            terms.push_back(std::move(result));
                          },
                          [](const Reduce&) { CYC_CHECK(false, "a reduction is its equation's only one"); }},
               expr.node);
    if (!known) return terms.size() - 1;
    terms.resize(before);  // of a known operator the operands are known, or leaves
    return *known;
  }

  [[nodiscard]] bool is_of_scalars(ExprId id) const {
    const auto is_scalar = [this](ExprId one) {
      return recurrence::tile_shape(system_, one) == operators::Shape{};
    };
    return is_scalar(id) &&
           std::ranges::all_of(std::get<recurrence::Apply>(system_.at(id).node).operands, is_scalar);
  }

  /// Among so many terms, the same operator of the same operands. Of numbers alone none is: they adopt the dtype of what
  /// uses them.
  static std::optional<std::size_t> known_term(const std::vector<Term>& terms, std::size_t count,
                                               const Apply& apply) {
    const auto is_number = [&](std::size_t n) { return std::holds_alternative<Constant>(terms[n]); };
    const auto is_same = [&](std::size_t a, std::size_t b) {
      if (a == b) return true;
      if (is_number(a) && is_number(b))
        return is_identical(std::get<Constant>(terms[a]), std::get<Constant>(terms[b]));
      return !std::holds_alternative<Apply>(terms[a]) && terms[a] == terms[b];
    };
    if (std::ranges::all_of(apply.operands, is_number)) return std::nullopt;
    for (std::size_t n = 0; n < count; ++n) {
      const auto* other = std::get_if<Apply>(&terms[n]);
      if (other != nullptr && other->op == apply.op && other->flags == apply.flags &&
          std::ranges::equal(other->operands, apply.operands, is_same))
        return n;
    }
    return std::nullopt;
  }

  /// Signs of zeros and all.
  static bool is_identical(const Number& a, const Number& b) {
    const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
    return bits(a.real) == bits(b.real) && bits(a.imaginary) == bits(b.imaginary) && a.rest == b.rest;
  }

  /// The reduction's value: its flow, or of no terms what it goes on from, or a number.
  std::size_t emit_total(SpaceId space, const std::vector<std::string>& names, std::vector<Term>& terms,
                         const Total& total) {
    const Fold& fold = *total.fold;
    if (total.flow) {
      terms.push_back(FlowRef{*total.flow, std::vector<std::int64_t>(graph_.dims.size(), 0)});
    } else if (fold.onset) {
      demand_ = total.part;
      const auto onset = emit(*fold.onset, space, names, terms, {});
      demand_.reset();
      return onset;
    } else {
      terms.push_back(Constant{fold.reduce.kind == Reduction::product ? 1.0 : 0.0, 0.0});
      type_number(fold.reduce, total.adopts, terms);
    }
    return terms.size() - 1;
  }

  /// `c + a @ b` and `c - a @ b` of tiles as one operator, which accumulates in c.
  [[nodiscard]] std::optional<recurrence::Apply> fused_product(const recurrence::Apply& apply) const {
    if (apply.op != Op::add && apply.op != Op::subtract) return std::nullopt;
    const auto* product = std::get_if<recurrence::Apply>(&system_.at(apply.operands[1]).node);
    if (product == nullptr || (product->op != Op::matmul && product->op != Op::syrk)) return std::nullopt;
    const auto shape = recurrence::tile_shape(system_, apply.operands[1]);
    const bool scalars = shape == operators::Shape{};
    if (scalars || shape != recurrence::tile_shape(system_, apply.operands[0])) return std::nullopt;
    const auto fused = operators::accumulating(product->op).value();
    recurrence::Apply result{
        apply.op == Op::add ? fused.added : fused.subtracted, product->flags, {apply.operands[0]}};
    result.operands.insert(result.operands.end(), product->operands.begin(), product->operands.end());
    return result;
  }

  /// acc + body or acc - body, in an accumulating form where there is one.
  void accumulate(const Fold& fold, SpaceId space, const std::vector<std::string>& names,
                  std::vector<Term>& terms, std::size_t accumulator) {
    const auto& reduce = fold.reduce;
    const auto* apply = std::get_if<recurrence::Apply>(&system_.at(reduce.body).node);
    const auto fused = apply == nullptr ? std::nullopt : operators::accumulating(apply->op);
    if (reduce.kind == Reduction::sum && fused) {
      Apply step{fold.subtracts ? fused->subtracted : fused->added, apply->flags, {accumulator}};
      for (const auto child : apply->operands) step.operands.push_back(emit(child, space, names, terms, {}));
      terms.push_back(std::move(step));
      return;
    }
    const auto body = emit(reduce.body, space, names, terms, {});
    const Op op = fold.subtracts ? Op::subtract : recurrence::combining(reduce.kind);
    terms.push_back(Apply{op, 0, {accumulator, body}});
  }

  /// The flow that brings this access to the points of the space that demand it; one for equal accesses.
  FlowId operand(ExprId id, SpaceId space, const std::vector<std::string>& names) {
    const auto& access = std::get<recurrence::Access>(system_.at(id).node);
    const auto element = placement_.lift(access.index, names);
    const TensorId tensor(access.tensor.index());
    for (const auto flow : operands_) {
      const auto& known = graph_.at(flow);
      if (known.space != space || known.tensor != tensor || known.element != element) continue;
      const auto demand = demands_.find(flow);
      if (demand == demands_.end()) return flow;
      if (demand_) {
        demand->second = demand->second.unite(*demand_).coalesce();
      } else {
        demands_.erase(demand);
      }
      return flow;
    }
    graph_.flows.push_back({"", space, tensor, recurrence::tile_shape(system_.at(access.tensor)), element,
                            false, false, system_.at(id).span});
    operands_.emplace_back(graph_.flows.size() - 1);
    if (demand_) demands_.emplace(operands_.back(), *demand_);
    return operands_.back();
  }

  FlowId add_flow(const Equation& equation, SpaceId space, ExprId value) {
    graph_.flows.push_back({"", space, TensorId(equation.target.index()),
                            recurrence::tile_shape(system_, value),
                            placement_.lift(equation.index, equation.indices), false, true, equation.span});
    const DType target = system_.at(equation.target).dtype;
    const DType dtype = recurrence::dtype_of(system_, value, target);
    if (dtype != target) graph_.flows.back().dtype = dtype;
    return FlowId(graph_.flows.size() - 1);
  }

  SpaceId add_space(Space space) {
    space.name = detail::unused_name(graph_, space.name);
    graph_.spaces.push_back(std::move(space));
    return SpaceId(graph_.spaces.size() - 1);
  }

  void add_rule(Rule rule) { graph_.rules.push_back(std::move(rule)); }

  [[nodiscard]] std::string space_name(ExprId id, const char* otherwise) const {
    const auto& node = system_.at(id).node;
    if (const auto* apply = std::get_if<recurrence::Apply>(&node))
      return std::string(operators::info(apply->op).space_name);
    const bool fills =
        std::holds_alternative<recurrence::Constant>(node) || std::holds_alternative<recurrence::Index>(node);
    return fills ? "fill" : otherwise;
  }

  static std::vector<std::string> scope_names(const Equation& equation, const Reduce* reduce) {
    auto names = equation.indices;
    if (reduce != nullptr) names.push_back(reduce->index);
    return names;
  }

  /// For each space: how its operands come, what it computes; then what leaves.
  void order_rules(std::vector<Rule> routes, std::vector<Rule> computes) {
    std::vector<std::size_t> relays, others;
    for (std::size_t s = 0; s < graph_.spaces.size(); ++s) {
      (graph_.spaces[s].kind == SpaceKind::relay ? relays : others).push_back(s);
    }
    relays.insert(relays.end(), others.begin(), others.end());
    for (const auto s : relays) {
      for (const auto* list : {&routes, &computes}) {
        for (const auto& rule : *list) {
          if (graph_.at(rule.flow).space == SpaceId(s) && !rule.domain.is_empty())
            graph_.rules.push_back(rule);
        }
      }
    }
    for (const auto& holder : holders_) {
      const auto& flow = graph_.at(holder.flow);
      if (graph_.at(flow.tensor).role != Role::output || holder.domain.is_empty()) continue;
      graph_.rules.push_back({Export{}, holder.flow, holder.domain, Origin::publish, flow.span});
    }
  }

  /// Writes forms with the free coordinates of their space only, so that equal graphs have equal forms.
  void use_free_coordinates() {
    const auto rank = graph_.dims.size();
    for (auto& flow : graph_.flows) {
      for (auto& form : flow.element) form = poly::substitute(form, graph_.at(flow.space).tuple, rank);
    }
    for (auto& rule : graph_.rules) {
      if (auto* transfer = std::get_if<Transfer>(&rule.action)) {
        const auto& tuple = graph_.at(graph_.at(rule.flow).space).tuple;
        for (auto& form : transfer->from) form = poly::substitute(form, tuple, rank);
      }
      if (auto* compute = std::get_if<Compute>(&rule.action)) {
        const auto& tuple = graph_.at(graph_.at(rule.flow).space).tuple;
        for (auto& term : compute->terms) {
          if (auto* index = std::get_if<Index>(&term))
            index->form = poly::substitute(index->form, tuple, rank);
        }
      }
    }
  }

  /// Subscripts: the tensor's name where it is alone in its space or the space's result, else with letters
  /// a, b, … (X_a, X_b of Fig. 6).
  void name_flows() {
    for (std::size_t s = 0; s < graph_.spaces.size(); ++s) {
      std::map<std::string, std::vector<std::size_t>> groups;
      for (std::size_t f = 0; f < graph_.flows.size(); ++f) {
        if (graph_.flows[f].space == SpaceId(s)) groups[graph_.at(graph_.flows[f].tensor).name].push_back(f);
      }
      for (auto& [name, flows] : groups) {
        // Accumulators and totals first.
        std::ranges::stable_sort(flows, [&](auto a, auto b) { return rank_of(a) < rank_of(b); });
        const bool lettered = flows.size() > 1 || is_sum(flows.front());
        std::size_t next = 0;
        for (const auto f : flows) {
          const bool result = std::ranges::find(results_, FlowId(f)) != results_.end();
          graph_.flows[f].name = lettered && !result ? lettered_name(name, next++) : name;
        }
      }
    }
  }
  /// The name with the letter of that number, passing over those that make another tensor's name.
  [[nodiscard]] std::string lettered_name(const std::string& name, std::size_t number) const {
    const auto is_tensor = [&](const std::string& text) {
      return std::ranges::any_of(graph_.tensors, [&](const Tensor& t) { return t.name == text; });
    };
    for (std::size_t n = 0;; ++n) {
      auto text =
          n < 26 ? name + static_cast<char>('a' + static_cast<int>(n)) : fmt::format("{}_{}", name, n);
      if (!is_tensor(text) && number-- == 0) return text;
    }
  }
  [[nodiscard]] bool is_sum(std::size_t f) const {
    if (std::ranges::find(sums_, FlowId(f)) != sums_.end()) return true;
    // An accumulator whose total goes to an outer space is the same partial result.
    return std::ranges::any_of(graph_.rules, [&](const Rule& rule) {
      const auto* transfer = std::get_if<Transfer>(&rule.action);
      return rule.origin == Origin::outer_send && transfer != nullptr && transfer->source == FlowId(f);
    });
  }
  [[nodiscard]] int rank_of(std::size_t f) const { return is_sum(f) || graph_.flows[f].computed ? 0 : 1; }

  const System& system_;
  const schedule::Schedule& schedule_;
  Relays relays_;
  const std::vector<std::int64_t>& grid_;
  Graph graph_;
  detail::Placement placement_;
  std::vector<FlowId> operands_;
  std::vector<FlowId> sums_;
  std::vector<FlowId> results_;
  std::vector<detail::Holder> holders_;
  std::map<FlowId, poly::Set> demands_;  ///< Of operands that only some points of their spaces use, these.
  std::optional<poly::Set> demand_;      ///< Of operands that are asked for now.
};

/// An axis that no access of the tensor can follow is a mistake of the user's.
void check_moves(const Graph& graph, const schedule::Schedule& schedule) {
  for (const auto& move : schedule.movements) {
    const bool moves = std::ranges::any_of(graph.flows, [&](const Flow& flow) {
      return graph.at(flow.tensor).name == move.tensor && !flow.computed;
    });
    if (!moves) continue;  // nothing reads it at these sizes
    for (const auto& axis : move.along) {
      const auto name = axis.starts_with('-') ? axis.substr(1) : axis;
      const auto dim = static_cast<std::size_t>(std::ranges::find(graph.dims, name) - graph.dims.begin());
      const bool usable = std::ranges::any_of(graph.flows, [&](const Flow& flow) {
        const auto& own = graph.at(flow.space).own;
        return graph.at(flow.tensor).name == move.tensor && !flow.computed &&
               std::ranges::find(own, dim) != own.end();
      });
      if (usable) continue;
      throw ScheduleError(
          {.code = "CYC313",
           .span = {},
           .message = fmt::format("`{}` cannot move along `{}`: no use of it varies with that index",
                                  move.tensor, axis),
           .notes = {},
           .help = fmt::format("leave the axis out: stream(\"{}\")", move.tensor)});
    }
  }
}

}  // namespace

bool free_index_matters(const System& system, FreeIndexPlacement one, FreeIndexPlacement other) {
  const poly::Context context;
  const auto dims = schedule::index_names(system);
  return detail::Placement(system, context, dims, one)
      .differs(detail::Placement(system, context, dims, other));
}

Graph lower(const System& system, const schedule::Schedule& schedule, FreeIndexPlacement free_indices,
            Relays relays, const std::vector<std::int64_t>& grid) {
  Graph graph = Lowering(system, schedule, free_indices, relays, grid).run();
  check_moves(graph, schedule);
  return graph;
}

}  // namespace cyclotron::dataflow
