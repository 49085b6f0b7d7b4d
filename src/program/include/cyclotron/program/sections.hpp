// A program as a controller sees it: straight-line sections between decisions that depend on data (MA-022, MA-023).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

/// What PEs do from one decision to the next, all classes together. Loops of bounds that are known are inside sections:
/// they need no controller.
struct Section {
  std::string loop;  ///< Of which it is an iteration; empty where it is before, between or after such loops.
  std::vector<Span> spans;             ///< The text that its instructions come from, each once, in order.
  std::vector<std::string> operators;  ///< That it computes, each once.
  std::vector<std::string> arguments;  ///< Tensors that it loads and stores, each once.
  std::string
      waits_for;  ///< The flag that it is sent by; empty: it is sent ahead, whatever the data (MA-030, MA-032).
  Span flag_span;                 ///< Where that is computed, in the first class that says.
  std::int64_t instructions = 0;  ///< Of the class that has most.
  std::uint32_t classes = 0;      ///< That take part.
};

/// In the order in which they are sent; those without an instruction are left out. Requires: verify(program).
[[nodiscard]] std::vector<Section> sections(const Program& program);

}  // namespace cyclotron::program
