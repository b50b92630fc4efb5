// Force that an actuator bounds, in a convex step: a spring and damper on a coordinate that saturate.
//
//     f(v) = clip(a − c v, lower, upper)      c = d + h k ≥ 0, v at the end of the step
//     γ = h (f(v) − f*(v))                    f* = a − c v within the bounds at the start, else the bound
//
// f* is what v* has seen: a force within its bounds is in the matrix A, so that it costs nothing until it
// reaches one; a saturated one is constant in v*, so that a stiff servo far from its target does not throw v*
// there. Either way the sum is a bounded spring and damper, whose potential is convex.
#pragma once

#include "tree/workspace.hpp"

namespace pysim::contact {

template <class S>
struct BoundedForce {
  int v;  ///< the tree's coordinate
  S a, c, lower, upper;
  S saturated;              ///< f* where it is constant
  simd::Mask<S> is_within;  ///< where f* = a − c v
};

template <class S>
struct BoundedImpulse {
  S gamma, slope;
};

template <class S>
BoundedImpulse<S> bounded_impulse(const BoundedForce<S>& law, S h, S v) {
  const S o = simd::all<S>(0), force = fnma(law.c, v, law.a);
  const S clipped = max(min(force, law.upper), law.lower);
  const S hc = h * law.c;
  return {h * (clipped - select(law.is_within, force, law.saturated)),
          select(clipped == force, hc, o) - select(law.is_within, hc, o)};
}

}  // namespace pysim::contact
