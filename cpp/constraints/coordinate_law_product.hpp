// Products of the derivatives of the law of one coordinate, see coordinate_law.hpp, with cotangents.
#pragma once

#include "constraints/coordinate_law.hpp"

namespace pysim::constraints {

/// Cotangents of the state of a coordinate and of its law; sums.
template <class S>
struct CoordinateCotangents : CoordinateState<S> {
  S friction, stiffness, damping;
};

/// Adds the cotangents for that of the impulse of `coordinate_impulse`.
template <class S>
void coordinate_impulse_product(const CoordinateLaw<typename S::Parameter>& law,
                                const CoordinateState<S>& at,
                                S h,
                                S v,
                                S bar,
                                CoordinateCotangents<S>& sums) {
  using Real = typename S::Real;
  const S o = all<S>(0), hk = h * all<S>(law.stiffness), d = all<S>(law.damping);
  if (simd::is_there(law.friction)) {
    const S per = all<S>(Real(1 / sticking_deflection<Real>)), y = stretch<S>(law, at.s, h, v);
    const auto sticks = abs(y) <= h * all<S>(law.friction);
    sums.s = sums.s - select(sticks, h * all<S>(law.friction) * per * bar, o);
    const S share = select(sticks, per * fma(h, v, at.s), flip_sign(all<S>(1), y));
    sums.friction = fnma(h * share, bar, sums.friction);
  }
  if (law.q < 0) return;
  const auto add_stop = [&](S x0, S into, S pushed, S& x_bar) {
    S gamma, slope;
    stop_impulse<S>(law, x0, h, into, gamma, slope);
    const S passed = select(gamma > o, pushed, o);
    x_bar = fma(passed, hk + select(x0 < o, d, o), x_bar);
    sums.stiffness = fma(passed, h * fma(h, into, x0), sums.stiffness);
    sums.damping = fma(passed, fma(h, into, min(x0, o)), sums.damping);
  };
  if (simd::is_finite(law.upper)) add_stop(at.above, v, -bar, sums.above);
  if (simd::is_finite(law.lower)) add_stop(at.below, -v, bar, sums.below);
}

/// Adds the cotangents of s₀ and v for that of the deflection of `next_deflection`.
template <class S>
void next_deflection_product(const CoordinateLaw<typename S::Parameter>& law,
                             const CoordinateState<S>& at,
                             S h,
                             S v,
                             S bar,
                             S& s_bar,
                             S& v_bar) {
  if (!simd::is_there(law.friction)) return;
  const S most = all<S>(sticking_deflection<typename S::Real>);
  const S passed = select(abs(fma(h, v, at.s)) <= most, bar, all<S>(0));
  s_bar += passed;
  v_bar = fma(h, passed, v_bar);
}

}  // namespace pysim::constraints
