// Mass properties of a solid or a sheet: contribution of one triangle of its surface [Kwon, (15)-(28);
// Mirtich 1996].
//
// A triangle (a, b, c), counter-clockwise from outside, and the origin form a tetrahedron of volume det/6:
//
//     s = a + b + c    Q = s sᵀ + a aᵀ + b bᵀ + c cᵀ    det = a·(b × c)    n = (b − a) × (c − a)
//
//     solid:  ∫ 1 = Σ det/6     ∫ x = Σ det s/24     ∫ x xᵀ = Σ det Q/120
//     sheet:  ∫ 1 = Σ |n|/2     ∫ x = Σ |n| s/6      ∫ x xᵀ = Σ |n| Q/24
//
// The volume that vertex v of a triangle sweeps when it moves by δ is ∫ φ n·δ/|n| over the triangle, φ the
// hat function of v (Reynolds). So the derivative of ∫ f w.r.t. v is n times ∫ f φ, with u = s + v:
//
//     ∂∫ 1 = n/6        ∂∫ x = u nᵀ/24        ∂∫ x xᵀ = (Q + u vᵀ + v uᵀ) ⊗ n/120
//
// Summed over the triangles around v it equals Kwon's (18), (21), (23) and (27) with every face's slot added
// once; for a single triangle the difference cancels around the vertex of a closed surface.
#pragma once

#include "spatial/mat3.hpp"

namespace pysim::spatial {

template <class S>
struct Triangle {
  Vec3<S> a, b, c;
};

/// Σ w, Σ w s, Σ w Q, of one or more triangles; w = det or |n|.
template <class S>
struct Moments {
  S zeroth;
  Vec3<S> first;
  Sym3<S> second;
};

template <class S>
PYSIM_INLINE Vec3<S> normal(const Triangle<S>& t) {
  return cross(t.b - t.a, t.c - t.a);
}

/// A + a bᵀ + b aᵀ, of symmetric A.
template <class S>
PYSIM_INLINE Sym3<S> add_symmetric(const Sym3<S>& A, const Vec3<S>& a, const Vec3<S>& b) {
  const S two = all<S>(2);
  return {fma(two * a.x, b.x, A.xx),
          fma(two * a.y, b.y, A.yy),
          fma(two * a.z, b.z, A.zz),
          fma(a.x, b.y, fma(a.y, b.x, A.xy)),
          fma(a.y, b.z, fma(a.z, b.y, A.yz)),
          fma(a.z, b.x, fma(a.x, b.z, A.zx))};
}

/// A + a aᵀ.
template <class S>
PYSIM_INLINE Sym3<S> add_square(const Sym3<S>& A, const Vec3<S>& a) {
  return {fma(a.x, a.x, A.xx),
          fma(a.y, a.y, A.yy),
          fma(a.z, a.z, A.zz),
          fma(a.x, a.y, A.xy),
          fma(a.y, a.z, A.yz),
          fma(a.z, a.x, A.zx)};
}

/// Q of a triangle whose corners add up to s.
template <class S>
PYSIM_INLINE Sym3<S> squares(const Triangle<S>& t, const Vec3<S>& s) {
  const S o = all<S>(0);
  return add_square(add_square(add_square(add_square(Sym3<S>{o, o, o, o, o, o}, s), t.a), t.b), t.c);
}

template <class S>
PYSIM_INLINE Moments<S> moments(const Triangle<S>& t, S w) {
  const Vec3<S> s = t.a + t.b + t.c;
  const Sym3<S> Q = squares(t, s);
  return {w, w * s, {w * Q.xx, w * Q.yy, w * Q.zz, w * Q.xy, w * Q.yz, w * Q.zx}};
}

/// A triangle as a face of a solid.
struct SolidFace {
  template <class S>
  PYSIM_INLINE static S weight(const Triangle<S>& t) {
    return dot(t.a, cross(t.b, t.c));
  }
};

/// A triangle as a piece of a sheet.
struct SheetFace {
  template <class S>
  PYSIM_INLINE static S weight(const Triangle<S>& t) {
    const Vec3<S> n = normal(t);
    return sqrt(dot(n, n));
  }
};

/// The six entries of θ that scale · C = scale · ∫ x xᵀ gives: I = tr C 1 − C.
template <class S>
PYSIM_INLINE void second_entries(const Sym3<S>& C, S scale, S* entries) {
  entries[0] = scale * (C.yy + C.zz);
  entries[1] = -scale * C.xy, entries[2] = scale * (C.zz + C.xx);
  entries[3] = -scale * C.zx, entries[4] = -scale * C.yz, entries[5] = scale * (C.xx + C.yy);
}

/// ∂θ/∂v over n, ten numbers in the order of θ, for a solid of a density.
template <class S>
PYSIM_INLINE void vertex_weights(
    const Vec3<S>& v, const Vec3<S>& s, const Sym3<S>& Q, S density, S* weights) {
  using Real = typename S::Real;
  const Vec3<S> u = s + v;
  const Sym3<S> C = add_symmetric(Q, u, v);
  const S one = density * all<S>(Real(1) / 6), x = density * all<S>(Real(1) / 24);
  weights[0] = one;
  weights[1] = x * u.x, weights[2] = x * u.y, weights[3] = x * u.z;
  second_entries(C, density * all<S>(Real(1) / 120), weights + 4);
}

}  // namespace pysim::spatial
