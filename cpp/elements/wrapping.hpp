// Shortest path between two points over a sphere or a cylinder [Garner and Pandy 2000, obstacle set].
//
//     γ   angle between a and b about the centre or the axis, in the plane of the path
//     α = acos(r/ρ_a), β = acos(r/ρ_b)        tangent angles        φ = γ − α − β        the path touches if
//     φ > 0 L = √(ρ_a² − r²) + r φ + √(ρ_b² − r²)   in the plane; unrolled, a path over a cylinder is a
//     straight line
//
// a and b are the ends in the obstacle's frame, whose z is the axis of a cylinder; P and Q the points of
// tangency. L is stationary in P and Q, so that its slopes are those of the straight parts with P and Q fixed
// on the obstacle (a path that does not touch is split in the middle). Its second derivatives differ from
// theirs by
//
//     Σ p (f·x_a)(f·y_a) + q ((f·x_a)(g·y_b) + (g·x_b)(f·y_a)) + s (g·x_b)(g·y_b)
//
// for motions x and y of the ends against the obstacle: along the two normals of a straight line, along the
// direction in the surface across a path over a cylinder, along the normal of the plane of a path over a
// sphere.
#pragma once

#include "elements/placed_bodies.hpp"
#include "simd/trigonometry.hpp"

namespace pysim::elements {

using simd::Mask;
using tree::PathKind;
using tree::PathPoint;

template <class S>
PYSIM_INLINE Vec3<S> select(Mask<S> mask, const Vec3<S>& a, const Vec3<S>& b) {
  return {select(mask, a.x, b.x), select(mask, a.y, b.y), select(mask, a.z, b.z)};
}

template <class S>
PYSIM_INLINE Vec3<S> normalised(const Vec3<S>& a) {
  const S tiny = all<S>(typename S::Real(1e-30));
  return (all<S>(1) / max(sqrt(dot(a, a)), tiny)) * a;
}

/// A unit vector across the unit vector u.
template <class S>
PYSIM_INLINE Vec3<S> across(const Vec3<S>& u) {
  const S o = all<S>(0), one = all<S>(1);
  const auto steep = abs(u.z) > all<S>(typename S::Real(0.7));
  const Vec3<S> e = {select(steep, one, o), o, select(steep, o, one)};
  return normalised(fnma(dot(e, u), u, e));
}

/// One term of the difference of second derivatives.
template <class S>
struct CurvatureTerm {
  Vec3<S> f, g;
  S p, q, s;
};

/// Path between two points that may touch an obstacle, in the obstacle's frame. The terms are those of paths
/// `with_curvature`, the template parameter of all functions that return one.
template <class S>
struct Wrap {
  Mask<S> touches;
  Vec3<S> P, Q;
  S arc;
  CurvatureTerm<S> term[2];
};

/// Path around a circle in its plane; z is 0.
template <class S>
struct Round {
  Mask<S> touches;
  Vec3<S> P, Q;
  S tangent_a, tangent_b, arc;
  S sine, cosine;  ///< of γ, which is above π on the longer side
};

template <class S>
struct TangentPoints {
  Vec3<S> P, Q;
};

/// The shorter path around a circle, or the one on the side of `side`, if that is not zero.
template <class S>
Round<S> around_circle(const Vec3<S>& a, const Vec3<S>& b, S r, const Vec3<S>& side) {
  using Real = typename S::Real;
  const S o = all<S>(0), one = all<S>(1), tiny = all<S>(Real(1e-30)), pi = all<S>(Real(3.14159265358979324));
  const S rho_a = max(sqrt(dot(a, a)), tiny), rho_b = max(sqrt(dot(b, b)), tiny);
  const S l_a = sqrt(max(fma(rho_a, rho_a, -(r * r)), o)), l_b = sqrt(max(fma(rho_b, rho_b, -(r * r)), o));
  const S crossed = cross(a, b).z, along = dot(a, b);
  const S shorter = simd::atan2(abs(crossed), along);
  const S tangents = simd::atan2(l_a, r) + simd::atan2(l_b, r);
  const Vec3<S> A = (one / rho_a) * a, B = (one / rho_b) * b;
  const auto tangent_point = [&](const Vec3<S>& u, S rho, S l, S sense) {
    const S c = r / rho, s = sense * l / rho;
    return Vec3<S>{r * fnma(s, u.y, c * u.x), r * fma(s, u.x, c * u.y), o};
  };
  const S direct = select(crossed < o, -one, one);
  const auto ends = [&](S sense) {
    return TangentPoints<S>{tangent_point(A, rho_a, l_a, sense), tangent_point(B, rho_b, l_b, -sense)};
  };
  const auto near = ends(direct), far = ends(-direct);
  // the path does not cross the ray opposite to the named side
  const auto is_far = (direct * cross(a, side).z < o) & (direct * cross(side, b).z < o);
  const S gamma = select(is_far, pi + pi - shorter, shorter);
  const S phi = gamma - tangents;
  const auto touches = (rho_a > r) & (rho_b > r) & (phi > o);
  const S sine = abs(crossed) / (rho_a * rho_b), cosine = along / (rho_a * rho_b);
  return {touches,
          select(is_far, far.P, near.P),
          select(is_far, far.Q, near.Q),
          l_a,
          l_b,
          r * phi,
          select(is_far, -sine, sine),
          cosine};
}

/// Path over an obstacle; a straight line where `round` does not touch. `arc` is the length between P and Q.
template <class S, bool with_curvature>
PYSIM_INLINE Wrap<S> assembled(const Round<S>& round,
                               const Vec3<S>& a,
                               const Vec3<S>& b,
                               const Vec3<S>& P,
                               const Vec3<S>& Q,
                               S arc,
                               const CurvatureTerm<S>& over,
                               const CurvatureTerm<S>& second) {
  const S o = all<S>(0), half = all<S>(typename S::Real(0.5)), tiny = all<S>(typename S::Real(1e-30));
  const Vec3<S> middle = half * (a + b);
  const auto on = round.touches;
  if constexpr (!with_curvature)
    return {on, select(on, P, middle), select(on, Q, middle), select(on, arc, o), {}};
  const Vec3<S> u = normalised(b - a), c = across(u), d = b - a;
  const S L = max(sqrt(dot(d, d)), tiny), p = -all<S>(1) / L, q = p;
  const auto first = CurvatureTerm<S>{select(on, over.f, c),
                                      select(on, over.g, c),
                                      select(on, over.p, p),
                                      select(on, over.q, q),
                                      select(on, over.s, p)};
  const Vec3<S> other = cross(u, c);
  const auto last = CurvatureTerm<S>{select(on, second.f, other),
                                     select(on, second.g, other),
                                     select(on, second.p, p),
                                     select(on, second.q, q),
                                     select(on, second.s, p)};
  return {on, select(on, P, middle), select(on, Q, middle), select(on, arc, o), {first, last}};
}

template <class S>
CurvatureTerm<S> no_curvature() {
  const S o = all<S>(0);
  return {zero3<S>(), zero3<S>(), o, o, o};
}

/// `half` is half of the cylinder's length: a path whose points of tangency are both beyond its ends does not
/// touch it.
template <class S, bool with_curvature>
Wrap<S> over_cylinder(const Vec3<S>& a, const Vec3<S>& b, S r, const Vec3<S>& side, S half) {
  const S o = all<S>(0), one = all<S>(1), tiny = all<S>(typename S::Real(1e-30));
  const auto flat = [o](const Vec3<S>& x) { return Vec3<S>{x.x, x.y, o}; };
  Round<S> round = around_circle<S>(flat(a), flat(b), r, flat(side));
  const S planar = max(round.tangent_a + round.arc + round.tangent_b, tiny);
  const S z = b.z - a.z, slope = z / planar, L = sqrt(fma(planar, planar, z * z));
  const Vec3<S> P = {round.P.x, round.P.y, fma(slope, round.tangent_a, a.z)};
  const Vec3<S> Q = {round.Q.x, round.Q.y, fnma(slope, round.tangent_b, b.z)};
  round.touches = round.touches & ((abs(P.z) <= half) | (abs(Q.z) <= half));
  const S incline = L / planar, rise = z / L, run = planar / L;
  const Vec3<S> u_a = normalised(flat(a) - round.P), u_b = normalised(flat(b) - round.Q);
  const Vec3<S> f = {rise * u_a.x, rise * u_a.y, run}, g = {rise * u_b.x, rise * u_b.y, -run};
  const S l_a = max(incline * round.tangent_a, tiny), l_b = max(incline * round.tangent_b, tiny);
  const CurvatureTerm<S> over = {f, g, one / L - one / l_a, one / L, one / L - one / l_b};
  return assembled<S, with_curvature>(round, a, b, P, Q, incline * round.arc, over, no_curvature<S>());
}

/// A plane through two points and the centre, with the axes x towards a and y; in line with the centre every
/// plane is as short: that of `side`, or any.
template <class S>
struct CentralPlane {
  Vec3<S> x, y;

  Vec3<S> flat(const Vec3<S>& v) const { return {dot(v, x), dot(v, y), all<S>(0)}; }
};

template <class S>
CentralPlane<S> central_plane(const Vec3<S>& a, const Vec3<S>& b, const Vec3<S>& side) {
  using Real = typename S::Real;
  const Vec3<S> x = normalised(a);
  const S small = all<S>(Real(1e-24)) * dot(b, b);
  const auto rejected = [&](const Vec3<S>& v) { return fnma(dot(v, x), x, v); };
  const Vec3<S> named = rejected(side), w = rejected(b);
  const Vec3<S> spare = select(dot(named, named) > all<S>(Real(1e-12)) * dot(side, side), named, across(x));
  return {x, normalised(select(dot(w, w) > small, w, spare))};
}

template <class S, bool with_curvature>
Wrap<S> over_sphere(const Vec3<S>& a, const Vec3<S>& b, S r, const Vec3<S>& side) {
  using Real = typename S::Real;
  const S one = all<S>(1), tiny = all<S>(Real(1e-30));
  const CentralPlane<S> plane = central_plane<S>(a, b, side);
  const Vec3<S>&x = plane.x, &y = plane.y;
  const Round<S> round = around_circle<S>(plane.flat(a), plane.flat(b), r, plane.flat(side));
  const auto back = [&](const Vec3<S>& v) { return fma(v.x, x, v.y * y); };
  const S rho_a = max(sqrt(dot(a, a)), tiny), rho_b = max(sqrt(dot(b, b)), tiny);
  const S safe = select(abs(round.sine) > tiny, round.sine, tiny), cotangent = r * round.cosine / safe;
  const Vec3<S> n = cross(x, y);
  const S l_a = max(round.tangent_a, tiny), l_b = max(round.tangent_b, tiny);
  const CurvatureTerm<S> over = {n,
                                 n,
                                 (l_a + cotangent) / (rho_a * rho_a) - one / l_a,
                                 -r / (safe * rho_a * rho_b),
                                 (l_b + cotangent) / (rho_b * rho_b) - one / l_b};
  return assembled<S, with_curvature>(
      round, a, b, back(round.P), back(round.Q), round.arc, over, no_curvature<S>());
}

/// A point through which the path passes where `on` holds, and not elsewhere.
template <class S, bool with_curvature>
Wrap<S> through_point(const Vec3<S>& a, const Vec3<S>& b, Mask<S> on) {
  const S o = all<S>(0);
  const Round<S> round = {on, {}, {}, o, o, o, o, o};
  const CurvatureTerm<S> none = no_curvature<S>();
  return assembled<S, with_curvature>(round, a, b, zero3<S>(), zero3<S>(), o, none, none);
}

}  // namespace pysim::elements
