// Mobility of a body: the acceleration that a wrench on it causes, in 21 numbers.
#pragma once

#include "spatial/articulated.hpp"

namespace pysim::spatial {

/// A = Ω F, a symmetric 6×6 map from wrenches to accelerations, the inverse of an inertia.
///
/// With linear and angular parts exchanged it is translated like an inertia, but in the opposite sense:
/// v' = v − p × ω and τ' = τ + p × f. It is stored in that form.
template <class S>
struct Mobility {
  ArticulatedInertia<S> exchanged;

  PYSIM_INLINE friend Motion<S> operator*(const Mobility& Omega, const Force<S>& F) {
    const Force<S> A = Omega.exchanged * Motion<S>{F.t, F.f};
    return {A.t, A.f};
  }
};

/// Mobility of a fixed body: zero.
template <class S>
PYSIM_INLINE Mobility<S> zero_mobility() {
  const S o = all<S>(0);
  return {{{o, o, o, o, o, o}, {zero3<S>(), zero3<S>(), zero3<S>()}, {o, o, o, o, o, o}}};
}

/// M + a sᵀ − s gᵀ; only one half is computed: a + g is along s, and the sum is symmetric.
template <class S>
PYSIM_INLINE Sym3<S> freed(const Sym3<S>& M, const Vec3<S>& s, const Vec3<S>& g, const Vec3<S>& a) {
  return {fma(a.x, s.x, fnma(s.x, g.x, M.xx)),
          fma(a.y, s.y, fnma(s.y, g.y, M.yy)),
          fma(a.z, s.z, fnma(s.z, g.z, M.zz)),
          fma(a.x, s.y, fnma(s.x, g.y, M.xy)),
          fma(a.y, s.z, fnma(s.y, g.z, M.yz)),
          fma(a.z, s.x, fnma(s.z, g.x, M.zx))};
}

/// Ω + A Sᵀ − S gᵀ with A = S m − g. An S without a linear part leaves the linear part unchanged.
template <class S>
PYSIM_INLINE Mobility<S> freed(
    const Mobility<S>& Omega, const Motion<S>& Sj, bool turns, const Motion<S>& g, const Motion<S>& A) {
  const ArticulatedInertia<S>& O = Omega.exchanged;
  const Mat3<S> H = {fma(-g.v.x, Sj.w, O.H.x), fma(-g.v.y, Sj.w, O.H.y), fma(-g.v.z, Sj.w, O.H.z)};
  const Sym3<S> M = freed(O.M, Sj.w, g.w, A.w);
  if (turns) return {{M, H, O.I}};
  return {
      {M, {fma(Sj.v.x, A.w, H.x), fma(Sj.v.y, A.w, H.y), fma(Sj.v.z, A.w, H.z)}, freed(O.I, Sj.v, g.v, A.v)}};
}

/// The same mobility, of the point at p from the old one.
template <class S>
PYSIM_INLINE Mobility<S> moved_to(const Vec3<S>& p, const Mobility<S>& Omega) {
  return {translate(-p, Omega.exchanged)};
}

}  // namespace pysim::spatial
