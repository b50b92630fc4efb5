// Articulated-body inertia in 21 numbers.
#pragma once

#include "spatial/inertia.hpp"

namespace pysim::spatial {

/// A symmetric 6×6 map from accelerations to wrenches [Featherstone 2008, eq. 7.6].
///
///     IA = [ M   H ]      M  linear-linear, symmetric    [kg]
///          [ Hᵀ  I ]      H  linear-angular, general     [kg·m]
///                         I  angular-angular, symmetric  [kg·m²]
template <class S>
struct ArticulatedInertia {
  Sym3<S> M;
  Mat3<S> H;
  Sym3<S> I;
};

template <class S>
PYSIM_INLINE ArticulatedInertia<S> operator+(const ArticulatedInertia<S>& A, const ArticulatedInertia<S>& B) {
  return {A.M + B.M, A.H + B.H, A.I + B.I};
}

/// A rigid body's ten numbers as 21:  M = m 1,  H = −mc×.
template <class S>
PYSIM_INLINE ArticulatedInertia<S> articulated(const Inertia<S>& B) {
  const S o = all<S>(0);
  return {{B.m, B.m, B.m, o, o, o}, {{o, -B.mc.z, B.mc.y}, {B.mc.z, o, -B.mc.x}, {-B.mc.y, B.mc.x, o}}, B.I};
}

/// The sum with a rigid body, whose M and H have only nine nonzero entries.
template <class S>
PYSIM_INLINE ArticulatedInertia<S> operator+(const Inertia<S>& B, const ArticulatedInertia<S>& A) {
  const Vec3<S>& c = B.mc;
  return {{A.M.xx + B.m, A.M.yy + B.m, A.M.zz + B.m, A.M.xy, A.M.yz, A.M.zx},
          {{A.H.x.x, A.H.x.y - c.z, A.H.x.z + c.y},
           {A.H.y.x + c.z, A.H.y.y, A.H.y.z - c.x},
           {A.H.z.x - c.y, A.H.z.y + c.x, A.H.z.z}},
          B.I + A.I};
}

/// F = IA a:  f = M v + H ω,  τ = Hᵀ v + I ω.
template <class S>
PYSIM_INLINE Force<S> operator*(const ArticulatedInertia<S>& A, const Motion<S>& a) {
  return {A.M * a.v + A.H * a.w, transpose_times(A.H, a.v) + A.I * a.w};
}

/// F + IA a.
template <class S>
PYSIM_INLINE Force<S> multiply_add(const ArticulatedInertia<S>& A, const Motion<S>& a, const Force<S>& F) {
  return {multiply_add(A.H, a.w, multiply_add(columns(A.M), a.v, F.f)),
          transpose_multiply_add(A.H, a.v, multiply_add(columns(A.I), a.w, F.t))};
}

/// A − K Uᵀ, for a K that is a multiple of U.
template <class S>
PYSIM_INLINE ArticulatedInertia<S> minus_outer(const ArticulatedInertia<S>& A,
                                               const Force<S>& K,
                                               const Force<S>& U) {
  return {minus_outer(A.M, K.f, U.f),
          {fnma(K.t.x, U.f, A.H.x), fnma(K.t.y, U.f, A.H.y), fnma(K.t.z, U.f, A.H.z)},
          minus_outer(A.I, K.t, U.t)};
}

/// The same inertia on the axes that R maps to, about the same point.
template <class S>
PYSIM_INLINE ArticulatedInertia<S> rotate(const Mat3<S>& R, const ArticulatedInertia<S>& A) {
  return {rotate(R, A.M), rotate(R, A.H), rotate(R, A.I)};
}

/// The same inertia about a point from which its old reference point lies at p.
///
///     H' = H − M p×        I' = I + p× H' + (p× H)ᵀ
template <class S>
PYSIM_INLINE ArticulatedInertia<S> translate(const Vec3<S>& p, const ArticulatedInertia<S>& A) {
  const Sym3<S>&M = A.M, &I = A.I;
  const Mat3<S>& K = A.H;

  // M p×, by columns: column k is M (p × e_k).
  const Mat3<S> H = {{fnma(p.z, M.xy, fma(p.y, M.zx, K.x.x)),
                      fnma(p.z, M.yy, fma(p.y, M.yz, K.x.y)),
                      fnma(p.z, M.yz, fma(p.y, M.zz, K.x.z))},
                     {fnma(p.x, M.zx, fma(p.z, M.xx, K.y.x)),
                      fnma(p.x, M.yz, fma(p.z, M.xy, K.y.y)),
                      fnma(p.x, M.zz, fma(p.z, M.zx, K.y.z))},
                     {fnma(p.y, M.xx, fma(p.x, M.xy, K.z.x)),
                      fnma(p.y, M.xy, fma(p.x, M.yy, K.z.y)),
                      fnma(p.y, M.zx, fma(p.x, M.yz, K.z.z))}};

  // p× H' + (p× K)ᵀ is symmetric; on its diagonal both terms have the same factors.
  const S xy = H.x.y + K.x.y, xz = H.x.z + K.x.z, yx = H.y.x + K.y.x;
  const S yz = H.y.z + K.y.z, zx = H.z.x + K.z.x, zy = H.z.y + K.z.y;
  return {M,
          H,
          {fnma(p.z, xy, fma(p.y, xz, I.xx)),
           fnma(p.x, yz, fma(p.z, yx, I.yy)),
           fnma(p.y, zx, fma(p.x, zy, I.zz)),
           fnma(p.x, K.x.z, fma(p.z, K.x.x, fnma(p.z, H.y.y, fma(p.y, H.y.z, I.xy)))),
           fnma(p.y, K.y.x, fma(p.x, K.y.y, fnma(p.x, H.z.z, fma(p.z, H.z.x, I.yz)))),
           fnma(p.z, K.z.y, fma(p.y, K.z.z, fnma(p.y, H.x.x, fma(p.x, H.x.y, I.zx))))}};
}

/// X_AB* IA X_BA, the same inertia seen from A: turned, then moved by p.
template <class S>
PYSIM_INLINE ArticulatedInertia<S> to_parent(const Pose<S>& X_AB, const ArticulatedInertia<S>& A) {
  return translate(X_AB.p, rotate(X_AB.R, A));
}

}  // namespace pysim::spatial
