// Shortest path between two points over an ellipsoid with semi-axes d_i along the axes of its frame.
//
//     x = D u, |u| = 1     g = x·D⁻⁴x     N = D⁻²x/√g                      surface and its normal
//     x″ = −C D⁻²x/g²      C = g x′·D⁻²x′, constant [Joachimsthal]         geodesics, by their length
//     K = 1/(d₁d₂d₃ g)²
//
// The tangents from a touch the ellipsoid on a plane section, which is a circle of u: P is at its angle θ.
// The search starts at the section through a, b and the centre, which over a sphere is the path.
#pragma once

#include "elements/geodesic_wrapping.hpp"

namespace pysim::elements {

/// y″ = −w y/g².
template <class S>
struct EllipsoidEquation {
  Vec3<S> fourth;  ///< D⁻⁴
  S weight[Geodesic<S>::numbers];

  PYSIM_INLINE void operator()(const S* y, S* second) const {
    const S g = fma(fourth.x * y[0], y[0], fma(fourth.y * y[1], y[1], fourth.z * y[2] * y[2]));
    const S share = -all<S>(1) / (g * g);
#pragma GCC unroll 5
    for (int i = 0; i < Geodesic<S>::numbers; ++i) second[i] = (share * weight[i]) * y[i];
  }

  template <class T>
  EllipsoidEquation<T> widened() const {
    EllipsoidEquation<T> wide;
    wide.fourth = {simd::widen<T>(fourth.x), simd::widen<T>(fourth.y), simd::widen<T>(fourth.z)};
#pragma GCC unroll 5
    for (int i = 0; i < Geodesic<S>::numbers; ++i) wide.weight[i] = simd::widen<T>(weight[i]);
    return wide;
  }
};

/// An ellipsoid, and the circle of u on which the tangents from a point touch it.
template <class S>
struct Ellipsoid {
  Vec3<S> d, inverse, second, fourth;  ///< D, D⁻¹, D⁻², D⁻⁴
  S volume;                            ///< (d₁ d₂ d₃)⁻²
  S slenderness;                       ///< ratio of the largest to the smallest semi-axis
  Vec3<S> middle, across, beside;      ///< of the circle: its centre, and its axes

  TangentPlace<S> tangent(S theta) const {
    S sine, cosine;
    simd::sincos(theta, sine, cosine);
    const Vec3<S> u = middle + fma(cosine, across, sine * beside);
    return {entrywise(d, u),
            normalised(entrywise(inverse, u)),
            entrywise(d, fnma(sine, across, cosine * beside))};
  }

  EllipsoidEquation<S> equation(const Vec3<S>& P, const Vec3<S>& t) const {
    const S C = dot(P, entrywise(fourth, P)) * dot(t, entrywise(second, t));
    return {fourth, {C * second.x, C * second.y, C * second.z, volume, volume}};
  }

  GeodesicEnd<S> end(const Vec3<S>& Q, const Vec3<S>& T) const {
    const Vec3<S> slope = entrywise(second, Q);
    const S bow = dot(T, entrywise(second, T));
    return {normalised(slope), sqrt(dot(slope, slope)) / bow};
  }
};

template <class S>
Ellipsoid<S> ellipsoid(const Vec3<S>& d) {
  const S one = all<S>(1);
  const Vec3<S> inverse = {one / d.x, one / d.y, one / d.z};
  const auto squared = [](const Vec3<S>& v) { return Vec3<S>{v.x * v.x, v.y * v.y, v.z * v.z}; };
  const Vec3<S> second = squared(inverse);
  const S volume = inverse.x * inverse.y * inverse.z;
  const S longest = max(max(d.x, d.y), d.z), shortest = min(min(d.x, d.y), d.z);
  const Vec3<S> o = zero3<S>();
  return {d, inverse, second, squared(second), volume * volume, longest / shortest, o, o, o};
}

/// Length of an arc of the plane section through the centre, from the angle `from` on, by Simpson's rule.
template <class S>
S section_arc(const Ellipsoid<S>& e, const Vec3<S>& x, const Vec3<S>& y, S from, S angle) {
  using Real = typename S::Real;
  constexpr int parts = 4;
  S sum = all<S>(0);
  for (int k = 0; k <= parts; ++k) {
    S sine, cosine;
    simd::sincos(fma(all<S>(Real(k) / Real(parts)), angle, from), sine, cosine);
    const Vec3<S> rate = entrywise(e.d, fnma(sine, x, cosine * y));
    const Real share = k == 0 || k == parts ? 1 : (k % 2 == 1 ? 4 : 2);
    sum = fma(all<S>(share / Real(3 * parts)), sqrt(dot(rate, rate)), sum);
  }
  return sum * angle;
}

template <class S, bool with_curvature>
Wrap<S> over_ellipsoid(const Vec3<S>& a, const Vec3<S>& b, const Vec3<S>& semi_axes, const Vec3<S>& side) {
  using Real = typename S::Real;
  const S o = all<S>(0), one = all<S>(1), half = all<S>(Real(0.5));
  Ellipsoid<S> e = ellipsoid(semi_axes);
  const auto scaled = [&](const Vec3<S>& v) { return entrywise(e.inverse, v); };
  const Vec3<S> A = scaled(a), B = scaled(b), along = scaled(side);
  const CentralPlane<S> plane = central_plane<S>(A, B, along);
  const Round<S> round = around_circle<S>(plane.flat(A), plane.flat(B), one, plane.flat(along));
  const CurvatureTerm<S> none = no_curvature<S>();
  if (!simd::any(round.touches)) return assembled<S, with_curvature>(round, a, b, a, b, o, none, none);
  // tangents from a touch where u·A = 1; `across` is towards P of the section through the centre
  const auto is_far = round.sine < o;
  const S rho = max(sqrt(dot(A, A)), one), inverse = one / rho;
  const S circle = sqrt(max(fnma(inverse, inverse, one), o));
  const Vec3<S> toward = select(is_far, -plane.y, plane.y);
  e.middle = inverse * plane.x;
  e.across = circle * toward;
  e.beside = circle * cross(plane.x, toward);
  const S angle = select(round.touches, round.arc, o);
  const S stretch = e.slenderness * sqrt(e.slenderness) * all<S>(Real(1.25));
  const S steps = select(round.touches, min(one + simd::floor(angle * stretch), all<S>(32)), o);
  const S s = section_arc(e, plane.x, toward, simd::atan2(round.tangent_a, one), angle);
  return over_geodesic<S, with_curvature>(e, round, a, b, {o, s, half, steps, is_far});
}

}  // namespace pysim::elements
