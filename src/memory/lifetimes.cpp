#include "lifetimes.hpp"

#include <algorithm>

#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::memory {
namespace {

using namespace program;

/// A loop, an if, or (the first) the whole code.
struct Block {
  std::size_t parent = 0;
  std::size_t depth = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_loop = false;
};

/// A use of a slot. Where an instruction both reads and writes it, the read comes first.
struct Use {
  std::size_t at = 0;
  std::size_t block = 0;
  bool is_write = false;
};

/// The blocks of a class and the uses of each of its slots, in program order.
class Scan {
 public:
  explicit Scan(const PeClass& pe_class) : uses(pe_class.slots.size()) {
    blocks.push_back({.parent = 0, .depth = 0, .begin = 0, .end = pe_class.code.size(), .is_loop = false});
    for (at_ = 0; at_ < pe_class.code.size(); ++at_) scan(pe_class.code[at_].action);
    CYC_CHECK(block_ == 0, "verified code closes its blocks");
  }

  std::vector<Block> blocks;
  std::vector<std::vector<Use>> uses;

 private:
  void scan(const Action& action) {
    std::visit(Overloaded{
                   [this](const Loop&) { open(true); },
                   [this](const If&) { open(false); },
                   [this](const End&) { close(); },
                   [this](const Load& load) { write(load.destination); },
                   [this](const Store& store) { read(store.source); },
                   [this](const Send& send) { read(send.source); },
                   [this](const Receive& receive) { write(receive.destination); },
                   [this](const Broadcast& broadcast) { read(broadcast.source); },
                   [this](const Move& move) {
                     read(move.source);
                     write(move.destination);
                   },
                   [this](const Compute& compute) {
                     for (const auto& operand : compute.operands) read(operand);
                     write(compute.destination);
                   },
               },
               action);
  }

  void open(bool is_loop) {
    blocks.push_back(
        {.parent = block_, .depth = blocks[block_].depth + 1, .begin = at_, .end = at_, .is_loop = is_loop});
    block_ = blocks.size() - 1;
  }
  void close() {
    blocks[block_].end = at_;
    block_ = blocks[block_].parent;
  }
  void read(const Operand& operand) {
    std::visit(Overloaded{[this](const SlotRef& reference) { read(reference); }, [](const Constant&) {}},
               operand);
  }
  void read(const SlotRef& reference) { uses.at(reference.slot.index()).push_back({at_, block_, false}); }
  void write(const SlotRef& reference) { uses.at(reference.slot.index()).push_back({at_, block_, true}); }

  std::size_t at_ = 0;
  std::size_t block_ = 0;
};

std::size_t common_block(const std::vector<Block>& blocks, std::size_t a, std::size_t b) {
  while (a != b) {
    std::size_t& deeper = blocks[a].depth >= blocks[b].depth ? a : b;
    deeper = blocks[deeper].parent;
  }
  return a;
}

Lifetime lifetime(const Slot& slot, const std::vector<Use>& uses, const std::vector<Block>& blocks) {
  if (slot.persistent) return {0, std::max<std::size_t>(blocks.front().end, 1) - 1};
  if (uses.empty()) return {0, 0};
  std::size_t home = uses.front().block;
  for (const auto& use : uses) home = common_block(blocks, home, use.block);

  Lifetime live{uses.front().at, uses.back().at};
  const auto cover = [&](const Block& block) {
    live.first = std::min(live.first, block.begin);
    live.last = std::max(live.last, block.end);
  };
  for (const auto& use : uses) {
    for (std::size_t block = use.block; block != home; block = blocks[block].parent) {
      if (blocks[block].is_loop) cover(blocks[block]);
    }
  }
  const bool written_first = uses.front().is_write && uses.front().block == home;
  if (slot.count == 1 && written_first) return live;
  for (std::size_t block = home; block != 0; block = blocks[block].parent) {
    if (blocks[block].is_loop) cover(blocks[block]);
  }
  return live;
}

}  // namespace

std::vector<Lifetime> lifetimes(const PeClass& pe_class) {
  const Scan scan(pe_class);
  std::vector<Lifetime> result;
  for (std::size_t s = 0; s < pe_class.slots.size(); ++s) {
    result.push_back(lifetime(pe_class.slots[s], scan.uses[s], scan.blocks));
  }
  return result;
}

std::int64_t size_bytes(const Slot& slot) {
  return slot.count * slot.tile.rows * slot.tile.columns *
         static_cast<std::int64_t>(operators::size_bytes(slot.dtype));
}

}  // namespace cyclotron::memory
