// The text of a mapping.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

namespace {

/// As graphs write them.
std::string points_text(const poly::Set& points, const std::vector<std::string>& names) {
  auto text = points.constraints_text(names);
  if (text == "true") return "everywhere";
  for (const auto& [from, to] : {std::pair{" and ", ", "}, std::pair{"<=", "≤"}, std::pair{">=", "≥"}}) {
    const std::string_view old = from;
    for (auto at = text.find(old); at != std::string::npos; at = text.find(old, at)) {
      text.replace(at, old.size(), to);
      at += std::string_view(to).size();
    }
  }
  return text;
}

class MappingPrinter {
 public:
  explicit MappingPrinter(const Mapping& mapping) : mapping_(mapping), graph_(mapping.graph) {
    std::multiset<std::pair<std::string, dataflow::SpaceId>> names;
    for (auto& flow : graph_.flows) {
      names.insert({flow.name, flow.space});
      const auto same = names.count({flow.name, flow.space});
      if (same > 1) flow.name += fmt::format("#{}", same);
    }
  }

  [[nodiscard]] std::string run() const {
    std::string text = fmt::format("mapping of dataflow {}\n", graph_.kernel);
    text += fmt::format("grid {}; time ({})\n", fmt::join(grid(), ", "), fmt::join(names_of_time(), ", "));
    text += section("spaces", spaces()) + section("flows", flows()) + section("channels", channels()) +
            section("statements", statements()) + section("classes", classes()) +
            section("proofs", mapping_.proofs);
    if (!mapping_.time_function.empty()) text += fmt::format("time function {}\n", mapping_.time_function);
    return text;
  }

 private:
  using Lines = std::vector<std::string>;

  static std::string section(const char* title, const Lines& lines) {
    return lines.empty() ? "" : fmt::format("{}\n  {}\n", title, fmt::join(lines, "\n  "));
  }

  [[nodiscard]] Lines grid() const {
    Lines result;
    for (std::size_t g = 0; g < mapping_.grid.extents.size(); ++g) {
      const auto first = mapping_.grid.origin.empty() ? 0 : mapping_.grid.origin[g];
      result.push_back(
          fmt::format("{} = {}..{}", mapping_.grid.names[g], first, first + mapping_.grid.extents[g] - 1));
    }
    return result;
  }

  [[nodiscard]] Lines names_of_time() const {
    Lines result;
    for (const auto d : mapping_.grid.time) result.push_back(graph_.dims[d]);
    return result;
  }

  [[nodiscard]] Lines spaces() const {
    Lines result;
    for (std::size_t s = 0; s < mapping_.ranks.size(); ++s) {
      auto& line =
          result.emplace_back(fmt::format("{}: rank {}, round of {}", graph_.spaces[s].name,
                                          mapping_.ranks[s], graph_.spaces[mapping_.rounds[s]].name));
      if (s >= mapping_.skews.size()) continue;
      const auto& skew = mapping_.skews[s];
      const auto apart = skew ? skew_text(mapping_, *skew) : "";
      line += !skew ? ", PEs on their own" : apart.empty() ? ", PEs together" : ", each PE " + apart;
    }
    return result;
  }

  [[nodiscard]] Lines flows() const {
    static constexpr std::array roles{"input", "output", "local"};
    Lines result;
    for (std::size_t f = 0; f < graph_.flows.size(); ++f) {
      const auto& flow = graph_.flows[f];
      const auto& tensor = graph_.at(flow.tensor);
      result.push_back(fmt::format("{} {} {} {}", dataflow::flow_text(graph_, FlowId(f)),
                                   flow.computed ? "computes" : "carries",
                                   roles[static_cast<std::size_t>(tensor.role)], tensor.name));
    }
    return result;
  }

  [[nodiscard]] Lines channels() const {
    Lines result;
    for (std::size_t c = 0; c < mapping_.channels.size(); ++c) {
      const auto& channel = mapping_.channels[c];
      const auto& flow = graph_.at(channel.flow);
      auto& line = result.emplace_back(
          fmt::format("{}: {} into {}^{}", c, channel.name, flow.name, graph_.at(flow.space).name));
      if (channel.network) {
        line += fmt::format(" over the network of {}", mapping_.grid.names[channel.axis]);
      } else {
        line += fmt::format(" over ({})", fmt::join(channel.offset, ", "));
      }
      if (!channel.scale.empty()) line += fmt::format(" of ({})", fmt::join(channel.scale, ", "));
    }
    return result;
  }

  [[nodiscard]] std::string value(const Value& value) const {
    return dataflow::flow_text(graph_, value.flow, value.point);
  }
  [[nodiscard]] std::string point(const std::vector<poly::Affine>& forms) const {
    Lines result;
    for (const auto& form : forms) result.push_back(poly::to_string(form, graph_.dims));
    return fmt::format("({})", fmt::join(result, ", "));
  }

  /// Without its points.
  [[nodiscard]] std::string action(const Statement& statement) const {
    const auto message = fmt::format("channel {}, message {}", statement.channel, statement.message);
    Lines sources;
    for (const auto& source : statement.sources) sources.push_back(value(source));
    switch (statement.kind) {
      case Kind::load: return fmt::format("load {}", value(statement.target));
      case Kind::receive:
        return fmt::format("receive {} from {} by {}", value(statement.target), point(statement.from),
                           message);
      case Kind::move: return fmt::format("move {} ← {}", value(statement.target), sources.front());
      case Kind::compute:
        return fmt::format("compute {} ← {}", value(statement.target), fmt::join(sources, ", "));
      case Kind::forward: return fmt::format("forward {} by {}", sources.front(), message);
      case Kind::send:
        return statement.target.point.empty() ? fmt::format("send {} by {}", sources.front(), message)
                                              : fmt::format("send {} at {} by {}", sources.front(),
                                                            point(statement.target.point), message);
      case Kind::store: return fmt::format("store {}", sources.front());
    }
    return {};
  }

  /// In their order, which the numbers of the classes count from 0.
  [[nodiscard]] Lines statements() const {
    Lines result;
    for (const auto& statement : mapping_.statements) {
      result.push_back(fmt::format("[rule {}, {} {}] {}    {}", statement.rule,
                                   statement.prologue ? "prologue" : "position", statement.position,
                                   action(statement), points_text(statement.domain, graph_.dims)));
    }
    return result;
  }

  [[nodiscard]] Lines classes() const {
    Lines result;
    for (const auto& cell : mapping_.classes) {
      result.push_back(fmt::format("{}: statements {}", points_text(cell.region, mapping_.grid.names),
                                   fmt::join(cell.statements, ", ")));
    }
    return result;
  }

  const Mapping& mapping_;
  dataflow::Graph graph_;  ///< With flows of different names.
};

}  // namespace

std::string skew_text(const Mapping& mapping, const Skew& skew) {
  std::vector<std::string> result;
  for (std::size_t g = 0; g < skew.size(); ++g) {
    for (std::size_t t = 0; t < skew[g].size(); ++t) {
      if (skew[g][t] == 0) continue;
      result.push_back(fmt::format("{} {} of `{}` {} along {}", std::abs(skew[g][t]),
                                   std::abs(skew[g][t]) == 1 ? "step" : "steps",
                                   mapping.graph.dims[mapping.grid.time[t]],
                                   skew[g][t] > 0 ? "later" : "earlier", mapping.grid.names[g]));
    }
  }
  return fmt::format("{}", fmt::join(result, ", "));
}

std::string to_string(const Mapping& mapping) { return MappingPrinter(mapping).run(); }

}  // namespace cyclotron::mapping
