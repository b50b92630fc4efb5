// Rotations: unit quaternions (x, y, z, w), rotation vectors φ = angle · axis, the Jacobians between them.
//
//     d exp(φ) = exp(φ) (J_r(φ) dφ)× = (J_l(φ) dφ)× exp(φ),      J_l(φ) = J_r(−φ)
//
//     J_l(φ) = 1 + α φ× + β φ×φ×,   α = (1 − cos θ)/θ²,  β = (θ − sin θ)/θ³
//     J_l⁻¹(φ) = 1 − φ×/2 + κ φ×φ×,  κ = (1 − (θ/2) cot(θ/2))/θ²,      θ = |φ|
//
// Coefficients that cancel at small angles are replaced by their own series there. Thresholds: the error of
// the closed form, ε/θ², multiplied by the φ×φ× (θ²) beside it is of the order of rounding, and so is the
// first term that a series leaves out.
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

/// The unit quaternion of a rotation matrix, from its largest component; w ≥ 0 if that is the largest.
template <class S>
PYSIM_INLINE Quaternion<S> quaternion_of(const Mat3<S>& R) {
  const S one = all<S>(1), half = all<S>(typename S::Real(0.5));
  const S xx = R.x.x, yy = R.y.y, zz = R.z.z;
  // four times the square of each component, and twice the sums and differences of their products
  const S w4 = one + (xx + yy + zz), x4 = one + (xx - yy - zz), y4 = one + (yy - xx - zz),
          z4 = one + (zz - xx - yy);
  const S wx = R.y.z - R.z.y, wy = R.z.x - R.x.z, wz = R.x.y - R.y.x;
  const S xy = R.x.y + R.y.x, yz = R.y.z + R.z.y, zx = R.z.x + R.x.z;

  const auto z_over_y = z4 > y4;
  Quaternion<S> q = {
      select(z_over_y, zx, xy), select(z_over_y, yz, y4), select(z_over_y, z4, yz), select(z_over_y, wz, wy)};
  S largest = max(z4, y4);
  const auto x_over = x4 > largest;
  q = {select(x_over, x4, q.x), select(x_over, xy, q.y), select(x_over, zx, q.z), select(x_over, wx, q.w)};
  largest = max(x4, largest);
  const auto w_over = w4 > largest;
  q = {select(w_over, wx, q.x), select(w_over, wy, q.y), select(w_over, wz, q.z), select(w_over, w4, q.w)};
  const S scale = half / sqrt(max(w4, largest));
  return {scale * q.x, scale * q.y, scale * q.z, scale * q.w};
}

/// sin(θ/2)/θ and cos(θ/2).
template <class S>
struct HalfTurn {
  S k, c;
};

/// Half angle of θ²: sine and cosine. Angles below a tenth of a radian, as in a step, need no sine.
template <class S>
PYSIM_INLINE HalfTurn<S> half_turn(S square) {
  constexpr double k_series[] = {1.0 / 185794560, -1.0 / 645120, 1.0 / 3840, -1.0 / 48, 0.5};
  constexpr double c_series[] = {1.0 / 10321920, -1.0 / 46080, 1.0 / 384, -1.0 / 8, 1};
  using Real = typename S::Real;
  const HalfTurn<S> near = {simd::polynomial(square, k_series), simd::polynomial(square, c_series)};
  const auto turned = square >= all<S>(Real(1e-2));
  if (!simd::any(turned)) return near;
  const S angle = sqrt(square);
  S s, c;
  simd::sincos(all<S>(Real(0.5)) * angle, s, c);
  return {select(turned, s / angle, near.k), select(turned, c, near.c)};
}

/// The unit quaternion of the rotation vector φ.
template <class S>
PYSIM_INLINE Quaternion<S> exp_quaternion(const Vec3<S>& phi) {
  const HalfTurn<S> h = half_turn(dot(phi, phi));
  return {h.k * phi.x, h.k * phi.y, h.k * phi.z, h.c};
}

/// exp(φ×), as a matrix.
template <class S>
PYSIM_INLINE Mat3<S> exp(const Vec3<S>& phi) {
  return rotation(exp_quaternion(phi));
}

/// The rotation vector of a unit quaternion, |φ| ≤ π.
template <class S>
PYSIM_INLINE Vec3<S> log_quaternion(const Quaternion<S>& q) {
  constexpr double series[] = {1.0 / 9, -1.0 / 7, 1.0 / 5, -1.0 / 3, 1};  // atan(t)/t in t²
  using Real = typename S::Real;
  const S w = abs(q.w);
  const Vec3<S> u = {simd::flip_sign(q.x, q.w), simd::flip_sign(q.y, q.w), simd::flip_sign(q.z, q.w)};
  const S square = dot(u, u), one_over_w = all<S>(1) / w, two = all<S>(2);
  const S near = two * one_over_w * simd::polynomial(square * one_over_w * one_over_w, series);
  const auto turned = square >= all<S>(Real(1e-3)) * w * w;
  if (!simd::any(turned)) return near * u;
  const S n = sqrt(square);
  const S far = two * simd::atan2(n, w) / n;
  return select(turned, far, near) * u;
}

/// The rotation vector of a rotation matrix, |φ| ≤ π. Small rotations, as in a closed loop, need no root:
/// φ = (asin s / s) u,  u = ½ (R − Rᵀ)ᵛ,  s = |u|.
template <class S>
PYSIM_INLINE Vec3<S> log(const Mat3<S>& R) {
  constexpr double series[] = {35.0 / 1152, 5.0 / 112, 3.0 / 40, 1.0 / 6, 1};
  using Real = typename S::Real;
  const S half = all<S>(Real(0.5)), trace = R.x.x + R.y.y + R.z.z;
  const Vec3<S> u = half * Vec3<S>{R.y.z - R.z.y, R.z.x - R.x.z, R.x.y - R.y.x};
  const S square = dot(u, u);
  const Vec3<S> near = simd::polynomial(square, series) * u;
  const auto turned = (square >= all<S>(Real(1e-3))) | (trace <= all<S>(0));
  if (!simd::any(turned)) return near;
  const Vec3<S> far = log_quaternion(quaternion_of(R));
  return {select(turned, far.x, near.x), select(turned, far.y, near.y), select(turned, far.z, near.z)};
}

/// The coefficients of J_l(φ), and sin θ / θ.
template <class S>
struct JacobianCoefficients {
  S alpha, beta, sinc;
};

template <class S>
PYSIM_INLINE JacobianCoefficients<S> jacobian_coefficients(S square) {
  constexpr double series[] = {1.0 / 39916800, -1.0 / 362880, 1.0 / 5040, -1.0 / 120, 1.0 / 6};
  using Real = typename S::Real;
  const HalfTurn<S> h = half_turn(square);
  const S two_k = all<S>(2) * h.k, sinc = two_k * h.c;
  const S near = simd::polynomial(square, series);
  const auto turned = square >= all<S>(Real(0.1));
  if (!simd::any(turned)) return {two_k * h.k, near, sinc};
  return {two_k * h.k, select(turned, (all<S>(1) - sinc) / square, near), sinc};
}

/// κ of θ², 1/12 at zero; singular only at a full turn.
template <class S>
PYSIM_INLINE S inverse_jacobian_kappa(S square) {
  constexpr double series[] = {
      691.0 / 1307674368000, 1.0 / 47900160, 1.0 / 1209600, 1.0 / 30240, 1.0 / 720, 1.0 / 12};
  using Real = typename S::Real;
  const S near = simd::polynomial(square, series);
  const auto turned = square >= all<S>(Real(0.1));
  if (!simd::any(turned)) return near;
  const S x = all<S>(Real(0.5)) * sqrt(square);
  S s, c;
  simd::sincos(x, s, c);
  return select(turned, (all<S>(1) - x * c / s) / square, near);
}

/// 1 + a φ× + b φ×φ×.
template <class S>
PYSIM_INLINE Mat3<S> skew_polynomial(const Vec3<S>& phi, S a, S b) {
  const S one = all<S>(1);
  const S xx = phi.x * phi.x, yy = phi.y * phi.y, zz = phi.z * phi.z;
  const S xy = b * (phi.x * phi.y), yz = b * (phi.y * phi.z), zx = b * (phi.z * phi.x);
  return {{fnma(b, yy + zz, one), fma(a, phi.z, xy), fnma(a, phi.y, zx)},
          {fnma(a, phi.z, xy), fnma(b, zz + xx, one), fma(a, phi.x, yz)},
          {fma(a, phi.y, zx), fnma(a, phi.x, yz), fnma(b, xx + yy, one)}};
}

/// J_l(φ); the transpose is J_r(φ).
template <class S>
PYSIM_INLINE Mat3<S> left_jacobian(const Vec3<S>& phi) {
  const auto j = jacobian_coefficients(dot(phi, phi));
  return skew_polynomial(phi, j.alpha, j.beta);
}

/// J_l⁻¹(φ); the transpose is J_r⁻¹(φ).
template <class S>
PYSIM_INLINE Mat3<S> left_jacobian_inverse(const Vec3<S>& phi) {
  return skew_polynomial(phi, all<S>(typename S::Real(-0.5)), inverse_jacobian_kappa(dot(phi, phi)));
}

/// J_l(φ) b = b + α φ×b + β φ×(φ×b).
template <class S>
PYSIM_INLINE Vec3<S> left_jacobian_times(const Vec3<S>& phi, const Vec3<S>& b) {
  const auto j = jacobian_coefficients(dot(phi, phi));
  const Vec3<S> once = cross(phi, b);
  return fma(j.beta, cross(phi, once), fma(j.alpha, once, b));
}

/// J_r(φ) b.
template <class S>
PYSIM_INLINE Vec3<S> right_jacobian_times(const Vec3<S>& phi, const Vec3<S>& b) {
  return left_jacobian_times(-phi, b);
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

}  // namespace pysim::spatial
