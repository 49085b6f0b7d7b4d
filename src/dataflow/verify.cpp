#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/dataflow/graph.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::dataflow {

namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    for (const auto& flow : graph_.flows) {
      (void)flow;
      defined_.push_back(poly::Set::empty(graph_.context, graph_.dims.size()));
    }
    for (const auto& rule : graph_.rules) define(rule);
    for (auto& defined : defined_) defined = defined.coalesce();
    for (const auto& rule : graph_.rules) check_sources(rule);
  }

 private:
  void define(const Rule& rule) {
    const auto& space = graph_.at(graph_.at(rule.flow).space);
    require(rule.domain.is_subset(space.domain), rule, "applies outside its space");
    if (std::holds_alternative<Export>(rule.action)) return;
    auto& defined = defined_[rule.flow.index()];
    require(defined.intersect(rule.domain).is_empty(), rule, "defines a value for the second time");
    defined = defined.unite(rule.domain);
  }

  void check_sources(const Rule& rule) const {
    std::visit(
        Overloaded{[](const Inject&) {}, [&](const Transfer& transfer) { check_transfer(rule, transfer); },
                   [&](const Compute& compute) {
                     for (const auto& term : compute.terms) {
                       const auto* ref = std::get_if<FlowRef>(&term);
                       if (ref == nullptr) continue;
                       require(rule.domain.translate(ref->offset).is_subset(defined_[ref->flow.index()]),
                               rule, "computes with a value that no rule defines");
                     }
                   },
                   [&](const Export&) {
                     require(rule.domain.is_subset(defined_[rule.flow.index()]), rule,
                             "stores a value that no rule defines");
                   }},
        rule.action);
  }

  void check_transfer(const Rule& rule, const Transfer& transfer) const {
    require(rule.domain.image(transfer.from).is_subset(defined_[transfer.source.index()]), rule,
            "takes a value that no rule defines");
    const auto& wanted = graph_.at(rule.flow).element;
    const auto& held = graph_.at(transfer.source).element;
    for (std::size_t f = 0; f < wanted.size(); ++f) {
      const auto taken = poly::substitute(held[f], transfer.from, graph_.dims.size());
      require(taken == wanted[f] || rule.domain.satisfies({taken - wanted[f], true}), rule,
              "takes the value of another element");
    }
  }

  void require(bool holds, const Rule& rule, const char* fault) const {
    if (holds) return;
    throw LegalityError({.code = "CYC214",
                         .span = rule.span,
                         .message = fmt::format("the rule `{} ← …` for {} {}", flow_text(graph_, rule.flow),
                                                rule.domain.constraints_text(graph_.dims), fault),
                         .notes = {},
                         .help = "a graph from a kernel never has this fault: if you did not write it by "
                                 "hand, please report it"});
  }

  const Graph& graph_;
  std::vector<poly::Set> defined_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace cyclotron::dataflow
