// Random small changes of a program: what a wrong compiler might do.
#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/program/program.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "random.hpp"

namespace cyclotron::proof::testing {

using namespace program;

/// The places of a class that a mutation may change.
struct Places {
  std::vector<Affine*> forms;
  std::vector<Condition*> conditions;
  std::vector<Bound*> bounds;
  std::vector<SlotRef*> slots;
  std::vector<Operand*> operands;
  std::vector<Loop*> loops;
  std::vector<Compute*> computes;
  std::vector<ChannelId*> channels;
  std::vector<TensorId*> tensors;
  std::vector<Receive*> receives;

  explicit Places(PeClass& pe_class) {
    add(pe_class.region);
    for (auto& instruction : pe_class.code) {
      std::visit(Overloaded{[&](Loop& loop) {
                              loops.push_back(&loop);
                              add(loop.lower);
                              add(loop.upper);
                            },
                            [&](If& branch) {
                              add(branch.condition);
                              for (auto& bound : branch.within) {
                                add(bound.number);
                                forms.push_back(&bound.form);
                              }
                            },
                            [](End&) {},
                            [&](Load& load) {
                              add(load.destination);
                              tensors.push_back(&load.tensor);
                              add(load.index);
                            },
                            [&](Store& store) {
                              add(store.source);
                              tensors.push_back(&store.tensor);
                              add(store.index);
                            },
                            [&](Send& send) {
                              add(send.source);
                              channels.push_back(&send.channel);
                            },
                            [&](Receive& receive) {
                              add(receive.destination);
                              channels.push_back(&receive.channel);
                              receives.push_back(&receive);
                              add(receive.sender);
                            },
                            [&](Broadcast& broadcast) {
                              add(broadcast.source);
                              channels.push_back(&broadcast.channel);
                              add(broadcast.lower);
                              add(broadcast.upper);
                            },
                            [&](Move& move) {
                              add(move.destination);
                              if (auto* slot = std::get_if<SlotRef>(&move.source)) add(*slot);
                              if (auto* form = std::get_if<Affine>(&move.source)) forms.push_back(form);
                            },
                            [&](Compute& compute) {
                              computes.push_back(&compute);
                              add(compute.destination);
                              for (auto& operand : compute.operands) add(operand);
                            },
                            [&](Exit& exit) { add(exit.runs); }},
                 instruction.action);
    }
  }

 private:
  void add(Disjunction& any) {
    for (auto& all : any) {
      for (auto& condition : all) {
        conditions.push_back(&condition);
        forms.push_back(&condition.form);
      }
    }
  }
  void add(std::vector<Bound>& list) {
    for (auto& bound : list) {
      bounds.push_back(&bound);
      forms.push_back(&bound.numerator);
    }
  }
  void add(std::vector<Affine>& list) {
    for (auto& form : list) forms.push_back(&form);
  }
  void add(SlotRef& reference) {
    slots.push_back(&reference);
    forms.push_back(&reference.index);
  }
  void add(Operand& operand) {
    operands.push_back(&operand);
    if (auto* reference = std::get_if<SlotRef>(&operand)) add(*reference);
  }
};

class Mutator {
 public:
  explicit Mutator(Random& random) : random_(random) {}

  /// A changed copy; most are no longer right, some are ill-formed, a few mean the same.
  Program operator()(Program program) {
    while (!change(program)) {
    }
    return program;
  }

 private:
  bool change(Program& program) {
    PeClass& pe_class = random_.pick(program.classes);
    auto& code = pe_class.code;
    if (code.empty()) return false;
    switch (random_.between(0, 15)) {
      case 0: code.erase(code.begin() + at(code)); return true;
      case 1: {
        const auto copy = random_.pick(code);
        code.insert(code.begin() + at(code), copy);
        return true;
      }
      case 2: std::swap(random_.pick(code), random_.pick(code)); return true;
      case 3: {
        const auto first = random_.below(code.size());
        if (first + 1 == code.size()) return false;
        std::swap(code[first], code[first + 1]);
        return true;
      }
      case 4: return change_form(program, pe_class);
      case 5: return change_form(program, pe_class);
      case 6: return change_operator(pe_class);
      case 7: return change_operand(pe_class);
      case 8: return change_slot_reference(pe_class);
      case 9: return change_channel(program, pe_class);
      case 10: return change_slot(pe_class);
      case 11: return change_loop(pe_class);
      case 12: return change_condition(pe_class);
      case 13: return change_program(program);
      case 14: return change_tensor(program, pe_class);
      default: return change_class(program, pe_class);
    }
  }

  template <class T>
  std::ptrdiff_t at(const std::vector<T>& list) {
    return static_cast<std::ptrdiff_t>(random_.below(list.size()));
  }
  std::int64_t step() { return random_.chance(50) ? 1 : random_.chance(60) ? -1 : random_.between(-3, 3); }

  bool change_form(const Program& program, PeClass& pe_class) {
    Places places(pe_class);
    if (places.forms.empty()) return false;
    Affine& form = *random_.pick(places.forms);
    if (random_.chance(50)) {
      form.constant += step();
      return true;
    }
    const std::size_t variable = random_.below(program.grid.size() + 2);
    if (form.coefficients.size() <= variable) form.coefficients.resize(variable + 1, 0);
    form.coefficients[variable] += step();
    while (!form.coefficients.empty() && form.coefficients.back() == 0) form.coefficients.pop_back();
    return true;
  }

  bool change_operator(PeClass& pe_class) {
    Places places(pe_class);
    if (places.computes.empty()) return false;
    Compute& compute = *random_.pick(places.computes);
    if (random_.chance(40)) {
      compute.flags ^= Flags{1} << random_.below(5);
      return true;
    }
    compute.op = static_cast<Op>(random_.between(0, static_cast<std::int64_t>(Op::syrk_subtract)));
    return true;
  }

  bool change_operand(PeClass& pe_class) {
    Places places(pe_class);
    if (random_.chance(50)) {
      if (places.computes.empty()) return false;
      Compute& compute = *random_.pick(places.computes);
      if (compute.operands.size() < 2) return false;
      std::swap(random_.pick(compute.operands), random_.pick(compute.operands));
      return true;
    }
    if (places.operands.size() < 2) return false;
    Operand& operand = *random_.pick(places.operands);
    if (auto* constant = std::get_if<program::Constant>(&operand)) {
      constant->real += static_cast<double>(step());
    } else if (random_.chance(20)) {
      operand = program::Constant{static_cast<double>(random_.between(0, 1)), 0};
    } else {
      operand = Operand(*random_.pick(places.operands));
    }
    return true;
  }

  bool change_slot_reference(PeClass& pe_class) {
    Places places(pe_class);
    if (places.slots.empty()) return false;
    SlotRef& reference = *random_.pick(places.slots);
    if (random_.chance(50)) {
      reference = SlotRef(*random_.pick(places.slots));
    } else {
      reference.slot = SlotId(random_.below(pe_class.slots.size()));
    }
    return true;
  }

  bool change_channel(Program& program, PeClass& pe_class) {
    if (program.channels.empty()) return false;
    Places places(pe_class);
    if (random_.chance(60)) {
      if (places.channels.empty()) return false;
      *random_.pick(places.channels) = ChannelId(random_.below(program.channels.size()));
      return true;
    }
    Channel& channel = random_.pick(program.channels);
    if (random_.chance(50)) {
      channel.depth = random_.between(0, 3);
    } else if (channel.kind == Channel::Kind::network) {
      channel.axis = static_cast<std::uint32_t>(random_.below(program.grid.size()));
    } else {
      random_.pick(channel.offset) += step();
    }
    return true;
  }

  bool change_slot(PeClass& pe_class) {
    if (pe_class.slots.empty()) return false;
    Slot& slot = random_.pick(pe_class.slots);
    switch (random_.between(0, 3)) {
      case 0: slot.address = random_.pick(pe_class.slots).address; return true;
      case 1: slot.address += 16 * step(); return true;
      case 2: slot.count += step(); return true;
      default: pe_class.memory_bytes += 16 * step(); return true;
    }
  }

  bool change_loop(PeClass& pe_class) {
    Places places(pe_class);
    if (places.loops.empty() || places.bounds.empty()) return false;
    if (random_.chance(30)) {
      random_.pick(places.loops)->step += 1;
      return true;
    }
    Bound& bound = *random_.pick(places.bounds);
    if (random_.chance(30)) {
      bound.divisor += 1;
    } else if (random_.chance(50)) {
      bound.numerator.constant += step();
    } else {
      bound = Bound(*random_.pick(places.bounds));
    }
    return true;
  }

  bool change_condition(PeClass& pe_class) {
    Places places(pe_class);
    if (places.conditions.empty()) return false;
    Condition& condition = *random_.pick(places.conditions);
    if (random_.chance(40)) {
      condition.kind =
          condition.kind == Condition::Kind::zero ? Condition::Kind::non_negative : Condition::Kind::zero;
      condition.modulus = 0;
    } else {
      condition.form.constant += step();
    }
    return true;
  }

  bool change_program(Program& program) {
    switch (random_.between(0, 3)) {
      case 0: program.machine.link.depth = random_.between(1, 3); return true;
      case 1: program.machine.broadcast.depth = random_.between(1, 3); return true;
      case 2:
        program.machine.topology = {machine::wraps_around(program.machine) ? machine::Topology::mesh
                                                                           : machine::Topology::torus};
        return true;
      default: {
        auto& extent = random_.pick(program.grid);
        extent = std::max<std::int64_t>(1, extent + step());
        program.machine.grid = program.grid;
        return true;
      }
    }
  }

  bool change_tensor(Program& program, PeClass& pe_class) {
    Places places(pe_class);
    if (places.tensors.empty()) return false;
    *random_.pick(places.tensors) = TensorId(random_.below(program.tensors.size()));
    return true;
  }

  bool change_class(Program& program, PeClass& pe_class) {
    PeClass& other = random_.pick(program.classes);
    switch (random_.between(0, 2)) {
      case 0: std::swap(pe_class.region, other.region); return true;
      case 1: std::swap(pe_class, other); return true;
      default:
        if (program.classes.size() == 1) return false;
        program.classes.erase(program.classes.begin() + at(program.classes));
        return true;
    }
  }

  Random& random_;
};

}  // namespace cyclotron::proof::testing
