// The machine's memories in a run: which PE asks a port when, and when it is served (the rule is told by `simulate`).
//
// A port that only the loads or only the stores of one PE use serves them at once. At others a request may only be
// served when no earlier one can still come: that is so for the earliest of all once no PE can go on, since whatever a
// PE does after it was served is at least a cycle later.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "../../engine/ring.hpp"
#include "dram_banks.hpp"
#include "load_cursor.hpp"

namespace cyclotron::runtime::simulator {

class MemoryPorts {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;
  static constexpr std::int64_t never = std::int64_t{1} << 62;  ///< After all times.

  using Rows = std::vector<RowRun>;

  /// A PE of the run.
  struct User {
    std::uint32_t grid_index = 0;
    const Code* code = nullptr;
  };
  /// `users`: by ordinal, in the order of the grid. Refers to the program and to the codes. Throws CapacityError CYC503
  /// where the tensors that a memory's PEs use are larger than it.
  MemoryPorts(const program::Program& program, const std::vector<User>& users);

  /// Tells whether no PE is served.
  [[nodiscard]] bool empty() const { return clients_.empty(); }
  [[nodiscard]] bool serves(std::uint32_t ordinal) const {
    return !clients_.empty() && client_of_[ordinal] != none;
  }
  /// The rows of the tile that an instruction of a PE is about; none where its memory has no DRAM.
  /// Requires: serves(ordinal).
  [[nodiscard]] Rows rows(std::uint32_t ordinal, const Code& code, const Step& step,
                          const std::int64_t* variables) const {
    const auto& dram = ports_[clients_[client_of_[ordinal]].port].dram;
    return dram ? dram->rows(code, step, variables) : Rows{};
  }
  /// Tells whether requests of several agents meet at a port.
  [[nodiscard]] bool arbitrates() const { return arbitrates_; }

  // Each tells when a PE goes on that comes to an instruction at `now`, and nullopt where that is not known yet: the PE
  // then waits until `grant` wakes it, and tries again. Require: serves(ordinal).
  // `rows`: those of the tile.
  std::optional<std::int64_t> load(std::uint32_t ordinal, std::int64_t words, std::int64_t now,
                                   Rows rows = {});
  std::optional<std::int64_t> store(std::uint32_t ordinal, std::int64_t words, std::int64_t now,
                                    Rows rows = {});
  /// At the end of the program.
  std::optional<std::int64_t> finish(std::uint32_t ordinal, std::int64_t now);

  /// Serves the earliest requests of all, where they were asked for before `limit`; calls wake(ordinal) for PEs that
  /// waited for it. False where there are none. Requires: PEs whose clock is before `limit` cannot go on.
  template <class Wake>
  bool grant(std::int64_t limit, Wake wake) {
    while (!next_.empty()) {
      const auto [time, port] = next_.top();
      const bool stale = time != next_time(ports_[port]);  // it has been served, or one before it has come
      if (!stale && ports_[port].requests.top().at >= limit) return false;
      next_.pop();
      if (stale) continue;
      serve(ports_[port], wake);
      while (!next_.empty() && next_.top().first == time) {
        const std::uint32_t other = next_.top().second;
        if (time == next_time(ports_[other]) && ports_[other].requests.top().at >= limit) break;
        next_.pop();
        if (time == next_time(ports_[other])) serve(ports_[other], wake);
      }
      return true;
    }
    return false;
  }

  /// The first time at which `grant` would serve a request; `never` where there is none.
  [[nodiscard]] std::int64_t next_start() {
    while (!next_.empty() && next_.top().first != next_time(ports_[next_.top().second])) next_.pop();
    return next_.empty() ? never : next_.top().first;
  }

  /// The progress of a PE since an earlier moment.
  struct Progress {
    enum class Kind : std::uint8_t {
      moves,
      waits,  ///< It did nothing, and will not until one that moves lets it.
      done
    };
    std::int64_t now = 0;    ///< Its clock.
    std::int64_t shift = 0;  ///< Cycles since then.
    Kind kind = Kind::moves;
  };
  /// Number of times that what has happened since `then` will happen again, each time later by each PE's shift, as
  /// far as the memories are concerned; 0: it need not. `pes`: by ordinal.
  [[nodiscard]] std::int64_t repeats(const MemoryPorts& then, const std::vector<Progress>& pes) const;
  /// Lets it happen so many times at once. Requires: times <= repeats(then, shifts), and the products fit.
  void skip(const MemoryPorts& then, std::int64_t times, const std::vector<std::int64_t>& shifts);

  /// Cycles that a PE waited for its memory so far.
  [[nodiscard]] std::int64_t stalled(std::uint32_t ordinal) const {
    return serves(ordinal) ? clients_[client_of_[ordinal]].stalled : 0;
  }
  /// Adds to a run's measurements.
  void tell(Timing& timing) const;

  /// Keeps a record of each request from now on, up to a limit.
  void record(std::int64_t limit) { record_limit_ = limit; }
  /// That of the request which `load` or `store` was about last; null where it was not kept.
  [[nodiscard]] MemoryRecord* last_record() { return last_ < records_.size() ? &records_[last_] : nullptr; }
  [[nodiscard]] std::vector<MemoryRecord> take_records() { return std::move(records_); }

 private:
  struct Request {
    std::int64_t at = 0;
    std::uint32_t client = 0;
    bool stores = false;
    /// Served later: asked later, or by a later PE, or a store beside a load.
    bool operator>(const Request& other) const {
      if (at != other.at) return at > other.at;
      return client != other.client ? client > other.client : stores && !other.stores;
    }
  };
  struct Port {
    const machine::Memory* memory = nullptr;
    std::uint32_t number = 0;
    std::uint32_t agents = 0;  ///< Loads of one PE, or stores of one PE.
    std::int64_t free = 0;
    std::priority_queue<Request, std::vector<Request>, std::greater<>> requests{};
    MemoryPortStatistics statistics{};
    std::optional<DramBanks> dram{};
  };
  /// A time and the record of its request.
  struct Moment {
    std::int64_t time = 0;
    std::uint32_t record = none;
  };
  /// The last times of a sequence, of which old ones bind nobody.
  struct Times {
    Ring<std::int64_t> last;
    std::int64_t first = 0;  ///< The number of the first that is kept.
    [[nodiscard]] std::int64_t at(std::int64_t number) {
      return number < first ? 0 : last[static_cast<std::size_t>(number - first)];
    }
    void drop() {
      last.pop();
      ++first;
    }
    [[nodiscard]] bool shifted(Times then, std::int64_t by);
    void skip(const Times& then, std::int64_t times, std::int64_t by);
  };
  struct Loads {
    std::optional<LoadCursor> cursor{};  ///< Of a port with several agents.
    std::int64_t words = 0;              ///< Of the next request; 0: there is none.
    Rows rows{};                         ///< Of the next request.
    std::int64_t known = 0;              ///< From when on there was room for it.
    bool asked = false;                  ///< It waits at the port.
    std::int64_t asked_at = 0;
    std::int64_t served = 0;
    std::int64_t taken = 0;   ///< By the PE.
    std::int64_t end = 0;     ///< Of the last transfer.
    Ring<Moment> arrivals{};  ///< Of those that the PE has not taken.
    Times departures{};       ///< Cycles at which it took the others.
    [[nodiscard]] bool shifted(Loads then, std::int64_t by);
  };
  struct Stores {
    struct Pending {
      std::int64_t words = 0;
      Moment left{};  ///< The PE.
      Rows rows{};
    };
    std::int64_t left = 0;  ///< Number of them.
    std::int64_t served = 0;
    std::int64_t arrival = 0;   ///< Of the last one served.
    std::int64_t asked_at = 0;  ///< Of the one at the port.
    Ring<Pending> pending{};    ///< Those that are not served; the first one waits at the port.
    Times ends{};               ///< Of their transfers.
    [[nodiscard]] bool shifted(Stores then, std::int64_t by);
  };
  struct Client {
    std::uint32_t ordinal = 0;
    std::uint32_t grid_index = 0;
    std::uint32_t port = 0;
    bool waits = false;
    std::int64_t stalled = 0;
    Loads loads{};
    Stores stores{};
  };

  void require_size(const program::Program& program, const std::vector<User>& users) const;
  [[nodiscard]] static bool shared(const Port& port) { return port.agents > 1; }
  [[nodiscard]] static std::int64_t next_time(const Port& port) {
    return port.requests.empty() ? never : std::max(port.free, port.requests.top().at);
  }
  [[nodiscard]] static std::int64_t load_room(Client& client, const Port& port);
  void ask(Port& port, const Request& request);
  void ask_load(std::uint32_t number);
  void ask_store(std::uint32_t number);
  /// The port is busy from `start` on; returns when the words arrive. The memory has had the request since `known`.
  static std::int64_t transfer(Port& port, std::int64_t start, std::int64_t known, std::int64_t words,
                               const Rows& rows, bool stores);
  void find_next_load(Loads& loads, const Port& port);
  void serve_load(std::uint32_t number, std::int64_t asked);
  void serve_store(std::uint32_t number, std::int64_t asked);
  std::uint32_t serve_first(Port& port);
  template <class Wake>
  void serve(Port& port, Wake wake) {
    Client& client = clients_[serve_first(port)];
    if (std::exchange(client.waits, false)) wake(client.ordinal);
  }
  std::uint32_t add_record(const Client& client, const Port& port, const MemoryRecord& record);

  std::vector<Port> ports_;
  std::vector<Client> clients_;  // The PEs that are served and load or store, in the order of the grid.
  std::vector<std::uint32_t> client_of_;  // By ordinal, or `none`.
  std::vector<LoadSlice> slices_;         // By class.
  machine::Attachment attachment_;
  bool arbitrates_ = false;
  using Next = std::pair<std::int64_t, std::uint32_t>;  // A time at which a port may serve, and the port.
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
  std::int64_t record_limit_ = 0;
  std::vector<MemoryRecord> records_;
  std::uint32_t last_ = none;
};

}  // namespace cyclotron::runtime::simulator
