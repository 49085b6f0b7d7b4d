// The verifier of programs: what every runtime may rely on. Faults, by code:
//   CYC601  a file's preamble is wrong or cut off
//   CYC602  a file of another format version
//   CYC603  a file's checksum does not match
//   CYC604  a file's body is not JSON, too deep or too big
//   CYC605  a field is missing, unknown or of a wrong type
//   CYC606  a number is out of its range
//   CYC607  an id is not in its table
//   CYC608  a list has the wrong length
//   CYC609  loops and ifs do not match or nest too deep
//   CYC610  element types differ or do not suit the operator
//   CYC611  a channel, tensor, name or operand is misused
//   CYC612  an index or a size can overflow
//   CYC613  a slot's address is missing, outside memory or shared (also thrown by memory::verify_layout)
//   CYC614  iterations that a loop's EXIT leaves out are not all alike
//   CYC615  a constant has more or fewer values than its shape, or another tensor has some
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/program/exits.hpp>
#include <cyclotron/program/roles.hpp>

#include "checks.hpp"

namespace cyclotron::program {
namespace {

constexpr std::int64_t tile_limit = std::int64_t{1} << 30;  // Elements of a tile; keeps flops below 2^62.
constexpr std::int64_t scale_limit = std::int64_t{1}
                                     << 20;  // Of a channel; times a coordinate it is below 2^62.
constexpr std::size_t grid_limit = 8;

/// The product of positive sizes, or a fault where it reaches 2^62.
std::int64_t require_product(std::span<const std::int64_t> factors, const Path& path) {
  std::int64_t product = 1;
  for (const auto factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product) || product >= huge) {
      fail("CYC612", path, fmt::format("has {} or more elements", huge), "make the sizes smaller");
    }
  }
  return product;
}

void require_tile(operators::Shape tile, const Path& path) {
  require_range(tile.rows, 1, tile_limit, path);
  require_range(tile.columns, 1, tile_limit, path);
  require_range(tile.rows * tile.columns, 1, tile_limit, path);
}

void require_dtype(DType dtype, const Path& path) {
  require_range(static_cast<std::int64_t>(dtype), 0,
                static_cast<std::int64_t>(operators::all_dtypes().size()) - 1, path);
}

void check(const Tensor& tensor, const Path& path) {
  require_dtype(tensor.dtype, Path(path, "dtype"));
  require_range(static_cast<std::int64_t>(tensor.role), 0, static_cast<std::int64_t>(Role::constant),
                Path(path, "role"));
  const Path shape(path, "shape");
  const Path tile(path, "tile");
  require_range(static_cast<std::int64_t>(tensor.shape.size()), 0, most_axes, shape);
  require_length(tensor.tile.size(), tensor.shape.size(), "a tile has one size a dimension of its tensor",
                 tile);
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    require_range(tensor.shape[d], 0, huge - 1, Path(shape, d));
    require_range(tensor.tile[d], 1, tile_limit, Path(tile, d));
  }
  // A dimension of 0 must not hide an overflow of the others from code that multiplies in another order.
  std::vector<std::int64_t> bytes{static_cast<std::int64_t>(operators::size_bytes(tensor.dtype))};
  for (const auto extent : tensor.shape) bytes.push_back(std::max<std::int64_t>(extent, 1));
  require_product(bytes, shape);
  require_range(require_product(tensor.tile, tile), 1, tile_limit, tile);
  const std::size_t expected = tensor.role == Role::constant ? *scalar_bytes(tensor) : 0;
  if (tensor.values.size() != expected) {
    fail("CYC615", path,
         fmt::format("has {} bytes of values, and its shape needs {}", tensor.values.size(), expected),
         "constants have one value for each scalar, other tensors none");
  }
  const auto truth = [](std::byte value) { return value <= std::byte{1}; };
  if (tensor.dtype == DType::boolean && !std::ranges::all_of(tensor.values, truth))
    fail("CYC606", path, "has bytes other than 0 and 1 as truth values", "compile the program again");
}

void check(const Channel& channel, std::size_t rank, const Path& path) {
  require_range(static_cast<std::int64_t>(channel.kind), 0, 1, Path(path, "kind"));
  require_dtype(channel.dtype, Path(path, "dtype"));
  require_tile(channel.tile, Path(path, "tile"));
  require_range(channel.depth, 0, number_limit, Path(path, "depth"));
  const bool link = channel.kind == Channel::Kind::link;
  const Path offset(path, "offset");
  require_length(channel.offset.size(), link ? rank : 0,
                 "a link has one offset a grid dimension, a network none", offset);
  for (std::size_t d = 0; d < channel.offset.size(); ++d) {
    require_range(channel.offset[d], -number_limit, number_limit, Path(offset, d));
  }
  const Path scale(path, "scale");
  if (!channel.scale.empty())
    require_length(channel.scale.size(), link ? rank : 0,
                   "a link has one scale a grid dimension, a network none", scale);
  for (std::size_t d = 0; d < channel.scale.size(); ++d)
    require_range(channel.scale[d], 1, scale_limit, Path(scale, d));
  const std::int64_t axes = static_cast<std::int64_t>(rank) - (channel.link ? 0 : 1);
  require_range(channel.axis, !link && channel.link ? axes : 0, link ? 0 : axes, Path(path, "axis"));
}

/// `memory` in bytes, or -1 where the class is not laid out yet.
void check(const Slot& slot, const machine::Pe& pe, std::int64_t memory, const Path& path) {
  require_dtype(slot.dtype, Path(path, "dtype"));
  require_tile(slot.tile, Path(path, "tile"));
  require_range(slot.count, 1, number_limit, Path(path, "count"));
  const std::int64_t sizes[] = {slot.count, slot.tile.rows, slot.tile.columns,
                                static_cast<std::int64_t>(operators::size_bytes(slot.dtype))};
  const std::int64_t bytes = require_product(sizes, path);
  const Path address(path, "address");
  if (slot.first_register) {
    const std::int64_t registers = pe.registers.value_or(0);
    if (*slot.first_register < 0 || slot.words() > registers ||
        *slot.first_register > registers - slot.words()) {
      fail("CYC613", Path(path, "first_register"),
           fmt::format("puts {} words at {}, in a file of {} registers", slot.words(), *slot.first_register,
                       registers),
           "a slot lies in the machine's registers, or it has an address");
    }
    memory = -1;
  }
  if (memory < 0) {
    require_range(slot.address, -1, -1, address);
    return;
  }
  const std::int64_t alignment = operators::alignment_bytes(slot.dtype);
  if (slot.address < 0 || slot.address % alignment != 0 || bytes > memory || slot.address > memory - bytes) {
    fail("CYC613", address,
         fmt::format("puts {} bytes at {}, in a memory of {} bytes", bytes, slot.address, memory),
         fmt::format("addresses of {} are multiples of {} inside the class's `memory_bytes`",
                     operators::name(slot.dtype), alignment));
  }
}

void check_class(const Program& program, const PeClass& pe_class, const Environment& grid, const Path& path) {
  check_condition(pe_class.region, grid, Path(path, "region"), {});
  require_range(pe_class.memory_bytes, 0, program.machine.pe.memory_bytes, Path(path, "memory_bytes"));
  const bool laid_out = std::any_of(pe_class.slots.begin(), pe_class.slots.end(), [](const Slot& slot) {
    return slot.address != -1 || slot.first_register;
  });
  const Path slots(path, "slots");
  for (std::size_t s = 0; s < pe_class.slots.size(); ++s) {
    check(pe_class.slots[s], program.machine.pe, laid_out ? pe_class.memory_bytes : -1, Path(slots, s));
  }
  check_code(program, pe_class, grid, Path(path, "code"));
}

void check_grid(const Program& program, const Path& root) {
  const Path grid(root, "grid");
  require_range(static_cast<std::int64_t>(program.grid.size()), 1, grid_limit, grid);
  for (std::size_t d = 0; d < program.grid.size(); ++d)
    require_range(program.grid[d], 1, huge - 1, Path(grid, d));
  require_product(program.grid, grid);
  require_length(program.grid_names.size(), program.grid.size(), "each grid dimension has a name",
                 Path(root, "grid_names"));
  const Path machine(root, "machine");
  for (const auto topology : program.machine.topology) {
    require_range(static_cast<std::int64_t>(topology), 0,
                  static_cast<std::int64_t>(machine::Topology::custom), Path(machine, "topology"));
  }
  require_range(static_cast<std::int64_t>(program.machine.spread), 0,
                static_cast<std::int64_t>(machine::Spread::tree), Path(machine, "spread"));
  try {
    machine::verify(program.machine);
  } catch (const ShapeError& error) {
    fail("CYC606", machine, "is out of range: " + error.diagnostic().message, error.diagnostic().help);
  }
  if (program.machine.grid != program.grid) {
    fail("CYC606", Path(machine, "grid"),
         fmt::format("is [{}], but the program's grid is [{}]", fmt::join(program.machine.grid, ", "),
                     fmt::join(program.grid, ", ")),
         "both are the grid that the program was compiled for");
  }
}

/// The executive alone sends on its networks, and says so.
void check_broadcasts(const Program& program, const PeClass& pe_class, const Path& path) {
  const auto is_of_all = [&](ChannelId id) {
    return program.channels[id.index()].kind == Channel::Kind::network && program.channels[id.index()].link;
  };
  for (std::size_t at = 0; at < pe_class.code.size(); ++at) {
    const auto* broadcast = std::get_if<Broadcast>(&pe_class.code[at].action);
    const auto* receive = std::get_if<Receive>(&pe_class.code[at].action);
    const bool sends = broadcast != nullptr && is_of_all(broadcast->channel) && !pe_class.executive;
    const bool hears = receive != nullptr && is_of_all(receive->channel) &&
                       receive->sender != std::vector{executive_number(program)};
    if (sends || hears)
      fail("CYC606", Path(path, at), "is a message of the executive's network from another PE",
           "compile the program again");
  }
}

/// Requires: the grid and the code are checked.
void check_executive(const Program& program, const Path& root) {
  const Path classes(root, "classes"), channels(root, "channels");
  const auto executives = std::ranges::count_if(program.classes, &PeClass::executive);
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    const PeClass& own = program.classes[c];
    if (!own.executive ||
        (executives == 1 && program.grid.front() > 1 && own.region == executive_region(program)))
      continue;
    fail("CYC606", Path(Path(classes, c), "region"), "is not that of the executive, the only one",
         "it is the PE at the middle of the row after those of the workers");
  }
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const Channel& channel = program.channels[c];
    const bool along = channel.kind == Channel::Kind::network || channel.offset.front() != 0;
    if (!channel.link || (executives == 1 && along)) continue;
    fail("CYC606", Path(Path(channels, c), "link"), "is of a channel that leads to no executive, nor from it",
         "the times of others are the machine's");
  }
  for (std::size_t c = 0; c < program.classes.size(); ++c)
    check_broadcasts(program, program.classes[c], Path(Path(classes, c), "code"));
}

/// Requires: the classes are checked.
void check_endings(const Program& program, const Path& root) {
  const Path exit_plans(root, "endings");
  require_range(static_cast<std::int64_t>(program.exit_plans.size()), 0, most_exit_plans, exit_plans);
  for (std::size_t e = 0; e < program.exit_plans.size(); ++e) {
    const Path here(exit_plans, e);
    const ExitPlan& plan = program.exit_plans[e];
    require_range(plan.steps, 0, number_limit, Path(here, "steps"));
    require_range(plan.first, -number_limit, number_limit, Path(here, "first"));
    require_range(plan.last, plan.first, number_limit, Path(here, "last"));
    require_range(plan.period, 1, number_limit, Path(here, "period"));
    require_range(plan.runs, 0, most_iterations / std::max<std::int64_t>(plan.steps, 1), Path(here, "runs"));
    if (plan.per_pe && program.machine.control) {
      fail("CYC614", here,
           fmt::format(
               "is of the loop over `{}`, which each PE ends by itself, and the machine's controller ends "
               "loops for all PEs",
               plan.loop),
           "compile the kernel for this machine");
    }
  }
  const Path classes(root, "classes");
  for (std::size_t e = 0; e < program.exit_plans.size(); ++e) {
    const auto fault = fault_of(program, ExitPlanId(e));
    if (!fault) continue;
    const Path pe_class(classes, fault->pe_class);
    const Path code(pe_class, "code");
    fail("CYC614", Path(code, fault->instruction), fault->what,
         "a loop ends early where its iterations do the same in all PEs that it has messages for",
         fault->span);
  }
}

}  // namespace

void verify(const Program& program) {
  const Path root;
  check_grid(program, root);
  std::set<std::string_view> names;
  const Path tensors(root, "tensors");
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const Path here(tensors, t);
    check(program.tensors[t], here);
    if (!names.insert(program.tensors[t].name).second) {
      fail("CYC611", Path(here, "name"),
           fmt::format("is `{}`, as an earlier tensor's", program.tensors[t].name),
           "tensor names are unique");
    }
  }
  const Path channels(root, "channels");
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const Path here(channels, c);
    check(program.channels[c], program.grid.size(), here);
    if (!program.channels[c].scale.empty() && program.machine.link_maps.empty()) {
      fail("CYC611", Path(here, "scale"), "takes link maps, and the machine has none",
           "compile the program for a machine whose link maps lead to such PEs");
    }
  }
  Environment grid;
  for (const auto extent : program.grid) grid.push_back(extent - 1);
  const Path classes(root, "classes");
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    check_class(program, program.classes[c], grid, Path(classes, c));
  }
  check_executive(program, root);
  check_endings(program, root);
}

}  // namespace cyclotron::program
