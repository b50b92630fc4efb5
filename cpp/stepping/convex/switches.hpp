// Corners of the laws of a convex step that it meets to rounding: there the derivative is that of one side.
//
//     |x₀ − h v_n| ≤ ε (|x₀| + h |v_n|)        a point begins or ends to touch; likewise a stop
//     ||y| − r| ≤ ε r                          friction begins or ends to slide
//     |f − bound| ≤ ε max(|f|, |bound|)        a force reaches its bound
//
// and points that are within ε of another feature (convex/feature_switches.hpp).
#pragma once

#include "constraints/contact_law.hpp"
#include "constraints/coordinate_law.hpp"
#include "contact/kinds/bounded.hpp"

namespace pysim::stepping {

/// How often switches are met, by what has them; sums.
template <class S>
struct SwitchCounts {
  static constexpr double rounding = 1e-9;  ///< ε

  S *touching, *sticking, *feature;  ///< [pairs]
  S *friction, *stop;                ///< [coordinates]
  S* bound;                          ///< [bounded forces]

  /// Of numbers one after the other; null for none.
  static SwitchCounts in(S* numbers, int pairs, int coordinates) {
    if (numbers == nullptr) return {};
    S *const friction = numbers + 3 * pairs, *const stop = friction + coordinates;
    return {numbers, numbers + pairs, numbers + 2 * pairs, friction, stop, stop + coordinates};
  }

  bool counts() const { return touching != nullptr; }

  /// 1 where x is zero beside a size.
  static S met(S x, S size) {
    return number(simd::abs(x) <= simd::all<S>(typename S::Real(rounding)) * size);
  }

  void add_coordinate(int k,
                      const constraints::CoordinateLaw<typename S::Parameter>& law,
                      const constraints::CoordinateState<S>& at,
                      S h,
                      S v) const {
    if (simd::is_there(law.friction)) {
      const S limit = h * simd::all<S>(law.friction);
      friction[k] += met(simd::abs(constraints::stretch<S>(law, at.s, h, v)) - limit, limit);
    }
    if (law.q < 0) return;
    const auto add_stop = [&](S x, S into) {
      stop[k] += met(fma(h, into, x), simd::abs(x) + h * simd::abs(into));
    };
    if (simd::is_finite(law.upper)) add_stop(at.above, v);
    if (simd::is_finite(law.lower)) add_stop(at.below, -v);
  }

  void add_bound(int k, const contact::BoundedForce<S>& law, S v) const {
    const S force = fnma(law.c, v, law.a);
    const auto reaches = [&](S bound) {
      return met(force - bound, simd::max(simd::abs(force), simd::abs(bound)));
    };
    this->bound[k] += simd::max(reaches(law.lower), reaches(law.upper));
  }
};

/// How many counts there are.
constexpr int switch_counts(int pairs, int coordinates, int bounded) {
  return 3 * pairs + 2 * coordinates + bounded;
}

}  // namespace pysim::stepping
