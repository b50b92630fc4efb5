// Double roots of an event function: pairs of crossings between two instants of the same sign.
//
// With g > 0 at both, g certainly has a minimum between them
//
//     if g falls at the left and rises at the right,
//     if g falls at the left and is no lower at the right, or if it rises at the right and is no lower at the
//     left.
//
// One half of such an interval is again such an interval: it is halved until g ≤ 0 is found, or until the
// slopes at its ends, doubled, do not reach 0.
//
// Without it tests/events/test_events.py fails: test_every_change_of_sign_that_dense_outputs_show_is_found
// and six others.
#pragma once

#include "stepping/step_interpolant.hpp"

namespace pysim::stepping {

/// Whether there certainly is a minimum of g between.
template <class S>
PYSIM_INLINE simd::Mask<S> has_minimum(const EventSample<S>& left, const EventSample<S>& right) {
  const auto falls = left.rise<all<S>(0), rises = right.rise> all<S>(0);
  return (falls & (rises | (right.g >= left.g))) | (rises & (left.g >= right.g));
}

/// Whether the slopes at the ends, doubled, reach 0.
template <class S>
PYSIM_INLINE simd::Mask<S> may_reach_zero(const EventSample<S>& left, const EventSample<S>& right) {
  const S steepest = max(abs(left.rise), abs(right.rise));
  const S drop = all<S>(2) * steepest * (right.theta - left.theta);
  return min(left.g, right.g) <= drop;
}

template <class S>
PYSIM_INLINE EventSample<S> times(S side, const EventSample<S>& x) {
  return {x.theta, side * x.g, side * x.rise};
}

template <class S>
PYSIM_INLINE EventSample<S> choose(simd::Mask<S> first, const EventSample<S>& x, const EventSample<S>& y) {
  return {select(first, x.theta, y.theta), select(first, x.g, y.g), select(first, x.rise, y.rise)};
}

/// A time between `left` and `right`, where the sign is `side`, at which the event is not on that side, for
/// the `asked` worlds; `right` if none is found.
template <class S>
S find_double_root(const StepInterpolant<S>& step,
                   const Event& event,
                   S side,
                   simd::Mask<S> asked,
                   EventSample<S> left,
                   EventSample<S> right,
                   S* q,
                   S* v) {
  const S o = all<S>(0), end = right.theta;
  left = times(side, left);
  right = times(side, right);
  S root = end;
  auto open = asked & has_minimum(left, right) & may_reach_zero(left, right);
  while (any(open)) {
    const S theta = all<S>(0.5) * (left.theta + right.theta);
    const EventSample<S> middle = times(side, step.point(event, theta, q, v));
    const auto beyond = open & (middle.g <= o), before = has_minimum(left, middle);
    root = select(beyond, theta, root);
    left = choose(before, left, middle);
    right = choose(before, middle, right);
    open &= (!beyond) & may_reach_zero(left, right) & (right.theta - left.theta > all<S>(step.apart));
  }
  if (none(root < end)) return end;
  return select(abs(step.sign(event, root, q, v) - side) > o, root, end);
}

}  // namespace pysim::stepping
