#include "accounts_to_python.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>

namespace py = pybind11;
using namespace py::literals;
namespace cyclotron {
namespace {

/// Those that are not 0, by operator.
template <class Amounts>
py::dict by_operator(const Amounts& amounts) {
  py::dict result;
  for (std::size_t n = 0; n < amounts.size(); ++n) {
    const std::string name(operators::info(static_cast<operators::Op>(n)).name);
    if (amounts[n] > 0) result[py::str(name)] = amounts[n];
  }
  return result;
}

py::list to_list(const std::vector<runtime::mpi::Traffic>& traffic) {
  py::list result;
  for (const auto& one : traffic) {
    result.append(py::dict("send"_a = one.send, "wait"_a = one.wait, "sent_bytes"_a = one.sent,
                           "received_bytes"_a = one.received));
  }
  return result;
}

}  // namespace

// The kind as the number that it is.
struct EventRecord {
  std::uint32_t kind, what, source, pe, rank;
  std::int32_t peer;
  std::int64_t bytes;
  double start, end;
};

void describe_events() {
  PYBIND11_NUMPY_DTYPE(EventRecord, kind, what, source, pe, rank, peer, bytes, start, end);
}

py::dict to_dict(const runtime::mpi::Account& account) {
  const auto& profile = account.profile;
  std::vector<EventRecord> events;
  events.reserve(account.events.size());
  for (const auto& e : account.events) {
    events.push_back({static_cast<std::uint32_t>(e.kind), e.what, e.source, e.pe, e.rank, e.peer, e.bytes,
                      e.start, e.end});
  }
  return py::dict(
      "seconds"_a = profile.seconds, "processor_seconds"_a = profile.processor_seconds,
      "compute"_a = by_operator(profile.compute), "flops"_a = by_operator(profile.flops),
      "load_store"_a = profile.load_store, "exchange"_a = profile.exchange, "finish"_a = profile.finish,
      "lent_bytes"_a = profile.lent, "sent_bytes"_a = profile.sent, "messages"_a = profile.messages,
      "words_loaded"_a = profile.loaded, "words_stored"_a = profile.stored, "skipped"_a = profile.skipped,
      "raised"_a = profile.raised, "channels"_a = to_list(account.channels),
      "tensors"_a = to_list(account.tensors),
      "events"_a = py::array_t<EventRecord>(static_cast<py::ssize_t>(events.size()), events.data()),
      "events_dropped"_a = account.events_dropped);
}

}  // namespace cyclotron
