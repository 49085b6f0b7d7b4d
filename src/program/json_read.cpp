// Reads programs from untrusted JSON.
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "checks.hpp"
#include "json_format.hpp"

namespace cyclotron::program {
namespace {

using Json = nlohmann::json;

[[noreturn]] void wrong_type(const Json& value, const char* expected, const Path& path) {
  fail("CYC605", path, fmt::format("is {}, expected {}", value.type_name(), expected),
       "compile the program again");
}

/// The fields of one JSON object: each is asked for once, and at the end none may be left over.
class Fields {
 public:
  Fields(const Json& value, const Path& path) : value_(value), path_(path) {
    if (!value.is_object()) wrong_type(value, "an object", path);
  }

  [[nodiscard]] bool has(const char* key) const { return value_.contains(key); }

  const Json& at(const char* key) {
    const auto found = value_.find(key);
    if (found == value_.end()) fail("CYC605", Path(path_, key), "is missing", "compile the program again");
    asked_.emplace_back(key);
    return *found;
  }

  void finish() const {
    if (asked_.size() == value_.size()) return;
    for (const auto& [key, value] : value_.items()) {
      if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) {
        fail("CYC605", path_, fmt::format("has an unknown field `{}`", key),
             "the file may come from a newer version of Cyclotron");
      }
    }
  }

  [[nodiscard]] const Path& path() const { return path_; }

 private:
  const Json& value_;
  const Path& path_;
  std::vector<std::string_view> asked_;
};

/// Reads each part of a program from JSON: one overload of `read` a type.
class Reader {
 public:
  void read(const Json& value, const Path& path, Program& program) {
    Fields fields(value, path);
    get(fields, "files", files_);  // First, since spans name them.
    get(fields, "kernel", program.kernel);
    get(fields, "machine", program.machine);
    get(fields, "grid", program.grid);
    get(fields, "grid_names", program.grid_names);
    get(fields, "tensors", program.tensors);
    get(fields, "channels", program.channels);
    get(fields, "classes", program.classes);
    get(fields, "notes", program.notes);
    if (fields.has("endings")) get(fields, "endings", program.exit_plans);
    fields.finish();
  }

 private:
  template <class T>
  void get(Fields& fields, const char* key, T& result) {
    read(fields.at(key), Path(fields.path(), key), result);
  }

  /// Of a field that files of version 1.0 do not have.
  template <class T>
  void get_if_there(Fields& fields, const char* key, std::optional<T>& result) {
    if (fields.has(key)) get(fields, key, result.emplace());
  }

  template <class T>
  struct Field {
    const char* key;
    T& value;
  };
  template <class T>
  static Field<T> field(const char* key, T& value) {
    return {key, value};
  }
  template <class T>
  void get(Fields& fields, const Field<T>& one) {
    get(fields, one.key, one.value);
  }
  template <class T>
  void get(Fields& fields, const Field<std::optional<T>>& one) {
    get_if_there(fields, one.key, one.value);
  }
  /// An object with these fields and no others; those that are optional need not be there.
  template <class... Each>
  void read_fields(const Json& value, const Path& path, const Field<Each>&... each) {
    Fields fields(value, path);
    (get(fields, each), ...);
    fields.finish();
  }

  template <class T>
  void read(const Json& value, const Path& path, std::vector<T>& result) {
    if (!value.is_array()) wrong_type(value, "a list", path);
    result.resize(value.size());
    for (std::size_t i = 0; i < value.size(); ++i) read(value[i], Path(path, i), result[i]);
  }
  template <class T>
  void read(const Json& value, const Path& path, std::map<std::string, T>& result) {
    if (!value.is_object()) wrong_type(value, "an object", path);
    for (const auto& [key, entry] : value.items()) read(entry, Path(path, key), result[key]);
  }
  template <class E, std::size_t N>
  void read_enum(const Json& value, const Path& path, const format::EnumNames<E, N>& names, E& result) {
    std::string text;
    read(value, path, text);
    for (const auto& [name, candidate] : names) {
      if (name == text) {
        result = candidate;
        return;
      }
    }
    unknown_name(text, path);
  }
  [[noreturn]] static void unknown_name(const std::string& text, const Path& path) {
    fail("CYC605", path, fmt::format("is `{}`, which this version does not know", text),
         "the file may come from a newer version of Cyclotron");
  }

  void read(const Json& value, const Path& path, std::string& result) {
    if (!value.is_string()) wrong_type(value, "a string", path);
    result = value.get_ref<const std::string&>();
  }
  void read(const Json& value, const Path& path, bool& result) {
    if (!value.is_boolean()) wrong_type(value, "true or false", path);
    result = value.get<bool>();
  }
  void read(const Json& value, const Path& path, std::int64_t& result) {
    if (!value.is_number_integer()) wrong_type(value, "an integer", path);
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
      fail("CYC606", path, fmt::format("is {}, more than {}", value.get<std::uint64_t>(), most),
           "compile the program again");
    }
    result = value.get<std::int64_t>();
  }
  template <class T>
  void read_narrow(const Json& value, const Path& path, std::int64_t least, std::int64_t most, T& result) {
    std::int64_t number = 0;
    read(value, path, number);
    require_range(number, least, most, path);
    result = static_cast<T>(number);
  }
  void read(const Json& value, const Path& path, int& result) {
    read_narrow(value, path, std::numeric_limits<int>::min(), std::numeric_limits<int>::max(), result);
  }
  void read(const Json& value, const Path& path, std::uint32_t& result) {
    read_narrow(value, path, 0, std::numeric_limits<std::uint32_t>::max(), result);
  }
  template <class Tag>
  void read(const Json& value, const Path& path, Id<Tag>& result) {
    read_narrow(value, path, 0, std::int64_t{Id<Tag>::none} - 1, result.value);
  }
  void read(const Json& value, const Path& path, double& result) {
    if (value.is_number()) {
      result = value.get<double>();
      return;
    }
    static constexpr format::EnumNames<double, 3> names{{{"inf", std::numeric_limits<double>::infinity()},
                                                         {"-inf", -std::numeric_limits<double>::infinity()},
                                                         {"nan", std::numeric_limits<double>::quiet_NaN()}}};
    if (!value.is_string()) wrong_type(value, "a number", path);
    read_enum(value, path, names, result);
  }

  void read(const Json& value, const Path& path, DType& result) {
    std::string text;
    read(value, path, text);
    const auto dtype = operators::dtype_from_name(text);
    if (!dtype) unknown_name(text, path);
    result = *dtype;
  }
  void read(const Json& value, const Path& path, operators::Shape& result) {
    std::vector<std::int64_t> sizes;
    read(value, path, sizes);
    require_length(sizes.size(), 2, "a tile is [rows, columns]", path);
    result = {sizes[0], sizes[1]};
  }
  void read(const Json& value, const Path& path, Span& result) {
    std::vector<int> parts;
    read(value, path, parts);
    if (parts.size() == 5) parts.push_back(0);
    require_length(parts.size(), 6, "a span is [file, line, column, end line, end column, block]", path);
    require_range(parts[0], 0, static_cast<std::int64_t>(files_.size()) - 1, path);
    require_range(parts[5], 0, std::numeric_limits<int>::max(), path);
    result = {files_[static_cast<std::size_t>(parts[0])], parts[1], parts[2], parts[3], parts[4], parts[5]};
  }

  void read(const Json& value, const Path& path, machine::Link& link) {
    read_fields(value, path, field("latency_cycles", link.latency_cycles),
                field("response_latency_cycles", link.response_latency_cycles),
                field("words_per_cycle", link.words_per_cycle), field("depth", link.depth));
  }
  void read(const Json& value, const Path& path, machine::Unit& unit) {
    std::optional<std::vector<std::string>> dtypes;
    read_fields(value, path, field("shape", unit.shape), field("cycles", unit.cycles),
                field("latency_cycles", unit.latency_cycles), field("dtypes", dtypes),
                field("accumulator", unit.accumulator));
    unit.dtypes = std::move(dtypes).value_or(unit.dtypes);
  }
  void read(const Json& value, const Path& path, machine::Pe& pe) {
    std::optional<std::map<std::string, std::int64_t>> ports;
    std::optional<bool> overlap;
    std::optional<std::vector<std::string>> holds;
    read_fields(value, path, field("memory_bytes", pe.memory_bytes),
                field("flops_per_cycle", pe.flops_per_cycle), field("cycles", pe.cycles),
                field("matrix", pe.matrix), field("vector", pe.vector), field("scalar", pe.scalar),
                field("registers", pe.registers), field("banks", pe.banks), field("channels", pe.channels),
                field("ports", ports), field("overlap", overlap), field("holds", holds));
    pe.ports = std::move(ports).value_or(pe.ports);
    pe.overlap = overlap.value_or(false);
    pe.holds = std::move(holds).value_or(pe.holds);
  }
  void read_links(const Json& value, const Path& path,
                  std::map<std::vector<std::int64_t>, machine::Link>& result) {
    if (!value.is_array()) wrong_type(value, "a list", path);
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Path here(path, i);
      Fields fields(value[i], here);
      std::vector<std::int64_t> offset;
      get(fields, "offset", offset);
      const auto [entry, is_new] = result.try_emplace(std::move(offset));
      if (!is_new) fail("CYC611", here, "is a second link along one hop", "give each hop one link");
      get(fields, "link", entry->second);
      fields.finish();
    }
  }
  /// A name, or a list of them.
  void read(const Json& value, const Path& path, std::vector<machine::Topology>& topology) {
    topology.assign(value.is_array() ? value.size() : 1, machine::Topology::mesh);
    if (!value.is_array()) return read_enum(value, path, format::topologies, topology.front());
    for (std::size_t d = 0; d < topology.size(); ++d)
      read_enum(value[d], Path(path, d), format::topologies, topology[d]);
  }
  void read_broadcasts(const Json& value, const Path& path, machine::Machine& machine) {
    if (!value.is_array()) wrong_type(value, "a list", path);
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Path here(path, i);
      Fields fields(value[i], here);
      std::int64_t dimension = 0;
      get(fields, "dimension", dimension);
      const auto [entry, is_new] = machine.broadcasts.try_emplace(static_cast<std::size_t>(dimension));
      if (!is_new) fail("CYC611", here, "is a second network along one dimension", "give each dimension one");
      get(fields, "link", entry->second);
      fields.finish();
    }
  }
  void read(const Json& value, const Path& path, machine::LinkMap& map) {
    read_fields(value, path, field("map", map.map), field("link", map.link));
  }
  void read(const Json& value, const Path& path, machine::Chiplets& chiplets) {
    read_fields(value, path, field("shape", chiplets.shape), field("link", chiplets.link));
  }
  void read(const Json& value, const Path& path, machine::Control& control) {
    std::optional<std::int64_t> pes;
    std::optional<bool> global_data;
    read_fields(value, path, field("latency_cycles", control.latency_cycles),
                field("hop_cycles", control.hop_cycles), field("setup_cycles", control.setup_cycles),
                field("pes", pes), field("global_data", global_data));
    control.pes = pes.value_or(control.pes);
    control.global_data = global_data.value_or(false);
  }
  void read(const Json& value, const Path& path, machine::Slice& slice) {
    read_fields(value, path, field("first", slice.first), field("step", slice.step),
                field("last", slice.last));
  }
  void read(const Json& value, const Path& path, machine::Dram& dram) {
    read_fields(value, path, field("banks", dram.banks), field("row_bytes", dram.row_bytes),
                field("activate_cycles", dram.activate_cycles),
                field("precharge_cycles", dram.precharge_cycles), field("open_cycles", dram.open_cycles),
                field("recovery_cycles", dram.recovery_cycles),
                field("turnaround_cycles", dram.turnaround_cycles),
                field("interval_cycles", dram.interval_cycles), field("refresh_cycles", dram.refresh_cycles));
  }
  void read(const Json& value, const Path& path, machine::Memory& memory) {
    read_fields(value, path, field("words_per_cycle", memory.bandwidth_words_per_cycle),
                field("latency_cycles", memory.latency_cycles), field("depth", memory.depth),
                field("serves", memory.serves), field("shared_by", memory.shared_by),
                field("size_bytes", memory.size_bytes), field("dram", memory.dram));
  }
  void read(const Json& value, const Path& path, machine::Machine& machine) {
    Fields fields(value, path);
    get(fields, "grid", machine.grid);
    read(fields.at("topology"), Path(path, "topology"), machine.topology);
    get(fields, "link", machine.link);
    get(fields, "broadcast", machine.broadcast);
    get(fields, "pe", machine.pe);
    if (fields.has("links")) read_links(fields.at("links"), Path(path, "links"), machine.links);
    if (fields.has("memories")) get(fields, "memories", machine.memories);
    get_if_there(fields, "clock_hz", machine.clock_hz);
    get_if_there(fields, "chiplets", machine.chiplets);
    get_if_there(fields, "control", machine.control);
    if (fields.has("shared_links")) get(fields, "shared_links", machine.shared_links);
    if (fields.has("spread"))
      read_enum(fields.at("spread"), Path(path, "spread"), format::spreads, machine.spread);
    if (fields.has("broadcasts")) read_broadcasts(fields.at("broadcasts"), Path(path, "broadcasts"), machine);
    if (fields.has("link_maps")) get(fields, "link_maps", machine.link_maps);
    fields.finish();
  }

  void read(const Json& value, const Path& path, Affine& form) {
    read(value, path, form.coefficients);
    if (form.coefficients.empty())
      fail("CYC608", path, "has 0 entries, expected at least 1", "a form starts with its constant");
    form.constant = form.coefficients.front();
    form.coefficients.erase(form.coefficients.begin());
  }
  void read(const Json& value, const Path& path, Bound& bound) {
    read_fields(value, path, field("form", bound.numerator), field("divisor", bound.divisor));
  }
  void read(const Json& value, const Path& path, Condition& condition) {
    Fields fields(value, path);
    read_enum(fields.at("is"), Path(path, "is"), format::condition_kinds, condition.kind);
    get(fields, "form", condition.form);
    get(fields, "modulus", condition.modulus);
    fields.finish();
  }
  void read(const Json& value, const Path& path, SlotRef& reference) {
    Fields fields(value, path);
    get(fields, "slot", reference.slot);
    get(fields, "index", reference.index);
    if (fields.has("wrap")) get(fields, "wrap", reference.wrap);
    fields.finish();
  }
  void read(const Json& value, const Path& path, Wrap& wrap) {
    read_fields(value, path, field("form", wrap.form), field("modulus", wrap.modulus),
                field("stride", wrap.stride));
    if (wrap.modulus < 1)
      fail("CYC606", Path(path, "modulus"), fmt::format("is {}, less than 1", wrap.modulus),
           "compile the program again");
  }
  void read(const Json& value, const Path& path, Operand& operand) {
    if (Fields(value, path).has("slot")) {
      read(value, path, operand.emplace<SlotRef>());
    } else {
      read(value, path, operand.emplace<Constant>());
    }
  }
  void read(const Json& value, const Path& path, Move::Source& source) {
    if (Fields(value, path).has("form"))
      return read_fields(value, path, field("form", source.emplace<Affine>()));
    Operand operand;
    read(value, path, operand);
    std::visit([&](const auto& one) { source = one; }, operand);
  }
  void read(const Json& value, const Path& path, Constant& constant) {
    Fields fields(value, path);
    get(fields, "real", constant.real);
    get(fields, "imaginary", constant.imaginary);
    if (fields.has("rest")) {
      get(fields, "rest", constant.rest);
      if (!(constant.real >= -Number::limit && constant.real <= 2 * Number::limit) || constant.imaginary != 0)
        fail("CYC606", path, fmt::format("holds an integer near {}", constant.real),
             "compile the program again");
    }
    fields.finish();
  }

  void read(const Json& value, const Path& path, DataBound& bound) {
    read_fields(value, path, field("number", bound.number), field("form", bound.form),
                field("last", bound.last));
  }
  void read(const Json& value, const Path& path, Indexed& at) {
    read_fields(value, path, field("number", at.number), field("lower", at.lower), field("upper", at.upper),
                field("stride", at.stride), field("scatters", at.scatters), field("neutral", at.neutral));
  }

  void read(const Json& value, const Path& path, Tensor& tensor) {
    Fields fields(value, path);
    get(fields, "name", tensor.name);
    get(fields, "dtype", tensor.dtype);
    read_enum(fields.at("role"), Path(path, "role"), format::roles, tensor.role);
    get(fields, "shape", tensor.shape);
    get(fields, "tile", tensor.tile);
    get(fields, "blocked", tensor.blocked);
    fields.finish();
  }
  void read(const Json& value, const Path& path, Channel& channel) {
    Fields fields(value, path);
    get(fields, "name", channel.name);
    read_enum(fields.at("kind"), Path(path, "kind"), format::channel_kinds, channel.kind);
    get(fields, "dtype", channel.dtype);
    get(fields, "tile", channel.tile);
    get(fields, "offset", channel.offset);
    get(fields, "axis", channel.axis);
    get(fields, "depth", channel.depth);
    if (fields.has("scale")) get(fields, "scale", channel.scale);
    get_if_there(fields, "link", channel.link);
    fields.finish();
  }
  void read(const Json& value, const Path& path, Slot& slot) {
    read_fields(value, path, field("name", slot.name), field("dtype", slot.dtype), field("tile", slot.tile),
                field("count", slot.count), field("address", slot.address),
                field("persistent", slot.persistent), field("first_register", slot.first_register));
  }
  void read(const Json& value, const Path& path, ExitPlan& plan) {
    Fields fields(value, path);
    get(fields, "loop", plan.loop);
    get(fields, "steps", plan.steps);
    get(fields, "first", plan.first);
    get(fields, "last", plan.last);
    get(fields, "period", plan.period);
    if (fields.has("runs")) get(fields, "runs", plan.runs);
    if (fields.has("per_pe")) get(fields, "per_pe", plan.per_pe);
    fields.finish();
  }
  void read(const Json& value, const Path& path, PeClass& pe_class) {
    std::optional<bool> executive;
    read_fields(value, path, field("name", pe_class.name), field("region", pe_class.region),
                field("region_text", pe_class.region_text), field("slots", pe_class.slots),
                field("code", pe_class.code), field("memory_bytes", pe_class.memory_bytes),
                field("executive", executive));
    pe_class.executive = executive.value_or(false);
  }

  void read(const Json& value, const Path& path, Instruction& instruction) {
    Fields fields(value, path);
    std::string kind;
    get(fields, "do", kind);
    const bool known =
        read_as<Loop>("loop", kind, fields, instruction) || read_as<If>("if", kind, fields, instruction) ||
        read_as<End>("end", kind, fields, instruction) || read_as<Load>("load", kind, fields, instruction) ||
        read_as<Store>("store", kind, fields, instruction) ||
        read_as<Send>("send", kind, fields, instruction) ||
        read_as<Receive>("receive", kind, fields, instruction) ||
        read_as<Broadcast>("broadcast", kind, fields, instruction) ||
        read_as<Move>("move", kind, fields, instruction) ||
        read_as<Compute>("compute", kind, fields, instruction) ||
        read_as<Exit>("exit", kind, fields, instruction);
    if (!known) unknown_name(kind, Path(path, "do"));
    if (fields.has("at")) get(fields, "at", instruction.span);
    fields.finish();
  }
  template <class T>
  bool read_as(std::string_view name, const std::string& kind, Fields& fields, Instruction& instruction) {
    if (kind != name) return false;
    read_action(fields, instruction.action.emplace<T>());
    return true;
  }
  void read_action(Fields& fields, Loop& loop) {
    get(fields, "name", loop.name);
    get(fields, "lower", loop.lower);
    get(fields, "upper", loop.upper);
    get(fields, "step", loop.step);
  }
  void read_action(Fields& fields, If& branch) {
    get(fields, "condition", branch.condition);
    if (fields.has("within")) get(fields, "within", branch.within);
  }
  void read_action(Fields&, End&) {}
  void read_action(Fields& fields, Load& load) {
    get(fields, "destination", load.destination);
    get(fields, "tensor", load.tensor);
    get(fields, "index", load.index);
  }
  void read_action(Fields& fields, Store& store) {
    get(fields, "tensor", store.tensor);
    get(fields, "index", store.index);
    get(fields, "source", store.source);
  }
  void read_action(Fields& fields, Send& send) {
    get(fields, "channel", send.channel);
    get(fields, "source", send.source);
  }
  void read_action(Fields& fields, Receive& receive) {
    get(fields, "channel", receive.channel);
    get(fields, "destination", receive.destination);
    get(fields, "sender", receive.sender);
  }
  void read_action(Fields& fields, Broadcast& broadcast) {
    get(fields, "channel", broadcast.channel);
    get(fields, "source", broadcast.source);
    get(fields, "lower", broadcast.lower);
    get(fields, "upper", broadcast.upper);
  }
  void read_action(Fields& fields, Move& move) {
    get(fields, "destination", move.destination);
    get(fields, "source", move.source);
  }
  void read_action(Fields& fields, Exit& exit) {
    get(fields, "ending", exit.plan);
    get(fields, "runs", exit.runs);
  }
  void read_action(Fields& fields, Compute& compute) {
    const Path op(fields.path(), "op");
    std::string name;
    read(fields.at("op"), op, name);
    const auto known = operators::op_from_name(name);
    if (!known) unknown_name(name, op);
    compute.op = *known;
    const Path list(fields.path(), "flags");
    std::vector<std::string> flags;
    const Json& entries = fields.at("flags");
    read(entries, list, flags);
    for (std::size_t i = 0; i < flags.size(); ++i) {
      operators::Flag flag{};
      read_enum(entries[i], Path(list, i), format::flags, flag);
      compute.flags |= flag;
    }
    get(fields, "operands", compute.operands);
    get(fields, "destination", compute.destination);
    if (fields.has("indexed")) get(fields, "indexed", compute.indexed.emplace());
  }

  std::vector<std::string> files_;
};

}  // namespace

Program format::from_json(std::string_view body) {
  Json json;
  const auto refuse = [](const std::string& what) {
    throw ProgramError({.code = "CYC604",
                        .span = {},
                        .message = "the program file's body is not JSON: " + what,
                        .notes = {},
                        .help = "the file was changed; write it again"});
  };
  try {
    json = Json::parse(body.begin(), body.end());
  } catch (const Json::parse_error& error) {  // Its text may quote bytes that are not UTF-8.
    refuse(fmt::format("it goes wrong at byte {}", error.byte));
  } catch (const Json::exception&) {
    refuse("a number is out of range");
  }
  Program program;
  Reader().read(json, Path(), program);
  return program;
}

}  // namespace cyclotron::program
