// Spatial algebra of motion in a plane, where all rotations are about one normal n.
//
// Vectors are on axes x and y of the plane; a rotation about n is one number. Wrenches and inertias are about
// a body's origin, accelerations those of that point (classical, not spatial).
#pragma once

#include "spatial/vec3.hpp"

namespace pysim::spatial {

template <class S>
struct Vec2 {
  S x, y;

  PYSIM_INLINE friend Vec2 operator-(const Vec2& a) { return {-a.x, -a.y}; }
  PYSIM_INLINE friend Vec2 operator+(const Vec2& a, const Vec2& b) { return {a.x + b.x, a.y + b.y}; }
  PYSIM_INLINE friend Vec2 operator-(const Vec2& a, const Vec2& b) { return {a.x - b.x, a.y - b.y}; }
  PYSIM_INLINE friend Vec2 operator*(S s, const Vec2& a) { return {s * a.x, s * a.y}; }
};

template <class S>
PYSIM_INLINE Vec2<S> zero2() {
  return {all<S>(0), all<S>(0)};
}

/// The same vector in every world, from two consecutive numbers; or one per world, from packs of them.
template <class S, class Number>
PYSIM_INLINE Vec2<S> all2(const Number* p) {
  return {all<S>(p[0]), all<S>(p[1])};
}

template <class S>
PYSIM_INLINE S dot(const Vec2<S>& a, const Vec2<S>& b) {
  return fma(a.y, b.y, a.x * b.x);
}

/// c + a·b.
template <class S>
PYSIM_INLINE S dot_add(const Vec2<S>& a, const Vec2<S>& b, S c) {
  return fma(a.y, b.y, fma(a.x, b.x, c));
}

/// c − a·b.
template <class S>
PYSIM_INLINE S dot_subtract(const Vec2<S>& a, const Vec2<S>& b, S c) {
  return fnma(a.y, b.y, fnma(a.x, b.x, c));
}

/// c + s a.
template <class S>
PYSIM_INLINE Vec2<S> fma(S s, const Vec2<S>& a, const Vec2<S>& c) {
  return {fma(s, a.x, c.x), fma(s, a.y, c.y)};
}

/// c − s a.
template <class S>
PYSIM_INLINE Vec2<S> fnma(S s, const Vec2<S>& a, const Vec2<S>& c) {
  return {fnma(s, a.x, c.x), fnma(s, a.y, c.y)};
}

/// n × a, a quarter turn: the velocity of a point at a if its body rotates with 1 rad/s.
template <class S>
PYSIM_INLINE Vec2<S> quarter_turn(const Vec2<S>& a) {
  return {-a.y, a.x};
}

/// a rotated by the angle with this sine and cosine.
template <class S>
PYSIM_INLINE Vec2<S> turn(S sin, S cos, const Vec2<S>& a) {
  return {fnma(sin, a.y, cos * a.x), fma(sin, a.x, cos * a.y)};
}

/// A force and a moment about n.
template <class S>
struct PlanarForce {
  Vec2<S> f;
  S t;

  PYSIM_INLINE friend PlanarForce operator+(const PlanarForce& a, const PlanarForce& b) {
    return {a.f + b.f, a.t + b.t};
  }
  PYSIM_INLINE friend PlanarForce operator*(S s, const PlanarForce& a) { return {s * a.f, s * a.t}; }
};

/// c + s a.
template <class S>
PYSIM_INLINE PlanarForce<S> fma(S s, const PlanarForce<S>& a, const PlanarForce<S>& c) {
  return {fma(s, a.f, c.f), fma(s, a.t, c.t)};
}

/// The same wrench about a point from which its old reference point lies at p.
template <class S>
PYSIM_INLINE PlanarForce<S> translate(const Vec2<S>& p, const PlanarForce<S>& F) {
  return {F.f, dot_add(quarter_turn(p), F.f, F.t)};
}

/// A rigid or articulated inertia in the plane.
///
///     IA = [ M   h ]      M  symmetric, from accelerations to forces     [kg]
///          [ hᵀ  I ]      h  force for an angular acceleration of one    [kg·m]
///                         I  moment of inertia about n                   [kg·m²]
template <class S>
struct PlanarInertia {
  S xx, yy, xy;
  Vec2<S> h;
  S I;

  PYSIM_INLINE friend PlanarInertia operator+(const PlanarInertia& A, const PlanarInertia& B) {
    return {A.xx + B.xx, A.yy + B.yy, A.xy + B.xy, A.h + B.h, A.I + B.I};
  }
};

/// A rigid body's numbers: mass, first moment, inertia about its origin.
template <class S>
PYSIM_INLINE PlanarInertia<S> planar_inertia(S m, const Vec2<S>& mc, S I) {
  return {m, m, all<S>(0), quarter_turn(mc), I};
}

/// f + M v.
template <class S>
PYSIM_INLINE Vec2<S> multiply_add(const PlanarInertia<S>& A, const Vec2<S>& v, const Vec2<S>& f) {
  return {fma(A.xy, v.y, fma(A.xx, v.x, f.x)), fma(A.yy, v.y, fma(A.xy, v.x, f.y))};
}

/// IA [v; 0].
template <class S>
PYSIM_INLINE PlanarForce<S> operator*(const PlanarInertia<S>& A, const Vec2<S>& v) {
  return {{fma(A.xy, v.y, A.xx * v.x), fma(A.yy, v.y, A.xy * v.x)}, dot(A.h, v)};
}

/// A − K Uᵀ, for a K that is a multiple of U.
template <class S>
PYSIM_INLINE PlanarInertia<S> minus_outer(const PlanarInertia<S>& A,
                                          const PlanarForce<S>& K,
                                          const PlanarForce<S>& U) {
  return {fnma(K.f.x, U.f.x, A.xx),
          fnma(K.f.y, U.f.y, A.yy),
          fnma(K.f.x, U.f.y, A.xy),
          fnma(K.t, U.f, A.h),
          fnma(K.t, U.t, A.I)};
}

/// The same inertia about a point from which its old reference point lies at p.
template <class S>
PYSIM_INLINE PlanarInertia<S> translate(const Vec2<S>& p, const PlanarInertia<S>& A) {
  const Vec2<S> across = quarter_turn(p), h = multiply_add(A, across, A.h);
  return {A.xx, A.yy, A.xy, h, dot_add(across, A.h + h, A.I)};
}

}  // namespace pysim::spatial
