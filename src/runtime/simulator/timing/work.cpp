#include "work.hpp"

#include <numeric>

#include <cyclotron/support/error.hpp>

#include "tile_sizes.hpp"

namespace cyclotron::runtime::simulator {
namespace {

/// Of a class's steps.
class Tally {
 public:
  Tally(Work& work, const Code& code, const Step& step, std::int64_t times)
      : work_(work), code_(code), step_(step), times_(times) {}

  void moves(InstructionKind kind, std::int64_t words) {
    by_ = Amount::by_instruction(kind);
    const bool reads =
        kind == InstructionKind::store || kind == InstructionKind::send || kind == InstructionKind::broadcast;
    add(reads ? Amount::Kind::read : Amount::Kind::written, slot(step_.access), words);
    const bool loads = kind == InstructionKind::load;
    if ((loads || kind == InstructionKind::store) && !step_.resident)
      add(loads ? Amount::Kind::loaded : Amount::Kind::stored, step_.tensor, words);
    if (kind == InstructionKind::move) reads_operand(0, words);
  }

  void computes(std::span<const Shape> operands) {
    by_ = static_cast<std::uint16_t>(step_.op);
    for (std::uint32_t n = 0; n < step_.operands.count; ++n)
      reads_operand(n, operands.empty() ? 1 : operands[n].rows * operands[n].columns);
    if (step_.indexed != Step::not_indexed)
      add(Amount::Kind::read, slot(code_.indexed[step_.indexed].number), 1);
    const Shape result =
        operands.empty() ? Shape{} : operators::result_shape(step_.op, step_.flags, operands);
    if (step_.unit_input) return;
    add(Amount::Kind::written, slot(step_.access), result.rows * result.columns);
    add(Amount::Kind::operations, slot(step_.access),
        operands.empty() ? step_.flops : operators::flops(step_.op, step_.flags, operands));
  }

 private:
  [[nodiscard]] std::uint32_t slot(std::uint32_t access) const { return code_.accesses[access].slot; }
  void reads_operand(std::uint32_t number, std::int64_t words) {
    const Source& source = code_.sources[step_.operands.first + number];
    if (!source.constant && !code_.unit_inputs[slot(source.index)])
      add(Amount::Kind::read, slot(source.index), words);
  }
  void add(Amount::Kind kind, std::uint32_t of, std::int64_t amount) {
    if (amount == 0) return;
    const auto dtype = kind == Amount::Kind::operations ? step_.factors : DType::boolean;
    work_.of({.kind = kind, .by = by_, .dtype = dtype, .pe_class = code_.index, .of = of}) += amount * times_;
  }

  Work& work_;
  const Code& code_;
  const Step& step_;
  std::int64_t times_;
  std::uint16_t by_ = 0;
};

}  // namespace

void add_amounts(Work& work, const Code& code, const Step& step, std::span<const Shape> operands,
                 std::int64_t words, std::int64_t times) {
  Tally tally(work, code, step, times);
  switch (step.kind) {
    case Step::Kind::load: return tally.moves(InstructionKind::load, words);
    case Step::Kind::store: return tally.moves(InstructionKind::store, words);
    case Step::Kind::move: return tally.moves(InstructionKind::move, words);
    case Step::Kind::send: return tally.moves(InstructionKind::send, words);
    case Step::Kind::receive: return tally.moves(InstructionKind::receive, words);
    case Step::Kind::broadcast: return tally.moves(InstructionKind::broadcast, words);
    case Step::Kind::compute: return tally.computes(operands);
    case Step::Kind::loop:
    case Step::Kind::branch:
    case Step::Kind::repeat:
    case Step::Kind::skip:
    case Step::Kind::exit:
    case Step::Kind::halt: CYC_CHECK(false, "control is not counted");
  }
}

void add_step(Work& work, const Code& code, const Step& step, const std::vector<TileSize>& slots,
              const std::vector<TimedChannel>& channels) {
  const auto words_in_place = [&] {
    const SlotAccess& access = code.accesses[step.access];
    return access.scalar ? 1 : slots[access.slot].words();
  };
  const bool computes = step.kind == Step::Kind::compute;
  if (step.kind != Step::Kind::broadcast)
    add_amounts(work, code, step, computes ? operand_shapes(code, step, slots) : std::vector<Shape>{},
                computes ? 0 : words_in_place(), 1);
  const auto channel = [&] { return code.ports[step.port].channel; };
  switch (step.kind) {
    case Step::Kind::load:
    case Step::Kind::store: return add_access(work, step, words_in_place());
    case Step::Kind::move: return add_access(work, step, 0);
    case Step::Kind::send:
      ++work.count(InstructionKind::send);
      work.on(channels[channel()].source).sent += channels[channel()].words;
      return;
    case Step::Kind::receive:
      ++work.count(InstructionKind::receive);
      work.on(channels[channel()].source).received += channels[channel()].words;
      return;
    case Step::Kind::broadcast: ++work.count(InstructionKind::broadcast); return;
    case Step::Kind::compute:
      ++work.count(InstructionKind::compute);
      work.flops += operators::flops(step.op, step.flags, operand_shapes(code, step, slots));
      return;
    case Step::Kind::loop:
    case Step::Kind::branch:
    case Step::Kind::repeat:
    case Step::Kind::skip:
    case Step::Kind::exit:
    case Step::Kind::halt: CYC_CHECK(false, "control is not counted");
  }
}

void add_access(Work& work, const Step& step, std::int64_t words) {
  if (step.kind == Step::Kind::move) {
    ++work.count(InstructionKind::move);
    return;
  }
  const bool loads = step.kind == Step::Kind::load;
  ++work.count(loads ? InstructionKind::load : InstructionKind::store);
  if (step.resident) {
    work.words_resident += words;
  } else {
    (loads ? work.words_loaded : work.words_stored) += words;
    (loads ? work.bytes_loaded : work.bytes_stored) += words * step.element;
  }
}

void add_work(Work& work, const Work& other) {
  for (std::size_t n = 0; n < work.instructions.size(); ++n) work.instructions[n] += other.instructions[n];
  work.flops += other.flops;
  work.words_loaded += other.words_loaded;
  work.words_stored += other.words_stored;
  work.bytes_loaded += other.bytes_loaded;
  work.bytes_stored += other.bytes_stored;
  work.words_resident += other.words_resident;
  for (const auto& [amount, number] : other.amounts) work.of(amount) += number;
  for (const auto& traffic : other.traffic) {
    auto& on = work.on(traffic.channel);
    on.sent += traffic.sent;
    on.received += traffic.received;
  }
}

std::int64_t all_instructions(const Work& work) {
  return std::accumulate(work.instructions.begin(), work.instructions.end(), std::int64_t{0});
}

}  // namespace cyclotron::runtime::simulator
