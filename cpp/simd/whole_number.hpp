// Whole numbers of floating-point numbers that may be anything.
#pragma once

#include "simd/vectors.hpp"

namespace pysim::simd {

/// x without its fraction, within bounds; the lower one where x is NaN.
template <class Whole>
PYSIM_INLINE Whole whole_within(double x, Whole least, Whole most) {
  if (!(x > static_cast<double>(least))) return least;
  if (x >= static_cast<double>(most)) return most;
  return static_cast<Whole>(x);
}

}  // namespace pysim::simd
