// Numbers of Python: floats, arrays and symbolic numbers, so that a law of the engine can be traced.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

namespace pysim::bindings {

namespace py = pybind11;

/// A number type of kernels, as a pack of width 1: a double, or an object of Python that is computed by
/// Python's operators and NumPy's functions when it is first read, so that a trace records what is used.
class PythonNumber {
 public:
  using Real = double;
  using Parameter = PythonNumber;
  using Lanes = double;
  static constexpr int width = 1;

  PythonNumber(double x) : plain_(x) {}  // NOLINT(google-explicit-constructor): as packs
  explicit PythonNumber(const py::object& x) {
    if (py::isinstance<py::float_>(x)) {
      plain_ = py::cast<double>(x);
    } else {
      object_ = std::make_shared<Object>(Object{x, nullptr});
    }
  }

  py::object value() const {
    if (object_ == nullptr) return py::float_(plain_);
    if (!object_->value) object_->value = object_->compute();
    return object_->value;
  }

  friend bool operator!=(const PythonNumber& a, double x) { return !a.is(x); }
  friend PythonNumber operator-(const PythonNumber& a) {
    if (a.is_plain()) return -a.plain_;
    return later([a] { return -a.value(); });
  }
  friend PythonNumber operator+(const PythonNumber& a, const PythonNumber& b) {
    if (a.is_plain() && b.is_plain()) return a.plain_ + b.plain_;
    if (a.is(0)) return b;
    if (b.is(0)) return a;
    return later([a, b] { return a.value() + b.value(); });
  }
  friend PythonNumber operator-(const PythonNumber& a, const PythonNumber& b) {
    if (a.is_plain() && b.is_plain()) return a.plain_ - b.plain_;
    if (b.is(0)) return a;
    if (b.is_plain() && std::isinf(b.plain_)) return -b;
    return later([a, b] { return a.value() - b.value(); });
  }
  friend PythonNumber operator*(const PythonNumber& a, const PythonNumber& b) {
    if (a.is_plain() && b.is_plain()) return a.plain_ * b.plain_;
    if (a.is(0) || b.is(0)) return 0.0;
    return later([a, b] { return a.value() * b.value(); });
  }
  friend PythonNumber operator/(const PythonNumber& a, const PythonNumber& b) {
    if (a.is_plain() && b.is_plain()) return a.plain_ / b.plain_;
    return later([a, b] { return a.value() / b.value(); });
  }
  friend PythonNumber operator>(const PythonNumber& a, const PythonNumber& b) {
    if (a.is_plain() && b.is_plain()) return a.plain_ > b.plain_ ? 1.0 : 0.0;
    return later([a, b] { return py::module_::import("operator").attr("gt")(a.value(), b.value()); });
  }
  friend PythonNumber fma(const PythonNumber& a, const PythonNumber& b, const PythonNumber& c) {
    return a * b + c;
  }
  friend PythonNumber fnma(const PythonNumber& a, const PythonNumber& b, const PythonNumber& c) {
    return c - a * b;
  }
  friend PythonNumber max(const PythonNumber& a, const PythonNumber& b) {
    if (a.is_plain() && b.is_plain()) return std::max(a.plain_, b.plain_);
    return numpy("maximum", a, b);
  }
  friend PythonNumber min(const PythonNumber& a, const PythonNumber& b) {
    if (a.is_plain() && b.is_plain()) return std::min(a.plain_, b.plain_);
    return numpy("minimum", a, b);
  }
  friend PythonNumber tanh(const PythonNumber& a) {
    if (a.is_plain()) return std::tanh(a.plain_);
    return numpy("tanh", a);
  }
  friend PythonNumber select(const PythonNumber& condition, const PythonNumber& a, const PythonNumber& b) {
    if (condition.is_plain()) return condition.is(0) ? b : a;
    return numpy("where", condition, a, b);
  }

 private:
  struct Object {
    py::object value;  ///< null until it is computed
    std::function<py::object()> compute;
  };

  bool is_plain() const { return object_ == nullptr; }
  bool is(double x) const { return is_plain() && plain_ == x; }

  static PythonNumber later(std::function<py::object()> compute) {
    PythonNumber found(0.0);
    found.object_ = std::make_shared<Object>(Object{py::object(), std::move(compute)});
    return found;
  }

  template <class... Numbers>
  static PythonNumber numpy(const char* name, const Numbers&... x) {
    return later([=] { return py::module_::import("numpy").attr(name)(x.value()...); });
  }

  double plain_ = 0;
  std::shared_ptr<Object> object_;  ///< null of a double
};

}  // namespace pysim::bindings
