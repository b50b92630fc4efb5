// Arguments of functions that return derivatives: several output arrays, and rejection of callback joints.
#pragma once

#include "bindings/model_functions.hpp"

namespace pysim::bindings {

/// A joint that is evaluated in Python has no second derivatives.
inline void refuse_callbacks(const Model& model) {
  for (std::size_t k = 0; k < model.joints().size(); ++k) {
    if (model.joints()[k].callback < 0) continue;
    throw std::invalid_argument(
        "joint '" + model.names()[k] +
        "' is a CallbackJoint, which has no analytical derivatives; trace it (derive it "
        "from Joint) or take finite differences");
  }
}

/// The caller's array for result i of `count`, None if `out` is omitted; otherwise `out` must be a tuple of
/// `count` arrays.
inline py::object place_of(const Arguments& arguments, std::size_t i, std::size_t count) {
  if (!is_given(arguments.out)) return py::none();
  if (!py::isinstance<py::tuple>(arguments.out) || py::len(arguments.out) != count) {
    throw std::invalid_argument("out must be a tuple of " + std::to_string(count) + " arrays");
  }
  return arguments.out.cast<py::tuple>()[i];
}

}  // namespace pysim::bindings
