// Displacements X = exp([ξ]), ξ = [v; ω] = log X, and the Jacobians between them.
//
//     d exp([ξ]) = exp([ξ]) [J_r(ξ) dξ] = [J_l(ξ) dξ] exp([ξ]),      J_r(ξ) = J_l(−ξ)
//     J_l = 1 + c₁ ad + c₂ ad² + c₃ ad³ + c₄ ad⁴,      J_l⁻¹ = 1 − ad/2 + a ad² + b ad⁴,      ad = ad_ξ
//
// since (ad² + θ²)² ad = 0, θ = |ω| [Selig 2005, section 4.4; Bullo and Murray 1995].
#pragma once

#include "spatial/motion.hpp"
#include "spatial/so3.hpp"

namespace pysim::spatial {

/// Position of exp([ξ]):  J_l(ω) v. Its rotation is exp_quaternion(ω).
template <class S>
PYSIM_INLINE Vec3<S> exp_position(const Motion<S>& xi) {
  return left_jacobian_times(xi.w, xi.v);
}

template <class S>
PYSIM_INLINE Pose<S> exp(const Motion<S>& xi) {
  return {exp(xi.w), exp_position(xi)};
}

/// ξ with exp([ξ]) = X, |ω| ≤ π.
template <class S>
PYSIM_INLINE Motion<S> log(const Pose<S>& X) {
  const Vec3<S> w = log(X.R);
  return {left_jacobian_inverse_times(w, X.p), w};
}

/// J_l(ξ) V.
///
///     c₁ = 2α − σ/2,  c₂ = (5β − α)/2,  c₃ = (2α − σ)/2θ²,  c₄ = (3β − α)/2θ²,  σ = sin θ / θ
template <class S>
PYSIM_INLINE Motion<S> left_jacobian_times(const Motion<S>& xi, const Motion<S>& V) {
  // Σ (−1)ⁿ (n+1)/(2n+4)! θ²ⁿ and Σ (−1)ⁿ (n+1)/(2n+5)! θ²ⁿ
  constexpr double c3_series[] = {5.0 / 479001600, -4.0 / 3628800, 3.0 / 40320, -2.0 / 720, 1.0 / 24};
  constexpr double c4_series[] = {5.0 / 6227020800, -4.0 / 39916800, 3.0 / 362880, -2.0 / 5040, 1.0 / 120};
  using Real = typename S::Real;
  const S square = dot(xi.w, xi.w), two = all<S>(2), half = all<S>(Real(0.5));
  const auto j = jacobian_coefficients(square);
  const auto small = square < all<S>(Real(0.1));
  const S c1 = fnma(half, j.sinc, two * j.alpha);
  const S c2 = half * fms(all<S>(5), j.beta, j.alpha);
  const S c3 = select(small, simd::polynomial(square, c3_series), half * fms(two, j.alpha, j.sinc) / square);
  const S c4 =
      select(small, simd::polynomial(square, c4_series), half * fms(all<S>(3), j.beta, j.alpha) / square);

  const Motion<S> ad1 = cross(xi, V), ad2 = cross(xi, ad1), ad3 = cross(xi, ad2), ad4 = cross(xi, ad3);
  return fma(c4, ad4, fma(c3, ad3, fma(c2, ad2, fma(c1, ad1, V))));
}

/// J_r(ξ) V: the body twist of X₀ exp([ξ]) while ξ moves at rate V.
template <class S>
PYSIM_INLINE Motion<S> right_jacobian_times(const Motion<S>& xi, const Motion<S>& V) {
  return left_jacobian_times(-xi, V);
}

/// J_r⁻¹(ξ) V: the rate ξ̇ at which X₀ exp([ξ]) moves with body twist V.
///
///     a θ² = 2h − e,  b θ⁴ = h − e,   h = 1 − x cot x,  e = (x²/sin²x − x cot x)/2,  x = θ/2
template <class S>
PYSIM_INLINE Motion<S> right_jacobian_inverse_times(const Motion<S>& xi, const Motion<S>& V) {
  // c_n of h = Σ c_n θ²ⁿ give a = Σ (2−n) c_n θ²ⁿ⁻², b = Σ (1−n) c_n θ²ⁿ⁻⁴
  constexpr double c3 = 1.0 / 30240, c4 = 1.0 / 1209600, c5 = 1.0 / 47900160, c6 = 691.0 / 1307674368000;
  constexpr double a_series[] = {-4 * c6, -3 * c5, -2 * c4, -c3, 0, 1.0 / 12};
  constexpr double b_series[] = {-5 * c6, -4 * c5, -3 * c4, -2 * c3, -1.0 / 720};
  using Real = typename S::Real;
  const S square = dot(xi.w, xi.w), half = all<S>(Real(0.5));
  S a = simd::polynomial(square, a_series), b = simd::polynomial(square, b_series);
  const auto turned = square >= all<S>(Real(0.1));
  if (simd::any(turned)) {
    const S x = half * sqrt(square);
    S sin, cos;
    simd::sincos(x, sin, cos);
    const S ratio = x / sin, x_cot = ratio * cos;
    const S h = all<S>(1) - x_cot, e = half * fms(ratio, ratio, x_cot);
    a = select(turned, (h + (h - e)) / square, a);
    b = select(turned, (h - e) / (square * square), b);
  }

  const Motion<S> ad1 = cross(xi, V), ad2 = cross(xi, ad1), ad4 = cross(xi, cross(xi, ad2));
  return fma(b, ad4, fma(a, ad2, fma(half, ad1, V)));
}

/// J_l⁻¹(ξ) V.
template <class S>
PYSIM_INLINE Motion<S> left_jacobian_inverse_times(const Motion<S>& xi, const Motion<S>& V) {
  return right_jacobian_inverse_times(-xi, V);
}

}  // namespace pysim::spatial
