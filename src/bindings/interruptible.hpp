// Work that Ctrl-C calls off.
#pragma once
#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

namespace cyclotron::bindings {

/// Does the work on a thread of its own while this one, without the GIL, lets signals through and calls back with the
/// progress. What a signal's handler or the callback raises calls the work off and is raised again, whatever became of the
/// work. Work that does not end soon then, in a long call of BLAS, goes on alone and its result is dropped: it must own what
/// it uses, but for memory that the `inputs` own, which live on with it.
void run_interruptibly(const pybind11::object& callback, std::vector<pybind11::object> inputs,
                       std::function<void(const runtime::Progress&)> work);

/// As above; returns the result of `work(progress)`.
template <class Work>
auto interruptibly(std::vector<pybind11::object> inputs, Work work,
                   const pybind11::object& callback = pybind11::none()) {
  const auto result = std::make_shared<std::optional<std::invoke_result_t<Work, const runtime::Progress&>>>();
  run_interruptibly(callback, std::move(inputs),
                    [result, work = std::move(work)](const runtime::Progress& progress) {
                      result->emplace(work(progress));
                    });
  return std::move(**result);
}

/// The object that owns this value of the core.
template <class T>
pybind11::object owner_of(const T& value) {
  return pybind11::cast(&value, pybind11::return_value_policy::reference);
}

}  // namespace cyclotron::bindings
