// Compensated sums, which retain the rounding errors of floating-point additions.
//
//   s = a + b     b' = s − a     lost = (a − (s − b')) + (b − b')      [Knuth, TAOCP 2, 4.2.2, theorem B]
//
// The error of a sum of n terms is that of its terms, whatever n and however they cancel.
#pragma once

#include "simd/pack.hpp"

namespace pysim::simd {

/// a + b, and its rounding error.
template <class S>
struct Rounded {
  S sum, lost;
};

template <class S>
PYSIM_INLINE Rounded<S> exact_sum(S a, S b) {
  const S s = a + b, added = s - a;
  return {s, (a - (s - added)) + (b - added)};
}

template <class S>
struct Sum {
  S sum = all<S>(0), lost = all<S>(0);

  PYSIM_INLINE void add(S b) {
    const Rounded<S> next = exact_sum(sum, b);
    lost += next.lost;
    sum = next.sum;
  }
};

/// The sum of all lanes of n sums, lane by lane in order.
template <class One, class S>
PYSIM_INLINE typename One::Real total(const Sum<S>* sums, int n) {
  Sum<One> whole;
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < S::width; ++k) {
      whole.add(One{lane(sums[i].sum, k)});
      whole.lost += One{lane(sums[i].lost, k)};
    }
  }
  return (whole.sum + whole.lost).lanes;
}

}  // namespace pysim::simd
