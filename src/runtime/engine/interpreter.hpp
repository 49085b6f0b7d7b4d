// The one interpreter: runs a PE's steps until it is blocked, done or out of its share of time. Hosts
// (simulator, threads, MPI) supply channels and time.
#pragma once
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <cyclotron/support/error.hpp>

#include "body.hpp"
#include "code.hpp"
#include "index_values.hpp"
#include "kernels/kernels.hpp"
#include "messages.hpp"
#include "pe_array.hpp"
#include "tensors.hpp"

namespace cyclotron::runtime {

/// A tile on its way into a channel. `data` is null where only time is simulated.
struct Packet {
  static constexpr std::size_t no_tile = static_cast<std::size_t>(-1);
  TileSize size;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t tile = no_tile;  ///< Its number, where the host keeps the tiles.
};

enum class Outcome : std::uint8_t { blocked, done, paused };

/// The interface of a host. `send`, `broadcast` and `receive` return false where the PE has to wait; the step is
/// then tried again. `receive` passes the message to `deliver(size, data)` and drops it when that returns.
///   static constexpr bool functional;                       // numbers, or shapes and time only
///   bool send(Pe&, const Step&, const Packet&);
///   bool broadcast(Pe&, const Step&, std::int64_t first, std::int64_t last, const Packet&);
///   bool receive(Pe&, const Step&, std::int64_t sender, auto&& deliver);   // sender: of a network, else 0
///   void computed(Pe&, const Step&, std::span<const Shape> operands);      // operands empty: all 1x1
///   void stored(const Step&, const std::int64_t* index);
///   void moved(Pe&, const Step&, TileSize);  // after a load, a store or a move
/// A host may have loads and stores take time: where these return false the PE has to wait, and the step, or the end of
/// the program, is tried again.
///   bool access(Pe&, const Step&, TileSize);                // before a load or a store
///   bool finish(Pe&);
/// A host may keep the tiles itself, each by its number (`PeArray::tile_number`), so that they are passed on by
/// reference; PE memory then holds scalars only. `receive` may then pass its own references to `deliver`.
///   using Reference = ...;                                  // data() gives the numbers
///   const Reference& tile(std::size_t number);
///   Reference room(std::size_t number, std::size_t bytes, bool sent);  // the tile's own, if nobody else refers to it;
///                                                           // `sent`: others may come to
///   void put(std::size_t number, Reference);
///   const Reference* held(const Step&, const std::int64_t* index);  // a tensor's tile, or null: read the array
///   bool keep(const Step&, const std::int64_t* index, TileSize, const std::byte* numbers, const Reference*);
///                                                           // stores a tile; false: write the array
///   void computing(std::span<const Shape> operands);        // before an operator on tiles
///   void started();                                         // before a load or a store
///   void accessed();                                        // after a load or store
template <class Host>
concept KeepsTiles = requires { typename Host::Reference; };
template <class Host>
concept TimesMemory = requires(Host& host, Pe& pe) { host.finish(pe); };

/// A host may have the ends of iterations in which a loop may end take time too, and the calls of procedures.
///   bool decide(Pe&, const Step&);  // before an EXIT
///   bool call(Pe&);                 // before the first step of a procedure, whenever it is tried
template <class Host>
concept TimesControl = requires(Host& host, Pe& pe, const Step& step) { host.decide(pe, step); };

template <class Host>
class Interpreter {
 public:
  Interpreter(Host& host, PeArray& array, const std::vector<TensorAccess>& tensors)
      : host_(host), array_(array), tensors_(tensors), bodies_(tensors) {}

  /// Runs at most `budget` steps. Throws ExecutionError where one fails.
  Outcome run(Pe& pe, std::int64_t budget) {
    try {
      return steps(pe, budget);
    } catch (const KernelFailure& failure) {
      throw failure_in(array_, pe, failure);
    } catch (const ShapeError& error) {  // the tiles that met here do not fit
      throw failure_in(array_, pe, {"CYC704", error.diagnostic().message, error.diagnostic().help});
    }
  }

 private:
  Outcome steps(Pe& pe, std::int64_t budget) {
    const Code& code = *pe.code;
    const Step* const all = code.steps.data();
    std::int64_t executed = 0;
    std::uint32_t& counter = pe.counter;
    const struct Count {  // also when a step throws
      Pe& pe;
      std::int64_t& executed;
      ~Count() { pe.executed += executed; }
    } count{pe, executed};
    while (budget-- > 0) {
      const Step& step = all[counter];
      if constexpr (TimesControl<Host>) {
        if (step.begins_call && !host_.call(pe)) return Outcome::blocked;
      }
      switch (step.kind) {
        case Step::Kind::loop:
          if (open_loop(pe, step) && skip_iterations(pe, step, step)) run_body(pe, step, budget, executed);
          continue;
        case Step::Kind::repeat:
          if (next_iteration(pe, step) && skip_iterations(pe, step, all[step.target - 1]))
            run_body(pe, step, budget, executed);
          continue;
        case Step::Kind::branch:
          counter = holds(code, step.lower, pe.variables) && is_within(pe, step) ? counter + 1 : step.target;
          continue;
        case Step::Kind::skip: ++counter; continue;
        case Step::Kind::exit:
          if constexpr (TimesControl<Host>) {
            if (!host_.decide(pe, step)) return Outcome::blocked;
          }
          exit(pe, step);
          ++counter;
          continue;
        case Step::Kind::load:
          if (!load(pe, step)) return Outcome::blocked;
          break;
        case Step::Kind::store:
          if (!store(pe, step)) return Outcome::blocked;
          break;
        case Step::Kind::send:
          if (!host_.send(pe, step, packet(pe, step))) return Outcome::blocked;
          break;
        case Step::Kind::broadcast:
          if (!broadcast(pe, step)) return Outcome::blocked;
          break;
        case Step::Kind::receive:
          if (!receive(pe, step)) return Outcome::blocked;
          break;
        case Step::Kind::move: move(pe, step); break;
        case Step::Kind::compute:
          if (step.indexed != Step::not_indexed) {
            compute_indexed(pe, step);
          } else if (step.scalar) {
            compute_scalar(pe, step);
          } else {
            compute_tile(pe, step);
          }
          break;
        case Step::Kind::halt:
          if constexpr (TimesMemory<Host>) {
            if (!host_.finish(pe)) return Outcome::blocked;
          }
          return Outcome::done;
      }
      ++counter;
      ++executed;
    }
    return Outcome::paused;
  }

  /// False where the loop has no iteration; the PE is past it then.
  [[gnu::always_inline]] static bool open_loop(Pe& pe, const Step& loop) {
    const std::int64_t first = lower_limit(*pe.code, loop.lower, pe.variables);
    const std::int64_t last = upper_limit(*pe.code, loop.upper, pe.variables);
    pe.variables[loop.variable] = first;
    pe.limits[loop.variable] = last;
    pe.counter = first <= last ? pe.counter + 1 : loop.target;
    return first <= last;
  }

  /// Tells whether the numbers that a branch names leave this iteration of the loop around it; all, where there are none.
  [[nodiscard]] bool is_within(const Pe& pe, const Step& branch) const {
    if constexpr (!Host::functional) return true;
    for (std::uint32_t n = 0; n < branch.upper.count; ++n) {
      const NumberLimit& limit = pe.code->within[branch.upper.first + n];
      if ((evaluate(*pe.code, limit.form, pe.variables) < number_of(pe, limit)) != limit.last) return false;
    }
    return true;
  }

  /// Goes on to the first iteration that bounds of numbers leave, where the others do nothing. False where there is none; the
  /// PE is past the loop then.
  [[gnu::always_inline]] bool skip_iterations(Pe& pe, const Step& step, const Step& loop) const {
    if constexpr (!Host::functional) return true;
    return step.operands.count == 0 || find_iteration(pe, loop);
  }
  bool find_iteration(Pe& pe, const Step& loop) const {
    std::int64_t& variable = pe.variables[loop.variable];
    for (std::uint32_t n = 0; n < loop.operands.count; ++n) {
      const NumberLimit& limit = pe.code->within[loop.operands.first + n];
      const std::int64_t number = number_of(pe, limit);
      const std::int64_t place = evaluate(*pe.code, limit.form, pe.variables);
      if ((place < number) == limit.last) continue;
      const auto step = static_cast<std::uint64_t>(loop.step);
      const auto ahead =
          (static_cast<std::uint64_t>(number) - static_cast<std::uint64_t>(place) - 1) / step + 1;
      const auto left =
          static_cast<std::uint64_t>(pe.limits[loop.variable]) - static_cast<std::uint64_t>(variable);
      if (limit.last || coefficient(*pe.code, limit.form, loop.variable) == 0 || ahead > left / step) {
        pe.counter = loop.target;
        return false;
      }
      variable += static_cast<std::int64_t>(ahead * step);
    }
    return true;
  }
  [[nodiscard]] std::int64_t number_of(const Pe& pe, const NumberLimit& limit) const {
    const SlotAccess& access = pe.code->accesses[limit.number];
    std::int64_t number = 0;
    std::memcpy(&number, numbers(pe, access, element(pe, access)), sizeof number);
    return number;
  }

  /// False where the loop is done.
  [[gnu::always_inline]] static bool next_iteration(Pe& pe, const Step& repeat) {
    std::int64_t& variable = pe.variables[repeat.variable];
    const auto left =
        static_cast<std::uint64_t>(pe.limits[repeat.variable]) - static_cast<std::uint64_t>(variable);
    const bool goes_on = left >= static_cast<std::uint64_t>(repeat.step);
    if (goes_on) variable += repeat.step;
    pe.counter = goes_on ? repeat.target : pe.counter + 1;
    return goes_on;
  }

  /// False where the loop is none of these, or has iterations that are the interpreter's.
  bool run_compiled(const CompiledLoops& loops, Pe& pe, const Step& loop, std::int64_t& budget,
                    std::int64_t& executed) {
    constexpr std::int64_t least_iterations = 1 << 16;  // a call may take some microseconds
    const auto function =
        loops.functions[pe.code->index][static_cast<std::size_t>(&loop - pe.code->steps.data())];
    if (function == nullptr) return false;
    std::int64_t done = 0;
    const std::uint32_t next = function(pe.memory, loops.places.data(), pe.variables, pe.limits,
                                        std::max(budget, least_iterations), &done);
    if (next == loop_declined) return false;
    pe.counter = next;
    budget -= done;
    executed += done;
    return true;
  }

  /// At the start of an iteration: runs as many as have their messages and places. The others go step by step.
  [[gnu::always_inline]] void run_body(Pe& pe, const Step& loop, std::int64_t& budget,
                                       std::int64_t& executed) {
    if constexpr (KeepsStreams<Host>) {
      if (const CompiledLoops* const loops = array_.compiled_loops();
          loops != nullptr && run_compiled(*loops, pe, loop, budget, executed))
        return;
      if (loop.body == Step::no_body) return;
      const Body& body = pe.code->bodies[loop.body];
      while (budget > 0 && run_iterations(host_, bodies_, pe, body, budget, executed)) {
      }
    }
  }

  [[nodiscard]] std::int64_t element(const Pe& pe, const SlotAccess& access) const {
    const std::int64_t index = evaluate(*pe.code, access, pe.variables);
    if (static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(access.count))
      outside(pe, access, index);
    return index;
  }

  [[noreturn]] void outside(const Pe& pe, const SlotAccess& access, std::int64_t index) const {
    const auto& slot = array_.program().classes[pe.code->index].slots[access.slot];
    throw KernelFailure{"CYC703",
                        "slot `" + slot.name + "` has " + std::to_string(slot.count) + " elements; element " +
                            std::to_string(index) + " is none of them",
                        "compile the kernel again"};
  }

  static std::byte* address(const Pe& pe, const SlotAccess& access, std::int64_t index) {
    if constexpr (!Host::functional) return nullptr;
    return pe.memory + access.address + index * access.stride;
  }

  /// The numbers of a tile that is read.
  [[nodiscard]] const std::byte* numbers(const Pe& pe, const SlotAccess& access, std::int64_t index) const {
    if constexpr (KeepsTiles<Host>) {
      if (!access.scalar) return host_.tile(tile_number(pe, access, index)).data();
    }
    return address(pe, access, index);
  }

  /// Calls fill(numbers) to write a tile of `bytes`; what was there before may be read until that returns.
  template <class Fill>
  void write(const Pe& pe, const SlotAccess& access, std::int64_t index, std::size_t bytes, Fill fill) {
    if constexpr (KeepsTiles<Host>) {
      if (!access.scalar) {
        const std::size_t number = tile_number(pe, access, index);
        auto room = host_.room(number, bytes, access.sent);
        fill(room.data());
        host_.put(number, std::move(room));
        return;
      }
    }
    fill(address(pe, access, index));
  }

  [[nodiscard]] std::size_t tile_number(const Pe& pe, const SlotAccess& access, std::int64_t index) const {
    return array_.tile_number(size(pe, access, index));
  }

  static std::size_t bytes_of(TileSize size, const Step& step) {
    return static_cast<std::size_t>(size.words()) * step.element;
  }

  static TileSize& size(const Pe& pe, const SlotAccess& access, std::int64_t index) {
    return pe.sizes[access.sizes + static_cast<std::uint64_t>(index)];
  }

  /// The size of a tile that is read.
  TileSize written_size(const Pe& pe, const SlotAccess& access, std::int64_t index) const {
    if (access.scalar) return {1, 1};
    const TileSize result = size(pe, access, index);
    if (result.rows == 0) {
      throw KernelFailure{"CYC704",
                          "slot `" + array_.program().classes[pe.code->index].slots[access.slot].name +
                              "` is read before it is written",
                          "compile the kernel again"};
    }
    return result;
  }

  /// Makes room for a tile that is written.
  void set_size(const Pe& pe, const SlotAccess& access, std::int64_t index, TileSize wanted) const {
    if (wanted.rows > access.tile.rows || wanted.columns > access.tile.columns) too_large(pe, access, wanted);
    if (!access.scalar) size(pe, access, index) = wanted;
  }

  [[noreturn]] void too_large(const Pe& pe, const SlotAccess& access, TileSize wanted) const {
    const auto text = [](TileSize s) { return std::to_string(s.rows) + "x" + std::to_string(s.columns); };
    throw KernelFailure{"CYC704",
                        "a " + text(wanted) + " tile does not fit slot `" +
                            array_.program().classes[pe.code->index].slots[access.slot].name + "` of " +
                            text(access.tile) + " tiles",
                        "compile the kernel again"};
  }

  /// Index of a load or store, in tiles.
  const std::int64_t* tensor_index(const Pe& pe, const Step& step) {
    for (std::uint32_t d = 0; d < step.operands.count; ++d) {
      index_[d] = evaluate(*pe.code, pe.code->forms[step.operands.first + d], pe.variables);
    }
    return index_.data();
  }

  /// Tells whether a load or store may go on.
  bool memory_ready([[maybe_unused]] Pe& pe, [[maybe_unused]] const Step& step,
                    [[maybe_unused]] TileSize size) {
    if constexpr (TimesMemory<Host>) return host_.access(pe, step, size);
    return true;
  }

  bool load(Pe& pe, const Step& step) {
    const SlotAccess& access = pe.code->accesses[step.access];
    const std::int64_t at = element(pe, access);
    const std::int64_t* index = tensor_index(pe, step);
    const TensorAccess& tensor = tensors_[step.tensor];
    if (step.scalar) {
      const std::byte* from = tensor.scalar(index);
      if (!memory_ready(pe, step, {1, 1})) return false;
      if constexpr (Host::functional) copy_scalar(address(pe, access, at), from, step.element);
      host_.moved(pe, step, {1, 1});
      return true;
    }
    const TileSize loaded = tensor.size(index);
    if (!memory_ready(pe, step, loaded)) return false;
    set_size(pe, access, at, loaded);
    if constexpr (KeepsTiles<Host>) {
      const auto* held = host_.held(step, index);
      if (held != nullptr && !access.scalar) {
        host_.put(tile_number(pe, access, at), *held);
        host_.moved(pe, step, loaded);
        return true;
      }
      host_.started();
      write(pe, access, at, bytes_of(loaded, step), [&](std::byte* to) {
        if (held == nullptr) return tensor.read(index, to);
        std::memcpy(to, held->data(), bytes_of(loaded, step));
      });
      host_.accessed(pe, step);
    } else if constexpr (Host::functional) {
      write(pe, access, at, bytes_of(loaded, step), [&](std::byte* to) { tensor.read(index, to); });
    }
    host_.moved(pe, step, loaded);
    return true;
  }

  bool store(Pe& pe, const Step& step) {
    const SlotAccess& access = pe.code->accesses[step.access];
    const std::int64_t at = element(pe, access);
    const std::int64_t* index = tensor_index(pe, step);
    const TensorAccess& tensor = tensors_[step.tensor];
    TileSize stored{1, 1};
    if (step.scalar) {
      std::byte* to = tensor.scalar(index);
      if (!memory_ready(pe, step, stored)) return false;
      if constexpr (Host::functional) copy_scalar(to, address(pe, access, at), step.element);
    } else {
      stored = written_size(pe, access, at);
      (void)tensor.size(index);
      if (!memory_ready(pe, step, stored)) return false;
      if constexpr (KeepsTiles<Host>) {
        host_.started();
        const std::byte* from = numbers(pe, access, at);
        const auto* reference = access.scalar ? nullptr : &host_.tile(tile_number(pe, access, at));
        if (!host_.keep(step, index, stored, from, reference)) tensor.write(index, from, stored);
        host_.accessed(pe, step);
      } else if constexpr (Host::functional) {
        tensor.write(index, numbers(pe, access, at), stored);
      }
    }
    host_.stored(step, index);
    host_.moved(pe, step, stored);
    return true;
  }

  [[nodiscard]] Packet packet(const Pe& pe, const Step& step) const {
    const SlotAccess& access = pe.code->accesses[step.access];
    const std::int64_t at = element(pe, access);
    if (step.scalar) return {{1, 1}, address(pe, access, at), step.element};
    const TileSize size = written_size(pe, access, at);
    Packet result{size, numbers(pe, access, at), bytes_of(size, step)};
    if constexpr (KeepsTiles<Host>) {
      if (!access.scalar) result.tile = tile_number(pe, access, at);
    }
    return result;
  }

  bool broadcast(Pe& pe, const Step& step) {
    const auto axis = array_.program().channels[pe.code->ports[step.port].channel].axis;
    const std::int64_t first = lower_limit(*pe.code, step.lower, pe.variables);
    const std::int64_t last = upper_limit(*pe.code, step.upper, pe.variables);
    if (first > last) return true;
    require_on_line(array_.program(), axis, first);
    require_on_line(array_.program(), axis, last);
    return host_.broadcast(pe, step, first, last, packet(pe, step));
  }

  bool receive(Pe& pe, const Step& step) {
    const SlotAccess& access = pe.code->accesses[step.access];
    const std::int64_t at = element(pe, access);
    std::int64_t sender = 0;
    const Port port = pe.code->ports[step.port];
    if (port.kind == Port::Kind::network_in) {
      sender = evaluate(*pe.code, step.sender, pe.variables);
      require_on_line(array_.program(), array_.program().channels[port.channel].axis, sender);
    }
    return host_.receive(pe, step, sender, [&]<class Data>(TileSize size, [[maybe_unused]] Data&& data) {
      if constexpr (std::is_pointer_v<std::remove_cvref_t<Data>>) {
        if (step.scalar) {
          if constexpr (Host::functional) copy_scalar(address(pe, access, at), data, step.element);
          return;
        }
        set_size(pe, access, at, size);
        if constexpr (Host::functional) {
          const std::size_t bytes = bytes_of(size, step);
          write(pe, access, at, bytes, [&](std::byte* to) { std::memcpy(to, data, bytes); });
        }
      } else if constexpr (KeepsTiles<Host>) {  // a reference
        set_size(pe, access, at, size);
        host_.put(tile_number(pe, access, at), std::forward<Data>(data));
      }
    });
  }

  /// An operand's bytes; its size goes to `size`.
  const void* operand(const Pe& pe, const Source& source, TileSize& size) const {
    size = {1, 1};
    if (source.constant) return pe.code->constants[source.index].bytes.data();
    const SlotAccess& access = pe.code->accesses[source.index];
    const std::int64_t at = element(pe, access);
    size = written_size(pe, access, at);
    return numbers(pe, access, at);
  }

  const void* scalar_operand(const Pe& pe, const Source& source) const {
    if (source.constant) return pe.code->constants[source.index].bytes.data();
    const SlotAccess& access = pe.code->accesses[source.index];
    return address(pe, access, element(pe, access));
  }

  void move(Pe& pe, const Step& step) {
    const SlotAccess& access = pe.code->accesses[step.access];
    const std::int64_t at = element(pe, access);
    TileSize size;
    const Source& source = pe.code->sources[step.operands.first];
    ConstantBytes index;
    const void* from = index.bytes.data();
    if (source.form) {
      size = {1, 1};
      const auto value = evaluate(*pe.code, pe.code->forms[source.index], pe.variables);
      write_indices(step.dtype, value, 0, 1, index.bytes.data());
    } else {
      from = operand(pe, source, size);
    }
    set_size(pe, access, at, size);
    if constexpr (KeepsTiles<Host>) {
      if (!access.scalar && !source.constant && !pe.code->accesses[source.index].scalar) {
        const SlotAccess& origin = pe.code->accesses[source.index];
        return host_.put(tile_number(pe, access, at),
                         host_.tile(tile_number(pe, origin, element(pe, origin))));
      }
    }
    if constexpr (Host::functional) {
      if (step.scalar) {
        copy_scalar(address(pe, access, at), from, step.element);
      } else {
        const std::size_t bytes = bytes_of(size, step);
        write(pe, access, at, bytes, [&](std::byte* to) { std::memmove(to, from, bytes); });
      }
    }
    host_.moved(pe, step, size);
  }

  /// Without numbers no loop ends early.
  void exit([[maybe_unused]] const Pe& pe, [[maybe_unused]] const Step& step) {
    if constexpr (Host::functional) {
      const SlotAccess& access = pe.code->accesses[step.access];
      std::int64_t& variable = pe.variables[step.variable];
      std::uint32_t& run = pe.loop_runs[step.plan];
      if (*address(pe, access, element(pe, access)) == std::byte{0})
        variable += array_.loop_exits().leave(step.plan, run, variable);
      if (variable == pe.limits[step.variable]) array_.loop_exits().count(step.plan, ++run);
    }
  }

  void compute_scalar(Pe& pe, const Step& step) {
    const SlotAccess& access = pe.code->accesses[step.access];
    const std::int64_t at = element(pe, access);
    if constexpr (Host::functional) {
      std::array<const void*, 3> in;
      for (std::uint32_t i = 0; i < step.operands.count; ++i) {
        in[i] = scalar_operand(pe, pe.code->sources[step.operands.first + i]);
      }
      step.kernel(address(pe, access, at), in.data());
    }
    host_.computed(pe, step, {});
  }

  /// On the element that a number tells, if it is one of those; time is the same.
  void compute_indexed(Pe& pe, const Step& step) {
    if constexpr (Host::functional) {
      const Code& code = *pe.code;
      const IndexedElement& at = code.indexed[step.indexed];
      const SlotAccess& number_access = code.accesses[at.number];
      std::int64_t number = 0;
      std::memcpy(&number, address(pe, number_access, element(pe, number_access)), sizeof number);
      const std::int64_t lower = evaluate(code, at.lower, pe.variables);
      const Source& last = code.sources[step.operands.first + step.operands.count - 1];
      const SlotAccess& to = code.accesses[step.access];
      if (lower <= number && number <= evaluate(code, at.upper, pe.variables)) {
        const auto further = static_cast<std::int64_t>(static_cast<std::uint64_t>(at.stride) *
                                                       static_cast<std::uint64_t>(number - lower));
        std::byte* const result = indexed_address(pe, to, at.scatters ? further : 0);
        const void* const value =
            at.scatters ? scalar_operand(pe, last) : indexed_address(pe, code.accesses[last.index], further);
        const std::array<const void*, 2> in{step.operands.count == 1 ? value : result, value};
        step.kernel(result, in.data());
      } else if (step.operands.count == 1 && !at.scatters) {
        copy_scalar(address(pe, to, element(pe, to)), code.constants[at.neutral].bytes.data(), step.element);
      }
    }
    host_.computed(pe, step, {});
  }

  std::byte* indexed_address(const Pe& pe, const SlotAccess& access, std::int64_t further) const {
    const auto first = static_cast<std::uint64_t>(evaluate(*pe.code, access, pe.variables));
    const auto index = static_cast<std::int64_t>(first + static_cast<std::uint64_t>(further));
    if (static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(access.count))
      outside(pe, access, index);
    return address(pe, access, index);
  }

  void compute_tile(Pe& pe, const Step& step) {
    std::array<ConstTile, 3> in;
    std::array<Shape, 3> shapes;
    const std::size_t arity = step.operands.count;
    for (std::size_t i = 0; i < arity; ++i) {
      TileSize size;
      in[i].data = operand(pe, pe.code->sources[step.operands.first + i], size);
      in[i].shape = shapes[i] = size.shape();
    }
    const std::span<const Shape> operands(shapes.data(), arity);
    const Shape result = operators::result_shape(step.op, step.flags, operands);
    const SlotAccess& access = pe.code->accesses[step.access];
    const std::int64_t at = element(pe, access);
    const TileSize size{static_cast<std::int32_t>(result.rows), static_cast<std::int32_t>(result.columns)};
    set_size(pe, access, at, size);
    if constexpr (KeepsTiles<Host>) host_.computing(operands);
    if constexpr (Host::functional) {
      write(pe, access, at, bytes_of(size, step), [&](std::byte* to) {
        apply({step.op, step.flags, step.dtype}, std::span<const ConstTile>(in.data(), arity), {to, result},
              scratch_);
      });
    }
    host_.computed(pe, step, operands);
  }

  Host& host_;
  PeArray& array_;
  const std::vector<TensorAccess>& tensors_;
  Scratch scratch_;
  BodyRunner bodies_;
  std::array<std::int64_t, 16> index_{};
};

}  // namespace cyclotron::runtime
