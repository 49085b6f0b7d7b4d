#include "events.hpp"

#include <pybind11/stl.h>

#include <algorithm>

namespace py = pybind11;
namespace cyclotron::bindings {

py::array events(const program::Program& program, const runtime::Timing& timing) {
  std::size_t deepest = 0;
  for (const auto& event : timing.events) deepest = std::max(deepest, event.loops.size());
  const py::ssize_t count = static_cast<py::ssize_t>(timing.events.size());
  py::array_t<std::uint32_t> pe(count), instruction(count), order(count), depth(count);
  py::array_t<std::int64_t> start(count), end(count);
  py::array_t<std::int32_t> loops({count, static_cast<py::ssize_t>(deepest)});
  py::list names;
  std::vector<std::size_t> classes(timing.pes.size(), program::Program::no_class);
  for (py::ssize_t n = 0; n < count; ++n) {
    const auto& event = timing.events[static_cast<std::size_t>(n)];
    pe.mutable_at(n) = event.pe;
    instruction.mutable_at(n) = event.instruction;
    start.mutable_at(n) = event.start;
    end.mutable_at(n) = event.end;
    order.mutable_at(n) = event.order;
    depth.mutable_at(n) = static_cast<std::uint32_t>(event.loops.size());
    for (std::size_t d = 0; d < deepest; ++d)
      loops.mutable_at(n, d) = d < event.loops.size() ? event.loops[d] : 0;
    auto& found = classes[event.pe];
    if (found == program::Program::no_class) {
      std::vector<std::int64_t> at(program.grid.size());
      std::int64_t rest = event.pe;
      for (std::size_t d = at.size(); d-- > 0; rest /= program.grid[d]) at[d] = rest % program.grid[d];
      found = program.class_of(at);
    }
    const auto& action = program.classes[found].code[event.instruction].action;
    names.append(py::str(std::string(operators::info(std::get<program::Compute>(action).op).name)));
  }
  const py::list fields = py::list(py::make_tuple(
      py::make_tuple("pe", "u4"), py::make_tuple("instruction", "u4"), py::make_tuple("operator", "U20"),
      py::make_tuple("start", "i8"), py::make_tuple("end", "i8"), py::make_tuple("order", "u4"),
      py::make_tuple("depth", "u4"), py::make_tuple("loops", "i4", py::make_tuple(deepest))));
  py::array result(py::dtype::from_args(fields), std::vector<py::ssize_t>{count});
  result["pe"] = pe;
  result["instruction"] = instruction;
  if (count > 0) result["operator"] = names;
  result["start"] = start;
  result["end"] = end;
  result["order"] = order;
  result["depth"] = depth;
  if (deepest > 0) result["loops"] = loops;
  return result;
}

py::array messages(const runtime::Timing& timing) {
  return py::array_t<runtime::MessageRecord>(static_cast<py::ssize_t>(timing.messages.size()),
                                             timing.messages.data());
}

py::array memory_requests(const runtime::Timing& timing) {
  return py::array_t<runtime::MemoryRecord>(static_cast<py::ssize_t>(timing.memory_requests.size()),
                                            timing.memory_requests.data());
}

void describe_records() {
  PYBIND11_NUMPY_DTYPE(runtime::MessageRecord, channel, sender, receiver, send_instruction,
                       receive_instruction, send_order, receive_order, words, ready, placed, sent, link_free,
                       arrival, waiting, received);
  PYBIND11_NUMPY_DTYPE(runtime::MemoryRecord, port, pe, instruction, order, words, stores, waiting, passed,
                       asked, start, end, arrival);
}

}  // namespace cyclotron::bindings
