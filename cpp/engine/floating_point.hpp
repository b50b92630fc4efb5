// Floating-point environment of the kernels: round to nearest, denormals kept, no traps.
//
// Another library of the process may have set a rounding mode, flushing of denormals or traps for the calling
// thread, and threads inherit these from the thread that starts them. Results would then differ in their
// bits.
#pragma once

#include "simd/instructions.hpp"

namespace pysim::engine {

/// Sets the default environment during its lifetime; if it is set already, the cost is one register read.
class DefaultFloatingPoint {
  using Control = simd::FloatControl;

 public:
  DefaultFloatingPoint() {
    if (differs()) Control::write(Control::usual);
  }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;
  ~DefaultFloatingPoint() {
    if (differs()) Control::write(saved_);
  }

 private:
  bool differs() const { return (saved_ & Control::every) != Control::usual; }

  Control::Bits saved_ = Control::read();
};

/// During its lifetime, subnormal numbers count as zero: in single precision they cost a hundred
/// cycles each and are insignificant at 24 bits. Double precision keeps them.
class FlushDenormals {
  using Control = simd::FloatControl;

 public:
  FlushDenormals() { Control::write(saved_ | Control::flush); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
  ~FlushDenormals() { Control::write(saved_); }

 private:
  Control::Bits saved_ = Control::read();
};

}  // namespace pysim::engine
