#include "work.hpp"

#include <numeric>

#include <cyclotron/support/error.hpp>

#include "tile_sizes.hpp"

namespace cyclotron::runtime::simulator {

void add_step(Work& work, const Code& code, const Step& step, const std::vector<TileSize>& slots,
              const std::vector<TimedChannel>& channels) {
  const auto words_in_place = [&] {
    const SlotAccess& access = code.accesses[step.access];
    return access.scalar ? 1 : slots[access.slot].words();
  };
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
