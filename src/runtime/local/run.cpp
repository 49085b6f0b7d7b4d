#include "run.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <limits>
#include <system_error>
#include <thread>

#include "../engine/interpreter.hpp"
#include "../engine/loops/loop_compiler.hpp"
#include "../engine/messages.hpp"
#include "../engine/progress_ticker.hpp"
#include "lockstep.hpp"
#include "shared.hpp"

namespace cyclotron::runtime::local {
namespace {

/// Thrown through a PE's code where another thread has ended the run.
struct Stopped {};

/// One thread. Worker 0 is the caller's and answers for progress.
class Worker {
 public:
  static constexpr bool functional = true;

  /// `alone`: there are no other threads yet.
  Worker(Shared& shared, std::size_t number, bool alone, const Progress& progress);

  /// Runs PEs until the run is over. `on_work` is called after every turn with its work, about an instruction
  /// a unit, and returns whether this thread is still alone.
  template <class OnWork>
  void run(OnWork on_work);

  // The interpreter's host.
  bool send(Pe& pe, const Step& step, const Packet& packet);
  bool broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last, const Packet& packet);
  template <class Deliver>
  bool receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver);
  Scalars arrived(const Pe& pe, std::uint32_t port) { return link(pe, port).arrived(pool_); }
  void taken(const Pe& pe, std::uint32_t port, std::int64_t count) {
    link(pe, port).take_read(count);
    use(port);
  }
  Scalars room(const Pe& pe, std::uint32_t port) { return link(pe, port).room(pool_); }
  void sent(const Pe& pe, std::uint32_t port, std::int64_t count) {
    link(pe, port).put_written(count);
    use(port);
  }
  void computed(Pe& pe, const Step& step, std::span<const Shape> operands);
  void stored(const Step&, const std::int64_t*) {}
  void moved(Pe&, const Step&, TileSize) {}

 private:
  static constexpr std::int64_t steps_a_turn = 4096;
  void put(Queue& queue, const Step& step, const Packet& packet);
  Queue& link(const Pe& pe, std::uint32_t port) { return shared_.links[pe.queues[port]]; }
  [[nodiscard]] const program::Channel& channel_of(const Pe& pe, const Step& step) const {
    return shared_.array.program().channels[pe.code->ports[step.port].channel];
  }
  void wake(std::uint32_t pe) {
    if (pe != PeArray::none) shared_.scheduler.wake(number_, pe);
  }
  /// The PE puts a message into the link of this port, or takes one out of it, in this turn.
  void use(std::uint32_t port) { used_ |= std::uint64_t{1} << (port % 64); }
  void wake_neighbours(const Pe& pe);
  void leave_links(const Pe& pe);

  Shared& shared_;
  BlockPool& pool_;
  std::size_t number_;
  ProgressTicker ticker_;
  std::int64_t tile_work_ = 0;
  std::uint64_t used_ = 0;  // Ports, of 64 or more with those whose numbers differ by 64.
  bool alone_;
};

Worker::Worker(Shared& shared, std::size_t number, bool alone, const Progress& progress)
    : shared_(shared), pool_(shared.pools[number]), number_(number), ticker_(progress), alone_(alone) {}

/// Requires: queue.has_place().
void Worker::put(Queue& queue, const Step& step, const Packet& packet) {
  queue.put(pool_, packet.size, [&](std::byte* place) {
    if (step.scalar) {
      copy_scalar(place, packet.data, packet.bytes);
    } else {
      std::memcpy(place, packet.data, packet.bytes);
    }
  });
}

bool Worker::send(Pe& pe, const Step& step, const Packet& packet) {
  const std::uint32_t number = pe.queues[step.port];
  if (number == PeArray::none) no_neighbour(channel_of(pe, step));
  if (!step.scalar) require_fits(channel_of(pe, step), packet.size);
  Queue& queue = shared_.links[number];
  if (!queue.has_place()) return false;
  put(queue, step, packet);
  use(step.port);
  return true;
}

bool Worker::broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last,
                       const Packet& packet) {
  const std::uint32_t number = pe.code->ports[step.port].channel;
  const auto& channel = shared_.array.program().channels[number];
  require_fits(channel, packet.size);
  const std::int64_t own = shared_.array.along(pe.index, channel.axis);
  const auto queue_to = [&](std::int64_t to) -> Queue* {
    const std::uint32_t receiver = shared_.array.on_line(pe, channel.axis, to);
    if (to == own || !shared_.array.leads_to(number, receiver)) return nullptr;
    return &shared_.network_queue(number, receiver, own, pe.ordinal);
  };
  for (std::int64_t to = first; to <= last; ++to) {
    Queue* const queue = queue_to(to);
    if (queue != nullptr && !queue->has_place()) return false;
  }
  for (std::int64_t to = first; to <= last; ++to) {
    Queue* const found = queue_to(to);
    if (found == nullptr) continue;
    Queue& queue = *found;
    put(queue, step, packet);
    if (queue.take_receiver_waits(alone_)) wake(queue.receiver());
  }
  return true;
}

template <class Deliver>
bool Worker::receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver) {
  const Port port = pe.code->ports[step.port];
  if (port.kind != Port::Kind::network_in) {
    Queue& queue = shared_.links[pe.queues[step.port]];
    if (!queue.has_message()) return false;
    queue.take(pool_, deliver);
    use(step.port);
    return true;
  }
  const auto axis = shared_.array.program().channels[port.channel].axis;
  const auto sender_ordinal = shared_.array.ordinal(shared_.array.on_line(pe, axis, sender));
  Queue& queue = shared_.network_queue(port.channel, pe.index, sender, sender_ordinal);
  if (!queue.has_message()) return false;
  queue.take(pool_, deliver);
  if (queue.take_sender_waits(alone_)) wake(queue.sender());
  return true;
}

/// After a turn: those that wait for what the PE put into its links or took out of them.
void Worker::wake_neighbours(const Pe& pe) {
  for (std::size_t p = 0; p < pe.code->ports.size(); ++p) {
    const Port::Kind kind = pe.code->ports[p].kind;
    if (((used_ >> (p % 64)) & 1) == 0 || pe.queues[p] == PeArray::none) continue;
    if (kind == Port::Kind::link_out) {
      Queue& queue = shared_.links[pe.queues[p]];
      if (queue.take_receiver_waits(alone_)) wake(queue.receiver());
    } else if (kind == Port::Kind::link_in) {
      Queue& queue = shared_.links[pe.queues[p]];
      if (queue.take_sender_waits(alone_)) wake(queue.sender());
    }
  }
}

/// As `wake_neighbours`, of a PE that is done.
void Worker::leave_links(const Pe& pe) {
  for (std::size_t p = 0; p < pe.code->ports.size(); ++p) {
    const Port::Kind kind = pe.code->ports[p].kind;
    if (pe.queues[p] == PeArray::none) continue;
    if (kind == Port::Kind::link_out) {
      Queue& queue = shared_.links[pe.queues[p]];
      if (queue.sender_leaves(pool_, alone_)) wake(queue.receiver());
    } else if (kind == Port::Kind::link_in) {
      Queue& queue = shared_.links[pe.queues[p]];
      if (queue.receiver_leaves(pool_, alone_)) wake(queue.sender());
    }
  }
}

void Worker::computed(Pe& pe, const Step&, std::span<const Shape> operands) {
  if (operands.empty()) return;
  const std::int64_t work = runtime::tile_work(operands);
  tile_work_ += work;
  if (shared_.scheduler.over()) throw Stopped{};
  ticker_.tick(work, [&] { return PeArray::fraction_done(pe); });
}

template <class OnWork>
void Worker::run(OnWork on_work) {
  try {
    Interpreter interpreter(*this, shared_.array, shared_.tensors);
    const auto idle = [&] { ticker_.beat([] { return -1.0; }); };
    while (const auto turn = shared_.scheduler.next(number_, idle)) {
      Pe& pe = shared_.array.pe(turn->pe);
      if (turn->begins) shared_.begin(pe);
      const std::int64_t before = pe.executed;
      used_ = 0;
      const Outcome outcome = interpreter.run(pe, steps_a_turn);
      const std::int64_t work = outcome == Outcome::paused ? steps_a_turn : pe.executed - before + 1;
      ticker_.tick(work, [&] { return PeArray::fraction_done(pe); });
      if (outcome == Outcome::done) {
        leave_links(pe);
      } else if (pe.executed > before) {  // else they would wake each other for ever
        wake_neighbours(pe);
      }
      alone_ = on_work(work + tile_work_);
      tile_work_ = 0;
      switch (outcome) {  // from here on the PE may be another thread's
        case Outcome::done: shared_.scheduler.finish(number_); break;
        case Outcome::paused: shared_.scheduler.pause(number_, turn->pe); break;
        case Outcome::blocked: shared_.scheduler.park(number_, turn->pe); break;
      }
    }
  } catch (const Stopped&) {
  } catch (...) {
    shared_.scheduler.fail(std::current_exception());
  }
}

/// Rows of the grid are cut, so that what travels down the columns stays with one thread.
std::uint32_t block_of_a_share(const program::Program& program, std::size_t workers) {
  std::size_t row = 1;
  for (const std::int64_t extent : program.grid) {
    if (extent > 1) row = static_cast<std::size_t>(extent);
  }
  return static_cast<std::uint32_t>((row + workers - 1) / workers);
}

}  // namespace

std::optional<std::vector<program::ExitOutcome>> run(const program::Program& program, const Arrays& arrays,
                                                     const Settings& settings, const Progress& progress) {
  constexpr std::int64_t work_of_a_thread =
      1 << 15;  // Below that, starting a thread takes longer than it saves.
  const SingleThreadedBlas single_threaded;
  const std::size_t threads = settings.threads > 0 ? static_cast<std::size_t>(settings.threads)
                                                   : std::max(1U, std::thread::hardware_concurrency());
  Shared shared(program, arrays, threads, settings.least_bytes);
  if (run_in_lockstep(shared.array, shared.tensors, settings.least_bytes, progress))
    return shared.array.loop_exits().outcomes();
  LoopCompilation loops(shared.array, shared.tensors, settings.loops);
  std::atomic<int> raised = 0;  // exceptions of IEEE 754, by other threads
  std::vector<std::jthread> helpers;
  std::int64_t work = 0;
  Worker(shared, 0, true, progress).run([&](std::int64_t done) {
    work += done;
    loops.poll();
    if (work < work_of_a_thread || !helpers.empty()) return helpers.empty();
    const std::size_t workers = shared.scheduler.workers();
    if (workers > 1) shared.scheduler.deal_out(block_of_a_share(program, workers));
    try {
      for (std::size_t n = 1; n < workers; ++n) {
        helpers.emplace_back([&shared, &raised, n] {
          Worker(shared, n, false, {}).run([](std::int64_t) { return false; });
          raised |= std::fetestexcept(FE_ALL_EXCEPT);
        });
      }
    } catch (const std::system_error&) {  // no more threads to be had: those that there are suffice
      work = std::numeric_limits<std::int64_t>::min();
    }
    return helpers.empty();
  });
  helpers.clear();
  std::feraiseexcept(raised);
  if (!shared.scheduler.all_finished()) return std::nullopt;
  return shared.array.loop_exits().outcomes();
}

}  // namespace cyclotron::runtime::local
