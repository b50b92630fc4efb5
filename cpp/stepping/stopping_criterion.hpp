// Stopping criterion of the iterations of an implicit step.
//
// Without `patience` tests/integrators/test_far_from_the_origin.py fails from 300 m on.
#pragma once

#include "stepping/system.hpp"

namespace pysim::stepping {

/// The criterion, world by world.
///
/// The iterations contract to rounding. A world is done when its correction is within
/// `tolerance` of the whole and no longer halves; so each stops at its own rounding, independently of its
/// neighbours. Rounding grows with the condition of M, and so with the square of the levers: a correction
/// within `blurred` counts as rounding too once `patience` corrections have brought none that is smaller.
template <class S>
struct Contraction {
  using Real = typename S::Real;
  static constexpr int patience = 6;
  static constexpr Real tolerance = sizeof(Real) == 8 ? Real(1e-11) : Real(1e-4);
  static constexpr Real most = sizeof(Real) == 8 ? Real(1e-5) : Real(1e-2);  ///< of `blurred`

  S blurred;
  S last = all<S>(Real(simd::infinity)), least = last;
  S waited = all<S>(0);                          ///< corrections since the smallest one
  simd::Mask<S> active = simd::everywhere<S>();  ///< worlds that iterate

  /// `lever` [m]: distance of the farthest body from the root.
  explicit Contraction(S lever)
      : blurred(min(all<S>(tolerance) * max(all<S>(1), lever * lever), all<S>(most))) {}

  bool go_on(S correction, S whole) {
    const auto small = correction <= all<S>(tolerance) * whole, stalled = correction > all<S>(0.5) * last;
    waited = select(correction < least, all<S>(0), waited + all<S>(1));
    least = min(least, correction);
    const auto rounding = (waited >= all<S>(patience)) & (correction <= blurred * whole);
    last = correction;
    active &= (correction > all<S>(0)) & !(small & stalled) & !rounding;
    return any(active);
  }
};

}  // namespace pysim::stepping
