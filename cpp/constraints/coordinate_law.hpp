// Law of one coordinate in a convex step: dry friction that sticks, and the stop beyond a limit.
//
//     γ = −P(y) − (h k x + c (x − max(x₀, 0)))₊      y = h k_f (s₀ + h v),  P onto [−h f, h f],  x = x₀ + h v
//
//     f, k_f   level of friction [N or N·m], stiffness of sticking        s₀  deflection carried along
//     x₀       how far the coordinate is beyond its upper limit [m or rad], negative before it; likewise the
//     lower k, c     spring and damper of the stop
//
// The damper takes c v over the part of the step in which the coordinate is beyond: it begins with the stop,
// and its impulse is a continuous function of x₀ and v.
#pragma once

#include "constraints/contact_law.hpp"
#include "simd/parameter.hpp"
#include "tree/model_view.hpp"

namespace pysim::constraints {

/// Deflection that friction reaches before it slides [m or rad]: some ten times the resolution of a
/// coordinate of one in single precision.
template <class Real>
constexpr Real sticking_deflection = sizeof(Real) == 8 ? Real(1e-10) : Real(1e-6);

/// One coordinate with a limit or with friction.
template <class Real>
struct CoordinateLaw {
  int v;                    ///< coordinate of v
  int q;                    ///< its number in q; −1 if it has no limits
  Real friction;            ///< f
  Real lower, upper;        ///< ±inf where there is none
  Real stiffness, damping;  ///< k, c

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.v...), f(r.q...), f(r.friction...), f(r.lower...), f(r.upper...), f(r.stiffness...), f(r.damping...);
  }
};

template <class S>
struct CoordinateState {
  S s, below, above;  ///< s₀, x₀ below the lower and above the upper limit
};

template <class S>
struct CoordinateImpulse {
  S gamma, slope;
  simd::Mask<S> sticks;
};

/// Impulse of a stop before it is cut at 0: offset + slope v for a velocity v into the stop.
template <class S>
struct StopImpulse {
  S offset, slope;

  PYSIM_INLINE StopImpulse(const CoordinateLaw<typename S::Parameter>& law, S x0, S h) {
    const S k = all<S>(law.stiffness), d = all<S>(law.damping);
    slope = h * fma(h, k, d);
    offset = fma(d, min(x0, all<S>(0)), h * k * x0);
  }
};

/// h (k x + c (x − max(x₀, 0)) / h)₊ for a velocity v into the stop, x = x₀ + h v, and its slope.
template <class S>
PYSIM_INLINE void stop_impulse(
    const CoordinateLaw<typename S::Parameter>& law, S x0, S h, S v, S& gamma, S& slope) {
  const S o = all<S>(0);
  gamma = slope = o;
  const auto beyond = fma(h, v, x0) > o;  // else rounding alone pushes
  if (none(beyond)) return;
  const StopImpulse<S> line(law, x0, h);
  const S push = fma(line.slope, v, line.offset);
  gamma = select(beyond, max(push, o), o);
  slope = select(beyond & (push > o), line.slope, o);
}

/// y of friction at a velocity v.
template <class S>
PYSIM_INLINE S stretch(const CoordinateLaw<typename S::Parameter>& law, S s, S h, S v) {
  using Real = typename S::Real;
  const S k = all<S>(law.friction) * all<S>(Real(1 / sticking_deflection<Real>));
  return h * k * fma(h, v, s);
}

template <class S>
PYSIM_INLINE CoordinateImpulse<S> coordinate_impulse(const CoordinateLaw<typename S::Parameter>& law,
                                                     const CoordinateState<S>& at,
                                                     S h,
                                                     S v) {
  using Real = typename S::Real;
  const S o = all<S>(0), f = all<S>(law.friction);
  CoordinateImpulse<S> I = {o, o, simd::everywhere<S>()};
  if (simd::is_there(law.friction)) {
    const S k = f * all<S>(Real(1 / sticking_deflection<Real>)), limit = h * f;
    const S y = stretch(law, at.s, h, v);
    I.sticks = abs(y) <= limit;
    I.gamma = -max(min(y, limit), -limit);
    I.slope = select(I.sticks, h * h * k, o);
  }
  if (law.q < 0) return I;
  S gamma, slope;
  if (simd::is_finite(law.upper)) {
    stop_impulse(law, at.above, h, v, gamma, slope);
    I.gamma -= gamma;
    I.slope += slope;
  }
  if (simd::is_finite(law.lower)) {
    stop_impulse(law, at.below, h, -v, gamma, slope);
    I.gamma += gamma;
    I.slope += slope;
  }
  return I;
}

/// Potential of `coordinate_impulse`.
template <class S>
S coordinate_potential(const CoordinateLaw<typename S::Parameter>& law,
                       const CoordinateState<S>& at,
                       S h,
                       S v) {
  const S half = all<S>(typename S::Real(0.5));
  S sum = all<S>(0);
  if (simd::is_there(law.friction)) {
    const S f = all<S>(law.friction), k = f / all<S>(sticking_deflection<typename S::Real>);
    sum = friction_potential(h * k * abs(fma(h, v, at.s)), h * f, h * h * k);
  }
  const auto add_stop = [&](S x0, S into) {
    S gamma, slope;
    stop_impulse(law, x0, h, into, gamma, slope);
    sum += select(slope > all<S>(0), half * gamma * gamma / slope, all<S>(0));
  };
  if (law.q >= 0 && simd::is_finite(law.upper)) add_stop(at.above, v);
  if (law.q >= 0 && simd::is_finite(law.lower)) add_stop(at.below, -v);
  return sum;
}

/// The deflection that the next step begins with.
template <class S>
S next_deflection(const CoordinateLaw<typename S::Parameter>& law, const CoordinateState<S>& at, S h, S v) {
  const S most = all<S>(sticking_deflection<typename S::Real>);
  return simd::is_there(law.friction) ? max(min(fma(h, v, at.s), most), -most) : all<S>(0);
}

}  // namespace pysim::constraints
