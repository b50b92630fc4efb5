// Shortest path between two points over a surface that is given by its geodesics.
//
//     x″ = −κ N          κ normal curvature, a function of the place alone by the invariant of the surface
//     j″ = −K j          K Gaussian curvature           distance of a geodesic beside one
//     N·(b − Q) = 0      (N × T)·(b − Q) = 0            b is on the tangent T at the end Q
//
// The tangents from a touch the surface on a curve P(θ). Newton's method finds θ and the length s of the
// geodesic from P. j from a to b, over both straight parts as well, gives the slope of the second condition,
// and the second derivatives of L: with (j, j′) at b = M (j, j′) at a they are M₁₁/M₁₂, −1/M₁₂ and M₂₂/M₁₂
// across the path. M₁₂ > 0 of a path that is shorter than those beside it.
//
// A surface has tangent(θ), equation(P, t) with second derivatives of places and distances, and end(Q, T).
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

/// Störmer's rules with n = 1 to 6 parts, and the weights of their results in the extrapolation to infinitely
/// many parts [Hairer, Nørsett and Wanner 1993, section II.14].
///
///     c_n = Π n²/(n² − m²) over m ≠ n        y = y₆ + Σ c_n (y_n − y₆)
template <class S>
struct StoermerRules {
  using Real = typename S::Real;
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
template <bool stops, class T, class Equation>
PYSIM_INLINE void stoermer_step(
    const Equation& equation, T h, T parts, int most, const T* start, Geodesic<T>& course) {
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
template <class S, class Equation>
void extrapolated_step(const Equation& equation, S h, Geodesic<S>& course) {
  using Rules = StoermerRules<S>;
  constexpr int numbers = Geodesic<S>::numbers, count = Rules::count;
  S start[numbers];
  equation(course.y, start);
  Geodesic<S> end[count];
  if constexpr (simd::is_one_number<S>) {
    using T = simd::Wide<S>;
    using Real = typename S::Real;
    const auto wide = equation.template widened<T>();
    T wide_start[numbers];
    Geodesic<T> begin;
#pragma GCC unroll 5
    for (int i = 0; i < numbers; ++i) {
      wide_start[i] = simd::widen<T>(start[i]);
      begin.y[i] = simd::widen<T>(course.y[i]);
      begin.rate[i] = simd::widen<T>(course.rate[i]);
    }
    for (int first = 0; first < count; first += T::width) {
      Geodesic<T> stepped = begin;
      const int last = first + T::width < count ? first + T::width : count;
      stoermer_step<true>(wide,
                          simd::load<T>(Rules::share + first) * simd::widen<T>(h),
                          simd::load<T>(Rules::parts + first),
                          last,
                          wide_start,
                          stepped);
#pragma GCC unroll 5
      for (int i = 0; i < numbers; ++i) {
        Real y[T::width], rate[T::width];
        simd::store(stepped.y[i], y);
        simd::store(stepped.rate[i], rate);
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
PYSIM_INLINE Vec3<S> entrywise(const Vec3<S>& a, const Vec3<S>& b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}

/// The geodesic from P along t, of length s, in `steps` steps.
template <class S, class Equation>
Geodesic<S> geodesic(const Equation& equation, const Vec3<S>& P, const Vec3<S>& t, S s, S steps) {
  using Real = typename S::Real;
  const S o = all<S>(0), one = all<S>(1), h = s / max(steps, one);
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

/// Place P at which a tangent from a touches a surface, its normal there, and ∂P/∂θ.
template <class S>
struct TangentPlace {
  Vec3<S> P, N, slope;
};

/// Normal of a surface at the end of a geodesic, and its radius of curvature along it.
template <class S>
struct GeodesicEnd {
  Vec3<S> N;
  S radius;
};

/// Path from a over a geodesic to the tangent at its end, and how that passes b.
template <class S>
struct GeodesicPath {
  Vec3<S> P, Q, f, g;  ///< ends of the geodesic, and directions in the surface across the path there
  S l_a, l_b;          ///< lengths from a to P, and from Q to next to b
  S above, aside;      ///< N·(b − Q) and g·(b − Q)
  S radius;            ///< of curvature of the geodesic at Q
  S M_11, M_12, M_22;  ///< of (j, j′)
  S slide;             ///< f·∂P/∂θ
};

template <class S, class Surface>
GeodesicPath<S> follow(const Surface& surface, const Vec3<S>& a, const Vec3<S>& b, S theta, S s, S steps) {
  const TangentPlace<S> place = surface.tangent(theta);
  const Vec3<S>& P = place.P;
  const Vec3<S> along = P - a, t = normalised(along);
  const Vec3<S> f = cross(place.N, t);
  const Geodesic<S> course = geodesic(surface.equation(P, t), P, t, s, steps);
  const Vec3<S> Q = {course.y[0], course.y[1], course.y[2]};
  const Vec3<S> T = normalised(Vec3<S>{course.rate[0], course.rate[1], course.rate[2]});
  const GeodesicEnd<S> end = surface.end(Q, T);
  const Vec3<S> g = cross(end.N, T), d = b - Q;
  const S l_a = sqrt(dot(along, along)), l_b = dot(d, T);
  const S M_11 = fma(l_b, course.rate[3], course.y[3]), by_rate = fma(l_b, course.rate[4], course.y[4]);
  return {P,
          Q,
          f,
          g,
          l_a,
          l_b,
          dot(end.N, d),
          dot(g, d),
          end.radius,
          M_11,
          fma(M_11, l_a, by_rate),
          fma(course.rate[3], l_a, course.rate[4]),
          dot(f, place.slope)};
}

/// Where the search for a path begins.
template <class S>
struct GeodesicStart {
  S theta, s;
  S limit;         ///< of a change of θ
  S steps;         ///< of the geodesic, 0 where the path does not touch
  Mask<S> is_far;  ///< the path need not be a minimum
};

template <class S, bool with_curvature, class Surface>
Wrap<S> over_geodesic(const Surface& surface,
                      const Round<S>& round,
                      const Vec3<S>& a,
                      const Vec3<S>& b,
                      const GeodesicStart<S>& start) {
  using Real = typename S::Real;
  constexpr int most = 30;
  const S o = all<S>(0), one = all<S>(1), tiny = all<S>(Real(1e-30));
  const S enough = all<S>(sizeof(Real) == 8 ? Real(1e-13) : Real(1e-6));
  S theta = start.theta, s = start.s;
  Mask<S> going = round.touches;  // a lane stops at its own root, whatever the others do
  GeodesicPath<S> path = follow(surface, a, b, theta, s, start.steps);
  for (int k = 0; k < most; ++k) {
    going = going & (max(abs(path.above), abs(path.aside)) > enough * (path.l_a + s + abs(path.l_b)));
    if (!simd::any(going)) break;
    // the shorter path is a minimum, the one on a named side need not be
    const S spread = select(start.is_far, path.M_12, abs(path.M_12));
    const S lever = spread * path.slide, safe = select(abs(lever) > tiny, lever, tiny);
    const S turn = max(min(path.aside * path.l_a / safe, start.limit), -start.limit);
    // over a circle with the curvature at Q
    const S r = path.radius, height = r + path.above;
    const S tangent = sqrt(max(fma(path.l_b, path.l_b, fma(height, height, -(r * r))), o));
    const S more = simd::atan2(path.l_b, height) - simd::atan2(tangent, r);
    theta = select(going, theta + turn, theta);
    s = select(going, max(fma(r, max(min(more, one), -one), s), o), s);
    path = follow(surface, a, b, theta, s, start.steps);
  }
  const S M = select(abs(path.M_12) > tiny, path.M_12, tiny);
  const S l_a = max(path.l_a, tiny), l_b = max(path.l_b, tiny);
  const CurvatureTerm<S> over = {
      path.f, path.g, path.M_11 / M - one / l_a, -one / M, path.M_22 / M - one / l_b};
  return assembled<S, with_curvature>(round, a, b, path.P, path.Q, s, over, no_curvature<S>());
}

}  // namespace pysim::elements
