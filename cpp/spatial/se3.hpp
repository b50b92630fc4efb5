// Displacements X = exp([ξ]), ξ = [v; ω], and the Jacobian that Munthe-Kaas integration needs.
#pragma once

#include "spatial/motion.hpp"
#include "spatial/so3.hpp"

namespace pysim::spatial {

/// Position of exp([ξ]):  J_l(ω) v. Its rotation is exp_quaternion(ω).
template <class S>
PYSIM_INLINE Vec3<S> exp_position(const Motion<S>& xi) {
  return left_jacobian_times(xi.w, xi.v);
}

/// J_r⁻¹(ξ) V: the rate ξ̇ at which X₀ exp([ξ]) moves with body twist V.
///
///     J_r⁻¹ = 1 + ad/2 + a ad² + b ad⁴,   ad = ad_ξ      [Bullo and Murray 1995]
///     a θ² = 2h − e,  b θ⁴ = h − e,   h = 1 − x cot x,  e = (x²/sin²x − x cot x)/2,  x = θ/2
template <class S>
PYSIM_INLINE Motion<S> right_jacobian_inverse_times(const Motion<S>& xi, const Motion<S>& V) {
  // c_n of h = Σ c_n θ²ⁿ give a = Σ (2−n) c_n θ²ⁿ⁻², b = Σ (1−n) c_n θ²ⁿ⁻⁴
  constexpr double c3 = 1.0 / 30240, c4 = 1.0 / 1209600, c5 = 1.0 / 47900160, c6 = 691.0 / 1307674368000;
  constexpr double a_series[] = {-4 * c6, -3 * c5, -2 * c4, -c3, 0, 1.0 / 12};
  constexpr double b_series[] = {-5 * c6, -4 * c5, -3 * c4, -2 * c3, -1.0 / 720};
  using Real = typename S::Real;
  const S square = dot(xi.w, xi.w);
  const S half = all<S>(Real(0.5)), x = half * sqrt(square);
  S sin, cos;
  simd::sincos(x, sin, cos);
  const S ratio = x / sin, x_cot = ratio * cos;
  const S h = all<S>(1) - x_cot, e = half * fms(ratio, ratio, x_cot);
  const auto small = square < all<S>(Real(0.1));
  const S a = select(small, simd::polynomial(square, a_series), (h + (h - e)) / square);
  const S b = select(small, simd::polynomial(square, b_series), (h - e) / (square * square));

  const Motion<S> ad1 = cross(xi, V), ad2 = cross(xi, ad1), ad4 = cross(xi, cross(xi, ad2));
  return fma(b, ad4, fma(a, ad2, fma(half, ad1, V)));
}

}  // namespace pysim::spatial
