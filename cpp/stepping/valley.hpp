// Pairs of passings between two instants of one sign, which the signs there do not show.
//
// With g > 0 at both, a least g lies between them for certain
//
//     if g falls at the left and rises at the right,
//     if g falls at the left and is no lower at the right, or if it rises at the right and is no lower at the
//     left.
//
// Of the halves of such a valley one is a valley again: it is halved until g ≤ 0 is met, or until the slopes
// at its ends lead, twice over, nowhere near 0.
#pragma once

#include "stepping/between.hpp"

namespace pysim::stepping {

/// Whether a least g is sure to be between.
template <class S>
PYSIM_INLINE simd::Mask<S> is_valley(const Point<S>& left, const Point<S>& right) {
  const auto falls = left.rise<all<S>(0), rises = right.rise> all<S>(0);
  return (falls & (rises | (right.g >= left.g))) | (rises & (left.g >= right.g));
}

/// Whether the slopes at the ends, twice over, reach 0.
template <class S>
PYSIM_INLINE simd::Mask<S> may_be_deep(const Point<S>& left, const Point<S>& right) {
  const S steepest = max(abs(left.rise), abs(right.rise));
  const S drop = all<S>(2) * steepest * (right.theta - left.theta);
  return min(left.g, right.g) <= drop;
}

template <class S>
PYSIM_INLINE Point<S> times(S side, const Point<S>& x) {
  return {x.theta, side * x.g, side * x.rise};
}

template <class S>
PYSIM_INLINE Point<S> choose(simd::Mask<S> first, const Point<S>& x, const Point<S>& y) {
  return {select(first, x.theta, y.theta), select(first, x.g, y.g), select(first, x.rise, y.rise)};
}

/// An instant between `left` and `right`, of sign `side` both, at which the event is not on that side, for
/// the `asked` worlds; `right` where none is found.
template <class S>
S find_beyond(const Between<S>& step,
              const Event& event,
              S side,
              simd::Mask<S> asked,
              Point<S> left,
              Point<S> right,
              S* q,
              S* v) {
  const S o = all<S>(0), end = right.theta;
  left = times(side, left);
  right = times(side, right);
  S found = end;
  auto open = asked & is_valley(left, right) & may_be_deep(left, right);
  while (any(open)) {
    const S theta = all<S>(0.5) * (left.theta + right.theta);
    const Point<S> middle = times(side, step.point(event, theta, q, v));
    const auto beyond = open & (middle.g <= o), before = is_valley(left, middle);
    found = select(beyond, theta, found);
    left = choose(before, left, middle);
    right = choose(before, middle, right);
    open &= (!beyond) & may_be_deep(left, right) & (right.theta - left.theta > all<S>(step.apart));
  }
  if (none(found < end)) return end;
  return select(abs(step.sign(event, found, q, v) - side) > o, found, end);
}

}  // namespace pysim::stepping
