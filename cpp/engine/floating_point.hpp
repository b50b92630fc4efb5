// Floating-point environment of the kernels: round to nearest, denormals kept, no traps.
//
// Another library of the process may have set a rounding mode, flushing of denormals or traps for the calling
// thread, and threads inherit these from the thread that starts them. Results would then differ in their
// bits.
#pragma once

#if defined(PYSIM_X86)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace pysim::engine {

/// Sets the default environment during its lifetime; if it is set already, the cost is one register read.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
#if defined(PYSIM_X86)
    if ((saved_ & control_bits) != default_control) _mm_setcsr(default_control);
#else
    if (saved_ != FE_TONEAREST) std::fesetround(FE_TONEAREST);
#endif
  }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;
  ~DefaultFloatingPoint() {
#if defined(PYSIM_X86)
    if ((saved_ & control_bits) != default_control) _mm_setcsr(saved_);
#else
    if (saved_ != FE_TONEAREST) std::fesetround(saved_);
#endif
  }

 private:
#if defined(PYSIM_X86)
  static constexpr unsigned control_bits = 0xffc0u;  ///< the other bits are flags of past exceptions
  static constexpr unsigned default_control = 0x1f80u;
  unsigned saved_ = _mm_getcsr();
#else
  int saved_ = std::fegetround();
#endif
};

/// During its lifetime, subnormal numbers count as zero: in single precision they cost a hundred
/// cycles each and are insignificant at 24 bits. Double precision keeps them.
class FlushDenormals {
 public:
  FlushDenormals() {
#if defined(PYSIM_X86)
    _mm_setcsr(saved_ | 0x8040u);  // FTZ and DAZ
#endif
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
  ~FlushDenormals() {
#if defined(PYSIM_X86)
    _mm_setcsr(saved_);
#endif
  }

 private:
#if defined(PYSIM_X86)
  unsigned saved_ = _mm_getcsr();
#endif
};

}  // namespace pysim::engine
