// Packs in double precision for sums that single precision does not carry.
#pragma once

#include "simd/pack.hpp"

namespace pysim::simd {

template <class S, bool is_double>
struct InDoubleOf {
  using type = S;
};

template <class S>
struct InDoubleOf<S, false> {
  using type = Pack<double, S::width, typename S::Isa>;
};

/// As many numbers in double precision.
template <class S>
using InDouble = typename InDoubleOf<S, sizeof(typename S::Real) == 8>::type;

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
    const auto halves = bit_cast<Halves>(x.lanes);
    return {{convert<Doubles>(halves.low), convert<Doubles>(halves.high)}};
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
    const Halves halves = {convert<Half>(x.lanes.low), convert<Half>(x.lanes.high)};
    return {bit_cast<typename S::Lanes>(halves)};
  }
}

}  // namespace pysim::simd
