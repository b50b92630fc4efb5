// When to stop solving the equations of an implicit step.
#pragma once

#include "stepping/system.hpp"

namespace pysim::stepping {

/// Whether the iterations of an implicit step have come to an end, world by world.
///
/// They contract until rounding is all that is left. A world is done when its correction is within
/// `tolerance` of the whole and no longer shrinks by half; so each ends at its own rounding, whatever its
/// neighbours do. Rounding grows with the condition of M, so with the square of the levers: a correction
/// within `blurred` is rounding too once `patience` of them have brought none that is smaller.
template <class S>
struct Contraction {
  using Real = typename S::Real;
  static constexpr int patience = 6;
  static constexpr Real tolerance = sizeof(Real) == 8 ? Real(1e-11) : Real(1e-4);
  static constexpr Real most = sizeof(Real) == 8 ? Real(1e-5) : Real(1e-2);  ///< of `blurred`

  S blurred;
  S last = all<S>(Real(__builtin_inf())), least = last;
  S waited = all<S>(0);  ///< corrections since the least
  S active = all<S>(1);  ///< 1 while a world iterates

  /// `lever` [m]: how far the furthest body is from the root.
  explicit Contraction(S lever)
      : blurred(min(all<S>(tolerance) * max(all<S>(1), lever * lever), all<S>(most))) {}

  bool go_on(S correction, S whole) {
    const S one = all<S>(1), none = all<S>(0);
    const S small = select(correction <= all<S>(tolerance) * whole, one, none);
    const S stalled = select(correction > all<S>(0.5) * last, one, none);
    waited = select(correction < least, none, waited + one);
    least = min(least, correction);
    const S rounding =
        select(waited >= all<S>(patience), select(correction <= blurred * whole, one, none), none);
    const S over = select(correction > all<S>(0), max(small * stalled, rounding), one);
    last = correction;
    active = select(over == one, none, active);
    return simd::any<S>(active == one);
  }
};

}  // namespace pysim::stepping
