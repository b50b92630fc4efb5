// Rigid-body inertia in ten numbers.
#pragma once

#include "spatial/motion.hpp"

namespace pysim::spatial {

/// Spatial inertia of rigid body B about its frame origin Bo, expressed in B.
///
///     M_B = [ m·1   −mc× ]      m   mass                          [kg]
///           [ mc×    I   ]      mc  first moment, m · p_BoBcm     [kg·m]
///                               I   rotational inertia about Bo   [kg·m²]
///
/// Ten numbers instead of 36 [Featherstone 2008, eq. 2.63].
template <class S>
struct Inertia {
  S m;
  Vec3<S> mc;
  Sym3<S> I;

  PYSIM_INLINE friend Inertia operator+(const Inertia& a, const Inertia& b) {
    return {a.m + b.m, a.mc + b.mc, a.I + b.I};
  }
};

/// A body from the engine's record [m, mc, Ixx, Iyy, Izz, Ixy, Iyz, Izx]; as all3.
template <class S, class Number>
PYSIM_INLINE Inertia<S> all_inertia(const Number* p) {
  return {all<S>(p[0]),
          all3<S>(p + 1),
          {all<S>(p[4]), all<S>(p[5]), all<S>(p[6]), all<S>(p[7]), all<S>(p[8]), all<S>(p[9])}};
}

/// Spatial momentum of B about Bo:  h = M_B V_B.
template <class S>
PYSIM_INLINE Force<S> operator*(const Inertia<S>& M, const Motion<S>& V) {
  return {cross_add(V.w, M.mc, M.m * V.v),   // f = m v − mc × ω
          cross_add(M.mc, V.v, M.I * V.w)};  // τ = I ω + mc × v
}

/// F = M a + V ×* M V: the Newton-Euler equations about the origin, whose acceleration as a
/// point of the body is A = a + ω × v:
///
///     f = m A + α × mc + ω × (ω × mc)        τ = I α + mc × A + ω × I ω
template <class S>
PYSIM_INLINE Force<S> newton_euler(const Inertia<S>& M, const Motion<S>& V, const Motion<S>& a) {
  const Vec3<S>&w = V.w, A = cross_add(w, V.v, a.v);
  return {cross_add(w, cross(w, M.mc), cross_add(a.w, M.mc, M.m * A)),
          cross_add(w, M.I * w, cross_add(M.mc, A, M.I * a.w))};
}

/// The same inertia on the axes that R maps to, about the same point.
template <class S>
PYSIM_INLINE Inertia<S> rotate(const Mat3<S>& R, const Inertia<S>& M) {
  return {M.m, R * M.mc, rotate(R, M.I)};
}

/// The same inertia about a point from which its old reference point lies at p.
///
///     mc' = mc + m p
///     I'  = I − p× mc× − mc× p× − m p× p×  =  I + sym(2 p·s 1 − p sᵀ − s pᵀ),   s = mc + m p / 2
template <class S>
PYSIM_INLINE Inertia<S> translate(const Vec3<S>& p, const Inertia<S>& M) {
  const Vec3<S> s = fma(all<S>(typename S::Real(0.5)) * M.m, p, M.mc);
  const S xx = p.x * s.x, yy = p.y * s.y, zz = p.z * s.z;
  const S two = all<S>(2);
  return {M.m,
          fma(M.m, p, M.mc),
          {fma(two, yy + zz, M.I.xx),
           fma(two, zz + xx, M.I.yy),
           fma(two, xx + yy, M.I.zz),
           M.I.xy - fma(p.x, s.y, p.y * s.x),
           M.I.yz - fma(p.y, s.z, p.z * s.y),
           M.I.zx - fma(p.z, s.x, p.x * s.z)}};
}

/// Inertia of B about the origin of A, in A:  X_AB* M_B X_BA.
template <class S>
PYSIM_INLINE Inertia<S> to_parent(const Pose<S>& X_AB, const Inertia<S>& M) {
  return translate(X_AB.p, rotate(X_AB.R, M));
}

}  // namespace pysim::spatial
