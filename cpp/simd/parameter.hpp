// Numbers of a model as kernels read them: one for all worlds of a pack, or a pack with one for each.
#pragma once

#include "simd/pack.hpp"

namespace pysim::simd {

/// Type of a number that is the same in all worlds, beside numbers of type Parameter.
template <class Parameter>
struct FixedOf {
  using type = Parameter;
};

template <class Real, int W, class Isa>
struct FixedOf<Pack<Real, W, Isa>> {
  using type = Real;
};

template <class Parameter>
using Fixed = typename FixedOf<Parameter>::type;

/// Whether numbers record the operations by which they are made (reverse.hpp).
template <class S>
inline constexpr bool is_on_tape = false;

/// Whether a number is nonzero in any world.
template <class Real>
PYSIM_INLINE bool is_there(Real x) {
  return x != 0;
}

template <class Real, int W, class Isa>
PYSIM_INLINE bool is_there(const Pack<Real, W, Isa>& x) {
  using S = Pack<Real, W, Isa>;
  return any(abs(x) > all<S>(0));
}

/// Whether a limit is finite in any world.
template <class Real>
PYSIM_INLINE bool is_finite(Real x) {
  return x < Real(simd::infinity) && x > Real(-simd::infinity);
}

template <class Real, int W, class Isa>
PYSIM_INLINE bool is_finite(const Pack<Real, W, Isa>& x) {
  using S = Pack<Real, W, Isa>;
  return any(abs(x) < all<S>(Real(simd::infinity)));
}

}  // namespace pysim::simd
