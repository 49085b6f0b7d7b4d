// Liveness as compilers have it, on structured code: what a loop reads before it writes it is found in one sweep
// forwards, what lives where in one backwards.
#include <cyclotron/memory/lifetimes.hpp>

#include <algorithm>
#include <utility>

#include <cyclotron/program/uses.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::memory {
namespace {

using namespace program;

/// By slot.
using Slots = std::vector<bool>;

/// A loop, an if, or the whole code.
struct Block {
  bool is_loop = false;
  std::size_t begin = 0;
  Slots written;  ///< By every pass through it, up to here.
  Slots exposed;  ///< A pass may read what it has not written.
};

/// The result of the forward sweep.
struct Exposure {
  std::vector<Block> blocks;       ///< In the order of their ends.
  std::vector<std::size_t> first;  ///< By slot: where it may first hold a value; the code's size: nowhere.
};

class ForwardSweep {
 public:
  explicit ForwardSweep(const PeClass& pe_class)
      : pe_class_(pe_class), none_(pe_class.slots.size(), false), open_{{false, 0, none_, none_}} {
    result_.first.assign(none_.size(), pe_class.code.size());
  }

  Exposure run() {
    for (std::size_t at = 0; at < pe_class_.code.size(); ++at) {
      const Action& action = pe_class_.code[at].action;
      if (std::holds_alternative<Loop>(action) || std::holds_alternative<If>(action)) {
        use(uses_of(action), at);
        open_.push_back({std::holds_alternative<Loop>(action), at, none_, none_});
      } else if (std::holds_alternative<End>(action)) {
        close();
      } else {
        use(uses_of(action), at);
      }
    }
    CYC_CHECK(open_.size() == 1, "verified code closes its blocks");
    return std::move(result_);
  }

 private:
  /// Writes of the block do not count for those around it: it may not run.
  void close() {
    Block closed = std::move(open_.back());
    open_.pop_back();
    for (std::size_t s = 0; s < none_.size(); ++s) {
      if (closed.exposed[s]) read(s);
    }
    result_.blocks.push_back(std::move(closed));
  }

  void use(const Uses& uses, std::size_t at) {
    for (const std::size_t s : uses.read) read(s);
    const auto outermost =
        std::ranges::find(open_, true, &Block::is_loop);  // whose later passes find it there
    for (const std::size_t s : uses.written) {
      result_.first[s] = std::min(result_.first[s], outermost == open_.end() ? at : outermost->begin);
      if (pe_class_.slots[s].count == 1) open_.back().written[s] = true;
    }
  }

  void read(std::size_t s) {
    if (!open_.back().written[s]) open_.back().exposed[s] = true;
  }

  const PeClass& pe_class_;
  Slots none_;
  std::vector<Block> open_;
  Exposure result_;
};

/// Goes back with the slots that are live, those whose value may be read later on.
class BackwardSweep {
 public:
  BackwardSweep(const PeClass& pe_class, Exposure exposure)
      : pe_class_(pe_class),
        exposure_(std::move(exposure)),
        live_(pe_class.slots.size(), false),
        last_(pe_class.slots.size(), 0),
        result_(pe_class.slots.size()) {}

  std::vector<Lifetime> run() {
    for (at_ = pe_class_.code.size(); at_-- > 0;) {
      const Action& action = pe_class_.code[at_].action;
      if (std::holds_alternative<End>(action)) {
        enter();
      } else if (std::holds_alternative<Loop>(action) || std::holds_alternative<If>(action)) {
        leave();
        use(uses_of(action));
      } else {
        use(uses_of(action));
      }
    }
    for (std::size_t s = 0; s < result_.size(); ++s) finish(s);
    return std::move(result_);
  }

 private:
  /// At the end of a block live what is read after it and, in a loop, what its next pass reads.
  void enter() {
    after_.push_back(live_);
    const Block& block = exposure_.blocks.back();
    if (block.is_loop) revive(block.exposed);
    exposure_.blocks.pop_back();
  }
  /// Before a block lives also what is read after it: it may not run.
  void leave() {
    revive(after_.back());
    after_.pop_back();
  }

  void revive(const Slots& slots) {
    for (std::size_t s = 0; s < slots.size(); ++s) {
      if (slots[s]) revive(s);
    }
  }
  void revive(std::size_t s) {
    if (live_[s]) return;
    live_[s] = true;
    last_[s] = at_;
  }

  void use(const Uses& uses) {
    for (const std::size_t s : uses.written) {
      if (live_[s] && pe_class_.slots[s].count > 1) continue;  // its other tiles stay
      add(s, {at_, live_[s] ? last_[s] : at_});
      live_[s] = false;
    }
    for (const std::size_t s : uses.read) revive(s);
  }

  /// Before what it has, which it may touch.
  void add(std::size_t s, Interval interval) {
    Lifetime& found = result_[s];  // later ones first
    if (!found.empty() && found.back().first <= interval.last + 1) {
      found.back().first = interval.first;
    } else {
      found.push_back(interval);
    }
  }

  /// Nothing is there before the first value.
  void finish(std::size_t s) {
    const std::size_t first = exposure_.first[s];
    Lifetime& found = result_[s];
    if (pe_class_.slots[s].persistent) {
      found = {{0, std::max<std::size_t>(pe_class_.code.size(), 1) - 1}};
      return;
    }
    if (live_[s]) add(s, {0, last_[s]});
    std::ranges::reverse(found);
    std::erase_if(found, [&](const Interval& one) { return one.last < first; });
    if (!found.empty()) found.front().first = std::max(found.front().first, first);
  }

  const PeClass& pe_class_;
  Exposure exposure_;
  std::size_t at_ = 0;
  Slots live_;
  std::vector<std::size_t> last_;  ///< By slot that is live: up to where.
  std::vector<Slots> after_;       ///< By open block: what lives after it.
  std::vector<Lifetime> result_;
};

}  // namespace

bool meet(const Lifetime& a, const Lifetime& b) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].last < b[j].first) {
      ++i;
    } else if (b[j].last < a[i].first) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

std::vector<Lifetime> lifetimes(const PeClass& pe_class) {
  return BackwardSweep(pe_class, ForwardSweep(pe_class).run()).run();
}

std::vector<LoopSpan> loop_spans(const PeClass& pe_class) {
  constexpr auto no_loop = static_cast<std::size_t>(-1);
  std::vector<LoopSpan> result;
  std::vector<std::size_t> open;  // Loops, and blocks that are none.
  for (std::size_t at = 0; at < pe_class.code.size(); ++at) {
    const program::Action& action = pe_class.code[at].action;
    if (const auto* loop = std::get_if<program::Loop>(&action)) {
      open.push_back(result.size());
      result.push_back({loop->name, {at, at}});
    } else if (std::holds_alternative<program::If>(action)) {
      open.push_back(no_loop);
    } else if (std::holds_alternative<program::End>(action)) {
      if (open.back() != no_loop) result[open.back()].code.last = at;
      open.pop_back();
    }
  }
  return result;
}

std::int64_t size_bytes(const Slot& slot) {
  return slot.count * slot.tile.rows * slot.tile.columns *
         static_cast<std::int64_t>(operators::size_bytes(slot.dtype));
}

}  // namespace cyclotron::memory
