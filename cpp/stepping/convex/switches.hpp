// Corners of the laws of coordinates and forces in a convex step:
//
//     |x₀ − h v_n| ≤ ε (|x₀| + h |v_n|)        a point begins or ends to touch; likewise a stop
//     |x₀| ≤ ε h |v|                           a step begins where a stop does, whose damper acts beyond
//     ||y| − r| ≤ ε r                          friction begins or ends to slide
//     |f − bound| ≤ ε max(|f|, |bound|)        a force reaches its bound
//
// Those of points are in convex/pushing_points.hpp, with ones that are within ε of another feature
// (stepping/feature_switches.hpp).
#pragma once

#include "constraints/coordinate_law.hpp"
#include "contact/kinds/bounded.hpp"
#include "stepping/switch_counts.hpp"

namespace pysim::stepping {

/// Adds switches of coordinate k of the contacts.
template <class S>
void count_coordinate(const SwitchCounts<S>& counts,
                      int k,
                      const constraints::CoordinateLaw<typename S::Parameter>& law,
                      const constraints::CoordinateState<S>& at,
                      S h,
                      S v) {
  if (simd::is_there(law.friction)) {
    const S limit = h * simd::all<S>(law.friction);
    const S y = constraints::stretch<S>(law, at.s, h, v);
    counts.friction[k] += number(counts.is_met(simd::abs(y) - limit, limit));
  }
  if (law.q < 0) return;
  auto stops = simd::nowhere<S>();
  const S o = simd::all<S>(0), damping = simd::all<S>(law.damping);
  const auto meet = [&](S x, S into) {
    const S end = fma(h, into, x), moved = h * simd::abs(into);
    stops |= counts.is_met(end, simd::abs(x) + moved);
    stops |= (damping > o) & (end > o) & counts.is_met(x, moved);
  };
  if (simd::is_finite(law.upper)) meet(at.above, v);
  if (simd::is_finite(law.lower)) meet(at.below, -v);
  counts.stop[k] += number(stops);
}

/// Adds switches of bounded force n.
template <class S>
void count_bound(const SwitchCounts<S>& counts, int n, const contact::BoundedForce<S>& law, S v) {
  counts.bound[n] += number(counts.is_at_bound(fnma(law.c, v, law.a), law.lower, law.upper));
}

}  // namespace pysim::stepping
