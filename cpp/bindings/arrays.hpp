// NumPy arrays at the boundary: what is wrong with them is said by name, or they are handed on as they are.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace pysim::bindings {

namespace py = pybind11;

/// "(9,) or (batch, 9)", "(2, 6) or (batch, 2, 6)".
inline std::string describe_shape(const std::vector<py::ssize_t>& row) {
  std::string inner;
  for (const auto n : row) inner += (inner.empty() ? "" : ", ") + std::to_string(n);
  return "(" + inner + (row.size() == 1 ? ",)" : ")") + " or (batch" + (inner.empty() ? "" : ", ") + inner + ")";
}

inline std::string describe_shape(const py::array& a) {
  std::string inner;
  for (py::ssize_t i = 0; i < a.ndim(); ++i) inner += (i > 0 ? ", " : "") + std::to_string(a.shape(i));
  return "(" + inner + (a.ndim() == 1 ? ",)" : ")");
}

/// The leading axis that all arguments of a call share, set by the first.
struct Leading {
  bool batched = false;
  py::ssize_t states = 1;
  const char* name = nullptr;
};

template <class Real>
constexpr const char* dtype_name() {
  return sizeof(Real) == 8 ? "float64" : "float32";
}

inline int type_number(const py::array& a) {
  return py::detail::array_descriptor_proxy(py::detail::array_proxy(a.ptr())->descr)->type_num;
}

/// True if the call is to run in single precision: its first array is float32.
inline bool is_single(py::handle x) {
  return py::isinstance<py::array>(x) &&
         type_number(py::reinterpret_borrow<py::array>(x)) == py::detail::npy_api::NPY_FLOAT_;
}

/// One argument of a call: a C-contiguous array of Real whose rows have the shape `row`.
template <class Real>
class Rows {
 public:
  Rows(py::handle x, const char* name, const std::vector<py::ssize_t>& row, Leading& leading) : name_(name) {
    if (py::isinstance<py::array>(x)) {
      array_ = py::reinterpret_borrow<py::array>(x);
      const int wanted = sizeof(Real) == 8 ? py::detail::npy_api::NPY_DOUBLE_ : py::detail::npy_api::NPY_FLOAT_;
      if (type_number(array_) != wanted) fail_dtype();
    } else {
      array_ = py::array_t<Real>::ensure(x);
      if (!array_) throw std::invalid_argument(std::string(name) + " must be an array of " + dtype_name<Real>());
    }
    if ((array_.flags() & py::array::c_style) == 0) array_ = py::array_t<Real, py::array::c_style>(array_);
    check_shape(row, leading);
    check_finite();
  }

  const Real* data() const { return static_cast<const Real*>(array_.data()); }

 private:
  [[noreturn]] void fail_dtype() const {
    throw std::invalid_argument(std::string(name_) + " must have dtype " + dtype_name<Real>() + ", got " +
                                std::string(py::str(array_.dtype())) +
                                (sizeof(Real) == 4 ? " (the first argument is float32)" : ""));
  }

  void check_shape(const std::vector<py::ssize_t>& row, Leading& leading) {
    const auto dims = static_cast<py::ssize_t>(row.size());
    const bool batched = array_.ndim() == dims + 1;
    bool fits = batched || array_.ndim() == dims;
    for (py::ssize_t i = 0; fits && i < dims; ++i) {
      fits = array_.shape(i + (batched ? 1 : 0)) == row[static_cast<std::size_t>(i)];
    }
    if (!fits) {
      throw std::invalid_argument(std::string(name_) + " must have shape " + describe_shape(row) + ", got " +
                                  describe_shape(array_));
    }
    const py::ssize_t states = batched ? array_.shape(0) : 1;
    if (leading.name == nullptr) {
      leading = {batched, states, name_};
    } else if (batched != leading.batched || states != leading.states) {
      const auto say = [](bool b, py::ssize_t n) {
        return b ? "a batch of " + std::to_string(n) : std::string("a single state");
      };
      throw std::invalid_argument(std::string(name_) + " is " + say(batched, states) + ", but " + leading.name +
                                  " is " + say(leading.batched, leading.states));
    }
  }

  void check_finite() const {
    const Real* x = data();
    const py::ssize_t n = array_.size();
    Real zero = 0;
    for (py::ssize_t i = 0; i < n; ++i) zero += x[i] * 0;
    if (zero == 0) return;
    py::ssize_t i = 0;
    while (std::isfinite(x[i])) ++i;
    std::string index;
    for (py::ssize_t d = array_.ndim() - 1, rest = i; d >= 0; rest /= array_.shape(d), --d) {
      index = std::to_string(rest % array_.shape(d)) + (index.empty() ? "" : ", ") + index;
    }
    throw std::invalid_argument(std::string(name_) + " must be finite, got " +
                                (std::isnan(x[i]) ? "nan" : x[i] > 0 ? "inf" : "-inf") + " at [" + index + "]");
  }

  const char* name_;
  py::array array_;
};

/// A new array with the call's leading axis before `row`.
template <class Real>
py::array_t<Real> make_output(const Leading& leading, const std::vector<py::ssize_t>& row) {
  std::vector<py::ssize_t> shape;
  if (leading.batched) shape.push_back(leading.states);
  shape.insert(shape.end(), row.begin(), row.end());
  return py::array_t<Real>(shape);
}

}  // namespace pysim::bindings
