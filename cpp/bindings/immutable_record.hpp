// Records at the boundary: immutable values with named fields.
//
// A record's fields are its constructor's arguments, under the same names, so its modified copies, equality,
// pickling and text representation follow from the list of fields.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>

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

/// Adds a constructor with its arguments, which are the fields.
template <class Class, class Init, class... Arguments>
void define_record(Class& record, Init&& init, const Arguments&... arguments) {
  record.def(std::forward<Init>(init), arguments...);
  define_fields(record, py::make_tuple(arguments.name...));
}

}  // namespace pysim::bindings
