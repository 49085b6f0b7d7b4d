// Reads the printed dataflow back (CY-041).
#include <fmt/format.h>

#include <algorithm>

#include <cyclotron/dataflow/graph.hpp>
#include <cyclotron/support/error.hpp>

#include "read_terms.hpp"
#include "text_reader.hpp"

namespace cyclotron::dataflow {

namespace {

using detail::TextReader;

constexpr std::size_t dims_limit = 64;

struct Line {
  std::string_view text;
  int number = 0;
  [[nodiscard]] bool is_item() const { return text.starts_with("  "); }
  [[nodiscard]] TextReader reader() const { return {text, number, 0}; }
};

class Parser {
 public:
  explicit Parser(std::string_view text) {
    int number = 1;
    for (std::size_t start = 0; start < text.size(); ++number) {
      const auto end = std::min(text.find('\n', start), text.size());
      const auto line = text.substr(start, end - start);
      if (line.find_first_not_of(' ') != std::string_view::npos) lines_.push_back({line, number});
      start = end + 1;
    }
    end_ = {{}, number};
  }

  Graph run() {
    header();
    section("tensors", [this](const Line& line) { tensor(line); });
    section("spaces", [this](const Line& line) { space(line); });
    section("flows", [this](const Line& line) { flow(line); });
    section("rules", [this](const Line& line) { rule(line); });
    // The sections that follow are derived from the rules.
    for (const char* derived : {"interfaces", "sends, induced by the receives"}) {
      if (next_ < lines_.size() && lines_[next_].text == derived) section(derived, [](const Line&) {});
    }
    if (next_ < lines_.size()) lines_[next_].reader().fail("a section is expected here");
    return std::move(graph_);
  }

 private:
  [[nodiscard]] const Line& line() const { return next_ < lines_.size() ? lines_[next_] : end_; }

  template <class F>
  void section(std::string_view title, F item) {
    if (line().text != title) line().reader().fail(fmt::format("the section `{}` is expected here", title));
    for (++next_; next_ < lines_.size() && lines_[next_].is_item(); ++next_) item(lines_[next_]);
  }

  /// dataflow matmul over (i, j, k)
  void header() {
    constexpr std::string_view start = "dataflow ", middle = " over (";
    const auto text = line().text;
    const auto over = text.rfind(middle);
    if (!text.starts_with(start) || over == std::string_view::npos || over < start.size()) {
      line().reader().fail("`dataflow <kernel> over (<indices>)` is expected here");
    }
    graph_.kernel = text.substr(start.size(), over - start.size());
    const auto first = over + middle.size();
    TextReader reader(text.substr(first), line().number, static_cast<int>(first));
    if (!reader.accept(")")) {
      do {
        auto name = reader.name("an index");
        if (std::ranges::find(graph_.dims, name) != graph_.dims.end())
          reader.fail(fmt::format("`{}` is declared twice", name));
        graph_.dims.push_back(std::move(name));
      } while (reader.accept(","));
      reader.expect(")");
    }
    reader.expect_end();
    if (graph_.dims.size() > dims_limit) reader.fail("the graph has too many indices");
    ++next_;
  }

  /// The columns of a line, at least two blanks apart.
  static std::vector<TextReader> columns(const Line& line, std::size_t count) {
    std::vector<TextReader> result;
    const auto text = line.text;
    for (auto start = text.find_first_not_of(' '); start != std::string_view::npos;) {
      const auto end = std::min(text.find("  ", start), text.size());
      result.emplace_back(text.substr(start, end - start), line.number, static_cast<int>(start));
      start = text.find_first_not_of(' ', end);
    }
    if (result.size() != count)
      line.reader().fail(fmt::format("the line has {} columns, and {} are expected", result.size(), count));
    return result;
  }

  /// A : input float64[6, 4] in tiles of 2x2
  void tensor(const Line& line) {
    auto reader = line.reader();
    Tensor tensor;
    tensor.name = reader.name("a tensor");
    const auto same = [&](const Tensor& other) { return other.name == tensor.name; };
    if (std::ranges::any_of(graph_.tensors, same))
      reader.fail(fmt::format("`{}` is declared twice", tensor.name));
    reader.expect(":");
    tensor.role = static_cast<Role>(reader.index_of({"input", "output", "local"}, "a role"));
    const auto dtype = operators::dtype_from_name(reader.name("a dtype"));
    if (!dtype) reader.fail("a dtype is expected here");
    tensor.dtype = *dtype;
    reader.expect("[");
    if (!reader.accept("]")) {
      do {
        tensor.shape.push_back(reader.integer());
      } while (reader.accept(","));
      reader.expect("]");
    }
    tensor.tile.assign(tensor.shape.size(), 1);
    if (reader.accept("in tiles of")) {
      tensor.blocked = true;
      for (std::size_t d = 0; d < tensor.tile.size(); ++d) {
        if (d > 0) reader.expect("x");
        tensor.tile[d] = extent(reader);
      }
    }
    reader.expect_end();
    graph_.tensors.push_back(std::move(tensor));
  }

  static std::int64_t extent(TextReader& reader) {
    const auto value = reader.integer();
    if (value < 1) reader.fail("a tile has at least one row and column");
    return value;
  }

  /// (i, r, i)^div    0 ≤ i ≤ 3
  void space(const Line& line) {
    auto cells = columns(line, 2);
    const auto rank = graph_.dims.size();
    auto& reader = cells[0];
    reader.expect("(");
    auto tuple = reader.affine_list(graph_.dims, ")");
    if (tuple.size() != rank)
      reader.fail(fmt::format("the space has {} coordinates, and the graph {} indices", tuple.size(), rank));
    reader.expect("^");
    Space space{reader.name("a space"), poly::Set::universe(graph_.context, rank), {}, std::move(tuple)};
    const auto same = [&](const Space& other) { return other.name == space.name; };
    if (std::ranges::any_of(graph_.spaces, same))
      reader.fail(fmt::format("`{}` is declared twice", space.name));
    reader.expect_end();
    for (std::size_t d = 0; d < rank; ++d) {
      if (space.tuple[d] == poly::variable(rank, d)) {
        space.own.push_back(d);
      } else {
        space.domain = space.domain.intersect({poly::variable(rank, d) - space.tuple[d], true});
      }
    }
    space.domain = domain(cells[1], space);
    graph_.spaces.push_back(std::move(space));
  }

  /// Constraints over the free coordinates, within the space.
  poly::Set domain(TextReader& reader, const Space& space) const {
    std::vector<std::string> names;
    std::vector<poly::Affine> free;
    for (const auto d : space.own) {
      names.push_back(graph_.dims[d]);
      free.push_back(poly::variable(graph_.dims.size(), d));
    }
    const auto set = detail::read_domain(reader, graph_.context, names);
    return set.preimage(free, graph_.dims.size()).intersect(space.domain);
  }

  /// (i, j, k)_A^mul carries A[i, k] in tiles of 2x2 prefetched
  void flow(const Line& line) {
    auto reader = line.reader();
    auto text = detail::read_flow_text(reader, graph_.dims);
    Flow flow;
    flow.span = reader.span();
    flow.name = std::move(text.name);
    const auto space = std::ranges::find(graph_.spaces, text.space, &Space::name);
    if (space == graph_.spaces.end())
      reader.fail(fmt::format("`{}` is not among the spaces above", text.space));
    flow.space = SpaceId(static_cast<std::size_t>(space - graph_.spaces.begin()));
    if (text.point != space->tuple) reader.fail("a flow is written at the point of its space");
    const auto same = [&](const Flow& other) { return other.space == flow.space && other.name == flow.name; };
    if (std::ranges::any_of(graph_.flows, same))
      reader.fail(fmt::format("`{}^{}` is declared twice", flow.name, text.space));
    flow.computed = reader.index_of({"carries", "computes"}, "`carries` or `computes`") == 1;
    std::tie(flow.tensor, flow.element) = element(reader);
    if (reader.accept("in tiles of")) {
      flow.tile.rows = extent(reader);
      reader.expect("x");
      flow.tile.columns = extent(reader);
    }
    if (reader.accept_word("as")) {
      flow.dtype = operators::dtype_from_name(reader.name("a dtype"));
      if (!flow.dtype) reader.fail("a dtype is expected here");
    }
    flow.prefetched = reader.accept_word("prefetched");
    reader.expect_end();
    graph_.flows.push_back(std::move(flow));
  }

  /// A[i, k]
  std::pair<TensorId, std::vector<poly::Affine>> element(TextReader& reader) const {
    std::vector<std::string> names;
    for (const auto& tensor : graph_.tensors) names.push_back(tensor.name);
    const TensorId tensor(reader.index_of(names, "a tensor"));
    reader.expect("[");
    auto forms = reader.affine_list(graph_.dims, "]");
    if (forms.size() != graph_.at(tensor).shape.size()) {
      reader.fail(fmt::format("`{}` has {} dimensions, and {} subscripts are given", graph_.at(tensor).name,
                              graph_.at(tensor).shape.size(), forms.size()));
    }
    return {tensor, std::move(forms)};
  }

  void element_of(TextReader& reader, FlowId flow) const {
    const auto [tensor, forms] = element(reader);
    if (tensor != graph_.at(flow).tensor || forms != graph_.at(flow).element)
      reader.fail("this is not the element that the flow has");
  }

  /// The flow at its own point.
  FlowId target(TextReader& reader) const {
    auto [flow, point] = detail::read_flow(reader, graph_);
    if (point != graph_.at(graph_.at(flow).space).tuple)
      reader.fail("a rule is written at the point of its space");
    return flow;
  }

  /// (i, j, k)_A^mul ← (i, j-1, k)_A^mul    j ≥ 1    receive A along j    [Propagate]
  void rule(const Line& line) {
    auto cells = columns(line, 4);
    auto& statement = cells[0];
    Rule rule{Inject{}, {}, poly::Set::empty(graph_.context, 0), origin(cells[3]), statement.span()};
    enum : std::size_t { load, receive, broadcast, compute, store };
    const auto verb = cells[2].index_of({"load", "receive", "broadcast", "compute", "store"}, "a verb");
    if (verb == store) {
      // The flow comes last, and says which element is meant.
      auto ahead = statement;
      (void)element(ahead);
      ahead.expect("←");
      rule.flow = target(ahead);
      ahead.expect_end();
      element_of(statement, rule.flow);
      rule.action = Export{};
    } else {
      rule.flow = target(statement);
      statement.expect("←");
      if (verb == load) {
        element_of(statement, rule.flow);
      } else if (verb == compute) {
        rule.action = Compute{detail::read_terms(statement, graph_)};
      } else {
        auto [source, from] = detail::read_flow(statement, graph_);
        rule.action = Transfer{source, std::move(from), verb == broadcast};
      }
      statement.expect_end();
    }
    rule.domain = domain(cells[1], graph_.at(graph_.at(rule.flow).space));
    graph_.rules.push_back(std::move(rule));
  }

  static Origin origin(TextReader& reader) {
    std::vector<std::string> names;
    for (auto o = Origin::inject;; o = static_cast<Origin>(static_cast<int>(o) + 1)) {
      names.emplace_back(name(o));
      if (o == Origin::publish) break;
    }
    reader.expect("[");
    const auto found = reader.index_of(names, "a rewrite rule");
    reader.expect("]");
    reader.expect_end();
    return static_cast<Origin>(found);
  }

  std::vector<Line> lines_;
  Line end_;
  std::size_t next_ = 0;
  Graph graph_;
};

}  // namespace

Graph parse(const std::string& text) { return Parser(text).run(); }

}  // namespace cyclotron::dataflow
