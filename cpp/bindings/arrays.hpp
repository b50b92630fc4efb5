// NumPy arrays at the boundary: checked, with errors that name the argument, and passed on without a copy.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "engine/dispatch.hpp"

namespace pysim::bindings {

namespace py = pybind11;

/// The axes of one state's row: at most three, stored without allocation because calls must be cheap.
struct Shape {
  int ndim = 0;
  py::ssize_t size[3] = {};

  Shape() = default;
  Shape(std::initializer_list<py::ssize_t> sizes) {
    for (const auto n : sizes) size[ndim++] = n;
  }
};

/// "(9,) or (batch, 9)", "(2, 6) or (batch, 2, 6)".
inline std::string describe(const Shape& row) {
  std::string inner;
  for (int i = 0; i < row.ndim; ++i) inner += (i > 0 ? ", " : "") + std::to_string(row.size[i]);
  return "(" + inner + (row.ndim == 1 ? ",)" : ")") + " or (batch" + (row.ndim > 0 ? ", " : "") + inner + ")";
}

/// "(9,)", "(2, 6)".
template <class Size>
std::string describe(py::ssize_t ndim, const Size* size) {
  std::string inner;
  for (py::ssize_t i = 0; i < ndim; ++i) inner += (i > 0 ? ", " : "") + std::to_string(size[i]);
  return "(" + inner + (ndim == 1 ? ",)" : ")");
}

inline std::string describe(const py::array& a) {
  return describe(a.ndim(), a.shape());
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

/// NumPy's own record of an array, read without going through Python.
inline const py::detail::PyArray_Proxy& record(py::handle array) {
  return *py::detail::array_proxy(array.ptr());
}

inline int type_number(py::handle array) {
  return py::detail::array_descriptor_proxy(record(array).descr)->type_num;
}

/// True if the numbers are in memory as the kernels read them: in C order, aligned, in this processor's byte
/// order.
inline bool is_plain(py::handle array) {
  constexpr int wanted = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  return (record(array).flags & wanted) == wanted &&
         py::detail::array_descriptor_proxy(record(array).descr)->byteorder == '=';
}

/// An array as the kernels read them; NumPy converts one whose numbers are misaligned only if asked to.
template <class Real, int extra = 0>
using PlainArray = py::array_t<Real, py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_ | extra>;

/// True if the call runs in single precision: its first array is float32.
inline bool is_single(py::handle x) {
  return py::isinstance<py::array>(x) && type_number(x) == py::detail::npy_api::NPY_FLOAT_;
}

/// True for an array of integers of any size, without truth values.
inline bool is_integer(py::handle x) {
  const int number = type_number(x);
  return number >= py::detail::npy_api::NPY_BYTE_ && number <= py::detail::npy_api::NPY_ULONGLONG_;
}

/// Memory that a call reads or writes, by the argument's name.
struct Extent {
  const char* begin = nullptr;
  const char* end = nullptr;
  const char* name = nullptr;

  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};

/// Numbers that an argument may have.
enum class Values { finite, any };

/// One argument of a call: C-contiguous rows of Real of the shape `row`, finite by default. Borrows the
/// caller's array.
template <class Real>
class Rows {
 public:
  Rows(py::handle x, const char* name, const Shape& row, Leading& leading, Values values = Values::finite)
      : name_(name), array_(x) {
    constexpr int wanted =
        sizeof(Real) == 8 ? py::detail::npy_api::NPY_DOUBLE_ : py::detail::npy_api::NPY_FLOAT_;
    if (!py::isinstance<py::array>(x)) {
      converted_ = PlainArray<Real>::ensure(x);
      if (!converted_)
        throw std::invalid_argument(std::string(name_) + " must be an array of " + dtype_name<Real>());
      array_ = converted_;
    } else if (is_integer(x)) {  // as in a list of integers
      converted_ = PlainArray<Real, py::array::forcecast>::ensure(x);
      array_ = converted_;
    } else if (type_number(x) != wanted) {
      fail_dtype();
    } else if (!is_plain(x)) {
      converted_ = PlainArray<Real>(py::reinterpret_borrow<py::object>(x));
      array_ = converted_;
    }
    check_shape(row, leading);
    if (values == Values::finite) check_finite();
  }

  const Real* data() const { return reinterpret_cast<const Real*>(record(array_).data); }

  /// Empty for an array that was converted: the call reads a copy.
  Extent extent() const {
    if (converted_) return {};
    return {record(array_).data, record(array_).data + size_ * py::ssize_t{sizeof(Real)}, name_};
  }

 private:
  [[noreturn]] void fail_dtype() const {
    throw std::invalid_argument(std::string(name_) + " must have dtype " + dtype_name<Real>() + ", got " +
                                std::string(py::str(array_.attr("dtype"))) +
                                (sizeof(Real) == 4 ? " (the first argument is float32)" : ""));
  }

  void check_shape(const Shape& row, Leading& leading) {
    const auto& a = record(array_);
    const bool batched = a.nd == row.ndim + 1;
    bool fits = batched || a.nd == row.ndim;
    for (int i = 0; fits && i < row.ndim; ++i) fits = a.dimensions[i + (batched ? 1 : 0)] == row.size[i];
    if (!fits) {
      throw std::invalid_argument(std::string(name_) + " must have shape " + describe(row) + ", got " +
                                  describe(py::reinterpret_borrow<py::array>(array_)));
    }
    const py::ssize_t states = batched ? a.dimensions[0] : 1;
    if (leading.name == nullptr) {
      leading = {batched, states, name_};
    } else if (batched != leading.batched || states != leading.states) {
      const auto say = [](bool b, py::ssize_t n) {
        return b ? "a batch of " + std::to_string(n) : std::string("a single state");
      };
      throw std::invalid_argument(std::string(name_) + " is " + say(batched, states) + ", but " +
                                  leading.name + " is " + say(leading.batched, leading.states));
    }
    size_ = states;
    for (int i = 0; i < row.ndim; ++i) size_ *= row.size[i];
  }

  void check_finite() const {
    const Real* x = data();
    if (engine::precision<Real>().all_finite(x, size_)) return;
    py::ssize_t i = 0;
    while (std::isfinite(x[i])) ++i;
    const auto& a = record(array_);
    std::string index;
    py::ssize_t rest = i;
    for (int d = a.nd - 1; d >= 0; --d) {
      index = std::to_string(rest % a.dimensions[d]) + (index.empty() ? "" : ", ") + index;
      rest /= a.dimensions[d];
    }
    throw std::invalid_argument(std::string(name_) + " must be finite, got " +
                                (std::isnan(x[i]) ? "nan"
                                 : x[i] > 0       ? "inf"
                                                  : "-inf") +
                                " at [" + index + "]");
  }

  const char* name_;
  py::handle array_;
  py::object converted_;
  py::ssize_t size_ = 0;
};

/// The shape of the call's result: its leading axis before `row`.
struct Axes {
  int ndim = 0;
  Py_intptr_t size[4];

  Axes(const Leading& leading, const Shape& row) {
    if (leading.batched) size[ndim++] = leading.states;
    for (int i = 0; i < row.ndim; ++i) size[ndim++] = row.size[i];
  }
};

/// A new array with the call's leading axis before `row`.
template <class Real>
py::array make_output(const Leading& leading, const Shape& row) {
  const Axes axes(leading, row);
  const auto& numpy = py::detail::npy_api::get();
  PyObject* made = numpy.PyArray_NewFromDescr_(numpy.PyArray_Type_,
                                               py::dtype::of<Real>().release().ptr(),
                                               axes.ndim,
                                               axes.size,
                                               nullptr,
                                               nullptr,
                                               0,
                                               nullptr);
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::array>(made);
}

/// The numbers of an output.
template <class Real>
Real* numbers(const py::array& out) {
  return reinterpret_cast<Real*>(record(out).data);
}

/// The caller's array for a result; rejected with the argument's name if the kernel cannot write it as it is.
template <class Real>
py::array accept_output(py::handle out, const char* name, const Leading& leading, const Shape& row) {
  constexpr int wanted =
      sizeof(Real) == 8 ? py::detail::npy_api::NPY_DOUBLE_ : py::detail::npy_api::NPY_FLOAT_;
  const auto refuse = [name](const std::string& problem) {
    throw std::invalid_argument(std::string(name) + " must " + problem);
  };
  if (!py::isinstance<py::array>(out)) refuse(std::string("be an array of ") + dtype_name<Real>());
  auto array = py::reinterpret_borrow<py::array>(out);
  if (type_number(out) != wanted) {
    refuse(std::string("have dtype ") + dtype_name<Real>() + ", got " + std::string(py::str(array.dtype())));
  }
  const Axes axes(leading, row);
  bool fits = array.ndim() == axes.ndim;
  for (int i = 0; fits && i < axes.ndim; ++i) fits = array.shape(i) == axes.size[i];
  if (!fits) {
    refuse("have shape " + describe(axes.ndim, axes.size) + ", got " + describe(array));
  }
  if (!is_plain(out)) refuse("be C-contiguous, aligned and in this processor's byte order");
  if (!array.writeable()) refuse("be writeable");
  return array;
}

}  // namespace pysim::bindings
