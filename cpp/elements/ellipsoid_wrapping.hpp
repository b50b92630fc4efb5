// Shortest path between two points over an ellipsoid with semi-axes d_i along the axes of its frame.
//
//     x = D u, |u| = 1     g = x·D⁻⁴x     N = D⁻²x/√g                      surface and its normal
//     x″ = −C D⁻²x/g²      C = g x′·D⁻²x′, constant [Joachimsthal]         geodesics, by their length
//     j″ = −K j            K = 1/(d₁d₂d₃ g)²                               distance of a geodesic beside one
//     N·(b − Q) = 0        (N × T)·(b − Q) = 0                             b is on the tangent T at the end Q
//
// The tangents from a touch the ellipsoid on a plane section, which is a circle of u: P is at its angle θ.
// Newton's method finds θ and the length s of the geodesic from P; it starts at the section through a, b and
// the centre, which over a sphere is the path. j from a to b, over both straight parts as well, gives the
// slope of the second condition, and the second derivatives of L: with (j, j′) at b = M (j, j′) at a they are
// M₁₁/M₁₂, −1/M₁₂ and M₂₂/M₁₂ across the path. M₁₂ > 0 of a path that is shorter than those beside it.
#pragma once

#include "elements/wrapping.hpp"
#include "simd/bits.hpp"
#include "simd/full_register.hpp"

namespace pysim::elements {

/// A geodesic: place, and two distances of geodesics beside it, with their derivatives by the length.
template <class S>
struct Geodesic {
  static constexpr int numbers = 5;
  S y[numbers], rate[numbers];
};

/// y″ = −w y/g².
template <class S>
struct GeodesicEquation {
  Vec3<S> fourth;  ///< D⁻⁴
  S weight[Geodesic<S>::numbers];

  PYSIM_INLINE void operator()(const S* y, S* second) const {
    const S g = fma(fourth.x * y[0], y[0], fma(fourth.y * y[1], y[1], fourth.z * y[2] * y[2]));
    const S share = -all<S>(1) / (g * g);
#pragma GCC unroll 5
    for (int i = 0; i < Geodesic<S>::numbers; ++i) second[i] = (share * weight[i]) * y[i];
  }
};

/// Störmer's rules with n = 1 to 6 parts, and the weights of their results in the extrapolation to infinitely
/// many parts [Hairer, Nørsett and Wanner 1993, section II.14].
///
///     c_n = Π n²/(n² − m²) over m ≠ n        y = y₆ + Σ c_n (y_n − y₆)
template <class Real>
struct StoermerRules {
  static constexpr int count = 6, padded = 16;  // a single world computes a full register of rules at once
  static constexpr Real sixth = Real(1) / 6;
  static constexpr Real parts[padded] = {1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6};
  static constexpr Real share[padded] = {1,
                                         Real(1) / 2,
                                         Real(1) / 3,
                                         Real(1) / 4,
                                         Real(1) / 5,
                                         sixth,
                                         sixth,
                                         sixth,
                                         sixth,
                                         sixth,
                                         sixth,
                                         sixth,
                                         sixth,
                                         sixth,
                                         sixth,
                                         sixth};
  static constexpr Real weight[count - 1] = {
      Real(-1) / 302400, Real(8) / 945, Real(-2187) / 4480, Real(65536) / 14175, Real(-9765625) / 798336};
};

/// Replaces a geodesic's start by its end after a step in `most` parts of length h; lanes stop after `parts`.
template <bool stops, class T>
PYSIM_INLINE void stoermer_step(
    const GeodesicEquation<T>& equation, T h, T parts, int most, const T* start, Geodesic<T>& course) {
  using Real = typename T::Real;
  constexpr int numbers = Geodesic<T>::numbers;
  const T half = all<T>(Real(0.5)) * h;
  T second[numbers];
#pragma GCC unroll 5
  for (int i = 0; i < numbers; ++i) {
    course.rate[i] = fma(half, start[i], course.rate[i]);
    course.y[i] = fma(h, course.rate[i], course.y[i]);
  }
  for (int k = 1; k < most; ++k) {
    equation(course.y, second);
    const auto on = all<T>(Real(k)) < parts;
#pragma GCC unroll 5
    for (int i = 0; i < numbers; ++i) {
      const T rate = fma(h, second[i], course.rate[i]), y = fma(h, rate, course.y[i]);
      course.rate[i] = stops ? select(on, rate, course.rate[i]) : rate;
      course.y[i] = stops ? select(on, y, course.y[i]) : y;
    }
  }
  equation(course.y, second);
#pragma GCC unroll 5
  for (int i = 0; i < numbers; ++i) course.rate[i] = fma(half, second[i], course.rate[i]);
}

/// A step of length h, extrapolated.
template <class S>
void extrapolated_step(const GeodesicEquation<S>& equation, S h, Geodesic<S>& course) {
  using Rules = StoermerRules<typename S::Real>;
  constexpr int numbers = Geodesic<S>::numbers, count = Rules::count;
  S start[numbers];
  equation(course.y, start);
  Geodesic<S> end[count];
  if constexpr (simd::is_one_number<S>) {
    using T = simd::Wide<S>;
    using Real = typename S::Real;
    GeodesicEquation<T> wide = {{simd::widen<T>(equation.fourth.x),
                                 simd::widen<T>(equation.fourth.y),
                                 simd::widen<T>(equation.fourth.z)},
                                {}};
    T wide_start[numbers];
    Geodesic<T> begin;
#pragma GCC unroll 5
    for (int i = 0; i < numbers; ++i) {
      wide.weight[i] = simd::widen<T>(equation.weight[i]);
      wide_start[i] = simd::widen<T>(start[i]);
      begin.y[i] = simd::widen<T>(course.y[i]);
      begin.rate[i] = simd::widen<T>(course.rate[i]);
    }
    for (int first = 0; first < count; first += T::width) {
      Geodesic<T> own = begin;
      const int last = first + T::width < count ? first + T::width : count;
      stoermer_step<true>(wide,
                          simd::load<T>(Rules::share + first) * simd::widen<T>(h),
                          simd::load<T>(Rules::parts + first),
                          last,
                          wide_start,
                          own);
#pragma GCC unroll 5
      for (int i = 0; i < numbers; ++i) {
        Real y[T::width], rate[T::width];
        simd::store(own.y[i], y);
        simd::store(own.rate[i], rate);
        for (int n = first; n < last; ++n) {
          end[n].y[i] = {y[n - first]};
          end[n].rate[i] = {rate[n - first]};
        }
      }
    }
  } else {
    for (int n = 0; n < count; ++n) {
      end[n] = course;
      stoermer_step<false>(equation, all<S>(Rules::share[n]) * h, h, n + 1, start, end[n]);
    }
  }
  const Geodesic<S>& finest = end[count - 1];
  course = finest;
  for (int n = 0; n < count - 1; ++n) {
    const S weight = all<S>(Rules::weight[n]);
#pragma GCC unroll 5
    for (int i = 0; i < numbers; ++i) {
      course.y[i] = fma(weight, end[n].y[i] - finest.y[i], course.y[i]);
      course.rate[i] = fma(weight, end[n].rate[i] - finest.rate[i], course.rate[i]);
    }
  }
}

template <class S>
struct Ellipsoid {
  Vec3<S> d, inverse, second, fourth;  ///< D, D⁻¹, D⁻², D⁻⁴
  S volume;                            ///< (d₁ d₂ d₃)⁻²
  S slenderness;                       ///< ratio of the largest to the smallest semi-axis
};

template <class S>
Ellipsoid<S> ellipsoid(const Vec3<S>& d) {
  const S one = all<S>(1);
  const Vec3<S> inverse = {one / d.x, one / d.y, one / d.z};
  const auto squared = [](const Vec3<S>& v) { return Vec3<S>{v.x * v.x, v.y * v.y, v.z * v.z}; };
  const Vec3<S> second = squared(inverse);
  const S volume = inverse.x * inverse.y * inverse.z;
  const S longest = max(max(d.x, d.y), d.z), shortest = min(min(d.x, d.y), d.z);
  return {d, inverse, second, squared(second), volume * volume, longest / shortest};
}

template <class S>
PYSIM_INLINE Vec3<S> entrywise(const Vec3<S>& a, const Vec3<S>& b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}

/// The geodesic from P along t, of length s, in `steps` steps.
template <class S>
Geodesic<S> geodesic(const Ellipsoid<S>& e, const Vec3<S>& P, const Vec3<S>& t, S s, S steps) {
  using Real = typename S::Real;
  const S o = all<S>(0), one = all<S>(1), h = s / max(steps, one);
  const S C = dot(P, entrywise(e.fourth, P)) * dot(t, entrywise(e.second, t));
  const GeodesicEquation<S> equation = {e.fourth,
                                        {C * e.second.x, C * e.second.y, C * e.second.z, e.volume, e.volume}};
  Geodesic<S> course = {{P.x, P.y, P.z, one, o}, {t.x, t.y, t.z, o, one}};
  for (int k = 0;; ++k) {
    const auto on = all<S>(Real(k)) < steps;
    if (!simd::any(on)) return course;
    Geodesic<S> next = course;
    extrapolated_step(equation, h, next);
#pragma GCC unroll 5
    for (int i = 0; i < Geodesic<S>::numbers; ++i) {
      course.y[i] = select(on, next.y[i], course.y[i]);
      course.rate[i] = select(on, next.rate[i], course.rate[i]);
    }
  }
}

/// Path from a over a geodesic to the tangent at its end, and how that passes b.
template <class S>
struct EllipsoidPath {
  Vec3<S> P, Q, f, g;  ///< ends of the geodesic, and directions in the surface across the path there
  S l_a, l_b;          ///< lengths from a to P, and from Q to next to b
  S above, aside;      ///< N·(b − Q) and g·(b − Q)
  S radius;            ///< of curvature of the geodesic at Q
  S M_11, M_12, M_22;  ///< of (j, j′)
  S slide;             ///< f·∂P/∂θ
};

template <class S>
EllipsoidPath<S> follow(const Ellipsoid<S>& e,
                        const Vec3<S>& a,
                        const Vec3<S>& b,
                        const Vec3<S>& middle,
                        const Vec3<S>& first,
                        const Vec3<S>& second,
                        S theta,
                        S s,
                        S steps) {
  S sine, cosine;
  simd::sincos(theta, sine, cosine);
  const Vec3<S> u = middle + fma(cosine, first, sine * second);
  const Vec3<S> P = entrywise(e.d, u), along = P - a, t = normalised(along);
  const Vec3<S> f = cross(normalised(entrywise(e.inverse, u)), t);
  const Geodesic<S> course = geodesic(e, P, t, s, steps);
  const Vec3<S> Q = {course.y[0], course.y[1], course.y[2]};
  const Vec3<S> T = normalised(Vec3<S>{course.rate[0], course.rate[1], course.rate[2]});
  const Vec3<S> slope = entrywise(e.second, Q), N = normalised(slope), g = cross(N, T), d = b - Q;
  const S l_a = sqrt(dot(along, along)), l_b = dot(d, T);
  const S M_11 = fma(l_b, course.rate[3], course.y[3]), by_rate = fma(l_b, course.rate[4], course.y[4]);
  const S bow = dot(T, entrywise(e.second, T));
  return {P,
          Q,
          f,
          g,
          l_a,
          l_b,
          dot(N, d),
          dot(g, d),
          sqrt(dot(slope, slope)) / bow,
          M_11,
          fma(M_11, l_a, by_rate),
          fma(course.rate[3], l_a, course.rate[4]),
          dot(f, entrywise(e.d, fnma(sine, first, cosine * second)))};
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
  constexpr int most = 30;
  const S o = all<S>(0), one = all<S>(1), half = all<S>(Real(0.5)), tiny = all<S>(Real(1e-30));
  const Ellipsoid<S> e = ellipsoid(semi_axes);
  const auto scaled = [&](const Vec3<S>& v) { return entrywise(e.inverse, v); };
  const Vec3<S> A = scaled(a), B = scaled(b), along = scaled(side);
  const CentralPlane<S> plane = central_plane<S>(A, B, along);
  const Round<S> round = around_circle<S>(plane.flat(A), plane.flat(B), one, plane.flat(along));
  const CurvatureTerm<S> none = no_curvature<S>();
  if (!simd::any(round.touches)) return assembled<S, with_curvature>(round, a, b, a, b, o, none, none);
  // tangents from a touch where u·A = 1; `first` is towards P of the section through the centre
  const auto is_far = round.sine < o;
  const S rho = max(sqrt(dot(A, A)), one), inverse = one / rho;
  const S circle = sqrt(max(fnma(inverse, inverse, one), o));
  const Vec3<S> toward = select(is_far, -plane.y, plane.y);
  const Vec3<S> middle = inverse * plane.x, first = circle * toward, second = circle * cross(plane.x, toward);
  const S angle = select(round.touches, round.arc, o);
  const S stretch = e.slenderness * sqrt(e.slenderness) * all<S>(Real(1.25));
  const S steps = select(round.touches, min(one + simd::floor(angle * stretch), all<S>(32)), o);
  S theta = o, s = section_arc(e, plane.x, toward, simd::atan2(round.tangent_a, one), angle);
  const S enough = all<S>(sizeof(Real) == 8 ? Real(1e-13) : Real(1e-6));
  Mask<S> going = round.touches;  // a lane stops at its own root, whatever the others do
  EllipsoidPath<S> path = follow(e, a, b, middle, first, second, theta, s, steps);
  for (int k = 0; k < most; ++k) {
    going = going & (max(abs(path.above), abs(path.aside)) > enough * (path.l_a + s + abs(path.l_b)));
    if (!simd::any(going)) break;
    // the shorter path is a minimum, the one on a named side need not be
    const S spread = select(is_far, path.M_12, abs(path.M_12));
    const S lever = spread * path.slide, safe = select(abs(lever) > tiny, lever, tiny);
    const S turn = max(min(path.aside * path.l_a / safe, half), -half);
    // over a circle with the curvature at Q
    const S r = path.radius, height = r + path.above;
    const S tangent = sqrt(max(fma(path.l_b, path.l_b, fma(height, height, -(r * r))), o));
    const S more = simd::atan2(path.l_b, height) - simd::atan2(tangent, r);
    theta = select(going, theta + turn, theta);
    s = select(going, max(fma(r, max(min(more, one), -one), s), o), s);
    path = follow(e, a, b, middle, first, second, theta, s, steps);
  }
  const S M = select(abs(path.M_12) > tiny, path.M_12, tiny);
  const S l_a = max(path.l_a, tiny), l_b = max(path.l_b, tiny);
  const CurvatureTerm<S> over = {
      path.f, path.g, path.M_11 / M - one / l_a, -one / M, path.M_22 / M - one / l_b};
  return assembled<S, with_curvature>(round, a, b, path.P, path.Q, s, over, none);
}

}  // namespace pysim::elements
