// `_core.run_local`: a program and its arrays in, numbers out.
#include <string>
#include <utility>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cyclotron/runtime/raised_flags.hpp>
#include <cyclotron/runtime/runtime.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interruptible.hpp"
#include "runs.hpp"
#include "typed.hpp"

namespace py = pybind11;
namespace cyclotron::bindings {
namespace {

/// The compiler of loops, and the folder that keeps them.
using Loops = std::pair<std::string, std::string>;

std::pair<std::vector<std::int64_t>, int> run_local(const program::Program& program,
                                                    const std::vector<py::array>& arrays, int threads,
                                                    const Loops& loops, double seconds_to_look,
                                                    const ProgressCallback& progress) {
  const auto views = to_views(program, arrays);
  const runtime::LoopSettings settings{
      .compiler = loops.first, .folder = loops.second, .seconds_to_look = seconds_to_look};
  const auto [outcomes, raised] = interruptibly(
      owners_of(program, arrays),
      [&program, views, threads, settings](const auto& call) {
        return runtime::with_raised_flags(
            [&] { return runtime::run_local(program, views, threads, call, settings); });
      },
      progress);
  return {skipped(program, outcomes), raised};
}

std::size_t compile_loops(const program::Program& program, const std::vector<py::array>& arrays,
                          const Loops& loops) {
  const runtime::LoopSettings settings{.compiler = loops.first, .folder = loops.second};
  return runtime::compile_loops(program, to_views(program, arrays), settings);
}

}  // namespace

void bind_local(py::module_& module) {
  module.def(
      "run_local", &run_local, py::arg("program"), py::arg("arrays"), py::kw_only(), py::arg("threads") = 0,
      py::arg("loops") = Loops{}, py::arg("seconds_to_look") = runtime::LoopSettings{}.seconds_to_look,
      py::arg("progress") = py::none(),
      "Run on threads of this process; outputs are written into their arrays.\n\n"
      "`loops` are the command that compiles those that take long, and the folder that keeps them; empty: "
      "none.\n"
      "Returns the iterations left out of each loop that may end early, and the exceptions of IEEE 754 that\n"
      "arithmetic raised, as NumPy numbers them.");
  module.def("compile_loops", &compile_loops, py::arg("program"), py::arg("arrays"), py::arg("loops"),
             "Compile the loops of a run at once; return how many there are, 0 where the compiler fails.");
}

}  // namespace cyclotron::bindings
