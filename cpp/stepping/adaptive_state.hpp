// State that adaptive steps carry from one to the next, its places in the record of a world, and the size of
// the first step [Hairer, Norsett, Wanner 1993, II.4].
#pragma once

#include "stepping/crossing.hpp"
#include "stepping/dopri5.hpp"
#include "stepping/error_norm.hpp"

namespace pysim::stepping {

/// Places in the record's part `scheme`. Zeros let steps begin at q, v and t of the record; a size that is
/// not 0 is that of the first one.
struct AdaptivePlaces {
  enum : int {
    begun,       ///< 1: what follows is in use
    size,        ///< of the next step [s]; 0: to be chosen
    time,        ///< at which it starts [s]
    last_error,  ///< of the last accepted step, at least 1e-4
    growth,      ///< largest factor of the next step: 10, after a rejection 1
    rejected,    ///< steps so far
    worst,       ///< coordinate of v with the largest error of the last step tried; where tolerances are too
                 ///< fine, the one with the least resolution
    event,       ///< the last one
    seen,        ///< time up to which events were reported [s]
    signs        ///< of every event: −1, 0, 1; NaN before the first step
  };
  int q, v, states;  ///< at the start of the next step
  int count;

  static constexpr AdaptivePlaces of(int events, int nq, int nv, int states) {
    const int q = signs + events;
    return {q, q + nq, q + nq + nv, q + nq + nv + states};
  }
};

/// State of worlds at the start of a step.
template <class S>
struct AdaptiveState {
  S *q, *v;
  S time, h;
  S last_error, growth;
  EventWatch<S> watch;
};

/// A first step from the sizes of the state, its rate and the rate's change [II.4, algorithm 4.14].
template <class S>
S first_step(const System<S>& system,
             const Tolerances& tolerances,
             const AdaptiveState<S>& state,
             const S* a) {
  Workspace<S> w = system.workspace;
  const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
  const auto allowed = allowance(system, tolerances, state.q, state.v, state.q, state.v, w);
  S *const size = take<S>(w, nv), *const xi = take<S>(w, nv), *const q = take<S>(w, nq),
           *const v = take<S>(w, nv), *const a1 = take<S>(w, nv);
  S worst;
  configuration_size(system.model, state.q, size);
  const S d0 = error_norm(nv, allowed, size, state.v, &worst);
  const S d1 = error_norm(nv, allowed, state.v, a, &worst);
  const S tiny = all<S>(1e-5);
  const S h0 = select(min(d0, d1) < tiny, all<S>(1e-6), all<S>(0.01) * d0 / d1);

  for (int i = 0; i < nv; ++i) {
    xi[i] = h0 * state.v[i];
    v[i] = fma(h0, a[i], state.v[i]);
  }
  retract(system.model, static_cast<const S*>(state.q), xi, q);
  System<S> inner = {system.model, system.actuation, w, system.loop_q};
  inner.signals = system.signals;
  inner.acceleration(state.time + h0, q, v, a1);
  for (int i = 0; i < nv; ++i) {
    xi[i] = v[i] - state.v[i];
    a1[i] = a1[i] - a[i];
  }
  const S d2 = error_norm(nv, allowed, xi, a1, &worst) / h0;
  const S steepest = max(d1, d2);
  const S h1 = select(steepest < all<S>(1e-15),
                      max(all<S>(1e-6), all<S>(1e-3) * h0),
                      power(all<S>(0.01) / max(steepest, all<S>(1e-15)), 0.2));
  return min(all<S>(100) * h0, h1);
}

}  // namespace pysim::stepping
