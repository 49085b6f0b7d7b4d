// Private to this folder: the references and affine forms of instructions, to be changed.
#pragma once
#include <functional>

#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

using FormVisitor = std::function<void(program::Affine&)>;

/// Visits all forms of an instruction; `reference` each reference to a slot, before its forms.
void visit_forms(
    program::Action& action, const FormVisitor& form,
    const std::function<void(program::SlotRef&)>& reference = [](program::SlotRef&) {});
void visit_forms(program::Conjunction& all, const FormVisitor& form);

/// Leaves out trailing zeros.
void trim(program::Affine& form);

}  // namespace cyclotron::codegen
