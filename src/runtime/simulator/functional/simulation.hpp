// The simulator's host: a local clock for each PE, timestamps on messages (see `simulate` for the timing).
#pragma once
#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include <cyclotron/runtime/counters.hpp>
#include <cyclotron/runtime/runtime.hpp>

#include "../../engine/cycles.hpp"
#include "../../engine/interpreter.hpp"
#include "../../engine/progress_ticker.hpp"
#include "../../engine/ring.hpp"
#include "../timing/controller.hpp"
#include "../memory/memory_ports.hpp"
#include "../timing/scoreboard.hpp"
#include "../timing/shared_links.hpp"
#include "../timing/wait_cycle.hpp"

namespace cyclotron::runtime::simulator {

using operators::operator_count;

struct Message {
  std::int64_t sent = 0;
  std::int64_t arrival = 0;
  std::uint32_t record = 0;  ///< In the records of messages, where these are kept.
  Payload payload;
};

/// One queue: who may still send is a question of the times at which earlier messages left it.
struct Queue {
  Ring<Message> messages;
  Ring<std::int64_t>
      departures;  ///< Cycles at which messages left, from number `first_departure` on; older ones bind nobody.
  std::int64_t first_departure = 0;
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t words = 0;      ///< Sent.
  std::int64_t busy = 0;       ///< Cycles that messages kept its link busy.
  std::int64_t last_sent = 0;  ///< Cycle.
  std::int64_t link_free = 0;
  const machine::Link* link = nullptr;
  std::int64_t latency = 1;
  std::int64_t depth = 1;
  std::int64_t peak = 0;
  std::uint32_t channel = 0;
  std::uint32_t sender = PeArray::none;  ///< Ordinals.
  std::uint32_t receiver = PeArray::none;
  std::uint32_t receiver_index = PeArray::none;  ///< Grid index; also of a PE without a program.
  std::uint32_t hop = PeArray::none;             ///< Of a link, where links are shared.
  bool sender_waits = false;
  bool receiver_waits = false;
};

/// A PE's clock and what it did with its cycles.
struct Clock {
  std::int64_t now = 0;
  std::int64_t busy = 0;
  std::int64_t stall_empty = 0;
  std::int64_t stall_full = 0;
  std::int64_t stall_link = 0;
  std::int64_t stall_unit = 0;
  std::int64_t stall_port = 0;
  /// Cycle until which some unit computes, also where the PE has gone on: nothing before it is a stall.
  std::int64_t busy_until = 0;
  std::array<std::int64_t, 3> unit_free{};  ///< Matrix, vector and scalar, where units overlap.
  std::int64_t hidden_memory = 0;           ///< Waits for memory while some unit computed.
  std::int64_t hidden_control = 0;
  std::array<std::int64_t, operator_count> busy_by_operator{};
};

template <bool is_functional>
class Simulation {
 public:
  static constexpr bool functional = is_functional;

  /// Keeps at most `event_limit` of each kind of record; 0: none.
  Simulation(const program::Program& program, const Arrays& arrays, std::int64_t event_limit,
             const Progress& progress, const ControlledRun* control = nullptr);

  /// Runs until every PE is done (true), or until none can go on (false).
  bool run();

  [[nodiscard]] Timing timing();
  /// After `run` returned false: one entry a PE that is not done, in order.
  [[nodiscard]] std::vector<Wait> waits();

  // The interpreter's host.
  bool send(Pe& pe, const Step& step, const Packet& packet);
  bool broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last, const Packet& packet);
  template <class Deliver>
  bool receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver);
  void computed(Pe& pe, const Step& step, std::span<const Shape> operands);
  void stored(const Step&, const std::int64_t*) {}
  void moved(Pe& pe, const Step& step, TileSize size);
  bool access(Pe& pe, const Step& step, TileSize size);
  bool finish(Pe& pe);
  bool decide(Pe& pe, const Step& step);
  bool call(Pe& pe);

 private:
  using Elements = Scoreboard::Elements;
  /// Moves a PE's clock on to a time, if that is later, and counts the wait.
  static void wait_until(Clock& clock, std::int64_t time, std::int64_t& stall);
  /// Cycles of a wait until a time while some unit computed.
  static std::int64_t hidden(const Clock& clock, std::int64_t time) {
    return std::max<std::int64_t>(0, std::min(time, clock.busy_until) - clock.now);
  }
  /// The PE comes to an instruction: it waits for a port.
  void come_to(const Pe& pe, PortLimits::Kind kind) {
    Clock& clock = clocks_[pe.ordinal];
    if (ports_.on()) wait_until(clock, ports_.free_at(pe.ordinal, kind), clock.stall_port);
  }
  void begin(const Pe& pe, PortLimits::Kind kind) {
    if (ports_.on()) ports_.begin(pe.ordinal, kind, clocks_[pe.ordinal].now);
  }
  [[nodiscard]] static Elements elements(const Pe& pe, std::uint32_t access, bool all = false);
  void await_read(const Pe& pe, const Elements& of) {
    Clock& clock = clocks_[pe.ordinal];
    wait_until(clock, scoreboard_.readable(pe.ordinal, of), clock.stall_unit);
  }
  void await_write(const Pe& pe, const Elements& of) {
    Clock& clock = clocks_[pe.ordinal];
    wait_until(clock, scoreboard_.writable(pe.ordinal, of), clock.stall_unit);
  }
  template <class Visit>
  void each_operand(const Pe& pe, const Step& step, Visit visit) const;
  [[nodiscard]] static Elements result_of(const Pe& pe, const Step& step);
  void start_operator(const Pe& pe, const Step& step, std::span<const Shape> operands);
  void end_operator(const Pe& pe, const Step& step, std::int64_t cycles);
  void find_unit(const Step& step, std::span<const Shape> operands);
  void enter_link(Clock& clock, std::int64_t place, std::int64_t link);
  bool give_bus();
  void set_up(Queue& queue, std::uint32_t channel, std::uint32_t sender, std::uint32_t receiver_index);
  Queue& network_queue(std::uint32_t channel, std::uint32_t receiver_index, std::int64_t coordinate,
                       std::uint32_t sender);
  [[nodiscard]] bool has_place(const Queue& queue) const { return queue.sent - queue.received < queue.depth; }
  [[nodiscard]] std::int64_t place_free_at(Queue& queue) const;
  void push(Queue& queue, std::int64_t arrival, const Packet& packet);
  void record_send(const Pe& pe, Queue& queue, Message& message);
  void depart(Queue& queue, std::int64_t now);
  /// Counts what a step costs in energy: of tiles at once, of scalars by its executions.
  void tally(const Pe& pe, const Step& step, std::span<const Shape> operands, std::int64_t words);
  void wait(Pe& pe, Queue& queue, bool full);
  void wake(std::uint32_t ordinal) {
    if (ordinal != PeArray::none) ready_.push(ordinal);
  }

  PeArray array_;
  MemoryPorts memory_;
  Controller controller_;
  SharedLinks shared_;
  Scoreboard scoreboard_;
  PortLimits ports_;
  const machine::Unit* unit_ = nullptr;  ///< Of the operator that is about to begin; see `find_unit`.
  std::size_t unit_number_ = 0;          ///< In `Clock::unit_free`; beyond, where no unit runs it.
  std::int64_t event_limit_;
  std::vector<TensorAccess> tensors_;
  ProgressTicker ticker_;
  std::vector<Queue> links_;
  std::deque<Queue> network_queues_;
  std::vector<QueueRow<Queue>> rows_;
  std::vector<std::int64_t> port_free_;  ///< Cycle from which a network's sender may send, by port number.
  std::vector<BufferPool> buffers_;      ///< By channel.
  std::vector<const machine::Link*> network_;        ///< By channel: the link that its broadcasts travel on.
  std::vector<Clock> clocks_;                        ///< By ordinal.
  std::vector<Work> work_;                           ///< By ordinal.
  std::vector<std::vector<std::int64_t>> executed_;  ///< By ordinal and step: of those on scalars.
  std::vector<const Queue*> waiting_for_;            ///< By ordinal.
  std::vector<char>
      in_call_;  ///< By ordinal: whether it waits in the first step of a procedure that it has set up.
  bool waits_for_call_ = false;  ///< Of the PE that runs.
  Ring<std::uint32_t> ready_;
  std::uint32_t done_ = 0;
  std::vector<Event> events_;
  std::int64_t events_dropped_ = 0;
  std::vector<MessageRecord> messages_;
  std::uint32_t actions_ = 0;  ///< Computations, sends and receives; may wrap around where none is recorded.
  std::int64_t messages_dropped_ = 0;
  std::int64_t ready_at_ = 0;   ///< Cycle at which the PE came to the instruction that sends.
  std::int64_t placed_at_ = 0;  ///< Cycle at which it then had its places.
  std::int64_t free_at_ = 0;    ///< Cycle from which the next message may enter the link.
};

extern template class Simulation<true>;
extern template class Simulation<false>;

}  // namespace cyclotron::runtime::simulator
