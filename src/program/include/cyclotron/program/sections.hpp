// A program as a controller sees it: straight-line sections between decisions that depend on data (MA-022, MA-023).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
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
  std::vector<std::size_t> begins;     ///< By those: the first instruction of the procedure.
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

struct ControlLoop;
/// Sections and, one after each but the last, the loops between them.
struct ControlBlock {
  std::vector<std::size_t> sections;  ///< Numbers in `ControlFlow::sections`.
  std::vector<ControlLoop> loops;
};
/// A loop in which something ends by data: it, or a loop in it.
struct ControlLoop {
  std::string name;
  std::int64_t first = 0;
  std::int64_t last = -1;
  std::optional<ExitPlanId> plan;  ///< None: it does not end by data itself.
  ControlBlock body;
};
/// The part of a program that a controller needs: its loops that end by data, those around them, and what is between. Classes
/// that lack a loop of the one that has most pass it by.
struct ControlFlow {
  std::vector<Section> sections;  ///< In the order in which they are sent first; some are without a call.
  ControlBlock program;
};
/// Requires: verify(program).
[[nodiscard]] ControlFlow control_flow(const Program& program);

/// Those of the control flow that have calls. Requires: verify(program).
[[nodiscard]] std::vector<Section> sections(const Program& program);

}  // namespace cyclotron::program
