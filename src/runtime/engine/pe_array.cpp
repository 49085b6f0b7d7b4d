#include "pe_array.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cyclotron::runtime {
namespace {

constexpr std::size_t port_limit = std::size_t{1} << 26;
constexpr std::size_t alignment = 64;

[[noreturn]] void too_large(std::string message, std::string help) {
  throw ExecutionError(
      {.code = "CYC705", .span = {}, .message = std::move(message), .notes = {}, .help = std::move(help)});
}

std::size_t aligned(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + alignment - 1) / alignment * alignment;
}

/// The coordinates of PEs, mostly asked for in the order of the grid: those of the next one without a division.
class Walk {
 public:
  explicit Walk(const std::vector<std::int64_t>& grid) : grid_(grid), at_(grid.size()) {}

  const std::vector<std::int64_t>& to(std::uint32_t index) {
    if (index == index_ + 1) {
      for (std::size_t d = at_.size(); d-- > 0 && ++at_[d] == grid_[d];) at_[d] = 0;
    } else {
      std::int64_t rest = index;
      for (std::size_t d = at_.size(); d-- > 0; rest /= grid_[d]) at_[d] = rest % grid_[d];
    }
    index_ = index;
    return at_;
  }

 private:
  const std::vector<std::int64_t>& grid_;
  std::vector<std::int64_t> at_;
  std::uint32_t index_ = 0;
};

}  // namespace

void check_grid_size(const program::Program& program) {
  std::int64_t size = 1;
  for (const std::int64_t extent : program.grid) {
    if (__builtin_mul_overflow(size, extent, &size) || size > pe_limit) {
      too_large(fmt::format("a grid of {} has more than {} PEs", fmt::join(program.grid, " x "), pe_limit),
                "fold the grid onto fewer PEs");
    }
  }
}

PeArray::PeArray(const program::Program& program, bool functional, Part part)
    : program_(&program),
      wires_(program),
      least_depth_(program::least_depths(program)),
      part_(std::move(part)),
      loop_exits_(program.exit_plans) {
  check_grid_size(program);
  std::int64_t size = 1;
  grid_stride_.assign(program.grid.size() + 1, 1);
  for (std::size_t d = program.grid.size(); d-- > 0;) {
    grid_stride_[d] = size;
    size *= program.grid[d];
  }
  ordinal_.assign(static_cast<std::size_t>(size), none);
  for (std::size_t c = 0; c < program.classes.size(); ++c) codes_.push_back(decode(program, c));
  find_pes();
  cut_into_parts();
  try {
    allocate(functional);
    connect();
  } catch (const std::bad_alloc&) {
    too_large(fmt::format("{} PEs do not fit this computer's memory", count()),
              "fold the grid onto fewer PEs");
  }
}

void PeArray::find_pes() {
  const auto classes = program_->class_map();
  for (std::size_t index = 0; index < classes.size(); ++index) {
    if (classes[index] == program::Program::unmapped) continue;
    ordinal_[index] = count();
    grid_index_.push_back(static_cast<std::uint32_t>(index));
    class_of_.push_back(classes[index]);
  }
}

/// Ordinals are dense in each part, so PEs that are dealt out are numbered anew.
void PeArray::cut_into_parts() {
  if (!part_.dealt) {
    for (std::uint64_t n = 0; n <= part_.count; ++n) {
      starts_.push_back(static_cast<std::uint32_t>(n * count() / part_.count));
    }
  } else {
    const BlockCyclic& dealt = *part_.dealt;
    std::vector<std::vector<std::uint32_t>> parts(part_.count);  // Of old ordinals.
    for (std::uint32_t o = 0; o < count(); ++o) {
      const auto at = coordinates(grid_index_[o]);
      std::int64_t part = 0;
      for (std::size_t d = 0; d < at.size(); ++d) {
        part = part * dealt.count[d] + at[d] / dealt.block[d] % dealt.count[d];
      }
      parts[static_cast<std::size_t>(part)].push_back(o);
    }
    const auto grid_index = grid_index_;
    const auto class_of = class_of_;
    std::uint32_t next = 0;
    for (const auto& members : parts) {
      starts_.push_back(next);
      for (const std::uint32_t old : members) {
        grid_index_[next] = grid_index[old];
        class_of_[next] = class_of[old];
        ordinal_[grid_index[old]] = next++;
      }
    }
    starts_.push_back(next);
  }
  first_ = starts_[part_.number];
  last_ = starts_[part_.number + 1];
}

std::uint32_t PeArray::part_of(std::uint32_t ordinal) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), ordinal);
  return static_cast<std::uint32_t>(after - starts_.begin() - 1);
}

void PeArray::allocate(bool functional) {
  std::size_t bytes = 0, variables = 0, sizes = 0, ports = 0;
  for (std::uint32_t o = first_; o < last_; ++o) {
    const Code& code = codes_[class_of_[o]];
    bytes += aligned(code.memory_bytes);
    variables += 2 * std::size_t{code.variables};
    sizes += code.sizes;
    ports += code.ports.size();
  }
  variables_ = ZeroTable<std::int64_t>(variables);
  sizes_ = ZeroTable<TileSize>(sizes);
  queues_ = ZeroTable<std::uint32_t>(ports);
  const std::size_t exit_plans = functional ? program_->exit_plans.size() : 0;
  loop_runs_ = ZeroTable<std::uint32_t>((last_ - first_) * exit_plans);
  if (functional) memory_ = ZeroPages(bytes);
  std::byte* memory = memory_.data();
  std::int64_t* variable = variables_.data();
  TileSize* size = sizes_.data();
  const std::uint32_t* queue = queues_.data();
  pes_ = ZeroTable<Pe>(last_ - first_);
  Walk walk(program_->grid);
  for (std::uint32_t o = first_; o < last_; ++o) {
    const Code& code = codes_[class_of_[o]];
    Pe& pe = pes_[o - first_];
    pe = {.code = &code,
          .memory = memory,
          .variables = variable,
          .limits = variable + code.variables,
          .sizes = size,
          .queues = queue,
          .loop_runs = loop_runs_.data() + (o - first_) * exit_plans,
          .counter = 0,
          .ordinal = o,
          .index = grid_index_[o],
          .executed = 0};
    std::ranges::copy(walk.to(pe.index), pe.variables);
    if (functional) memory += aligned(code.memory_bytes);
    variable += 2 * std::size_t{code.variables};
    size += code.sizes;
    queue += code.ports.size();
  }
}

/// Ports of links that messages come in by, which are about as many as links.
std::size_t PeArray::links_in() const {
  std::vector<std::size_t> of_class;
  for (const Code& code : codes_)
    of_class.push_back(
        static_cast<std::size_t>(std::ranges::count(code.ports, Port::Kind::link_in, &Port::kind)));
  std::size_t result = 0;
  for (const std::uint32_t pe_class : class_of_) result += of_class[pe_class];
  return result;
}

void PeArray::connect() {
  for (const auto& channel : program_->channels) {
    listeners_.push_back(program_->listeners(listeners_.size()));
    network_of_channel_.push_back(channel.kind == program::Channel::Kind::network ? networks_++ : none);
  }
  if (program_->channels.size() > port_limit / grid_size()) throw std::bad_alloc();
  // All queues of the whole array are numbered, so that the parts of a run agree on the numbers.
  std::vector<std::uint32_t> by_receiver(program_->channels.size() * ordinal_.size(), none);
  links_.reserve(links_in());
  const auto link_to = [&](std::uint32_t channel, std::size_t receiver) -> Link& {
    auto& number = by_receiver[channel * ordinal_.size() + receiver];
    if (number == none) {
      number = static_cast<std::uint32_t>(links_.size());
      links_.push_back({.channel = channel, .sender = none, .receiver = ordinal_[receiver]});
    }
    return links_[number];
  };
  std::size_t next = 0;
  Walk walk(program_->grid);
  for (std::uint32_t o = 0; o < count(); ++o) {
    const bool ours = in_part(o);
    const auto& at = walk.to(grid_index_[o]);
    for (const Port& port : codes_[class_of_[o]].ports) {
      std::uint32_t number = none;
      switch (port.kind) {
        case Port::Kind::link_in: {
          Link& link = link_to(port.channel, grid_index_[o]);
          link.received = true;
          number = static_cast<std::uint32_t>(&link - links_.data());
          break;
        }
        case Port::Kind::link_out:
          if (const auto receiver = wires_.receiver(port.channel, at); receiver != program::Wires::none) {
            Link& link = link_to(port.channel, receiver);
            link.sender = o;
            number = static_cast<std::uint32_t>(&link - links_.data());
          }
          break;
        case Port::Kind::network_in: number = row(port.channel, grid_index_[o]); break;
        case Port::Kind::network_out: break;
      }
      if (ours) queues_[next++] = number;
    }
  }
}

std::vector<std::int64_t> PeArray::coordinates(std::uint32_t grid_index) const {
  return Walk(program_->grid).to(grid_index);
}

std::string PeArray::name(std::uint32_t grid_index) const {
  return fmt::format("PE ({})", fmt::join(coordinates(grid_index), ", "));
}

std::int64_t PeArray::depth(std::uint32_t channel, std::uint32_t sender) const {
  return sender == none || wires_.are_alike() ? least_depth_[channel]
                                              : wires_.depth(channel, coordinates(grid_index_[sender]));
}

double PeArray::fraction_done(const Pe& pe) {
  const auto& steps = pe.code->steps;
  double done = pe.counter;
  for (std::uint32_t at = 0; at < pe.counter; ++at) {  // the top-level loop that the PE is in
    const Step& step = steps[at];
    if (step.kind != Step::Kind::loop && step.kind != Step::Kind::branch) continue;
    if (step.target <= pe.counter) {
      at = step.target - 1;
    } else if (step.kind == Step::Kind::loop) {
      const auto first = static_cast<double>(lower_limit(*pe.code, step.lower, pe.variables));
      const auto last = static_cast<double>(pe.limits[step.variable]);
      const double inside = (static_cast<double>(pe.variables[step.variable]) - first) / (last - first + 1);
      done = at + inside * (step.target - at);
      break;
    }
  }
  return std::clamp(done / static_cast<double>(std::max<std::size_t>(1, steps.size() - 1)), 0.0, 1.0);
}

double PeArray::fraction_done() const {
  // A sample is enough, and keeps the cost of asking small.
  const std::size_t every = std::max<std::size_t>(1, pes_.size() / 64);
  double sum = 0;
  std::size_t samples = 0;
  for (std::size_t p = 0; p < pes_.size(); p += every, ++samples) sum += fraction_done(pes_[p]);
  return samples == 0 ? 1 : sum / static_cast<double>(samples);
}

ExecutionError failure_in(const PeArray& array, const Pe& pe, const KernelFailure& failure) {
  const auto& pe_class = array.program().classes[pe.code->index];
  std::string where = fmt::format("at instruction {} of {}", pe.counter, pe_class.name);
  std::string separator = ", where ";
  for (std::uint32_t at = 0; at < pe.counter; ++at) {
    const Step& step = pe.code->steps[at];
    if (step.kind != Step::Kind::loop || step.target <= pe.counter) continue;
    where += fmt::format("{}{} = {}", separator, std::get<program::Loop>(pe_class.code[at].action).name,
                         pe.variables[step.variable]);
    separator = ", ";
  }
  return ExecutionError({.code = failure.code,
                         .span = pe.counter < pe_class.code.size() ? pe_class.code[pe.counter].span : Span{},
                         .message = fmt::format("{}, in {}", failure.message, array.name(pe.index)),
                         .notes = {{{}, where}},
                         .help = failure.help});
}

ExecutionError interrupted() {
  return ExecutionError({.code = "CYC702",
                         .obstacle = Obstacle::effort,
                         .span = {},
                         .message = "interrupted",
                         .notes = {},
                         .help = "run it again"});
}

}  // namespace cyclotron::runtime
