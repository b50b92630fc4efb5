// Release of the GIL while C++ computes in the default floating-point environment.
#pragma once

#include <pybind11/pybind11.h>

#include <cxxabi.h>

#include "engine/floating_point.hpp"
#include "tree/operating_system.hpp"

namespace pysim::bindings {

/// Releases the GIL during its lifetime.
///
/// A daemon thread may still run when the interpreter shuts down. CPython before 3.14 then unwinds a thread
/// that requests the GIL, through objects that need it, and py::gil_scoped_release then ends the process.
/// Here such a thread waits until the process ends, as it does from CPython 3.14 on.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;
  ~ReleasedGil() {
#ifdef __GLIBCXX__
    try {
      PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind&) {
      tree::wait_forever();  // never left: an unwinding that is caught has to continue
    }
#else
    PyEval_RestoreThread(state_);
#endif
  }

 private:
  PyThreadState* state_;
  engine::DefaultFloatingPoint environment_;
};

/// Calls without the GIL.
template <class F>
auto without_gil(const F& call) {
  const ReleasedGil nogil;
  return call();
}

}  // namespace pysim::bindings
