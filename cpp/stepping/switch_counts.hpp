// Counts of steps that meet a switch, by what has it: a corner of a law, met to rounding, where the
// derivative is that of one side.
//
//     |x| ≤ ε (size of the numbers that decide x)        x = 0 is the corner
#pragma once

#include "simd/math.hpp"

namespace pysim::stepping {

/// Parts of a scene that have switches.
struct SwitchSizes {
  int pairs = 0, coordinates = 0, bounded = 0;  ///< pairs of shapes, coordinates, forces within bounds

  constexpr int count() const { return 3 * pairs + 2 * coordinates + bounded; }
};

/// Numbers of steps that meet a switch.
template <class S>
struct SwitchCounts {
  static constexpr double rounding = 1e-9;  ///< ε

  S *touching, *sticking, *feature;  ///< [pairs]
  S *friction, *stop;                ///< [coordinates]
  S* bound;                          ///< [bounded]

  /// Of numbers one after the other; null for none.
  static SwitchCounts in(S* numbers, const SwitchSizes& sizes) {
    if (numbers == nullptr) return {};
    S *const sticking = numbers + sizes.pairs, *const feature = sticking + sizes.pairs,
             *const friction = feature + sizes.pairs, *const stop = friction + sizes.coordinates;
    return {numbers, sticking, feature, friction, stop, stop + sizes.coordinates};
  }

  bool counts() const { return touching != nullptr; }

  /// Where x is zero beside a size, which is finite.
  static simd::Mask<S> is_met(S x, S size) {
    return (simd::abs(x) <= simd::all<S>(typename S::Real(rounding)) * size) &
           (size < simd::all<S>(simd::infinity));
  }

  /// Where a force is at one of its bounds.
  static simd::Mask<S> is_at_bound(S force, S lower, S upper) {
    const auto reaches = [force](S bound) {
      return is_met(force - bound, simd::max(simd::abs(force), simd::abs(bound)));
    };
    return reaches(lower) | reaches(upper);
  }
};

}  // namespace pysim::stepping
