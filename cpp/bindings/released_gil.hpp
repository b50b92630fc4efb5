// The GIL, given back while C++ computes, in the default floating-point environment.
#pragma once

#include <pybind11/pybind11.h>

#include <cxxabi.h>
#include <unistd.h>

#include "engine/floating_point.hpp"

namespace pysim::bindings {

/// Gives the GIL back while it lives.
///
/// A daemon thread may work on when the interpreter goes down. CPython before 3.14 then unwinds the thread
/// that asks for the GIL, through objects that need it, and py::gil_scoped_release lets that end the process.
/// Here such a thread waits for the end of the process where it is, as from CPython 3.14 on.
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
      for (;;) pause();  // never left, for an unwinding that is caught has to go on
    }
#else
    PyEval_RestoreThread(state_);
#endif
  }

 private:
  PyThreadState* state_;
  engine::DefaultFloatingPoint environment_;
};

}  // namespace pysim::bindings
