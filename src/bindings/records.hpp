// Plain structs of named fields as Python classes, enumerations as their names.
#pragma once
#include <pybind11/operators.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <string_view>
#include <tuple>

namespace cyclotron::bindings {

template <class Record, class Value>
struct Field {
  const char* name;
  Value Record::* member;
};
template <class Record, class Value>
Field(const char*, Value Record::*) -> Field<Record, Value>;

/// A class with a constructor of keywords, one a field with its default, attributes and equality.
template <class Record, class... Values>
void bind_record(pybind11::module_& module, const char* name, const char* doc,
                 Field<Record, Values>... fields) {
  namespace py = pybind11;
  py::class_<Record> bound(module, name, doc);
  bound.def(py::init([fields...](Values... values) {
              Record record;
              ((record.*fields.member = std::move(values)), ...);
              return record;
            }),
            py::kw_only(), (py::arg(fields.name) = Record{}.*fields.member)...);
  (bound.def_readonly(fields.name, fields.member), ...);
  bound.def(py::self == py::self);  // NOLINT(misc-redundant-expression): pybind11 spells operators so
}

/// Found by its argument's namespace: `name` is a member of casters.
template <class Enum>
std::string name_of(Enum value) {
  return std::string(name(value));
}

/// An enumeration from 0 to `last` as the text that `name` gives each of its values; other text is a TypeError.
template <class Enum, Enum last>
struct NameCaster {
  PYBIND11_TYPE_CASTER(Enum, pybind11::detail::const_name("str"));

  bool load(pybind11::handle source, bool convert) {
    pybind11::detail::make_caster<std::string> text;
    if (!text.load(source, convert)) return false;
    for (int n = 0; n <= static_cast<int>(last); ++n) {
      value = static_cast<Enum>(n);
      if (name_of(value) == static_cast<const std::string&>(text)) return true;
    }
    return false;
  }
  static pybind11::handle cast(Enum source, pybind11::return_value_policy, pybind11::handle) {
    return pybind11::str(name_of(source)).release();
  }
};

}  // namespace cyclotron::bindings
