// The host of PEs on threads of this process.
#include <system_error>
#include <thread>

#include <cyclotron/runtime/runtime.hpp>

#include "../interpreter.hpp"
#include "../messages.hpp"
#include "../pulse.hpp"
#include "../simulator/deadlock.hpp"
#include "shared.hpp"

namespace cyclotron::runtime {
namespace local {
namespace {

/// Thrown through a PE's code where another thread has ended the run.
struct Stopped {};

/// One thread. Worker 0 is the caller's and answers for progress.
class Worker {
 public:
  static constexpr bool functional = true;

  Worker(Shared& shared, std::size_t number, const Progress& progress);

  /// Runs PEs until the run is over. `on_work` is called after every turn with its work, about an instruction
  /// a unit.
  template <class OnWork>
  void run(OnWork on_work);

  // What the interpreter asks for.
  bool send(Pe& pe, const Step& step, const Packet& packet);
  bool broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last, const Packet& packet);
  template <class Deliver>
  bool receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver);
  void computed(Pe& pe, const Step& step, std::span<const Shape> operands);
  void stored(const Step&, const std::int64_t*) {}

 private:
  static constexpr std::int64_t steps_a_turn = 4096;
  [[nodiscard]] static bool has_place(Queue& queue);
  void put(Queue& queue, std::uint32_t channel, const Packet& packet);
  void wake(std::uint32_t pe) {
    if (pe != PeArray::none) shared_.scheduler.wake(number_, pe);
  }

  Shared& shared_;
  std::size_t number_;
  Pulse pulse_;
  std::int64_t tile_work_ = 0;
};

Worker::Worker(Shared& shared, std::size_t number, const Progress& progress)
    : shared_(shared), number_(number), pulse_(progress) {}

/// Where there is no place, the sender is woken when there is.
bool Worker::has_place(Queue& queue) {
  const std::lock_guard lock(queue.mutex);
  if (queue.messages.size() < queue.depth) return true;
  queue.sender_waits = true;
  return false;
}

/// Requires: has_place(queue). Numbers are copied outside of the lock.
void Worker::put(Queue& queue, std::uint32_t channel, const Packet& packet) {
  Payload payload;
  payload.size = packet.size;
  if (Payload::fits(packet.bytes)) {
    copy_scalar(payload.few.data(), packet.data, packet.bytes);
  } else {
    {
      const std::lock_guard lock(queue.mutex);
      if (!queue.free.empty()) {
        payload.many = std::move(queue.free.back());
        queue.free.pop_back();
      }
    }
    if (!payload.many)
      payload.many = std::make_unique_for_overwrite<std::byte[]>(shared_.message_bytes[channel]);
    std::memcpy(payload.many.get(), packet.data, packet.bytes);
  }
  bool waits = false;
  {
    const std::lock_guard lock(queue.mutex);
    queue.messages.push(std::move(payload));
    waits = std::exchange(queue.receiver_waits, false);
  }
  if (waits) wake(queue.receiver);
}

bool Worker::send(Pe& pe, const Step& step, const Packet& packet) {
  const std::uint32_t number = pe.queues[step.port];
  const std::uint32_t channel = pe.code->ports[step.port].channel;
  const auto& what = shared_.array.program().channels[channel];
  if (number == PeArray::none) no_neighbour(what);
  require_fits(what, packet.size);
  if (!has_place(shared_.links[number])) return false;
  put(shared_.links[number], channel, packet);
  return true;
}

bool Worker::broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last,
                       const Packet& packet) {
  const std::uint32_t number = pe.code->ports[step.port].channel;
  const auto& channel = shared_.array.program().channels[number];
  require_fits(channel, packet.size);
  const std::int64_t own = pe.variables[channel.axis];
  const auto queue_to = [&](std::int64_t to) -> Queue& {
    return shared_.network_queue(number, shared_.array.on_line(pe, channel.axis, to), own, pe.ordinal);
  };
  for (std::int64_t to = first; to <= last; ++to) {
    if (to != own && !has_place(queue_to(to))) return false;
  }
  for (std::int64_t to = first; to <= last; ++to) {
    if (to != own) put(queue_to(to), number, packet);
  }
  return true;
}

template <class Deliver>
bool Worker::receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver) {
  const Port port = pe.code->ports[step.port];
  Queue* queue = nullptr;
  if (port.kind == Port::Kind::network_in) {
    const auto axis = shared_.array.program().channels[port.channel].axis;
    const auto sender_index = shared_.array.on_line(pe, axis, sender);
    queue = &shared_.network_queue(port.channel, pe.index, sender, shared_.array.ordinal(sender_index));
  } else {
    queue = &shared_.links[pe.queues[step.port]];
  }
  Payload payload;
  bool waits = false;
  {
    const std::lock_guard lock(queue->mutex);
    if (queue->messages.empty()) {
      queue->receiver_waits = true;
      return false;
    }
    payload = std::move(queue->messages.front());
    queue->messages.pop();
    waits = std::exchange(queue->sender_waits, false);
  }
  deliver(payload.size, payload.data());
  if (payload.many) {
    const std::lock_guard lock(queue->mutex);
    queue->free.push_back(std::move(payload.many));
  }
  if (waits) wake(queue->sender);
  return true;
}

void Worker::computed(Pe& pe, const Step&, std::span<const Shape> operands) {
  if (operands.empty()) return;
  const std::int64_t work = runtime::tile_work(operands);
  tile_work_ += work;
  if (shared_.scheduler.over()) throw Stopped{};
  pulse_.tick(work, [&] { return PeArray::fraction_done(pe); });
}

template <class OnWork>
void Worker::run(OnWork on_work) {
  try {
    Interpreter interpreter(*this, shared_.array, shared_.tensors);
    const auto idle = [&] { pulse_.beat([] { return -1.0; }); };
    while (const auto ordinal = shared_.scheduler.next(number_, idle)) {
      Pe& pe = shared_.array.pe(*ordinal);
      const std::int64_t before = pe.executed;
      const Outcome outcome = interpreter.run(pe, steps_a_turn);
      const std::int64_t work = outcome == Outcome::paused ? steps_a_turn : pe.executed - before + 1;
      pulse_.tick(work, [&] { return PeArray::fraction_done(pe); });
      on_work(work + tile_work_);
      tile_work_ = 0;
      switch (outcome) {  // from here on the PE may be another thread's
        case Outcome::done: shared_.scheduler.finish(); break;
        case Outcome::paused: shared_.scheduler.pause(number_, *ordinal); break;
        case Outcome::blocked: shared_.scheduler.park(number_, *ordinal); break;
      }
    }
  } catch (const Stopped&) {
  } catch (...) {
    shared_.scheduler.fail(std::current_exception());
  }
}

}  // namespace
}  // namespace local

void run_local(const program::Program& program, const Arrays& arrays, int threads, const Progress& progress) {
  constexpr std::int64_t work_of_a_thread =
      1 << 15;  // Below that, starting a thread takes longer than it saves.
  program::verify(program);
  const SingleThreadedBlas single_threaded;
  const std::size_t workers =
      threads > 0 ? static_cast<std::size_t>(threads) : std::max(1U, std::thread::hardware_concurrency());
  local::Shared shared(program, arrays, workers);
  const std::size_t useful = std::min<std::size_t>(workers, shared.array.count());
  std::vector<std::jthread> helpers;
  std::int64_t work = 0;
  local::Worker(shared, 0, progress).run([&](std::int64_t done) {
    work += done;
    if (work < work_of_a_thread || !helpers.empty()) return;
    try {
      for (std::size_t n = 1; n < useful; ++n) {
        helpers.emplace_back([&shared, n] { local::Worker(shared, n, {}).run([](std::int64_t) {}); });
      }
    } catch (const std::system_error&) {  // no more threads to be had: those that there are suffice
      work = std::numeric_limits<std::int64_t>::min();
    }
  });
  helpers.clear();
  // Where a run stops does not depend on the host, so the simulator explains it.
  if (!shared.scheduler.all_finished()) simulator::throw_deadlock(program, 0, progress);
}

}  // namespace cyclotron::runtime
