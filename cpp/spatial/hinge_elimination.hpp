// Articulated inertia after the elimination of a hinge, IA − U D⁻¹ Uᵀ of aba.hpp [Featherstone 2008, section
// 7.3], in 15 numbers: those of a rotation about z are zero.
#pragma once

#include "spatial/articulated.hpp"

namespace pysim::spatial {

/// An articulated inertia without its part about z, the axis of free rotation: IA [0; z] = 0.
///
///
///     IA = [ M   H ]      H  two columns, the third is zero      [kg·m]
///          [ Hᵀ  I ]      I  its third row and column are zero   [kg·m²]
template <class S>
struct HingedInertia {
  Sym3<S> M;
  Vec3<S> Hx, Hy;
  S xx, yy, xy;
};

/// U = A [0; z].
template <class S>
PYSIM_INLINE Force<S> times_z(const ArticulatedInertia<S>& A) {
  return {A.H.z, {A.I.zx, A.I.yz, A.I.zz}};
}

/// A − K Uᵀ with U = A [0; z] and K = U / U_z.
template <class S>
PYSIM_INLINE HingedInertia<S> hinged(const ArticulatedInertia<S>& A, const Force<S>& K, const Force<S>& U) {
  return {minus_outer(A.M, K.f, U.f),
          fnma(K.t.x, U.f, A.H.x),
          fnma(K.t.y, U.f, A.H.y),
          fnma(K.t.x, U.t.x, A.I.xx),
          fnma(K.t.y, U.t.y, A.I.yy),
          fnma(K.t.x, U.t.y, A.I.xy)};
}

/// F + IA a where a_z = 0 in both halves, as of  a = V × [0; z] s.
template <class S>
PYSIM_INLINE Force<S> multiply_add_across_z(const HingedInertia<S>& A,
                                            const Motion<S>& a,
                                            const Force<S>& F) {
  const Sym3<S>& M = A.M;
  const Vec3<S> f = fma(a.v.y, {M.xy, M.yy, M.yz}, fma(a.v.x, {M.xx, M.xy, M.zx}, F.f));
  const S tx = fma(A.xy, a.w.y, fma(A.xx, a.w.x, F.t.x)), ty = fma(A.yy, a.w.y, fma(A.xy, a.w.x, F.t.y));
  return {fma(a.w.y, A.Hy, fma(a.w.x, A.Hx, f)),
          {fma(A.Hx.y, a.v.y, fma(A.Hx.x, a.v.x, tx)), fma(A.Hy.y, a.v.y, fma(A.Hy.x, a.v.x, ty)), F.t.z}};
}

/// The same inertia on the axes that R maps to, about the same point.
template <class S>
PYSIM_INLINE ArticulatedInertia<S> rotate(const Mat3<S>& R, const HingedInertia<S>& A) {
  const Vec3<S> Hx = R * A.Hx, Hy = R * A.Hy;
  const Vec3<S> bx = fma(A.xy, R.y, A.xx * R.x), by = fma(A.yy, R.y, A.xy * R.x);  // of R I
  return {rotate(R, A.M),
          {fma(R.y.x, Hy, R.x.x * Hx), fma(R.y.y, Hy, R.x.y * Hx), fma(R.y.z, Hy, R.x.z * Hx)},
          {fma(by.x, R.y.x, bx.x * R.x.x),
           fma(by.y, R.y.y, bx.y * R.x.y),
           fma(by.z, R.y.z, bx.z * R.x.z),
           fma(by.x, R.y.y, bx.x * R.x.y),
           fma(by.y, R.y.z, bx.y * R.x.z),
           fma(by.z, R.y.x, bx.z * R.x.x)}};
}

/// X_AB* IA X_BA.
template <class S>
PYSIM_INLINE ArticulatedInertia<S> to_parent(const Pose<S>& X_AB, const HingedInertia<S>& A) {
  return translate(X_AB.p, rotate(X_AB.R, A));
}

}  // namespace pysim::spatial
