// Packs in double precision for sums that single precision does not carry.
#pragma once

#include "simd/pack.hpp"

namespace pysim::simd {

/// As many numbers in double precision.
template <class S>
using InDouble = Pack<double, S::width, typename S::Isa>;

/// The same numbers in double precision.
template <class S>
PYSIM_INLINE InDouble<S> in_double(S x) {
  if constexpr (sizeof(typename S::Real) == 8) {
    return x;
  } else if constexpr (S::width == 1) {
    return {static_cast<double>(x.lanes)};
  } else {
    typedef typename Vector<float, S::width / 2>::type Half;
    typedef typename Vector<double, S::width / 2>::type Doubles;
    struct Halves {
      Half low, high;
    };
    const auto halves = __builtin_bit_cast(Halves, x.lanes);
    return {{__builtin_convertvector(halves.low, Doubles), __builtin_convertvector(halves.high, Doubles)}};
  }
}

/// Numbers in double precision, rounded to those of S.
template <class S>
PYSIM_INLINE S rounded_to(InDouble<S> x) {
  if constexpr (sizeof(typename S::Real) == 8) {
    return x;
  } else if constexpr (S::width == 1) {
    return {static_cast<float>(x.lanes)};
  } else {
    typedef typename Vector<float, S::width / 2>::type Half;
    struct Halves {
      Half low, high;
    };
    const Halves halves = {__builtin_convertvector(x.lanes.low, Half),
                           __builtin_convertvector(x.lanes.high, Half)};
    return {__builtin_bit_cast(typename S::Lanes, halves)};
  }
}

}  // namespace pysim::simd
