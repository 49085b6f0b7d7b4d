// The independent checker: what can be proven of a compiled program from its meaning alone. It shares no code
// with the compiler that made the program, nor with the runtimes that run it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/program/program.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::proof {

/// Steps that are checked where nothing else is said: some seconds, about a gigabyte.
inline constexpr std::int64_t default_limit = std::int64_t{1} << 23;
/// Steps that every compile checks: a few milliseconds.
inline constexpr std::int64_t compile_limit = 20'000;

struct Options {
  std::int64_t limit = default_limit;
  /// Reason for which the terms are not checked though there are equations; empty: they are.
  std::string other_terms{};
  bool throw_deadlock = true;  ///< Else a program that only needs deeper channels is proven but for that.
};

/// One thing to prove.
struct Property {
  enum class Status : std::uint8_t {
    proven,
    not_checked,    ///< `text` says why.
    does_not_hold,  ///< Of `rendezvous`, which a correct program need not have; of `deadlock` if so asked.
  };
  std::string name;  ///< `terms`
  Status status = Status::proven;
  std::string text;  ///< A sentence.
  bool operator==(const Property&) const = default;
};

struct Proof {
  std::vector<Property> properties;
  std::int64_t events = 0;  ///< Instructions executed, all PEs; 0 where it was too large.
  std::int64_t terms = 0;   ///< Different values that the program and its equations make.
  /// Tells whether every property that a correct program must have is proven.
  [[nodiscard]] bool ok() const;
};

/// Checks, for the program's sizes and all data values (reliability: P7 to P11, P14):
///   structure   program::verify, and every slot has an address
///   bounds      no access outside its slot, its tensor or the grid
///   reads       every read finds a value of its own slot, written there and not overwritten since, and no
///               operator overwrites what it reads
///   outputs     every element of every output is stored exactly once
///   messages    each receive gets the message that was sent for it, and none is left
///   deadlock    no deadlock with the program's channel depths
///   rendezvous  none with depth 0 either (a separate question; its answer may be no)
///   endings     the PEs end a loop early by the same flag of the equations, in the same iteration (where one does)
///   terms       each stored element is the very tree of operations that its equation says
/// `system` may be null (a program from a file): then `terms` is not checked. A program of more steps than the
/// limit is checked for its structure only, and the proof says so.
/// Throws ProgramError CYC660 to CYC664, CYC667, CYC670 and CYC613, DeadlockError CYC802, LegalityError CYC665, CYC666, CYC668
/// and CYC671, each with a witness.
[[nodiscard]] Proof prove(const program::Program& program, const recurrence::System* system,
                          const Options& options = {});

}  // namespace cyclotron::proof
