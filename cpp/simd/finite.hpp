// Test for NaN and infinite values in an array.
#pragma once

#include "simd/partial_load.hpp"

namespace pysim::simd {

/// True if `f` of all of x[0 … count) is finite. Four independent sums, because a single one is bound by
/// latency.
template <class S, class F>
PYSIM_INLINE bool all_finite_values(const typename S::Real* x, std::ptrdiff_t count, const F& f) {
  constexpr int W = S::width;
  S zero[4] = {};  // stay 0 while every number is finite: inf − inf and nan − nan are nan
  std::ptrdiff_t i = 0;
  for (; i + 4 * W <= count; i += 4 * W) {
    for (int k = 0; k < 4; ++k) {
      const S a = f(load<S>(x + i + k * W));
      zero[k] += a - a;
    }
  }
  for (; i < count; i += W) {
    const S a = f(i + W <= count ? load<S>(x + i) : load_part<S>(x + i, static_cast<int>(count - i)));
    zero[0] += a - a;
  }
  const S sum = (zero[0] + zero[1]) + (zero[2] + zero[3]);
  return all(sum == all<S>(0));
}

/// True if all of x[0 … count) are finite.
template <class S>
bool all_finite(const typename S::Real* x, std::ptrdiff_t count) {
  return all_finite_values<S>(x, count, [](const S& a) { return a; });
}

/// True if the squares of all of x[0 … count) are finite.
template <class S>
bool all_finite_squares(const typename S::Real* x, std::ptrdiff_t count) {
  return all_finite_values<S>(x, count, [](const S& a) { return a * a; });
}

}  // namespace pysim::simd
