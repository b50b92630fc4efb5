// Spatial vectors, linear part first, in the body frame about its origin.
//
//   V = [v; ω]   twist          v velocity of the frame's origin [m/s], ω angular velocity [rad/s]
//   F = [f; τ]   wrench         f force [N], τ moment about the frame's origin [N·m]
//
// X_AB maps B coordinates to A; twists and wrenches are moved without ever forming a 6×6.
#pragma once

#include "spatial/pose.hpp"

namespace pysim::spatial {

template <class S>
struct Motion {
  Vec3<S> v, w;

  PYSIM_INLINE friend Motion operator-(const Motion& a) { return {-a.v, -a.w}; }
  PYSIM_INLINE friend Motion operator+(const Motion& a, const Motion& b) { return {a.v + b.v, a.w + b.w}; }
  PYSIM_INLINE friend Motion operator-(const Motion& a, const Motion& b) { return {a.v - b.v, a.w - b.w}; }
  PYSIM_INLINE friend Motion operator*(S s, const Motion& a) { return {s * a.v, s * a.w}; }
  PYSIM_INLINE Motion& operator+=(const Motion& b) { return *this = *this + b; }
};

template <class S>
struct Force {
  Vec3<S> f, t;

  PYSIM_INLINE friend Force operator-(const Force& a) { return {-a.f, -a.t}; }
  PYSIM_INLINE friend Force operator+(const Force& a, const Force& b) { return {a.f + b.f, a.t + b.t}; }
  PYSIM_INLINE friend Force operator-(const Force& a, const Force& b) { return {a.f - b.f, a.t - b.t}; }
  PYSIM_INLINE friend Force operator*(S s, const Force& a) { return {s * a.f, s * a.t}; }
  PYSIM_INLINE Force& operator+=(const Force& b) { return *this = *this + b; }
};

template <class S>
PYSIM_INLINE Motion<S> zero_motion() {
  return {zero3<S>(), zero3<S>()};
}

template <class S>
PYSIM_INLINE Force<S> zero_force() {
  return {zero3<S>(), zero3<S>()};
}

/// c + s a.
template <class S>
PYSIM_INLINE Motion<S> fma(S s, const Motion<S>& a, const Motion<S>& c) {
  return {fma(s, a.v, c.v), fma(s, a.w, c.w)};
}

template <class S>
PYSIM_INLINE Force<S> fma(S s, const Force<S>& a, const Force<S>& c) {
  return {fma(s, a.f, c.f), fma(s, a.t, c.t)};
}

/// Power  P = f·v + τ·ω  [W].
template <class S>
PYSIM_INLINE S dot(const Motion<S>& V, const Force<S>& F) {
  return dot(V.v, F.f) + dot(V.w, F.t);
}

/// V × A = [ω×a + v×α; ω×α], the derivative of a twist A that moves with V.
template <class S>
PYSIM_INLINE Motion<S> cross(const Motion<S>& V, const Motion<S>& A) {
  return {cross_add(V.v, A.w, cross(V.w, A.v)), cross(V.w, A.w)};
}

/// V ×* F = [ω×f; ω×τ + v×f], the derivative of a wrench F that moves with V.
template <class S>
PYSIM_INLINE Force<S> cross(const Motion<S>& V, const Force<S>& F) {
  return {cross(V.w, F.f), cross_add(V.v, F.f, cross(V.w, F.t))};
}

/// V_B = X_BA V_A = [Rᵀ(v − p×ω); Rᵀω], given X_AB = (R, p).
template <class S>
PYSIM_INLINE Motion<S> to_child(const Pose<S>& X_AB, const Motion<S>& V) {
  return {transpose_times(X_AB.R, cross_add(V.w, X_AB.p, V.v)), transpose_times(X_AB.R, V.w)};
}

/// V + X_BA V_A.
template <class S>
PYSIM_INLINE Motion<S> plus_to_child(const Motion<S>& V, const Pose<S>& X_AB, const Motion<S>& V_A) {
  return {transpose_multiply_add(X_AB.R, cross_add(V_A.w, X_AB.p, V_A.v), V.v),
          transpose_multiply_add(X_AB.R, V_A.w, V.w)};
}

/// V_A = X_AB V_B = [R v + p×Rω; Rω].
template <class S>
PYSIM_INLINE Motion<S> to_parent(const Pose<S>& X_AB, const Motion<S>& V) {
  const Vec3<S> w = X_AB.R * V.w;
  return {cross_add(X_AB.p, w, X_AB.R * V.v), w};
}

/// F_A = X_AB* F_B = [R f; R τ + p×Rf].
template <class S>
PYSIM_INLINE Force<S> to_parent(const Pose<S>& X_AB, const Force<S>& F) {
  const Vec3<S> f = X_AB.R * F.f;
  return {f, cross_add(X_AB.p, f, X_AB.R * F.t)};
}

/// F + X_AB* F_B.
template <class S>
PYSIM_INLINE Force<S> plus_to_parent(const Force<S>& F, const Pose<S>& X_AB, const Force<S>& F_B) {
  const Vec3<S> f = X_AB.R * F_B.f;
  // the moment is computed last and passes through three operations only: a chain of bodies waits for them
  return {F.f + f, multiply_add(X_AB.R, F_B.t, cross_add(X_AB.p, f, F.t))};
}

/// F_B = X_BA* F_A = [Rᵀf; Rᵀ(τ − p×f)].
template <class S>
PYSIM_INLINE Force<S> to_child(const Pose<S>& X_AB, const Force<S>& F) {
  return {transpose_times(X_AB.R, F.f), transpose_times(X_AB.R, cross_add(F.f, X_AB.p, F.t))};
}

}  // namespace pysim::spatial
