// The GIL, given back while C++ works.
#pragma once

#include <pybind11/pybind11.h>

#include <unistd.h>

namespace pysim::bindings {

/// Gives the GIL back while it lives.
///
/// A daemon thread may work on when the interpreter goes down. CPython before 3.14 then ends the thread that
/// asks for the GIL by unwinding it, which py::gil_scoped_release lets end the process; here such a thread
/// waits for the end of the process, as it does in CPython from 3.14 on, and one that comes too late for that
/// unwinds.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;
  ~ReleasedGil() noexcept(false) {
    while (is_finalizing()) pause();
    PyEval_RestoreThread(state_);
  }

 private:
  static bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
  }

  PyThreadState* state_;
};

}  // namespace pysim::bindings
