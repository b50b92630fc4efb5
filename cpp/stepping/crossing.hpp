// Location of the first event of a step on its interpolated states.
//
// A world carries the sign of every event and the time up to which it was checked. A sign that differs, or is
// 0, at the end of a quarter of the step has changed in it; so has one that a double root between the
// quarter's ends reveals. The time is bisected down to rounding. The time of an event is the right end of the
// last bracket, where the sign is the new one already: the step may be repeated from there and finds the
// following events, those of the same time first. A run that begins on an event leaves it, which is not a
// crossing.
#pragma once

#include "stepping/double_root.hpp"

namespace pysim::stepping {

/// State that a world carries from step to step.
template <class S>
struct EventWatch {
  S seen;   ///< time up to which events were reported [s]
  S* sign;  ///< one per event: −1, 0, 1; NaN before the first step
};

/// The first event of a step: its time, index (−1: none), and the signs there; its state is in q, v.
template <class S>
struct Crossing {
  S theta, index;
  S *sign, *now, *q, *v;
  EventSample<S>*from, *to;  ///< start and end of the interval that is searched
};

constexpr int pieces = 4;
/// A step is searched a rounding error beyond its end, so that an event at the end of a run is found.
constexpr double last_theta = 1 + 0x1p-46;

template <class S>
Crossing<S> take_crossing(const System<S>& system, const Events& events, Workspace<S>& w) {
  const int count = events.count;
  S *const sign = take<S>(w, count), *const now = take<S>(w, count);
  S *const q = take<S>(w, system.model.reduced_nq), *const v = take<S>(w, system.model.reduced_nv);
  auto *const from = take<EventSample<S>>(w, count), *const to = take<EventSample<S>>(w, count);
  return {all<S>(1), all<S>(-1), sign, now, q, v, from, to};
}

/// Signs at the initial state of a run.
template <class S>
void begin_watch(
    const System<S>& system, const Events& events, const S* q, const S* v, EventWatch<S>& watch) {
  for (int k = 0; k < events.count; ++k) {
    const S now = sign_of(event_value(system, events, events.event[k], q, v));
    watch.sign[k] = select(watch.sign[k] == watch.sign[k], watch.sign[k], now);
  }
}

/// Whether a sign changed to the opposite or to 0.
template <class S>
PYSIM_INLINE simd::Mask<S> changed(S before, S now) {
  return (before * now <= all<S>(0)) & (abs(before) == all<S>(1));
}

/// Whether the change has the event's direction.
template <class S>
PYSIM_INLINE simd::Mask<S> passed(const Event& event, S before, S now) {
  if (event.direction == 0) return changed(before, now);
  return changed(before, now) & (before == all<S>(-event.direction));
}

/// First time in (left, right] at which a sign that is `after` at `right` has changed, for `asked` worlds:
/// to the opposite if that is its final value, so that the search continues beyond 0.
template <class S>
S bisect(const StepInterpolant<S>& step,
         const Event& event,
         S before,
         S after,
         simd::Mask<S> asked,
         S left,
         S right,
         S* q,
         S* v) {
  const S o = all<S>(0);
  const auto over_at = [&](S theta) {
    const S now = step.sign(event, theta, q, v);
    return select(after == o, changed(before, now), before * now < o);
  };
  right = select(over_at(left), left, right);
  for (;;) {
    const S middle = all<S>(0.5) * (left + right);
    const auto open = asked & (right - left > all<S>(0x1p-53)) & (middle > left) & (middle < right);
    if (none(open)) return right;
    const auto over = over_at(middle);
    right = select(open & over, middle, right);
    left = select(open & !over, middle, left);
  }
}

/// Largest time before `end` to check at once: a sign that has changed there is back at `end`.
template <class S>
S next_stop(const StepInterpolant<S>& step, S end, simd::Mask<S> looking, const Crossing<S>& first) {
  const Events& events = step.events;
  step.points(end, first.to, first.q, first.v);
  S stop = end;
  for (int k = 0; k < events.count; ++k) {
    const S side = first.sign[k];
    const auto same = looking & (side * first.to[k].g > all<S>(0));
    if (none(same)) continue;
    const S found =
        find_double_root(step, events.event[k], side, same, first.from[k], first.to[k], first.q, first.v);
    stop = min(stop, select(same, found, end));
  }
  return stop;
}

/// Searches (at, stop] for the `looking` worlds.
template <class S>
void look_until(const StepInterpolant<S>& step, S at, S stop, simd::Mask<S> looking, Crossing<S>& first) {
  const Events& events = step.events;
  const S o = all<S>(0);
  step.signs(stop, first.now, first.q, first.v);
  for (int k = 0; k < events.count; ++k) {
    const Event& event = events.event[k];
    const auto hit = looking & passed(event, first.sign[k], first.now[k]);
    if (none(hit)) continue;
    const S when = bisect(step, event, first.sign[k], first.now[k], hit, at, stop, first.q, first.v);
    const auto earlier = hit & ((first.index < o) | (when < first.theta));
    first.theta = select(earlier, when, first.theta);
    first.index = select(earlier, all<S>(k), first.index);
  }
  const auto quiet = looking & (first.index < o);
  for (int k = 0; k < events.count; ++k) {
    first.sign[k] = select(quiet, first.now[k], first.sign[k]);
    const auto met = looking & (first.index == all<S>(k));
    if (none(met)) continue;
    const S now = step.sign(events.event[k], first.theta, first.q, first.v);
    first.sign[k] = select(met, now, first.sign[k]);
  }
}

/// Time at which worlds that start on an event have left it, on the relevant side.
template <class S>
S leaving(const Events& events, S at, const Crossing<S>& first) {
  S leaves = at;
  for (int k = 0; k < events.count; ++k) {
    leaves = select(first.sign[k] == all<S>(0), at + all<S>(0x1p-12), leaves);
  }
  return leaves;
}

/// Searches for the first event of a step, for the `good` worlds.
template <class S>
void find_crossing(const StepInterpolant<S>& step,
                   const EventWatch<S>& watch,
                   simd::Mask<S> good,
                   Crossing<S>& first) {
  const Events& events = step.events;
  const S o = all<S>(0), last = all<S>(last_theta);
  first.theta = all<S>(1);
  first.index = all<S>(-1);
  for (int k = 0; k < events.count; ++k) first.sign[k] = watch.sign[k];
  S at = min(max((watch.seen - step.time) / step.h, o), last);
  const S leaves = leaving(events, at, first);
  step.points(at, first.from, first.q, first.v);
  for (int piece = 1; piece <= pieces; ++piece) {
    for (;;) {
      const S piece_end = piece == pieces ? last : all<S>(1.0 * piece / pieces);
      const S end = select(at < leaves, min(leaves, piece_end), piece_end);
      const auto looking = good & (first.index < o) & (at < end);
      if (none(looking)) break;
      const S stop = select(looking, next_stop(step, end, looking, first), at);
      look_until(step, at, stop, looking, first);
      if (any(looking & (stop < end))) step.points(stop, first.to, first.q, first.v);
      for (int k = 0; k < events.count; ++k) {
        first.from[k] = choose(looking, first.to[k], first.from[k]);
      }
      at = stop;
    }
  }
  if (none(first.index >= o)) return;
  state_within(step.system, step.time, step.h, first.theta, step.q, step.v, step.stages, first.q, first.v);
}

}  // namespace pysim::stepping
