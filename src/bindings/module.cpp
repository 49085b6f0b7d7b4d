// The extension module `cyclotron._core`.
#include "bindings.hpp"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ core of Cyclotron.";
  cyclotron::bindings::bind_errors(module);
  cyclotron::bindings::bind_operators(module);
  cyclotron::bindings::bind_machine(module);
  cyclotron::bindings::bind_recurrence(module);
  cyclotron::bindings::bind_blocking(module);
  cyclotron::bindings::bind_dependences(module);
  cyclotron::bindings::bind_schedule(module);
  cyclotron::bindings::bind_dataflow(module);
  cyclotron::bindings::bind_program(module);
  cyclotron::bindings::bind_regions(module);
  cyclotron::bindings::bind_driver(module);
  cyclotron::bindings::bind_work(module);
  cyclotron::bindings::bind_proof(module);
  cyclotron::bindings::bind_counters(module);
  cyclotron::bindings::bind_runtime(module);
  cyclotron::bindings::bind_local(module);
  cyclotron::bindings::bind_resident(module);
  cyclotron::bindings::bind_prediction(module);
  cyclotron::bindings::bind_network(module);
}
