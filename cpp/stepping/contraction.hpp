// When to stop solving the equations of an implicit step.
#pragma once

#include "stepping/system.hpp"

namespace pysim::stepping {

/// Whether the iterations of an implicit step have come to an end, world by world.
///
/// They contract until rounding is all that is left. A world is done when its correction is within
/// `tolerance` of the whole and no longer shrinks by half; so each ends at its own rounding, whatever its
/// neighbours do.
template <class S>
struct Contraction {
  S last, active;  // active: 1 while a world iterates

  bool go_on(S correction, S whole) {
    using Real = typename S::Real;
    const S one = all<S>(1), none = all<S>(0);
    const S tolerance = all<S>(sizeof(Real) == 8 ? Real(1e-11) : Real(1e-4));
    const S small = select(correction <= tolerance * whole, one, none);
    const S stalled = select(correction > all<S>(0.5) * last, one, none);
    const S over = select(correction > all<S>(0), small * stalled, one);
    last = correction;
    active = select(over == one, none, active);
    return simd::any<S>(active == one);
  }
};

template <class S>
S largest(const S* x, int count) {
  S size = all<S>(0);
  for (int i = 0; i < count; ++i) size = max(size, abs(x[i]));
  return size;
}

}  // namespace pysim::stepping
