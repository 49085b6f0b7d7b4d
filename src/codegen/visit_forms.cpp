#include "visit_forms.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::codegen {

namespace {

using program::Affine;
using program::SlotRef;

class FormWalk {
 public:
  FormWalk(const FormVisitor& form, const std::function<void(SlotRef&)>& reference)
      : form_(form), reference_(reference) {}

  void visit(program::Action& action) const {
    std::visit(Overloaded{
                   [&](program::Loop& loop) { bounds(loop.lower), bounds(loop.upper); },
                   [&](program::If& branch) {
                     for (auto& all : branch.condition) visit_forms(all, form_);
                     for (auto& bound : branch.within) reference(bound.number), form_(bound.form);
                   },
                   [](program::End&) {},
                   [&](program::Load& load) { reference(load.destination), forms(load.index); },
                   [&](program::Store& store) { reference(store.source), forms(store.index); },
                   [&](program::Send& send) { reference(send.source); },
                   [&](program::Receive& receive) { reference(receive.destination), forms(receive.sender); },
                   [&](program::Broadcast& broadcast) {
                     reference(broadcast.source), bounds(broadcast.lower), bounds(broadcast.upper);
                   },
                   [&](program::Move& move) {
                     reference(move.destination);
                     if (auto* source = std::get_if<SlotRef>(&move.source)) reference(*source);
                     if (auto* source = std::get_if<Affine>(&move.source)) form_(*source);
                   },
                   [&](program::Compute& compute) {
                     for (auto& operand : compute.operands) {
                       if (auto* source = std::get_if<SlotRef>(&operand)) reference(*source);
                     }
                     reference(compute.destination);
                     if (auto& indexed = compute.indexed)
                       reference(indexed->number), form_(indexed->lower), form_(indexed->upper);
                   },
                   [&](program::Exit& exit) { reference(exit.runs); },
               },
               action);
  }

 private:
  void reference(SlotRef& reference) const {
    reference_(reference);
    form_(reference.index);
    form_(reference.wrap.form);
  }
  void bounds(std::vector<program::Bound>& bounds) const {
    for (auto& bound : bounds) form_(bound.numerator);
  }
  void forms(std::vector<Affine>& forms) const { std::ranges::for_each(forms, form_); }

  const FormVisitor& form_;
  const std::function<void(SlotRef&)>& reference_;
};

}  // namespace

void visit_forms(program::Action& action, const FormVisitor& form,
                 const std::function<void(SlotRef&)>& reference) {
  FormWalk(form, reference).visit(action);
}

void visit_forms(program::Conjunction& all, const FormVisitor& form) {
  for (auto& condition : all) form(condition.form);
}

void trim(Affine& form) {
  while (!form.coefficients.empty() && form.coefficients.back() == 0) form.coefficients.pop_back();
}

}  // namespace cyclotron::codegen
