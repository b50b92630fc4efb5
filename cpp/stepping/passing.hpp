// The first event of a step, found on its interpolated states.
//
// A world carries the sign of every event and the time up to which it has looked. A sign that is the other
// one, or 0, at the end of a quarter of the step has changed in it; when is bisected down to rounding. The
// time of an event is the right end of the last bracket, where the sign is the new one already: the step may
// be made again from there and finds what follows, the others of the same instant first. A run that begins on
// an event leaves it, which is no passing.
#pragma once

#include "stepping/dopri5.hpp"
#include "stepping/events.hpp"

namespace pysim::stepping {

/// What a world carries from step to step.
template <class S>
struct Watch {
  S seen;   ///< up to when events were handed out [s]
  S* sign;  ///< one an event: −1, 0, 1; NaN before the first step
};

/// The first event of a step: where, which (−1: none), and the signs there; its state stands in q, v.
template <class S>
struct Passing {
  S theta, index;
  S *sign, *q, *v;
};

constexpr int pieces = 4;

template <class S>
Passing<S> take_passing(const System<S>& system, const Events& events, Workspace<S>& w) {
  const auto take = [&](int count) { return w.template take<S>(count); };
  return {all<S>(1), all<S>(-1), take(events.count), take(system.model.own_nq), take(system.model.own_nv)};
}

/// Signs of the state that a run begins with.
template <class S>
void begin_watch(const System<S>& system, const Events& events, const S* q, const S* v, Watch<S>& watch) {
  for (int k = 0; k < events.count; ++k) {
    const S now = sign_of(event_value(system, events, events.event[k], q, v));
    watch.sign[k] = select(watch.sign[k] == watch.sign[k], watch.sign[k], now);
  }
}

/// A step between its ends, and what is asked of it.
template <class S>
struct Between {
  const System<S>& system;
  const Events& events;
  S h;
  const S *q, *v;
  const Stages<S>& stages;

  S sign(const Event& event, S theta, S* q_t, S* v_t) const {
    state_within(system, h, theta, q, v, stages, q_t, v_t);
    return sign_of(
        event_value(system, events, event, static_cast<const S*>(q_t), static_cast<const S*>(v_t)));
  }
};

/// 1 where a sign went over to the other or to 0.
template <class S>
PYSIM_INLINE S changed(S before, S now) {
  return select(before * now <= all<S>(0), abs(before), all<S>(0));
}

/// 1 where the change has the event's direction.
template <class S>
PYSIM_INLINE S passed(const Event& event, S before, S now) {
  if (event.direction == 0) return changed(before, now);
  return select(before == all<S>(-event.direction), changed(before, now), all<S>(0));
}

/// Where in (left, right] a sign that has changed by `right` is first seen changed, for the `asked` worlds.
template <class S>
S bisect(const Between<S>& step, const Event& event, S before, S asked, S left, S right, S* q, S* v) {
  const S one = all<S>(1);
  right = select(changed(before, step.sign(event, left, q, v)) == one, left, right);
  for (;;) {
    const S middle = all<S>(0.5) * (left + right);
    S open = select(right - left > all<S>(0x1p-53), asked, all<S>(0));
    open = select(middle > left, open, all<S>(0));
    open = select(middle < right, open, all<S>(0));
    if (!simd::any<S>(open == one)) return right;
    const S over = changed(before, step.sign(event, middle, q, v));
    right = select(open * over == one, middle, right);
    left = select(open - over == one, middle, left);
  }
}

/// Looks for the first event of a step that begins at `time`, for the `good` worlds.
template <class S>
void find_passing(const Between<S>& step, S time, const Watch<S>& watch, S good, Passing<S>& first) {
  const Events& events = step.events;
  const S one = all<S>(1), none = all<S>(0), seen = (watch.seen - time) / step.h;
  first.theta = one;
  first.index = all<S>(-1);
  for (int k = 0; k < events.count; ++k) first.sign[k] = watch.sign[k];
  for (int piece = 0; piece < pieces; ++piece) {
    const S end = all<S>((piece + 1.0) / pieces), begin = max(all<S>(1.0 * piece / pieces), min(seen, end));
    S looking = select(first.index < none, good, none);
    looking = select(end >= seen, looking, none);
    if (!simd::any<S>(looking == one)) continue;
    for (int k = 0; k < events.count; ++k) {
      const Event& event = events.event[k];
      const S now = step.sign(event, end, first.q, first.v);
      const S hit = looking * passed(event, first.sign[k], now);
      if (!simd::any<S>(hit == one)) continue;
      const S at = bisect(step, event, first.sign[k], hit, begin, end, first.q, first.v);
      S earlier = select(first.index < none, hit, none);
      earlier = select(at < first.theta, hit, earlier);
      first.theta = select(earlier == one, at, first.theta);
      first.index = select(earlier == one, all<S>(k), first.index);
    }
    const S quiet = select(first.index < none, looking, none);
    for (int k = 0; k < events.count; ++k) {
      const Event& event = events.event[k];
      const S met = select(first.index == all<S>(k), looking, none);
      const S at = select(met == one, first.theta, end);
      const S now = step.sign(event, at, first.q, first.v);
      first.sign[k] = select(quiet + met == one, now, first.sign[k]);
    }
  }
  state_within(step.system, step.h, first.theta, step.q, step.v, step.stages, first.q, first.v);
}

}  // namespace pysim::stepping
