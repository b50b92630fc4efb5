// Derivative of a thin sheet's mass properties with respect to the corners of its triangles.
//
// A triangle (a, b, c) adds w/2, w s/6, w Q/24 with w = |n| (solid.hpp). For a motion of a, with n̂ = n/w and
// u = s + a,
//
//     ∂w = g = (b − c) × n̂     ∂s = 1     ∂Q along axis k = e_k uᵀ + u e_kᵀ
//
// A triangle without area has no n̂; its area is at its minimum there, and g is set to 0.
#pragma once

#include "spatial/solid.hpp"

namespace pysim::spatial {

/// A triangle of a sheet: area doubled, unit normal, s and Q.
template <class S>
struct SheetTriangle {
  S w;
  Vec3<S> unit, s;
  Sym3<S> Q;
};

template <class S>
PYSIM_INLINE SheetTriangle<S> sheet_triangle(const Triangle<S>& t) {
  const Vec3<S> n = normal(t), s = t.a + t.b + t.c;
  const S w = sqrt(dot(n, n));
  const S inverse = select(w > all<S>(0), all<S>(1) / w, all<S>(0));
  return {w, inverse * n, s, squares(t, s)};
}

/// ∂θ/∂a, row-major (3, 10), of a sheet of some mass per area; `opposite` = b − c.
template <class S>
PYSIM_INLINE void sheet_corner(
    const SheetTriangle<S>& t, const Vec3<S>& a, const Vec3<S>& opposite, S area_density, S* rows) {
  using Real = typename S::Real;
  const S o = all<S>(0), half = area_density * all<S>(Real(0.5));
  const S sixth = area_density * all<S>(Real(1) / 6), part = area_density * all<S>(Real(1) / 24);
  const Vec3<S> g = cross(opposite, t.unit), u = t.s + a;
  const S slope[3] = {g.x, g.y, g.z};
  for (int k = 0; k < 3; ++k, rows += 10) {
    const Vec3<S> e = {k == 0 ? t.w : o, k == 1 ? t.w : o, k == 2 ? t.w : o};  // w e_k
    const S gk = slope[k];
    const Sym3<S>& Q = t.Q;
    rows[0] = half * gk;
    rows[1] = sixth * fma(gk, t.s.x, e.x);
    rows[2] = sixth * fma(gk, t.s.y, e.y);
    rows[3] = sixth * fma(gk, t.s.z, e.z);
    second_entries(add_symmetric({gk * Q.xx, gk * Q.yy, gk * Q.zz, gk * Q.xy, gk * Q.yz, gk * Q.zx}, e, u),
                   part,
                   rows + 4);
  }
}

}  // namespace pysim::spatial
