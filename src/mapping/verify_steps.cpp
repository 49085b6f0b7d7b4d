#include <cyclotron/mapping/verify_steps.hpp>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::mapping {

void verify_steps(const Mapping& mapping) {
  const auto& graph = mapping.graph;
  for (const auto& read : mapping.statements) {
    if (read.kind != Kind::compute && read.kind != Kind::move) continue;
    const auto& tuple = graph.at(graph.at(read.target.flow).space).tuple;
    for (const auto& value : read.sources) {
      // Where the value comes in the reader's own step.
      std::vector<poly::Constraint> same_step;
      for (const auto d : mapping.grid.time) same_step.push_back({value.point[d] - tuple[d], true});
      const auto reads = read.domain.intersect(same_step);
      for (const auto& write : mapping.statements) {
        const bool writes = write.kind == Kind::load || write.kind == Kind::receive ||
                            write.kind == Kind::move || write.kind == Kind::compute;
        if (!writes || write.target.flow != value.flow || write.prologue || &write == &read) continue;
        if (write.position < read.position) continue;
        if (reads.intersect(write.domain.preimage(value.point, tuple.size())).is_empty()) continue;
        const auto& tensor = graph.at(graph.at(value.flow).tensor).user_name();
        throw LegalityError(
            {.code = "CYC221",
             .obstacle = Obstacle::late_value,
             .span = graph.rules[read.rule].span,
             .message = fmt::format(
                 "a value of `{}` is needed in the step in which it comes, before it is there", tensor),
             .notes = {{graph.at(value.flow).span, fmt::format("`{}` is read here", tensor)}},
             .help = "map one more index to time, or change which indices are space"});
      }
    }
  }
}

}  // namespace cyclotron::mapping
