// Writes programs as JSON.
#include <cmath>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "json_format.hpp"

namespace cyclotron::program {
namespace {

using OrderedJson = nlohmann::ordered_json;

template <class E, std::size_t N>
std::string name_of(E value, const format::EnumNames<E, N>& names) {
  for (const auto& [name, candidate] : names) {
    if (candidate == value) return std::string(name);
  }
  check_failed("the value is one of its enumeration", __FILE__, __LINE__, {});
}

/// Turns each part of a program into JSON; interns the file names of spans.
class Writer {
 public:
  OrderedJson write(const Program& program) {
    OrderedJson classes = list(program.classes);  // First, so that the table of files is complete.
    OrderedJson result{{"kernel", program.kernel},
                       {"machine", write(program.machine)},
                       {"grid", program.grid},
                       {"grid_names", program.grid_names},
                       {"tensors", list(program.tensors)},
                       {"channels", list(program.channels)},
                       {"classes", std::move(classes)},
                       {"files", files_},
                       {"notes", OrderedJson(program.notes)}};
    if (!program.exit_plans.empty()) result["endings"] = list(program.exit_plans);
    return result;
  }

 private:
  template <class T>
  OrderedJson list(const std::vector<T>& values) {
    OrderedJson result = OrderedJson::array();
    for (const auto& value : values) result.push_back(write(value));
    return result;
  }

  static OrderedJson write(const machine::Link& link) {
    return {{"latency_cycles", link.latency_cycles},
            {"response_latency_cycles", link.response_latency_cycles},
            {"words_per_cycle", link.words_per_cycle},
            {"depth", link.depth}};
  }
  static OrderedJson write(const machine::Pe& pe) {
    OrderedJson result = {{"memory_bytes", pe.memory_bytes},
                          {"flops_per_cycle", pe.flops_per_cycle},
                          {"cycles", OrderedJson(pe.cycles)}};
    const auto add = [&](const char* key, const std::optional<machine::Unit>& unit) {
      if (!unit) return;
      result[key] = {{"shape", unit->shape}, {"cycles", unit->cycles}};
      if (unit->latency_cycles) result[key]["latency_cycles"] = *unit->latency_cycles;
      if (!unit->dtypes.empty()) result[key]["dtypes"] = unit->dtypes;
      if (unit->accumulator) result[key]["accumulator"] = *unit->accumulator;
    };
    add("matrix", pe.matrix);
    add("vector", pe.vector);
    add("scalar", pe.scalar);
    if (pe.registers) result["registers"] = *pe.registers;
    if (pe.banks) result["banks"] = *pe.banks;
    if (pe.channels) result["channels"] = *pe.channels;
    if (!pe.ports.empty()) result["ports"] = OrderedJson(pe.ports);
    if (pe.overlap) result["overlap"] = true;
    if (!pe.holds.empty()) result["holds"] = pe.holds;
    return result;
  }
  static OrderedJson write(const std::vector<machine::Topology>& topology) {
    if (topology.size() == 1) return name_of(topology.front(), format::topologies);
    OrderedJson result = OrderedJson::array();
    for (const auto along : topology) result.push_back(name_of(along, format::topologies));
    return result;
  }
  static OrderedJson write(const machine::Slice& slice) {
    OrderedJson result = {{"first", slice.first}, {"step", slice.step}};
    if (slice.last) result["last"] = *slice.last;
    return result;
  }
  static OrderedJson write(const machine::Memory& memory) {
    OrderedJson result = {{"words_per_cycle", memory.bandwidth_words_per_cycle},
                          {"latency_cycles", memory.latency_cycles},
                          {"depth", memory.depth},
                          {"serves", OrderedJson::array()},
                          {"shared_by", memory.shared_by}};
    for (const auto& box : memory.serves) {
      OrderedJson& slices = result["serves"].emplace_back(OrderedJson::array());
      for (const auto& slice : box) slices.push_back(write(slice));
    }
    if (memory.size_bytes) result["size_bytes"] = *memory.size_bytes;
    if (const auto& dram = memory.dram) {
      result["dram"] = {{"banks", dram->banks},
                        {"row_bytes", dram->row_bytes},
                        {"activate_cycles", dram->activate_cycles},
                        {"precharge_cycles", dram->precharge_cycles},
                        {"open_cycles", dram->open_cycles},
                        {"recovery_cycles", dram->recovery_cycles},
                        {"turnaround_cycles", dram->turnaround_cycles},
                        {"interval_cycles", dram->interval_cycles},
                        {"refresh_cycles", dram->refresh_cycles}};
    }
    return result;
  }
  static OrderedJson write(const machine::Machine& machine) {
    OrderedJson result = {{"grid", machine.grid},
                          {"topology", write(machine.topology)},
                          {"link", write(machine.link)},
                          {"broadcast", write(machine.broadcast)},
                          {"pe", write(machine.pe)}};
    for (const auto& [offset, link] : machine.links)
      result["links"].push_back({{"offset", offset}, {"link", write(link)}});
    for (const auto& [name, memory] : machine.memories) result["memories"][name] = write(memory);
    if (machine.clock_hz) result["clock_hz"] = *machine.clock_hz;
    for (const auto& [dimension, link] : machine.broadcasts)
      result["broadcasts"].push_back({{"dimension", dimension}, {"link", write(link)}});
    if (machine.spread != machine::Spread::constant)
      result["spread"] = name_of(machine.spread, format::spreads);
    for (const auto& [map, link] : machine.link_maps) {
      result["link_maps"].push_back({{"map", map}});
      if (link) result["link_maps"].back()["link"] = write(*link);
    }
    if (machine.chiplets)
      result["chiplets"] = {{"shape", machine.chiplets->shape}, {"link", write(machine.chiplets->link)}};
    if (machine.control) {
      result["control"] = {{"latency_cycles", machine.control->latency_cycles},
                           {"hop_cycles", machine.control->hop_cycles},
                           {"setup_cycles", machine.control->setup_cycles}};
      if (machine.control->pes != machine::Control{}.pes) result["control"]["pes"] = machine.control->pes;
      if (machine.control->global_data) result["control"]["global_data"] = true;
    }
    if (machine.shared_links) result["shared_links"] = true;
    return result;
  }
  static OrderedJson write(operators::Shape tile) { return OrderedJson::array({tile.rows, tile.columns}); }
  static OrderedJson write(DType dtype) { return std::string(operators::name(dtype)); }
  static OrderedJson write(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
  }
  /// The constant, then the coefficients.
  static OrderedJson write(const Affine& form) {
    OrderedJson result = OrderedJson::array({form.constant});
    for (const auto coefficient : form.coefficients) result.push_back(coefficient);
    return result;
  }
  static OrderedJson write(const Bound& bound) {
    return {{"form", write(bound.numerator)}, {"divisor", bound.divisor}};
  }
  static OrderedJson write(const Condition& condition) {
    return {{"is", name_of(condition.kind, format::condition_kinds)},
            {"form", write(condition.form)},
            {"modulus", condition.modulus}};
  }
  OrderedJson write(const Conjunction& conjunction) { return list(conjunction); }
  static OrderedJson write(const SlotRef& reference) {
    OrderedJson result{{"slot", reference.slot.value}, {"index", write(reference.index)}};
    const auto& [form, modulus, stride] = reference.wrap;
    if (modulus != 0) result["wrap"] = {{"form", write(form)}, {"modulus", modulus}, {"stride", stride}};
    return result;
  }
  static OrderedJson write(const Constant& value) {
    OrderedJson result{{"real", write(value.real)}, {"imaginary", write(value.imaginary)}};
    if (value.rest != 0) result["rest"] = value.rest;
    return result;
  }
  static OrderedJson write(const Operand& operand) {
    return std::visit([](const auto& value) { return write(value); }, operand);
  }
  static OrderedJson write(const Move::Source& source) {
    return std::visit(Overloaded{[](const SlotRef& reference) { return write(reference); },
                                 [](const Constant& value) { return write(value); },
                                 [](const Affine& form) { return OrderedJson{{"form", write(form)}}; }},
                      source);
  }

  static OrderedJson write(const Tensor& tensor) {
    return {{"name", tensor.name},
            {"dtype", write(tensor.dtype)},
            {"role", name_of(tensor.role, format::roles)},
            {"shape", tensor.shape},
            {"tile", tensor.tile},
            {"blocked", tensor.blocked}};
  }
  static OrderedJson write(const Channel& channel) {
    OrderedJson result{
        {"name", channel.name},          {"kind", name_of(channel.kind, format::channel_kinds)},
        {"dtype", write(channel.dtype)}, {"tile", write(channel.tile)},
        {"offset", channel.offset},      {"axis", channel.axis},
        {"depth", channel.depth}};
    if (!channel.scale.empty()) result["scale"] = channel.scale;
    if (channel.link) result["link"] = write(*channel.link);
    return result;
  }
  static OrderedJson write(const Slot& slot) {
    OrderedJson result{{"name", slot.name},   {"dtype", write(slot.dtype)}, {"tile", write(slot.tile)},
                       {"count", slot.count}, {"address", slot.address},    {"persistent", slot.persistent}};
    if (slot.first_register) result["first_register"] = *slot.first_register;
    return result;
  }
  static OrderedJson write(const ExitPlan& plan) {
    OrderedJson result{{"loop", plan.loop},
                       {"steps", plan.steps},
                       {"first", plan.first},
                       {"last", plan.last},
                       {"period", plan.period}};
    if (plan.runs != 1) result["runs"] = plan.runs;
    if (plan.per_pe) result["per_pe"] = true;
    return result;
  }
  OrderedJson write(const PeClass& pe_class) {
    OrderedJson result{{"name", pe_class.name},
                       {"region", list(pe_class.region)},
                       {"region_text", pe_class.region_text},
                       {"slots", list(pe_class.slots)},
                       {"code", list(pe_class.code)},
                       {"memory_bytes", pe_class.memory_bytes}};
    if (pe_class.executive) result["executive"] = true;
    return result;
  }

  OrderedJson write(const Instruction& instruction) {
    OrderedJson result =
        std::visit([this](const auto& action) { return this->write_action(action); }, instruction.action);
    if (instruction.span != Span{}) result["at"] = write(instruction.span);
    return result;
  }
  OrderedJson write_action(const Loop& loop) {
    return {{"do", "loop"},
            {"name", loop.name},
            {"lower", list(loop.lower)},
            {"upper", list(loop.upper)},
            {"step", loop.step}};
  }
  OrderedJson write_action(const If& branch) {
    OrderedJson result{{"do", "if"}, {"condition", list(branch.condition)}};
    if (!branch.within.empty()) result["within"] = list(branch.within);
    return result;
  }
  static OrderedJson write(const DataBound& bound) {
    return {{"number", write(bound.number)}, {"form", write(bound.form)}, {"last", bound.last}};
  }
  static OrderedJson write_action(const End&) { return {{"do", "end"}}; }
  OrderedJson write_action(const Load& load) {
    return {{"do", "load"},
            {"destination", write(load.destination)},
            {"tensor", load.tensor.value},
            {"index", list(load.index)}};
  }
  OrderedJson write_action(const Store& store) {
    return {{"do", "store"},
            {"tensor", store.tensor.value},
            {"index", list(store.index)},
            {"source", write(store.source)}};
  }
  static OrderedJson write_action(const Send& send) {
    return {{"do", "send"}, {"channel", send.channel.value}, {"source", write(send.source)}};
  }
  OrderedJson write_action(const Receive& receive) {
    return {{"do", "receive"},
            {"channel", receive.channel.value},
            {"destination", write(receive.destination)},
            {"sender", list(receive.sender)}};
  }
  OrderedJson write_action(const Broadcast& broadcast) {
    return {{"do", "broadcast"},
            {"channel", broadcast.channel.value},
            {"source", write(broadcast.source)},
            {"lower", list(broadcast.lower)},
            {"upper", list(broadcast.upper)}};
  }
  static OrderedJson write_action(const Move& move) {
    return {{"do", "move"}, {"destination", write(move.destination)}, {"source", write(move.source)}};
  }
  OrderedJson write_action(const Compute& compute) {
    OrderedJson flags = OrderedJson::array();
    for (const auto& [name, flag] : format::flags) {
      if ((compute.flags & flag) != 0) flags.push_back(std::string(name));
    }
    OrderedJson result{{"do", "compute"},
                       {"op", std::string(operators::info(compute.op).name)},
                       {"flags", std::move(flags)},
                       {"operands", list(compute.operands)},
                       {"destination", write(compute.destination)}};
    if (compute.indexed) result["indexed"] = write(*compute.indexed);
    return result;
  }
  static OrderedJson write(const Indexed& at) {
    return {{"number", write(at.number)}, {"lower", write(at.lower)}, {"upper", write(at.upper)},
            {"stride", at.stride},        {"scatters", at.scatters},  {"neutral", write(at.neutral)}};
  }
  static OrderedJson write_action(const Exit& exit) {
    return {{"do", "exit"}, {"ending", exit.plan.value}, {"runs", write(exit.runs)}};
  }
  OrderedJson write(const Span& span) {
    const auto [entry, is_new] = file_index_.emplace(span.file, files_.size());
    if (is_new) files_.push_back(span.file);
    auto result = OrderedJson::array({entry->second, span.line, span.column, span.end_line, span.end_column});
    if (span.block != 0) result.push_back(span.block);
    return result;
  }

  std::vector<std::string> files_;
  std::unordered_map<std::string, std::size_t> file_index_;
};

}  // namespace

std::string format::to_json(const Program& program) {
  try {
    return Writer().write(program).dump();
  } catch (const OrderedJson::exception&) {
    // The library's text may quote the bad bytes, so it is not passed on.
    throw ProgramError({.code = "CYC605",
                        .span = {},
                        .message = "the program has names or notes that are not UTF-8",
                        .notes = {},
                        .help = "use names in UTF-8"});
  }
}

}  // namespace cyclotron::program
