// Functions of a model and arrays, as Python calls them: f(model, arrays…, *, threads=1, [passive=False,]
// out=None).
//
// A control loop calls them thousands of times per second, so they are C functions of Python (METH_FASTCALL)
// rather than pybind11's: the time of a call is then spent in the kernel. A function is a Signature, a body
// and a line in its module; those of engine/algorithms.hpp are defined together (bind_algorithms.cpp):
//
//     constexpr Signature aba_derivatives = {"aba_derivatives", {"q", "v", "tau", "f_ext"}, {}};
//     define<aba_derivatives, derivatives_of_accelerations>(m, "Return …");
#pragma once

#include <cstring>
#include <string_view>

#include "bindings/algorithm_call.hpp"

namespace pysim::bindings {

using engine::max_arrays;
using engine::Signature;

/// External wrenches are none by default.
constexpr bool is_optional(std::string_view array) {
  return array == "f_ext";
}

/// One call. An omitted array is null or None.
struct Arguments {
  const Model* model = nullptr;
  py::handle array[max_arrays];
  py::handle out = Py_None;
  int threads = 1;
  bool passive = false;
};

/// A kernel in both precisions.
struct KernelPair {
  engine::Kernel<double> engine::StateKernels<double>::* float64;
  engine::Kernel<float> engine::StateKernels<float>::* float32;

  template <class Real>
  auto of() const {
    if constexpr (sizeof(Real) == 8) {
      return float64;
    } else {
      return float32;
    }
  }
};

#define PYSIM_KERNELS(name)                                                 \
  ::pysim::bindings::KernelPair {                                           \
    &engine::StateKernels<double>::name, &engine::StateKernels<float>::name \
  }

/// Calls body<Real>(arguments) in the precision of the first array.
#define PYSIM_IN_PRECISION(body, arguments) \
  (is_single((arguments).array[0]) ? body<float>(arguments) : body<double>(arguments))

inline bool is_given(py::handle x) {
  return x && !x.is_none();
}

/// The array of an argument that is required.
inline void refuse_none(py::handle x, const char* name) {
  if (!is_given(x)) throw py::type_error(std::string(name) + " must be an array, got None");
}

/// v, the third array under its name, and external wrenches if there are any.
template <class Real>
void set_motion(Call<Real>& call, const Arguments& arguments, const char* third) {
  call.set_v(arguments.array[1]);
  call.set_x(arguments.array[2], third, arguments.model->nv());
  if (is_given(arguments.array[3])) call.set_f_ext(arguments.array[3]);
}

/// Error text for an argument that is not a model.
inline std::string no_model(py::handle x) {
  const auto type = py::cast<std::string>(py::type::handle_of(x).attr("__name__"));
  const char* instead = py::hasattr(x, "model") ? "its .model" : "the result of pysim.load_model";
  return "model must be a pysim.Model, got " + type + "; pass " + instead;
}

inline const Model& model_of(PyObject* x) {
  static const py::detail::type_info* const info = py::detail::get_type_info(typeid(Model));
  py::detail::type_caster_generic caster(info);
  if (!caster.load(x, false)) throw py::type_error(no_model(x));
  return *static_cast<const Model*>(caster.value);
}

inline int threads_of(PyObject* x) {
  const long threads = PyLong_AsLong(x);
  if (threads == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  check_threads(threads);
  return static_cast<int>(threads);
}

/// Assigns the arguments of a Python call to the parameters of a signature.
class Reader {
 public:
  explicit Reader(const Signature& signature) : signature_(signature), arrays_(signature.arrays()) {}

  Arguments read(PyObject* const* values, Py_ssize_t positional, PyObject* names) {
    if (positional > arrays_ + 1) {
      fail("takes " + std::to_string(arrays_ + 1) + " positional arguments, got " +
           std::to_string(positional));
    }
    for (Py_ssize_t i = 0; i < positional; ++i) put(static_cast<int>(i), values[i]);
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < named; ++i) {
      put_named(PyTuple_GET_ITEM(names, i), values[positional + i]);
    }
    for (int i = 0; i <= arrays_; ++i) {
      if (is_optional(i)) continue;
      if (!seen_[i]) fail("needs the argument " + quoted(name_of(i)));
      if (i > 0) refuse_none(arguments_.array[i - 1], name_of(i));
    }
    return arguments_;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw py::type_error(std::string(signature_.name) + "() " + problem);
  }

  static std::string quoted(const char* name) { return "'" + std::string(name) + "'"; }

  bool is_optional(int place) const { return place > 0 && pysim::bindings::is_optional(name_of(place)); }

  const char* name_of(int place) const { return place == 0 ? "model" : signature_.array[place - 1]; }

  void put(int place, PyObject* value) {
    if (seen_[place]) fail("got two values for " + quoted(name_of(place)));
    seen_[place] = true;
    if (place == 0) {
      arguments_.model = &model_of(value);
    } else {
      arguments_.array[place - 1] = value;
    }
  }

  void put_named(PyObject* key, PyObject* value) {
    const char* name = PyUnicode_AsUTF8(key);
    if (name == nullptr) throw py::error_already_set();
    const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
    if (is("threads")) {
      arguments_.threads = threads_of(value);
    } else if (is("out")) {
      arguments_.out = value;
    } else if (signature_.has(engine::takes_passive) && is("passive")) {
      const int truth = PyObject_IsTrue(value);
      if (truth < 0) throw py::error_already_set();
      arguments_.passive = truth != 0;
    } else {
      for (int i = 0; i <= arrays_; ++i) {
        if (is(name_of(i))) return put(i, value);
      }
      fail("takes no argument " + quoted(name));
    }
  }

  const Signature& signature_;
  const int arrays_;
  Arguments arguments_;
  bool seen_[max_arrays + 1] = {};
};

/// Converts the C++ exception being handled to a Python exception.
inline void raise_in_python() noexcept {
  try {
    throw;
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const py::builtin_exception& e) {
    e.set_error();
  } catch (const std::invalid_argument& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown exception");
  }
}

using Body = py::object (*)(const Arguments&);

template <const Signature& signature, Body body>
PyObject* enter(PyObject* /*module*/,
                PyObject* const* values,
                Py_ssize_t positional,
                PyObject* names) noexcept {
  try {
    return body(Reader(signature).read(values, positional, names)).release().ptr();
  } catch (...) {
    raise_in_python();
    return nullptr;
  }
}

/// "aba($module, model, q, v, tau, f_ext=None, *, threads=1, …)", which inspect reads, before the docstring.
inline std::string documented(const Signature& signature, const char* docstring) {
  std::string text = std::string(signature.name) + "($module, model";
  for (int i = 0; i < signature.arrays(); ++i) {
    text += std::string(", ") + signature.array[i] + (is_optional(signature.array[i]) ? "=None" : "");
  }
  text += ", *, threads=1";
  if (signature.has(engine::takes_passive)) text += ", passive=False";
  return text + ", out=None)\n--\n\n" + docstring;
}

/// Adds the function to a module; like every function of a module it can be pickled by name.
template <const Signature& signature, Body body>
void define(py::module_& m, const char* docstring) {
  static const std::string doc = documented(signature, docstring);
  static PyMethodDef method = {
      signature.name,
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&enter<signature, body>)),
      METH_FASTCALL | METH_KEYWORDS,
      doc.c_str()};
  PyObject* function = PyCFunction_NewEx(&method, m.ptr(), py::object(m.attr("__name__")).ptr());
  if (function == nullptr) throw py::error_already_set();
  m.add_object(signature.name, py::reinterpret_steal<py::object>(function));
}

}  // namespace pysim::bindings
