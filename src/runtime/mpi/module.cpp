// The extension module `cyclotron._mpi`.
#include <mpi.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "../../bindings/bindings.hpp"
#include "../../bindings/typed.hpp"
#include "agreement.hpp"
#include "accounts_to_python.hpp"
#include "bind_distributed.hpp"
#include "bind_halo.hpp"
#include "progress.hpp"
#include "run_mpi.hpp"
#include "transport.hpp"

namespace py = pybind11;
using namespace py::literals;
namespace cyclotron {
namespace {

using runtime::mpi::check;

/// The compiler of loops, and the folder that keeps them.
using Loops = std::pair<std::string, std::string>;

bool initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}

/// Starts MPI in this process, unless somebody has. It ends when Python does.
void init() {
  if (initialized()) return;
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  py::module_::import("atexit").attr("register")(py::cpp_function([] {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Finalize();
  }));
}

/// A communicator by its Fortran handle, as mpi4py's `comm.py2f()` gives it.
MPI_Comm communicator(int handle) { return MPI_Comm_f2c(handle); }

int rank(int handle) {
  int result = 0;
  check(MPI_Comm_rank(communicator(handle), &result), "MPI_Comm_rank");
  return result;
}

int size(int handle) {
  int result = 0;
  check(MPI_Comm_size(communicator(handle), &result), "MPI_Comm_size");
  return result;
}

std::string library_version() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::vector<bindings::Dict> run(const py::bytes& program, int handle, const py::list& tensors,
                                bool shared_outputs, bool share_memory, const Deal& deal,
                                std::int64_t event_limit, const Loops& loops, double seconds_to_look,
                                const bindings::ProgressCallback& progress) {
  const std::string_view bytes = program;
  const runtime::mpi::Options options{
      shared_outputs,
      share_memory,
      to_block_cyclic(deal),
      event_limit,
      {.compiler = loops.first, .folder = loops.second, .seconds_to_look = seconds_to_look}};
  std::vector<runtime::mpi::Account> accounts;
  runtime::mpi::run_interruptibly(progress, [&](const runtime::Progress& call) {
    const auto make_tensors = [&](const program::Program& read) {
      const py::gil_scoped_acquire gil;
      return to_tensors(read, tensors);
    };
    accounts = runtime::mpi::run_mpi(bytes, communicator(handle), make_tensors, options, call);
  });
  std::vector<bindings::Dict> result;
  for (const auto& account : accounts) result.push_back(to_dict(account));
  return result;
}

}  // namespace
}  // namespace cyclotron

PYBIND11_MODULE(_mpi, module) {
  using namespace cyclotron;
  module.doc() = "The MPI runtime of Cyclotron.";
  bindings::bind_errors(module);
  module.def("init", &init, "Start MPI in this process, unless it is started; it ends when Python does.");
  module.def("initialized", &initialized, "Tell whether MPI is started.");
  module.def("world", [] { return MPI_Comm_c2f(MPI_COMM_WORLD); }, "The Fortran handle of MPI_COMM_WORLD.");
  module.def("rank", &rank, py::arg("communicator"), "This process's rank.");
  module.def("size", &size, py::arg("communicator"), "The number of ranks.");
  module.def("library_version", &library_version, "The MPI that is loaded.");
  module.def(
      "agree",
      [](const py::bytes& bytes, int handle) {
        return runtime::mpi::agree(std::string_view(bytes), communicator(handle));
      },
      py::arg("bytes"), py::arg("communicator"), "Collective: tell whether all ranks pass the same bytes.");
  module.def(
      "broadcast",
      [](const py::bytes& bytes, int root, int handle) {
        return py::bytes(runtime::mpi::broadcast(std::string_view(bytes), root, communicator(handle)));
      },
      py::arg("bytes"), py::arg("root"), py::arg("communicator"), "Collective: the root's bytes.");
  module.def("run", &run, py::arg("program"), py::arg("communicator"), py::arg("tensors"), py::kw_only(),
             py::arg("shared_outputs") = false, py::arg("share_memory") = true, py::arg("deal") = py::none(),
             py::arg("event_limit") = 0, py::arg("loops") = Loops{},
             py::arg("seconds_to_look") = runtime::LoopSettings{}.seconds_to_look,
             py::arg("progress") = py::none(),
             "Run on all ranks; returns where the time of each went. `loops`: see `_core.run_local`.");
  describe_events();
  bind_distributed(module);
  bind_halo(module);
}
