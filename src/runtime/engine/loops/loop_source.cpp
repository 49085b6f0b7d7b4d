#include "loop_source.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "loop_uses.hpp"
#include "nest_order.hpp"
#include "scalar_text.hpp"

namespace cyclotron::runtime {

namespace {

constexpr std::size_t most_steps = 400;
constexpr std::uint32_t most_depth = 2;  ///< Loops in each other: the interpreter looks at the time between.

constexpr std::string_view prologue = R"(typedef long long i64;
typedef unsigned long long u64;
typedef unsigned u32;
static inline i64 ceiling(i64 a, i64 b) { i64 q = a / b; return q + (a % b > 0); }
static inline i64 flooring(i64 a, i64 b) { i64 q = a / b; return q - (a % b < 0); }
static inline i64 modulo(i64 a, i64 b) { i64 r = a % b; return r < 0 ? r + b : r; }
static inline i64 from(i64 v, i64 h, i64 step, i64 place, i64 number) {
  if (place >= number) return v;
  u64 ahead = ((u64)number - (u64)place - 1) / step + 1;
  return ahead > (u64)(h - v) / step ? h + 1 : v + (i64)ahead * step;
}
static inline i64 below(i64 v, i64 h, i64 place, i64 number) {
  if (place >= number) return v - 1;
  u64 left = (u64)number - (u64)place - 1;
  return left < (u64)(h - v) ? v + (i64)left : h;
}
static inline i64 most(i64 a, i64 b) { return a > b ? a : b; }
static inline i64 least(i64 a, i64 b) { return a < b ? a : b; }
)";

/// Accesses of an innermost loop: an iteration reads the element that the one before has written, which a variable holds.
struct Carried {
  std::uint32_t read = 0, written = 0;
};

class LoopWriter {
 public:
  /// `functions`: those of the loops before it, to which its own are added.
  LoopWriter(const Code& code, const std::vector<TensorAccess>& tensors, bool marks,
             std::vector<void*>& functions, LoopNest nest)
      : code_(code),
        tensors_(tensors),
        marks_(marks),
        functions_(functions),
        nest_(nest),
        root_(code.steps[nest.opener].variable) {}

  /// None where it is not one for the compiler.
  std::optional<std::string> write(std::size_t number) {
    auto uses = LoopUses::of(code_, tensors_, nest_);
    if (!uses) return std::nullopt;
    uses_ = std::move(*uses);
    const auto& root = code_.steps[nest_.opener];
    line(
        "u32 loop_{}(char* restrict M, void* const* T, i64* variables, i64* limits, i64 budget, i64* work) "
        "{{",
        number);
    for (std::uint32_t v = 0; v <= root_; ++v) line("i64 v{0} = variables[{0}];", v);
    line("i64 h{0} = limits[{0}], done = 0; u32 next;", root_);
    for (std::uint32_t v = 0; v <= root_; ++v)
      line("if (v{0} < -{1} || v{0} > {1}) return {2}u;", v, variable_limit, loop_declined);
    line("if (h{0} < -{1} || h{0} > {1}) return {2}u;", root_, variable_limit, loop_declined);
    declare();
    narrow(nest_);
    if (is_innermost(nest_)) {
      run_around(nest_, fmt::format("least(h{0}, v{0} + most(budget, 1) * {1})", root_, root.step),
                 fmt::format("return {}u;", loop_declined));
      line("v{0} -= {1};", root_, root.step);
    } else {
      const bool in_blocks = gains_from_blocks(code_, tensors_, nest_.opener);
      line("for (;; v{0} += {1}) {{", root_, root.step);
      if (in_blocks) blocks();
      body(nest_);
      if (in_blocks) line("}}");
      line("if (done > budget || h{0} - v{0} < {1}) break;", root_, root.step);
      line("}}");
    }
    line("variables[{0}] = v{0};", root_);
    line("next = h{0} - v{0} < {1} ? {2} : {3};", root_, root.step, root.target, nest_.end);
    line("out:;");
    put_back();
    line("*work = done; return next; }}");
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }

  [[nodiscard]] const Step& step(std::uint32_t at) const { return code_.steps[at]; }
  [[nodiscard]] LoopNest nest_at(std::uint32_t opener) const { return {opener, step(opener).target - 1}; }
  [[nodiscard]] bool is_innermost(LoopNest nest) const {
    return std::none_of(code_.steps.begin() + nest.opener + 1, code_.steps.begin() + nest.end,
                        [](const Step& s) { return s.kind == Step::Kind::loop; });
  }

  void put_back() {
    for (std::size_t n = 0; n < uses_.locals().size(); ++n) {
      const auto& [address, dtype, written, others] = uses_.locals()[n];
      if (!written) continue;
      if (!others.empty()) line("if (w{})", n);
      line("*({}*)(M + {}) = s{};", c_type(dtype), address, n);
    }
  }

  void declare() {
    for (std::size_t n = 0; n < uses_.locals().size(); ++n) {
      line("{0} s{1} = *({0}*)(M + {2});", c_type(uses_.locals()[n].dtype), n, uses_.locals()[n].address);
      if (uses_.locals()[n].written && !uses_.locals()[n].others.empty()) line("int w{} = 0;", n);
    }
    for (std::size_t r = 0; r < uses_.regions().size(); ++r) {
      if (!uses_.regions()[r].scalars)
        line("{0}* restrict const R{1} = ({0}*)(M + {2});", c_type(uses_.regions()[r].dtype), r,
             uses_.regions()[r].first);
    }
    std::map<std::uint32_t, DType> used;
    std::set<std::uint32_t> stored;
    for (std::uint32_t at = nest_.opener; at < nest_.end; ++at) {
      const auto kind = step(at).kind;
      if (kind == Step::Kind::load || kind == Step::Kind::store)
        used.emplace(step(at).tensor, step(at).dtype);
      if (kind == Step::Kind::store) stored.insert(step(at).tensor);
    }
    for (const auto& [tensor, dtype] : used)
      line("{0}* restrict const T{1} = ({0}*)T[{1}];", c_type(dtype), tensor);
    if (!marks_) return;
    for (const auto tensor : stored)
      line("char* restrict const S{} = (char*)T[{}];", tensor, tensors_.size() + tensor);
  }

  /// In parentheses; with another name for the innermost loop's variable where that is given.
  [[nodiscard]] std::string text(const Form& form, std::string_view last = {}) const {
    std::string result = fmt::format("({}", form.constant);
    for (const Term& term : std::span(code_.terms).subspan(form.first, form.count)) {
      const bool renamed = !last.empty() && term.variable == checked_;
      result += fmt::format(" + {}LL * {}{}", term.coefficient, renamed ? last : "v", term.variable);
    }
    return result + ")";
  }

  [[nodiscard]] std::string index(const SlotAccess& access, std::string_view last = {}) const {
    auto result = text(access.index, last);
    if (access.wrap == SlotAccess::no_wrap) return result;
    const auto& [form, modulus, stride] = code_.wraps[access.wrap];
    const auto by = goes_round(access);
    if (by == 0) return fmt::format("({} + {}LL * modulo({}, {}))", result, stride, text(form), modulus);
    const auto neighbour = neighbours_.find(access.wrap);
    const auto first = neighbour == neighbours_.end()
                           ? fmt::format("m{}", access.wrap)
                           : fmt::format("m{} + {}LL", neighbour->second.wrap, neighbour->second.ahead);
    return fmt::format("({0} + {1}LL * ({2} + {3}LL * ({4}{5} - q{5})))", result, stride, first, by,
                       last.empty() ? "v" : last, innermost_);
  }

  /// `further`: the name of elements from there on.
  [[nodiscard]] std::string place(std::uint32_t number, DType dtype, std::string_view further = "0") const {
    const SlotAccess& access = code_.accesses[number];
    const auto r = uses_.region_of(access);
    if (uses_.regions()[r].scalars) return fmt::format("s{}", uses_.local_of(access, dtype));
    const auto before = (access.address - uses_.regions()[r].first) / access.stride;
    return fmt::format("R{}[{} + {} + {}]", r, before, index(access), further);
  }

  [[nodiscard]] std::string element(const Step& one) const {
    const auto width = static_cast<std::int64_t>(operators::size_bytes(one.dtype));
    std::string result = fmt::format("T{}[0", one.tensor);
    for (std::uint32_t d = 0; d < one.operands.count; ++d)
      result += fmt::format(" + {}LL * {}", tensors_[one.tensor].stride(d) / width,
                            text(code_.forms[one.operands.first + d]));
    return result + "]";
  }

  /// Marks the element that a store writes; see `text` for `last`.
  [[nodiscard]] std::string mark(const Step& store, std::string_view last = {}) const {
    std::string result;
    for (std::uint32_t d = 0; d < store.operands.count; ++d)
      result = fmt::format("({} * {}LL + {})", d == 0 ? "0" : result, tensors_[store.tensor].extent(d),
                           text(code_.forms[store.operands.first + d], last));
    return fmt::format("S{}[{}] = 1;", store.tensor, store.operands.count == 0 ? "0" : result);
  }

  [[nodiscard]] std::string value(const Source& source, DType dtype) const {
    if (source.form) return fmt::format("({}){}", c_type(dtype), text(code_.forms[source.index]));
    if (source.constant) return c_constant(dtype, code_.constants[source.index].bytes.data());
    const auto carried = std::ranges::find(carried_, source.index, &Carried::read);
    return carried == carried_.end() ? place(source.index, dtype)
                                     : fmt::format("p{}", carried - carried_.begin());
  }

  /// Places that an iteration of the innermost loop goes on in a circular buffer; 0 where it stays.
  [[nodiscard]] std::int64_t goes_round(const SlotAccess& access) const {
    return access.wrap == SlotAccess::no_wrap || innermost_ == no_variable
               ? 0
               : coefficient(code_, code_.wraps[access.wrap].form, innermost_);
  }

  /// The conditions under which a step leaves a slot or a tensor, at the variables and, of an innermost loop, at the last
  /// ones: all between are inside then.
  [[nodiscard]] std::vector<std::string> leaves(const Step& one, bool at_last) const {
    std::vector<std::string> result;
    const auto add = [&](const std::string& index, std::int64_t count) {
      result.push_back(fmt::format("(u64){} >= {}ull", index, count));
    };
    const auto add_access = [&](std::uint32_t number) {
      const SlotAccess& access = code_.accesses[number];
      if (access.wrap == SlotAccess::no_wrap && access.index.count == 0 && access.index.constant >= 0 &&
          access.index.constant < access.count)
        return;
      add(index(access), access.count);
      if (at_last) add(index(access, "l"), access.count);
    };
    add_access(one.access);
    if (one.kind == Step::Kind::load || one.kind == Step::Kind::store) {
      for (std::uint32_t d = 0; d < one.operands.count; ++d) {
        const Form& form = code_.forms[one.operands.first + d];
        add(text(form), tensors_[one.tensor].extent(d));
        if (at_last) add(text(form, "l"), tensors_[one.tensor].extent(d));
      }
    } else {
      for (std::uint32_t n = 0; n < one.operands.count; ++n) {
        const Source& source = code_.sources[one.operands.first + n];
        if (!source.constant) add_access(source.index);
      }
      if (one.indexed != Step::not_indexed) add_access(code_.indexed[one.indexed].number);
    }
    return result;
  }

  template <class Use>
  void each_access(LoopNest nest, Use use) const {
    for (std::uint32_t at = nest.opener + 1; at < nest.end; ++at) {
      const Step& one = step(at);
      if (!is_work(one)) continue;
      use(code_.accesses[one.access]);
      if (one.kind == Step::Kind::load || one.kind == Step::Kind::store) continue;
      for (const Source& source : std::span(code_.sources).subspan(one.operands.first, one.operands.count)) {
        if (!source.constant) use(code_.accesses[source.index]);
      }
      if (one.indexed != Step::not_indexed) use(code_.accesses[code_.indexed[one.indexed].number]);
    }
  }

  /// Runs an innermost loop from its variable's value on, up to `end` or to where an element goes round its circular buffer.
  void run_around(LoopNest nest, const std::string& end, const std::string& otherwise) {
    const Step& one = step(nest.opener);
    const auto v = one.variable;
    checked_ = innermost_ = v;
    std::map<std::uint32_t, std::string> rounds;  // By wrap, iterations until its element goes round.
    each_access(nest, [&](const SlotAccess& access) {
      const auto by = goes_round(access) * one.step;
      if (by == 0) return;
      const auto w = access.wrap;
      const auto modulus = code_.wraps[w].modulus;
      rounds[w] = by >= modulus || -by >= modulus ? "1"
                  : by > 0                        ? fmt::format("({} - m{}) / {} + 1", modulus - 1, w, by)
                                                  : fmt::format("m{} / {} + 1", w, -by);
    });
    line("const i64 q{0} = v{0};", v);
    std::string last = end;
    for (const auto& [w, trips] : rounds) {
      line("const i64 m{} = modulo({}, {});", w, text(code_.wraps[w].form), code_.wraps[w].modulus);
      last = fmt::format("least({}, v{} + {}LL * ({} - 1))", last, v, one.step, trips);
    }
    line("const i64 e{0} = {1}, l{0} = v{0} + (e{0} - v{0}) / {2} * {2};", v, last, one.step);
    check_inside(nest, otherwise);
    line("done += (e{0} - v{0}) / {1} + 1;", v, one.step);
    if (marks_) mark_all(nest);
    const auto all = carried_between_iterations(nest);
    for (std::size_t n = 0; n < all.size(); ++n) {
      const auto dtype = uses_.regions()[uses_.region_of(code_.accesses[all[n].read])].dtype;
      line("{} p{} = {};", c_type(dtype), n, place(all[n].read, dtype));
    }
    carried_ = all;
    const auto iterations = [&](std::string_view before) {
      line("{2}for (; v{0} <= e{0}; v{0} += {1}) {{", v, one.step, before);
      body(nest);
      line("}}");
    };
    std::vector<std::uint32_t> wraps;
    for (const auto& [w, trips] : rounds) wraps.push_back(w);
    neighbours_ = neighbours_of(code_, wraps);
    if (!neighbours_.empty()) {  // their distances are numbers then, as a compiler of vectors has to see
      std::string apart = "1";
      for (const auto& [w, beside] : neighbours_)
        apart += fmt::format(" && m{} == m{} + {}LL", w, beside.wrap, beside.ahead);
      iterations(fmt::format("if ({}) ", apart));
      neighbours_.clear();
      line("else");
    }
    iterations("");
    carried_.clear();
  }

  /// Before an innermost loop: marks what its stores write, those in branches excepted.
  void mark_all(LoopNest nest) {
    const Step& one = step(nest.opener);
    for (std::uint32_t at = nest.opener + 1; at < nest.end; ++at) {
      if (step(at).kind == Step::Kind::branch) at = step(at).target - 1;
      if (step(at).kind != Step::Kind::store) continue;
      line("for (i64 x{0} = v{0}; x{0} <= e{0}; x{0} += {1}) {2}", one.variable, one.step,
           mark(step(at), "x"));
    }
  }

  /// Of an innermost loop without branches: the reads of what one step alone writes, an iteration before.
  [[nodiscard]] std::vector<Carried> carried_between_iterations(LoopNest nest) const {
    std::vector<Carried> result;
    std::map<std::size_t, std::vector<std::uint32_t>> writers;  // By region.
    for (std::uint32_t at = nest.opener + 1; at < nest.end; ++at) {
      if (step(at).kind == Step::Kind::branch) return {};
      if (writes(step(at))) writers[uses_.region_of(code_.accesses[step(at).access])].push_back(at);
    }
    for (const auto& [region, steps] : writers) {
      if (uses_.regions()[region].scalars || steps.size() > 1 || step(steps[0]).indexed != Step::not_indexed)
        continue;
      const auto written = step(steps[0]).access;
      std::map<std::uint32_t, bool> reads;  // True where all of them come before it.
      for (std::uint32_t at = nest.opener + 1; at < nest.end; ++at) {
        const Step& one = step(at);
        if (!writes(one) || one.kind == Step::Kind::load) continue;
        for (const Source& source :
             std::span(code_.sources).subspan(one.operands.first, one.operands.count)) {
          if (source.constant || !follows(code_, source.index, written, step(nest.opener))) continue;
          auto& before = reads.try_emplace(source.index, true).first->second;
          before = before && at <= steps[0];
        }
      }
      for (const auto& [read, before] : reads) {
        if (before) result.push_back({read, written});
      }
    }
    return result;
  }

  static bool writes(const Step& one) {
    return is_work(one) && one.kind != Step::Kind::store && one.kind != Step::Kind::exit;
  }

  /// Before an innermost loop: whether its steps stay inside in all iterations, those in branches excepted.
  void check_inside(LoopNest nest, const std::string& otherwise) {
    std::vector<std::string> all;
    for (std::uint32_t at = nest.opener + 1; at < nest.end; ++at) {
      if (step(at).kind == Step::Kind::branch) at = step(at).target - 1;
      if (!is_work(step(at))) continue;
      std::ranges::copy(leaves(step(at), true), std::back_inserter(all));
    }
    std::ranges::sort(all);
    const auto [first, last] = std::ranges::unique(all);
    all.erase(first, last);
    if (!all.empty()) line("if ({}) {{ {} }}", fmt::join(all, " || "), otherwise);
  }

  /// The text that leaves the function before a step.
  [[nodiscard]] std::string leave(std::uint32_t at) const {
    std::string result;
    for (std::uint32_t v = root_; v <= innermost_open_; ++v)
      result += fmt::format("variables[{0}] = v{0}; limits[{0}] = h{0}; ", v);
    return fmt::format("{}next = {}u; goto out;", result, at);
  }

  void body(LoopNest nest) {
    const auto outer = innermost_open_;
    innermost_open_ = step(nest.opener).variable;
    const bool innermost = is_innermost(nest);
    std::uint32_t branches = 0;
    for (std::uint32_t at = nest.opener + 1; at < nest.end; ++at) {
      const Step& one = step(at);
      if (one.kind == Step::Kind::loop) {
        loop(nest_at(at));
        at = one.target - 1;
      } else if (one.kind == Step::Kind::branch) {
        line("if ({}) {{", condition(one));
        ++branches;
      } else if (one.kind == Step::Kind::skip) {
        line("}}");
        --branches;
      } else {
        if (!innermost || branches > 0) {
          const auto outside = leaves(one, false);
          if (!outside.empty()) line("if ({}) {{ {} }}", fmt::join(outside, " || "), leave(at));
        }
        compute(at);
        if (marks_ && one.kind == Step::Kind::store && (!innermost || branches > 0)) line("{}", mark(one));
      }
    }
    innermost_open_ = outer;
  }

  /// Runs iterations of the nest in blocks of the inner loop, as many as the time suffices for, where they stay inside; else
  /// there is text to come.
  void blocks() {
    constexpr int rows = 16;  // Lines of memory: the first cache has hundreds.
    const LoopNest inner = nest_at(nest_.opener + 1);
    const Step &root = step(nest_.opener), &one = step(inner.opener);
    const auto v = one.variable;
    line("const i64 a{0} = {1}, b{0} = {2}, c{0} = b{0} < a{0} ? 0 : (b{0} - a{0}) / {3} + 1;", v,
         limit(one.lower, true), limit(one.upper, false), one.step);
    line(
        "const i64 a{0} = v{0}, b{0} = c{1} == 0 ? v{0} : v{0} + least((h{0} - v{0}) / {2}, budget / c{1}) * "
        "{2};",
        root_, v, root.step);
    line("int inside = c{0} > 0 && a{0} >= -{1} && b{0} <= {1};", v, variable_limit);
    line("for (int last = 0; inside && last < 2; ++last) {{");
    line("const i64 v{0} = last ? b{0} : a{0}, v{1} = a{1}, l{1} = a{1} + (c{1} - 1) * {2};", root_, v,
         one.step);
    checked_ = v;
    check_inside(inner, "inside = 0;");
    line("}}");
    line("if (inside) {{  // in blocks");
    line("for (i64 x = a{0}; x <= b{0}; x += {1}) {{", v, rows * one.step);
    line("const i64 e{0} = least(b{0}, x + {1});", v, (rows - 1) * one.step);
    line("for (v{0} = a{0}; v{0} <= b{0}; v{0} += {1}) {{ i64 v{2} = x;", root_, root.step, v);
    if (marks_) mark_all(inner);
    checked_ = no_variable;
    line("for (; v{0} <= e{0}; v{0} += {1}) {{", v, one.step);
    body(inner);
    line("}} }} }}");
    line("v{0} = b{0}; done += c{1} * ((b{0} - a{0}) / {2} + 1);", root_, v, root.step);
    line("}} else {{");
  }

  void loop(LoopNest nest) {
    const Step& one = step(nest.opener);
    const auto v = one.variable;
    line("{{ i64 v{0} = {1}, h{0} = {2};", v, limit(one.lower, true), limit(one.upper, false));
    narrow(nest);
    line("if (v{0} < -{1} || h{0} > {1}) {{ {2} }}", v, variable_limit, leave(nest.opener));
    line("while (v{0} <= h{0}) {{", v);
    if (is_innermost(nest)) {
      const auto outer = std::exchange(innermost_open_, v);
      const auto otherwise = leave(nest.opener + 1);
      innermost_open_ = outer;
      run_around(nest, fmt::format("h{}", v), otherwise);
    } else {
      body(nest);
      line("v{} += {};", v, one.step);
    }
    line("}} }}");
    innermost_ = no_variable;
  }

  /// Leaves out iterations before and after those that numbers bound: they do nothing. A number that the loop writes bounds
  /// each iteration anew, in the branch that the loop holds.
  void narrow(LoopNest nest) {
    const Step& loop = step(nest.opener);
    const auto v = loop.variable;
    for (const NumberLimit& limit :
         std::span(code_.within).subspan(loop.operands.first, loop.operands.count)) {
      if (coefficient(code_, limit.form, v) != 1 || is_written(limit, nest)) continue;
      const auto number = place(limit.number, DType::int64), at = text(limit.form);
      if (limit.last)
        line("if (v{0} <= h{0}) h{0} = below(v{0}, h{0}, {1}, {2});", v, at, number);
      else
        line("if (v{0} <= h{0}) v{0} = from(v{0}, h{0}, {3}, {1}, {2});", v, at, number, loop.step);
    }
  }

  [[nodiscard]] bool is_written(const NumberLimit& limit, LoopNest nest) const {
    const auto region = uses_.region_of(code_.accesses[limit.number]);
    return std::any_of(code_.steps.begin() + nest.opener + 1, code_.steps.begin() + nest.end,
                       [&](const Step& one) {
                         return writes(one) && uses_.region_of(code_.accesses[one.access]) == region;
                       });
  }

  [[nodiscard]] std::string limit(Range range, bool lower) const {
    std::string result;
    for (std::uint32_t n = 0; n < range.count; ++n) {
      const Limit& one = code_.limits[range.first + n];
      auto term = text(one.numerator);
      if (one.divisor != 1)
        term = fmt::format("{}({}, {}LL)", lower ? "ceiling" : "flooring", term, one.divisor);
      result = n == 0 ? term : fmt::format("{}({}, {})", lower ? "most" : "least", result, term);
    }
    return result;
  }

  [[nodiscard]] std::string condition(const Step& branch) const {
    std::string result = "0";
    for (std::uint32_t c = 0; c < branch.lower.count; ++c) {
      const Range tests = code_.conjunctions[branch.lower.first + c];
      result += " || (1";
      for (std::uint32_t t = 0; t < tests.count; ++t) {
        const Test& test = code_.tests[tests.first + t];
        const auto form = text(test.form);
        switch (test.kind) {
          case program::Condition::Kind::non_negative: result += fmt::format(" && {} >= 0", form); break;
          case program::Condition::Kind::zero: result += fmt::format(" && {} == 0", form); break;
          case program::Condition::Kind::divisible:
            result += fmt::format(" && {} % {}LL == 0", form, test.modulus);
            break;
        }
      }
      result += ")";
    }
    for (const NumberLimit& limit : std::span(code_.within).subspan(branch.upper.first, branch.upper.count))
      result = fmt::format("({}) && {} {} {}", result, text(limit.form),
                           limit.last ? "<" : ">=", place(limit.number, DType::int64));
    return result;
  }

  void compute(std::uint32_t at) {
    const Step& one = step(at);
    if (one.kind == Step::Kind::store) return line("{} = {};", element(one), place(one.access, one.dtype));
    if (one.kind == Step::Kind::exit) {  // what ends a loop counts it too
      return line("if (!{0} || v{1} == h{1}) {{ {2} }}", place(one.access, DType::boolean), one.variable,
                  leave(at));
    }
    const auto dtype =
        one.kind == Step::Kind::compute ? operators::result_dtype(one.op, one.dtype) : one.dtype;
    const auto to = place(one.access, dtype);
    if (one.kind == Step::Kind::load) {
      line("{} = {};", to, element(one));
    } else if (one.kind == Step::Kind::move) {
      line("{} = {};", to, value(code_.sources[one.operands.first], dtype));
    } else if (one.indexed != Step::not_indexed) {
      indexed(at, dtype);
    } else {
      std::vector<std::string> operands;
      for (std::uint32_t n = 0; n < one.operands.count; ++n)
        operands.push_back(
            value(code_.sources[one.operands.first + n], operators::operand_dtype(one.op, n, one.dtype)));
      apply(at, to, operands);
    }
    for (std::size_t n = 0; n < carried_.size(); ++n) {
      if (carried_[n].written == one.access) line("p{} = {};", n, to);
    }
    const auto local = uses_.local_of(code_.accesses[one.access], dtype);
    if (local == uses_.locals().size() || uses_.locals()[local].others.empty()) return;
    line("w{} = 1;", local);
    for (const auto other : uses_.locals()[local].others) line("w{} = 0;", other);
  }

  /// An operator's result; the interpreter is to tell where it has none.
  void apply(std::uint32_t at, const std::string& to, const std::vector<std::string>& operands) {
    const Step& one = step(at);
    std::string given;
    for (std::uint32_t n = 0; n < operands.size(); ++n)
      given += fmt::format("const {} {} = {}; ", c_type(operators::operand_dtype(one.op, n, one.dtype)),
                           "abc"[n], operands[n]);
    const auto failure = c_failure(one.op, one.flags, one.dtype);
    if (!failure.empty()) given += fmt::format("if ({}) {{ {} }} ", failure, leave(at));
    const auto expression = c_expression(one.op, one.dtype);
    line("{{ {}{} = {}; }}", given, to, expression ? std::string(*expression) : call(one));
  }

  /// A call of the interpreter's function; without effects, so that one does for equal operands.
  std::string call(const Step& one) {
    void* const function = c_function(one.op, one.dtype);
    auto found = std::ranges::find(functions_, function);
    if (found == functions_.end()) found = functions_.insert(found, function);
    std::string types, names;
    for (std::uint32_t n = 0; n < one.operands.count; ++n) {
      const std::string_view comma = n == 0 ? "" : ", ";
      types += fmt::format("{}{}", comma, c_type(operators::operand_dtype(one.op, n, one.dtype)));
      names += fmt::format("{}{}", comma, "abc"[n]);
    }
    const auto place =
        tensors_.size() * (marks_ ? 2 : 1) + static_cast<std::size_t>(found - functions_.begin());
    return fmt::format("((__attribute__((const)) {} (*)({}))T[{}] /* {} {} */)({})",
                       c_type(operators::result_dtype(one.op, one.dtype)), types, place,
                       operators::info(one.op).name, operators::name(one.dtype), names);
  }

  /// An operator on the element that a number tells, if it is one of those.
  void indexed(std::uint32_t at, DType dtype) {
    const Step& one = step(at);
    const IndexedElement& element = code_.indexed[one.indexed];
    const Source& last = code_.sources[one.operands.first + one.operands.count - 1];
    const bool accumulates = one.operands.count > 1;
    const SlotAccess& indexed = code_.accesses[element.scatters ? one.access : last.index];
    line("{{ const i64 n = {}, first = {};", place(element.number, DType::int64), text(element.lower));
    line("if (first <= n && n <= {}) {{ const i64 f = {}LL * (n - first);", text(element.upper),
         element.stride);
    line("if ((u64)({} + f) >= {}ull) {{ {} }}", index(indexed), indexed.count, leave(at));
    const auto to = place(one.access, dtype, element.scatters ? "f" : "0");
    std::vector<std::string> operands;
    if (accumulates) operands.push_back(to);
    operands.push_back(element.scatters ? value(last, one.dtype) : place(last.index, one.dtype, "f"));
    apply(at, to, operands);
    if (accumulates || element.scatters) return line("}} }}");
    line("}} else {} = {}; }}", to, c_constant(dtype, code_.constants[element.neutral].bytes.data()));
  }

  static constexpr std::uint32_t no_variable = 0xffffffffU;
  const Code& code_;
  const std::vector<TensorAccess>& tensors_;
  bool marks_;
  std::vector<void*>& functions_;
  LoopNest nest_;
  std::uint32_t root_;
  LoopUses uses_;
  std::vector<Carried> carried_;  ///< Of the innermost loop that is written.
  std::map<std::uint32_t, Neighbour>
      neighbours_;  ///< By wrap, while none of them goes round before the other.
  std::string text_;
  std::uint32_t innermost_open_ = 0;  ///< Variable of the innermost loop around what is written.
  std::uint32_t innermost_ = no_variable, checked_ = no_variable;  ///< That of a loop that holds no other.
};

}  // namespace

LoopSource source_of_loops(const PeArray& array, const std::vector<TensorAccess>& tensors, bool marks) {
  LoopSource result;
  result.text = prologue;
  for (const Code& code : array.codes()) {
    for (std::uint32_t at = 0; at < code.steps.size(); ++at) {
      const Step& one = code.steps[at];
      if (one.kind != Step::Kind::loop || one.target - at > most_steps || depth_of(code, at) > most_depth)
        continue;
      const LoopNest nest{at, one.target - 1};
      const auto text = LoopWriter(code, tensors, marks, result.functions, nest).write(result.loops.size());
      if (!text) continue;
      result.text += *text;
      result.loops.push_back({code.index, at});
      at = one.target - 1;
    }
  }
  return result;
}

}  // namespace cyclotron::runtime
