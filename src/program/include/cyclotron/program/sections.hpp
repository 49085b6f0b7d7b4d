// A program as a controller sees it: straight-line sections between decisions that depend on data (MA-022, MA-023).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

/// A procedure that a controller calls, all classes together: those that have none with a line of it do nothing.
struct Call {
  std::vector<Span> spans;             ///< The text that its instructions come from, each once, in order.
  std::vector<std::string> operators;  ///< That it computes, each once.
  std::vector<std::string> arguments;  ///< Tensors that it loads and stores, each once.
  std::int64_t instructions = 0;       ///< Of the class that has most.
  std::vector<std::uint32_t> classes;  ///< That take part.
};

/// The work of PEs from one decision to the next, all classes together. Loops of bounds that are known are inside calls:
/// they need no controller.
struct Section {
  std::string loop;  ///< Of which it is an iteration; empty where it is before, between or after such loops.
  std::vector<Call> calls;  ///< In order.
  std::string
      waits_for;  ///< The flag that it is sent by; empty: it is sent ahead, whatever the data (MA-030, MA-032).
  Span flag_span;  ///< Place of its computation, in the first class that says.
};

/// In the order in which they are sent; those without a call are left out. Requires: verify(program).
[[nodiscard]] std::vector<Section> sections(const Program& program);

}  // namespace cyclotron::program
