// Event functions within a step, on its interpolated states.
#pragma once

#include "stepping/dopri5.hpp"
#include "stepping/events.hpp"

namespace pysim::stepping {

/// An event's g at a time within a step, and its slope, dg/dθ.
template <class S>
struct EventSample {
  S theta, g, rise;
};

/// A step as a function of θ, and its events.
template <class S>
struct StepInterpolant {
  static constexpr double apart = 0x1p-22;  ///< distance of two θ for a slope

  const System<S>& system;
  const Events& events;
  S time, h;
  const S *q, *v;
  const Stages<S>& stages;

  S sign(const Event& event, S theta, S* q_t, S* v_t) const {
    state_within(system, time, h, theta, q, v, stages, q_t, v_t);
    return sign_of(value(event, q_t, v_t));
  }

  /// g of every event; the state is left in q_t, v_t.
  void signs(S theta, S* sign, S* q_t, S* v_t) const {
    state_within(system, time, h, theta, q, v, stages, q_t, v_t);
    for (int k = 0; k < events.count; ++k) sign[k] = sign_of(value(events.event[k], q_t, v_t));
  }

  /// g of every event, on states that are not projected onto the constraints.
  void points(S theta, EventSample<S>* point, S* q_t, S* v_t) const {
    interpolate(system, h, theta, q, v, stages, q_t, v_t);
    for (int k = 0; k < events.count; ++k) point[k].g = value(events.event[k], q_t, v_t);
    interpolate(system, h, theta + all<S>(apart), q, v, stages, q_t, v_t);
    for (int k = 0; k < events.count; ++k) {
      point[k].theta = theta;
      point[k].rise = (value(events.event[k], q_t, v_t) - point[k].g) * all<S>(1 / apart);
    }
  }

  EventSample<S> point(const Event& event, S theta, S* q_t, S* v_t) const {
    interpolate(system, h, theta, q, v, stages, q_t, v_t);
    const S g = value(event, q_t, v_t);
    interpolate(system, h, theta + all<S>(apart), q, v, stages, q_t, v_t);
    return {theta, g, (value(event, q_t, v_t) - g) * all<S>(1 / apart)};
  }

 private:
  S value(const Event& event, const S* q_t, const S* v_t) const {
    return event_value(system, events, event, q_t, v_t);
  }
};

}  // namespace pysim::stepping
