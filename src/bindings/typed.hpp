// Python containers with the types of what they hold, which signatures and stubs then tell.
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

namespace cyclotron::bindings {

/// A value of any type.
class Any : public pybind11::object {
 public:
  using object::object;
};
using Dict = pybind11::typing::Dict<pybind11::str, Any>;  ///< Plain data by the names of its fields.
using Dicts = pybind11::typing::List<Dict>;
/// A function that is called with the fraction that is done, and returns whether to go on.
using ProgressCallback = pybind11::typing::Optional<pybind11::typing::Callable<bool(double)>>;

}  // namespace cyclotron::bindings

template <>
struct pybind11::detail::handle_type_name<cyclotron::bindings::Any> {
  static constexpr auto name = const_name("typing.Any");
};
