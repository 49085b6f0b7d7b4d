// The BLAS in this process: its threads and its name.
#include <mutex>

#include <cyclotron/runtime/runtime.hpp>

#include "blas_names.hpp"
#include "kernels.hpp"

// OpenBLAS only; null with another BLAS.
extern "C" {
[[gnu::weak]] void openblas_set_num_threads(int threads);
[[gnu::weak]] int openblas_get_num_threads(void);
[[gnu::weak]] char* openblas_get_config(void);
}

namespace cyclotron::runtime {
namespace {

// The BLAS has one number of threads for the whole process, so its guards share one count.
std::mutex mutex;
int guards = 0;
int threads_before = 1;

}  // namespace

SingleThreadedBlas::SingleThreadedBlas() {
  if (openblas_set_num_threads == nullptr || openblas_get_num_threads == nullptr) return;
  const std::lock_guard lock(mutex);
  if (guards++ > 0) return;
  threads_before = openblas_get_num_threads();
  if (threads_before != 1) openblas_set_num_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
  if (openblas_set_num_threads == nullptr || openblas_get_num_threads == nullptr) return;
  const std::lock_guard lock(mutex);
  if (--guards == 0 && threads_before != 1) openblas_set_num_threads(threads_before);
}

std::string blas_version() {
  return openblas_get_config == nullptr ? "BLAS (not OpenBLAS)" : std::string(openblas_get_config());
}

}  // namespace cyclotron::runtime
