// Rate of a moving body's inertia as a map of a second twist: the bilinear part of V ×* M V.
#pragma once

#include "spatial/inertia.hpp"

namespace pysim::spatial {

/// B(M, V) = ½ (V ×* M − M V × + (· ×* M V)), with B V = V ×* M V and B + Bᵀ = Ṁ
/// [Echeandia & Wensing 2021, eq. 9]. For a rigid body only twelve numbers of the 6×6 are not zero:
///
///     B = [ 0  −f× ]      f = m v − mc × ω                                          [kg·m/s]
///         [ 0   K  ]      K = ½ (ω× I − I ω× − (I ω)×) − mc× v×                     [kg·m²/s]
template <class S>
struct Gyroscopic {
  Vec3<S> f;
  Mat3<S> K;
};

template <class S>
PYSIM_INLINE Gyroscopic<S> operator+(const Gyroscopic<S>& A, const Gyroscopic<S>& B) {
  return {A.f + B.f, A.K + B.K};
}

/// B(M, V);  mc× v× = v mcᵀ − mc·v 1.
template <class S>
PYSIM_INLINE Gyroscopic<S> gyroscopic(const Inertia<S>& M, const Motion<S>& V) {
  const Vec3<S>& w = V.w;
  const Vec3<S> ax = cross(w, Vec3<S>{M.I.xx, M.I.xy, M.I.zx});  // ω× I, by columns
  const Vec3<S> ay = cross(w, Vec3<S>{M.I.xy, M.I.yy, M.I.yz});
  const Vec3<S> az = cross(w, Vec3<S>{M.I.zx, M.I.yz, M.I.zz});
  const S half = all<S>(typename S::Real(0.5)), d = dot(M.mc, V.v);
  const S xy = half * (ax.y + ay.x), yz = half * (ay.z + az.y), zx = half * (az.x + ax.z);
  const Vec3<S> s = half * (M.I * w);
  const Mat3<S> K = {
      {ax.x + d, xy - s.z, zx + s.y}, {xy + s.z, ay.y + d, yz - s.x}, {zx - s.y, yz + s.x, az.z + d}};
  return {cross_add(w, M.mc, M.m * V.v),
          {fma(-M.mc.x, V.v, K.x), fma(-M.mc.y, V.v, K.y), fma(-M.mc.z, V.v, K.z)}};
}

/// B S = [w × f; K w].
template <class S>
PYSIM_INLINE Force<S> operator*(const Gyroscopic<S>& B, const Motion<S>& V) {
  return {cross(V.w, B.f), B.K * V.w};
}

/// The moment of Bᵀ S = [0; f × v + Kᵀ w].
template <class S>
PYSIM_INLINE Vec3<S> transpose_times(const Gyroscopic<S>& B, const Motion<S>& V) {
  return cross_add(B.f, V.v, transpose_times(B.K, V.w));
}

/// X_AB* B X_BA:  f' = R f,  K' = R K Rᵀ − p× f'× = R K Rᵀ − f' pᵀ + p·f' 1.
template <class S>
PYSIM_INLINE Gyroscopic<S> to_parent(const Pose<S>& X_AB, const Gyroscopic<S>& B) {
  const Vec3<S> f = X_AB.R * B.f;
  const Vec3<S>& p = X_AB.p;
  const S d = dot(p, f);
  Mat3<S> K = rotate(X_AB.R, B.K);
  K = {fma(-p.x, f, K.x), fma(-p.y, f, K.y), fma(-p.z, f, K.z)};
  K.x.x += d;
  K.y.y += d;
  K.z.z += d;
  return {f, K};
}

}  // namespace pysim::spatial
