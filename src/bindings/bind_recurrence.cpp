// `_core.System`: built node by node by the Python tracer.
#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/expand_arrays.hpp>
#include <cyclotron/recurrence/fill_tiles.hpp>
#include <cyclotron/recurrence/split_strides.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/recurrence/verify.hpp>
#include <cyclotron/support/error.hpp>

#include "bindings.hpp"
#include "from_python.hpp"
#include "interruptible.hpp"

namespace py = pybind11;
namespace cyclotron::bindings {
namespace {
using namespace recurrence;
DType to_dtype(const std::string& text) {
  const auto dtype = operators::dtype_from_name(text);
  if (!dtype)
    throw ShapeError({.code = "CYC207",
                      .span = {},
                      .message = "dtype `" + text + "` is not supported",
                      .notes = {},
                      .help = "use " + operators::dtype_names()});
  return *dtype;
}

std::uint32_t add_tensor(System& system, std::string name, const std::string& dtype, const std::string& role,
                         std::vector<std::int64_t> shape, std::optional<std::vector<std::int64_t>> tile,
                         const PySpan& span, std::string variable) {
  const bool blocked = tile.has_value();
  const auto rank = shape.size();
  system.tensors.push_back({std::move(name), to_dtype(dtype),
                            role == "input"    ? Role::input
                            : role == "output" ? Role::output
                                               : Role::local,
                            std::move(shape), blocked ? *tile : std::vector<std::int64_t>(rank, 1), blocked,
                            to_span(span), std::move(variable)});
  return static_cast<std::uint32_t>(system.tensors.size() - 1);
}
std::uint32_t add_expr(System& system, decltype(Expr::node) node, const PySpan& span) {
  system.exprs.push_back({std::move(node), to_span(span)});
  return static_cast<std::uint32_t>(system.exprs.size() - 1);
}
std::uint32_t add_reduce(System& system, const std::string& kind, std::string index, const PyRegion& domain,
                         std::uint32_t body, bool any_order, const PySpan& span) {
  const auto reduction = kind == "sum"             ? Reduction::sum
                         : kind == "product"       ? Reduction::product
                         : kind == "maximum"       ? Reduction::maximum
                         : kind == "minimum"       ? Reduction::minimum
                         : kind == "first_maximum" ? Reduction::first_maximum
                                                   : Reduction::first_minimum;
  Reduce reduce{reduction, std::move(index), to_region(domain), ExprId(body)};
  reduce.any_order = any_order;
  return add_expr(system, std::move(reduce), span);
}
/// Does work that analyses a copy of the system, until it is done, called off, or takes too many steps.
template <class Work>
auto analyse(const System& system, Work work) {
  return interruptibly({}, [subject = system.kernel, work = std::move(work)](const auto&) {
    const poly::Analysis analysis(subject);
    return work();
  });
}

}  // namespace

void bind_recurrence(py::module_& module) {
  py::class_<System>(module, "System", "A system of recurrence equations.")
      .def(py::init([](std::string kernel) { return System{std::move(kernel), {}, {}, {}}; }),
           py::arg("kernel"))
      .def_readwrite("idle_nests", &System::idle_nests)
      .def("add_tensor", &add_tensor, py::arg("name"), py::arg("dtype"), py::arg("role"), py::arg("shape"),
           py::arg("tile"), py::arg("span"), py::arg("variable") = "")
      .def(
          "add_constant",
          [](System& s, const PyNumber& value, const PySpan& span) {
            return add_expr(s, to_number(value), span);
          },
          py::arg("value"), py::arg("span"))
      .def(
          "add_index",
          [](System& s, const PyAffine& form, const std::string& dtype, const PySpan& span) {
            return add_expr(s, Index{to_affine(form), to_dtype(dtype)}, span);
          },
          py::arg("form"), py::arg("dtype"), py::arg("span"))
      .def(
          "add_access",
          [](System& s, std::uint32_t tensor, const std::vector<PyAffine>& index, const PySpan& span) {
            return add_expr(s, Access{TensorId(tensor), to_affines(index)}, span);
          },
          py::arg("tensor"), py::arg("index"), py::arg("span"))
      .def(
          "add_apply",
          [](System& s, const std::string& op, const std::vector<std::uint32_t>& operands,
             const std::vector<std::string>& flags, const PySpan& span) {
            Apply apply{operators::op_from_name(op).value(), to_flags(flags), {}};
            for (const auto id : operands) apply.operands.emplace_back(id);
            return add_expr(s, std::move(apply), span);
          },
          py::arg("op"), py::arg("operands"), py::arg("flags"), py::arg("span"))
      .def("add_reduce", &add_reduce, py::arg("kind"), py::arg("index"), py::arg("domain"), py::arg("body"),
           py::arg("any_order"), py::arg("span"))
      .def(
          "add_equation",
          [](System& s, std::uint32_t target, const std::vector<PyAffine>& index,
             std::vector<std::string> indices, const PyRegion& domain, std::uint32_t expr,
             const PySpan& span) {
            s.equations.push_back({TensorId(target), to_affines(index), std::move(indices), to_region(domain),
                                   ExprId(expr), to_span(span)});
          },
          py::arg("target"), py::arg("index"), py::arg("indices"), py::arg("domain"), py::arg("expr"),
          py::arg("span"))
      .def(
          "verify", [](const System& s) { analyse(s, [s] { return verify(s), true; }); },
          "Prove single assignment, cover and bounds.")
      .def(
          "assigns_once", [](const System& s) { return analyse(s, [s] { return assigns_once(s); }); },
          "Return whether no element is assigned twice: else the equations are statements of a loop nest.")
      .def(
          "expand",
          [](System& s, const std::vector<std::pair<std::vector<std::int64_t>, std::vector<bool>>>& places,
             bool required) {
            Nest nest{s, {}};
            for (const auto& [text, descending] : places) nest.positions.push_back({text, descending});
            auto made = analyse(s, [nest, required] { return expand_arrays(nest, required); });
            if (made) s = std::move(*made);
            return made.has_value();
          },
          py::arg("places"), py::arg("required") = true, "Make loop nests recurrences; tell if it was done.")
      .def(
          "split_strides", [](System& s) { s = analyse(s, [s] { return split_strides(s); }); },
          "Make equations that read elements of several strides one for each.")
      .def(
          "fill_tiles",
          [](System& s) {
            auto filled = analyse(s, [s] { return fill_tiles(s); });
            s = std::move(filled.system);
            return filled.masks;
          },
          "Make numbers that operators read as tiles tiles; return the shapes of masks that are all true.")
      .def("__eq__", [](const System& a, const System& b) { return a == b; })
      .def("__str__", [](const System& s) { return to_string(s); });
}

}  // namespace cyclotron::bindings
