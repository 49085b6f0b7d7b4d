#include "sections.hpp"

#include <pybind11/stl.h>

#include <set>
#include <string>
#include <utility>

#include <cyclotron/memory/control.hpp>
#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/roles.hpp>
#include <cyclotron/program/sections.hpp>

namespace py = pybind11;
using namespace py::literals;
namespace cyclotron::bindings {
namespace {

std::pair<std::string, int> line_of(const Span& span) { return {span.file, span.line}; }
py::dict to_dict(const program::Call& call) {
  std::set<std::pair<std::string, int>> lines;
  for (const Span& span : call.spans) lines.insert(line_of(span));
  return py::dict("lines"_a = py::cast(std::vector(lines.begin(), lines.end())),
                  "operators"_a = call.operators, "arguments"_a = call.arguments,
                  "instructions"_a = call.instructions, "classes"_a = call.classes);
}
py::dict to_dict(const program::Section& section) {
  py::list calls;
  for (const program::Call& call : section.calls) calls.append(to_dict(call));
  return py::dict("loop"_a = section.loop, "calls"_a = calls, "waits_for"_a = section.waits_for,
                  "flag"_a = line_of(section.flag_span));
}
}  // namespace

Dicts sections(const program::Program& program) {
  Dicts result;
  for (const program::Section& section : program::sections(program)) result.append(to_dict(section));
  return result;
}

program::Program control_system(const program::Program& program) {
  if (!program::uses_controller(program))
    throw py::value_error("no PE of this program waits for a controller");
  const py::gil_scoped_release release;
  return memory::control_system(program);
}

std::pair<double, std::int64_t> control_distance(const program::Program& program) {
  const auto [mean_hops, most_hops] = program::distance_to_control(program);
  return {mean_hops, most_hops};
}

}  // namespace cyclotron::bindings
