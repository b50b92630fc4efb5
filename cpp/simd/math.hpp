// Elementary functions on packs: the same operations in every lane and at every width, with selections
// instead of branches.
//
// A lane's result does not depend on the others nor on the width, and is the same on AVX2 and AVX-512. Errors
// are bounded in units in the last place (ulp) and measured by tests/simd.
#pragma once

#include "simd/exponential.hpp"
#include "simd/trigonometry.hpp"

namespace pysim::simd {

/// √(x² + y²) within 1.5 ulp, without overflow of intermediate results; infinite if either argument is.
template <class S>
PYSIM_INLINE S hypot(S x, S y) {
  using Integer = typename S::Integer;
  using Real = typename S::Real;
  constexpr int mantissa = sizeof(Integer) == 8 ? 52 : 23;
  constexpr Integer exponents = Integer(sizeof(Integer) == 8 ? 2047 : 255) << mantissa;
  const S a = magnitude(x), b = magnitude(y), infinity = all<S>(Real(simd::infinity));
  const S larger = select(a > b, a, b);
  const S power = max(from_bits<S>(bits(larger) & exponents),
                      all<S>(either<S>(2.2250738585072014e-308, 1.1754943508222875e-38)));
  const S inverse = all<S>(1) / power;
  const S u = a * inverse, v = b * inverse;
  const S length = sqrt(fma(u, u, v * v)) * power;
  return select((a == infinity) | (b == infinity), infinity, length);
}

}  // namespace pysim::simd
