// Rotations: unit quaternions (x, y, z, w), rotation vectors φ = angle · axis, and the Jacobians between them.
//
//     d exp(φ) = exp(φ) (J_r(φ) dφ)× = (J_l(φ) dφ)× exp(φ),      J_l(φ) = J_r(−φ)        [Chirikjian 2012, 10.86]
//
// Below a small angle each coefficient is its own series; the thresholds are where both are exact to rounding.
#pragma once

#include "simd/math.hpp"
#include "spatial/mat3.hpp"

namespace pysim::spatial {

template <class S>
struct Quaternion {
  S x, y, z, w;
};

template <class S>
PYSIM_INLINE Quaternion<S> operator*(const Quaternion<S>& a, const Quaternion<S>& b) {
  return {fnma(a.z, b.y, fma(a.y, b.z, fma(a.x, b.w, a.w * b.x))),
          fnma(a.x, b.z, fma(a.z, b.x, fma(a.y, b.w, a.w * b.y))),
          fnma(a.y, b.x, fma(a.x, b.y, fma(a.z, b.w, a.w * b.z))),
          fnma(a.z, b.z, fnma(a.y, b.y, fnma(a.x, b.x, a.w * b.w)))};
}

template <class S>
PYSIM_INLINE Quaternion<S> conjugate(const Quaternion<S>& a) {
  return {-a.x, -a.y, -a.z, a.w};
}

template <class S>
PYSIM_INLINE Quaternion<S> normalized(const Quaternion<S>& a) {
  const S inverse = all<S>(1) / sqrt(fma(a.w, a.w, fma(a.z, a.z, fma(a.y, a.y, a.x * a.x))));
  return {a.x * inverse, a.y * inverse, a.z * inverse, a.w * inverse};
}

/// R of a unit quaternion.
template <class S>
PYSIM_INLINE Mat3<S> rotation(const Quaternion<S>& q) {
  const S two = all<S>(2), one = all<S>(1);
  const S x2 = two * q.x, y2 = two * q.y, z2 = two * q.z;
  const S wx = q.w * x2, wy = q.w * y2, wz = q.w * z2;
  return {{one - fma(q.y, y2, q.z * z2), fma(q.x, y2, wz), fms(q.x, z2, wy)},
          {fms(q.x, y2, wz), one - fma(q.x, x2, q.z * z2), fma(q.y, z2, wx)},
          {fma(q.x, z2, wy), fms(q.y, z2, wx), one - fma(q.x, x2, q.y * y2)}};
}

/// The unit quaternion of the rotation vector φ.
template <class S>
PYSIM_INLINE Quaternion<S> exp_quaternion(const Vec3<S>& phi) {
  constexpr double series[] = {-1.0 / 645120, 1.0 / 3840, -1.0 / 48, 0.5};  // sin(θ/2)/θ in θ²
  using Real = typename S::Real;
  const S square = dot(phi, phi), angle = sqrt(square);
  S s, c;
  simd::sincos(all<S>(Real(0.5)) * angle, s, c);
  const S k = select(square < all<S>(Real(0.01)), simd::polynomial(square, series), s / angle);
  return {k * phi.x, k * phi.y, k * phi.z, c};
}

/// The rotation vector of a unit quaternion, |φ| ≤ π.
template <class S>
PYSIM_INLINE Vec3<S> log_quaternion(const Quaternion<S>& q) {
  constexpr double series[] = {1.0 / 9, -1.0 / 7, 1.0 / 5, -1.0 / 3, 1};  // atan(t)/t in t²
  using Real = typename S::Real;
  const S w = abs(q.w);
  const Vec3<S> u = {simd::flip_sign(q.x, q.w), simd::flip_sign(q.y, q.w), simd::flip_sign(q.z, q.w)};
  const S square = dot(u, u), n = sqrt(square), t = n / w;
  const S two = all<S>(2);
  const S near = (two / w) * simd::polynomial(t * t, series);
  const S far = two * simd::atan2(n, w) / n;
  return select(square < all<S>(Real(1e-3)) * w * w, near, far) * u;
}

/// κ(θ) = (1 − (θ/2) cot(θ/2)) / θ²,  1/12 at rest; singular at a full turn only.
template <class S>
PYSIM_INLINE S inverse_jacobian_kappa(S square) {
  constexpr double series[] = {691.0 / 1307674368000, 1.0 / 47900160, 1.0 / 1209600, 1.0 / 30240, 1.0 / 720, 1.0 / 12};
  using Real = typename S::Real;
  const S x = all<S>(Real(0.5)) * sqrt(square);
  S s, c;
  simd::sincos(x, s, c);
  const S closed = (all<S>(1) - x * c / s) / square;
  return select(square < all<S>(Real(0.1)), simd::polynomial(square, series), closed);
}

/// J_l⁻¹(φ) b = b − φ×b/2 + κ φ×(φ×b).
template <class S>
PYSIM_INLINE Vec3<S> left_jacobian_inverse_times(const Vec3<S>& phi, const Vec3<S>& b) {
  const Vec3<S> once = cross(phi, b);
  const Vec3<S> half = fma(all<S>(typename S::Real(-0.5)), once, b);
  return fma(inverse_jacobian_kappa(dot(phi, phi)), cross(phi, once), half);
}

/// J_r⁻¹(φ) b = b + φ×b/2 + κ φ×(φ×b).
template <class S>
PYSIM_INLINE Vec3<S> right_jacobian_inverse_times(const Vec3<S>& phi, const Vec3<S>& b) {
  return left_jacobian_inverse_times(-phi, b);
}

/// J_l(φ) b = b + (1 − cos θ)/θ² φ×b + (θ − sin θ)/θ³ φ×(φ×b).
template <class S>
PYSIM_INLINE Vec3<S> left_jacobian_times(const Vec3<S>& phi, const Vec3<S>& b) {
  constexpr double alpha_series[] = {1.0 / 3628800, -1.0 / 40320, 1.0 / 720, -1.0 / 24, 0.5};
  constexpr double beta_series[] = {1.0 / 39916800, -1.0 / 362880, 1.0 / 5040, -1.0 / 120, 1.0 / 6};
  using Real = typename S::Real;
  const S square = dot(phi, phi), angle = sqrt(square);
  S s, c;
  simd::sincos(angle, s, c);
  const auto small = square < all<S>(Real(0.1));
  const S alpha = select(small, simd::polynomial(square, alpha_series), (all<S>(1) - c) / square);
  const S beta = select(small, simd::polynomial(square, beta_series), (angle - s) / (angle * square));
  const Vec3<S> once = cross(phi, b);
  return fma(beta, cross(phi, once), fma(alpha, once, b));
}

}  // namespace pysim::spatial
