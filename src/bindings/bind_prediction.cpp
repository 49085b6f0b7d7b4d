// `_core.predict`: how long the ranks would take that a program is dealt out to.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cyclotron/runtime/predict.hpp>

#include "bindings.hpp"
#include "interruptible.hpp"
#include "typed.hpp"

namespace py = pybind11;
using namespace py::literals;
namespace cyclotron::bindings {
namespace {

/// A number of each rank.
py::array_t<std::int64_t> of_ranks(const runtime::Prediction& prediction,
                                   std::int64_t runtime::RankTiming::* member) {
  py::array_t<std::int64_t> result(static_cast<py::ssize_t>(prediction.ranks.size()));
  for (std::size_t r = 0; r < prediction.ranks.size(); ++r)
    result.mutable_at(r) = prediction.ranks[r].*member;
  return result;
}

Dict predict(const program::Program& program, std::vector<std::uint32_t> owners, std::uint32_t ranks,
             std::uint32_t cores, const ProgressCallback& progress) {
  const runtime::Dealing dealing{.owners = std::move(owners), .ranks = ranks, .cores = cores};
  const auto found = interruptibly(
      {owner_of(program)},
      [&program, dealing](const auto& call) { return runtime::predict(program, dealing, call); }, progress);
  return py::dict("cycles"_a = found.cycles, "busy"_a = of_ranks(found, &runtime::RankTiming::busy),
                  "words_sent"_a = of_ranks(found, &runtime::RankTiming::words_sent),
                  "words_received"_a = of_ranks(found, &runtime::RankTiming::words_received),
                  "messages"_a = of_ranks(found, &runtime::RankTiming::messages));
}

}  // namespace

void bind_prediction(py::module_& module) {
  module.def("predict", &predict, py::arg("program"), py::arg("owners"), py::kw_only(), py::arg("ranks"),
             py::arg("cores"), py::arg("progress") = py::none(),
             "Simulate the ranks that PEs are dealt out to, time alone.");
}

}  // namespace cyclotron::bindings
