// Records at the boundary: immutable values with named fields.
//
// A record's fields are its constructor's arguments, under the same names, so its constructor, modified
// copies, equality, pickling and text representation follow from the list of fields.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bindings/fixed_shape_arrays.hpp"

namespace pysim::bindings {

namespace py = pybind11;

/// The values of the fields, by name.
inline py::dict fields_of(const py::object& record) {
  py::dict values;
  for (const auto& name : py::type::of(record).attr("fields")) values[name] = record.attr(py::str(name));
  return values;
}

inline std::string text_of(const py::object& record) {
  std::string text = py::cast<std::string>(py::type::of(record).attr("__name__")) + "(";
  const char* comma = "";
  for (const auto& [name, value] : fields_of(record)) {
    text += comma + py::cast<std::string>(name) + "=" + py::cast<std::string>(py::repr(value));
    comma = ", ";
  }
  return text + ")";
}

/// Whether two values of a field are equal; arrays are compared bit by bit.
inline bool is_same_value(const py::handle& a, const py::handle& b) {
  if (!py::isinstance<py::array>(a) || !py::isinstance<py::array>(b)) return a.equal(b);
  return a.attr("tobytes")().equal(b.attr("tobytes")());
}

inline bool is_same_record(const py::object& a, const py::object& b) {
  if (!py::type::of(a).is(py::type::of(b))) return false;
  for (const auto& name : py::type::of(a).attr("fields")) {
    if (!is_same_value(a.attr(py::str(name)), b.attr(py::str(name)))) return false;
  }
  return true;
}

/// Adds `fields`, `replaced`, `__reduce__`, `__eq__` and `__repr__` to a class whose constructor takes these
/// fields in this order.
template <class Class>
void define_fields(Class& record, const py::tuple& names) {
  record.attr("fields") = names;
  record.def(
      "replaced",
      [](const py::object& self, const py::kwargs& changes) {
        py::dict values = fields_of(self);
        for (const auto& [name, value] : changes) values[name] = value;
        return py::type::of(self)(**values);
      },
      "Return a copy with other values of the named fields.");
  record.def("__reduce__", [](const py::object& self) {
    return py::make_tuple(py::type::of(self), py::tuple(fields_of(self).attr("values")()));
  });
  record.def("__eq__", &is_same_record);
  record.def("__repr__", &text_of);
}

/// A field: the argument of the constructor that gives it, set(record, value), and get(record).
template <class Value, class Argument, class Set, class Get>
struct Field {
  static_assert(std::is_base_of_v<py::arg, Argument>);
  using Type = Value;
  Argument argument;
  Set set;
  Get get;
};

template <class Value, class Argument, class Set, class Get>
Field<Value, Argument, Set, Get> field(const Argument& argument, const Set& set, const Get& get) {
  return {argument, set, get};
}

/// A field that is a member.
template <class Argument, class Record, class Value>
auto field(const Argument& argument, Value Record::* member) {
  return field<Value>(
      argument,
      [member](Record& record, Value&& value) { record.*member = std::move(value); },
      [member](const Record& record) -> const Value& { return record.*member; });
}

/// A pose, a 4×4 matrix in Python.
template <class Argument, class Record>
auto pose_field(const Argument& argument, double (Record::*member)[12]) {
  return field<Numbers>(
      argument,
      [member, name = argument.name](Record& record, const Numbers& X) {
        pack_pose(X, name, record.*member);
      },
      [member](const Record& record) { return pose_matrix(record.*member); });
}

/// A vector of three numbers.
template <class Argument, class Record>
auto vector_field(const Argument& argument, double (Record::*member)[3]) {
  return field<Numbers>(
      argument,
      [member, name = argument.name](Record& record, const Numbers& x) {
        copy_numbers(x, name, {3}, record.*member);
      },
      [member](const Record& record) { return Numbers(3, record.*member); });
}

/// Adds fields and a constructor that takes them in this order.
template <class Record, class... Fields>
void define_record(py::class_<Record>& record, const Fields&... fields) {
  record.def(py::init([set = std::make_tuple(fields.set...)](typename Fields::Type... values) {
               Record made = {};
               std::apply([&](const auto&... each) { (each(made, std::move(values)), ...); }, set);
               return made;
             }),
             fields.argument...);
  (record.def_property_readonly(
       fields.argument.name,
       [get = fields.get](const Record& made) -> decltype(auto) { return get(made); }),  // also of a base
   ...);
  define_fields(record, py::make_tuple(fields.argument.name...));
}

}  // namespace pysim::bindings
