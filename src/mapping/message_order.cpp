#include <cyclotron/mapping/message_order.hpp>

#include <algorithm>

#include <cyclotron/mapping/live_range.hpp>

namespace cyclotron::mapping {

std::vector<const Statement*> sends_by_message(const Mapping& mapping) {
  std::vector<const Statement*> result;
  for (const auto& statement : mapping.statements) {
    if (!is_message(statement.kind)) continue;
    if (result.size() <= statement.message) result.resize(statement.message + 1);
    auto& send = result[statement.message];
    if (statement.kind != Kind::receive && send == nullptr) send = &statement;
  }
  return result;
}

bool overtakes(const Mapping& mapping, const MessageEnds& a, const MessageEnds& b) {
  const auto rank = mapping.graph.dims.size();
  const auto widen = [rank](const poly::Affine& form, bool second) {
    poly::Affine wide = poly::constant(2 * rank, form.constant);
    std::ranges::copy(form.coefficients,
                      wide.coefficients.begin() + (second ? static_cast<std::ptrdiff_t>(rank) : 0));
    return wide;
  };
  std::vector<poly::Affine> first, second;
  for (std::size_t d = 0; d < rank; ++d) {
    first.push_back(poly::variable(2 * rank, d));
    second.push_back(poly::variable(2 * rank, rank + d));
  }
  auto pairs =
      a.receive->domain.preimage(first, 2 * rank).intersect(b.receive->domain.preimage(second, 2 * rank));
  for (const auto d : mapping.grid.space) {
    pairs = pairs.intersect({first[d] - second[d], true});
    pairs = pairs.intersect({widen(a.receive->from[d], false) - widen(b.receive->from[d], true), true});
  }
  // b's minus a's order of receiving, a's minus b's of sending.
  std::vector<poly::Affine> received, sent;
  for (const auto d : mapping.grid.time) {
    received.push_back(second[d] - first[d]);
    sent.push_back(widen(a.receive->from[d], false) - widen(b.receive->from[d], true));
  }
  received.push_back(poly::constant(2 * rank, b.receive->position - a.receive->position));
  sent.push_back(poly::constant(2 * rank, a.send->position - b.send->position));
  return !lex_positive(lex_positive(pairs, received), sent).is_empty();
}

}  // namespace cyclotron::mapping
