// `_core.prove` and `_core.least_depths`: the independent checker.
#include <pybind11/stl.h>

#include <optional>

#include <cyclotron/proof/channels.hpp>
#include <cyclotron/proof/proof.hpp>

#include "bindings.hpp"
#include "interruptible.hpp"
#include "typed.hpp"

namespace py = pybind11;
using namespace py::literals;
namespace cyclotron::bindings {
namespace {

using proof::Property;

const char* name(Property::Status status) {
  switch (status) {
    case Property::Status::proven: return "proven";
    case Property::Status::not_checked: return "not checked";
    case Property::Status::does_not_hold: return "does not hold";
  }
  return "";
}

Dict prove(const program::Program& program, std::optional<const recurrence::System*> system,
           std::int64_t limit, const std::string& other_terms) {
  const auto* equations = system.value_or(nullptr);
  const auto result =
      interruptibly({owner_of(program), equations == nullptr ? py::none() : owner_of(*equations)},
                    [&program, equations, limit, other_terms](const auto&) {
                      return proof::prove(program, equations, {.limit = limit, .other_terms = other_terms});
                    });
  py::list properties;
  for (const auto& property : result.properties)
    properties.append(py::make_tuple(property.name, name(property.status), property.text));
  return py::dict("properties"_a = properties, "ok"_a = result.ok(), "events"_a = result.events,
                  "terms"_a = result.terms);
}

Dict least_depths(const program::Program& program, std::int64_t limit) {
  const auto result = interruptibly(
      {owner_of(program)}, [&program, limit](const auto&) { return proof::least_depths(program, limit); });
  py::list channels;
  for (const auto& channel : result.channels) {
    channels.append(py::dict("name"_a = channel.name, "queues"_a = channel.queues,
                             "messages"_a = channel.messages, "given"_a = channel.given,
                             "least"_a = channel.least, "no_stall"_a = channel.no_stall));
  }
  return py::dict("channels"_a = channels, "passes_as_given"_a = result.passes_as_given,
                  "rendezvous"_a = result.rendezvous);
}

}  // namespace

void bind_proof(py::module_& module) {
  module.attr("PROOF_LIMIT") = proof::default_limit;
  module.attr("COMPILE_PROOF_LIMIT") = proof::compile_limit;
  module.def("prove", &prove, py::arg("program"), py::arg("system"), py::arg("limit"),
             py::arg("other_terms") = "",
             "Check a program with the independent checker; without a system its terms are not checked.");
  module.def("least_depths", &least_depths, py::arg("program"), py::arg("limit"),
             "The least depths of each channel, without deadlock and without a stall.");
}

}  // namespace cyclotron::bindings
