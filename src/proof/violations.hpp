// The place of a violation in words: PE, class, instruction, loops and source line.
#pragma once
#include <string>
#include <vector>

#include <fmt/format.h>

#include <cyclotron/proof/trace.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::proof {

inline const Span& span_of(const program::Program& program, const PeTrace& pe, std::uint32_t instruction) {
  return program.classes[pe.pe_class].code[instruction].span;
}

inline std::string place_text(const program::Program& program, const PeTrace& pe, std::uint32_t instruction,
                              const std::string& loops) {
  return fmt::format("at instruction {} of {}{}{}", instruction, program.classes[pe.pe_class].name,
                     loops.empty() ? "" : ", where ", loops);
}

/// Throws E for a violation at one event.
template <class E>
[[noreturn]] void violation(const char* code, const program::Program& program, const Trace& trace,
                            std::uint32_t pe, std::size_t event, std::string message,
                            std::vector<Note> notes = {}) {
  const PeTrace& at = trace.pes[pe];
  const std::uint32_t instruction = at.events[event].instruction;
  notes.insert(notes.begin(),
               {{}, place_text(program, at, instruction, loops_text(program, trace, pe, event))});
  throw E({.code = code,
           .span = span_of(program, at, instruction),
           .message = fmt::format("{}, in {}", message, trace.name(pe)),
           .notes = std::move(notes),
           .help = "compile the kernel again; if the compiler made this program, please report it"});
}

}  // namespace cyclotron::proof
