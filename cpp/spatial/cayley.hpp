// Cayley's map in the adjoint representation, as the exponential of a twist [Simo and Wong 1991; Selig 2007].
//
//     exp(2 y) = cay(2 x),   cay(X) = (1 − X/2)⁻¹ (1 + X/2) of the matrix of x acting on twists
//     rotation    y = s(θ²) x,                              s = atan θ / θ,  θ = |x|
//     twist       ω_y = s ω,  v_y = s v + 2 s' (ω·v) ω      s' = ds/dθ²      (s of the dual number |x|²)
//
// A step by this map conserves the spatial momentum of a body, averaged over the step's ends.
#pragma once

#include "simd/math.hpp"
#include "spatial/motion.hpp"

namespace pysim::spatial {

/// s and 2 s' of θ².
template <class S>
struct CayleyScale {
  S s, twice_slope;
};

template <class S>
PYSIM_INLINE CayleyScale<S> cayley_scale(S square) {
  using Real = typename S::Real;
  constexpr double series[] = {
      1.0 / 21, -1.0 / 19, 1.0 / 17, -1.0 / 15, 1.0 / 13, -1.0 / 11, 1.0 / 9, -1.0 / 7, 1.0 / 5, -1.0 / 3, 1};
  constexpr double slope[] = {20.0 / 21,
                              -18.0 / 19,
                              16.0 / 17,
                              -14.0 / 15,
                              12.0 / 13,
                              -10.0 / 11,
                              8.0 / 9,
                              -6.0 / 7,
                              4.0 / 5,
                              -2.0 / 3};
  const S one = all<S>(1), theta = sqrt(square);
  const auto near = square < all<S>(Real(0.02));
  const S apart = select(near, one, theta), apart_square = select(near, one, square);
  const S far = simd::atan(apart) / apart;
  return {select(near, simd::polynomial(square, series), far),
          select(near, simd::polynomial(square, slope), (one / (one + square) - far) / apart_square)};
}

/// y of a rotation.
template <class S>
PYSIM_INLINE Vec3<S> half_cayley(const Vec3<S>& x) {
  return cayley_scale(dot(x, x)).s * x;
}

/// y of a twist.
template <class S>
PYSIM_INLINE Motion<S> half_cayley(const Motion<S>& x) {
  const auto scale = cayley_scale(dot(x.w, x.w));
  const S along = scale.twice_slope * dot(x.w, x.v);
  return {fma(along, x.w, scale.s * x.v), scale.s * x.w};
}

}  // namespace pysim::spatial
