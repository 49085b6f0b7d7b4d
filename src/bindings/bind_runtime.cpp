// `_core.simulate`: a program and its arrays in, numbers and measurements out.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cyclotron/runtime/raised_flags.hpp>
#include <cyclotron/runtime/runtime.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "events.hpp"
#include "interruptible.hpp"
#include "runs.hpp"
#include "typed.hpp"

namespace py = pybind11;
using namespace py::literals;
namespace cyclotron::bindings {
namespace {

using runtime::PeCycles;
using runtime::Timing;

/// One number a PE.
py::array_t<std::int64_t> column(const Timing& timing, std::int64_t PeCycles::* cycles) {
  py::array_t<std::int64_t> result(static_cast<py::ssize_t>(timing.pes.size()));
  for (std::size_t p = 0; p < timing.pes.size(); ++p) result.mutable_at(p) = timing.pes[p].*cycles;
  return result;
}

py::dict busy_by_operator(const Timing& timing) {
  py::dict result;
  for (const auto& [name, cycles] : timing.busy_by_operator) {
    result[name.c_str()] = py::array_t<std::int64_t>(static_cast<py::ssize_t>(cycles.size()), cycles.data());
  }
  return result;
}

py::list channels(const Timing& timing) {
  py::list result;
  for (const auto& channel : timing.channels) {
    result.append(
        py::dict("name"_a = channel.name, "messages"_a = channel.messages, "words"_a = channel.words,
                 "queues"_a = channel.queues, "busy_cycles"_a = channel.busy_cycles,
                 "words_per_cycle"_a = channel.words_per_cycle, "peak_occupancy"_a = channel.peak_occupancy));
  }
  return result;
}

py::list memory_ports(const Timing& timing) {
  py::list result;
  for (const auto& port : timing.memory_ports) {
    result.append(py::dict("memory"_a = port.memory, "pes"_a = port.pes, "loads"_a = port.loads,
                           "stores"_a = port.stores, "words_loaded"_a = port.words_loaded,
                           "words_stored"_a = port.words_stored, "busy_cycles"_a = port.busy_cycles));
  }
  return result;
}

/// By its name in Python, which has checked it.
runtime::Engine engine_of(const std::string& name) {
  if (name == "general") return runtime::Engine::general;
  return name == "fast-forward" ? runtime::Engine::fast_forward : runtime::Engine::automatic;
}

Dict simulate(const program::Program& program, const std::vector<py::array>& arrays, bool functional,
              std::int64_t event_limit, const std::string& engine, int threads,
              const std::vector<std::int64_t>& steps, const std::vector<std::size_t>& resident,
              std::int64_t most_work, const ProgressCallback& progress) {
  const runtime::SimulatorOptions options{.functional = functional,
                                          .event_limit = event_limit,
                                          .engine = engine_of(engine),
                                          .threads = threads,
                                          .steps = steps,
                                          .resident = resident};
  const auto views = functional ? to_views(program, arrays) : runtime::Arrays{};
  auto [timing, raised] = interruptibly(
      owners_of(program, arrays),
      [&program, views, options, most_work](runtime::Progress call) {
        if (most_work > 0) call.most_work = most_work;
        return runtime::with_raised_flags([&] { return runtime::simulate(program, views, options, call); });
      },
      progress);
  const auto of = [&all = timing](std::int64_t PeCycles::* cycles) { return column(all, cycles); };
  return py::dict(
      "cycles"_a = timing.cycles, "busy"_a = of(&PeCycles::busy), "idle"_a = of(&PeCycles::idle),
      "stall_empty"_a = of(&PeCycles::stall_empty), "stall_full"_a = of(&PeCycles::stall_full),
      "stall_memory"_a = of(&PeCycles::stall_memory), "stall_control"_a = of(&PeCycles::stall_control),
      "wait_control"_a = of(&PeCycles::wait_control), "stall_link"_a = of(&PeCycles::stall_link),
      "stall_unit"_a = of(&PeCycles::stall_unit), "stall_port"_a = of(&PeCycles::stall_port),
      "busy_by_operator"_a = busy_by_operator(timing), "channels"_a = channels(timing),
      "memory_ports"_a = memory_ports(timing),
      "memory_port_of_pe"_a = py::array_t<std::uint32_t>(
          static_cast<py::ssize_t>(timing.memory_port_of_pe.size()), timing.memory_port_of_pe.data()),
      "memory_requests"_a = memory_requests(timing),
      "memory_requests_dropped"_a = timing.memory_requests_dropped,
      "counters"_a = py::cast(std::move(timing.counters)), "events"_a = events(program, timing),
      "events_dropped"_a = timing.events_dropped, "messages"_a = messages(timing),
      "messages_dropped"_a = timing.messages_dropped, "instructions"_a = timing.instructions,
      "engine"_a = timing.engine, "cycles_skipped"_a = timing.cycles_skipped,
      "pes_skipped"_a = timing.pes_skipped, "skipped"_a = skipped(program, timing.exits),
      "raised"_a = raised);
}

}  // namespace

void bind_runtime(py::module_& module) {
  describe_records();
  module.def("simulate", &simulate, py::arg("program"), py::arg("arrays"), py::kw_only(),
             py::arg("functional") = true, py::arg("event_limit") = 200'000, py::arg("engine") = "auto",
             py::arg("threads") = 0, py::arg("steps") = std::vector<std::int64_t>{},
             py::arg("resident") = std::vector<std::size_t>{}, py::arg("most_work") = 0,
             py::arg("progress") = py::none(),
             "Run on the cycle-accurate simulator; outputs are written into their arrays.");
  module.def("blas_version", &runtime::blas_version, "The BLAS and how it was configured.");
}

}  // namespace cyclotron::bindings
