// Adaptive steps: each as long as its estimated error allows [Hairer, Norsett, Wanner 1993, II.4].
//
//     accepted if |e| ≤ 1        h ← h · clamp(0.9 |e|^(0.75·0.04 − 0.2) |e_last|^0.04)        PI control
//
// Outputs are interpolated and change no step. A call ends within the step that contains its last output;
// that step is discarded and repeated by the next call, so that any split of the outputs gives the same bits.
// The same holds for an event: the call ends at it, and the next one continues from there.
#pragma once

#include "simd/math.hpp"
#include "stepping/crossing.hpp"
#include "stepping/dopri5.hpp"
#include "stepping/error_norm.hpp"
#include "stepping/singular_step.hpp"

namespace pysim::stepping {

/// State of a world from call to call. An `h` of 0: the first step is to be chosen.
template <class S>
struct AdaptiveState {
  S *q, *v;
  S time, h;
  S last_error;  ///< error of the last accepted step, at least 1e-4
  S growth;      ///< largest factor of the next step: 10, after a rejection 1
  EventWatch<S> watch;
};

/// Result of a call, for every world.
template <class S>
struct Record {
  S reached, accepted, rejected;
  S worst;   ///< coordinate of v with the largest error of the last step tried; if blurred, the one with
             ///< the least resolution
  S status;  ///< an AdaptiveStatus
  S event;   ///< the event that ended the call, at state.watch.seen; −1 for none
};

/// Worlds that have not reached the end of the call.
template <class S>
PYSIM_INLINE simd::Mask<S> is_running(const Record<S>& record) {
  return record.status == all<S>(static_cast<int>(AdaptiveStatus::running));
}

template <class S>
PYSIM_INLINE S clamp(S x, double low, double high) {
  return min(max(x, all<S>(low)), all<S>(high));
}

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

/// States x of elements within a step.
template <class S>
void states_within(const System<S>& system, S h, S theta, const Stages<S>& stages, S* x) {
  using Tableau = DormandPrince<typename S::Isa>;
  const int states = system.states();
  simd::copy_each<S>(stages.x0, states, x);
  for (int s = 0; s < Tableau::stages && states > 0; ++s) {
    const double* d = Tableau::dense[s];
    if (d[0] == 0 && d[1] == 0) continue;
    const S inner = fma(theta, fma(theta, all<S>(d[3]), all<S>(d[2])), all<S>(d[1]));
    const S weight = h * theta * fma(theta, inner, all<S>(d[0]));
    for (int i = 0; i < states; ++i) x[i] = fma(weight, stages.x[s * states + i], x[i]);
  }
}

/// The error of a step, or that of the states of elements where it is larger; integrals do not count.
template <class S>
S with_states(const System<S>& system,
              const Tolerances& tolerances,
              S h,
              const Stages<S>& stages,
              const S* x1,
              S error,
              Workspace<S> w) {
  using Tableau = DormandPrince<typename S::Isa>;
  const int states = system.states(), coupled = system.model.signals->coupled();
  S* const e = take<S>(w, states);
  combine<S>(Tableau::e, Tableau::stages, h, stages.x, states, nullptr, e);
  for (int i = 0; i < coupled; ++i) {
    const S size = max(abs(stages.x0[i]), abs(x1[i]));
    const S allowed = fma(all<S>(tolerances.relative[0]), size, all<S>(tolerances.position[0]));
    error = max(error, abs(e[i]) / allowed);
  }
  return error;
}

/// Writes the states at the times up to `stop` that lie in the step just accepted by the `good` worlds.
template <class S, class Sink>
void hand_out(const System<S>& system,
              const AdaptiveState<S>& state,
              const Stages<S>& stages,
              const double* times,
              std::ptrdiff_t count,
              simd::Mask<S> good,
              S stop,
              Record<S>* record,
              const Sink& sink) {
  Workspace<S> w = system.workspace;
  S* const q = take<S>(w, system.model.reduced_nq);
  S* const v = take<S>(w, system.model.reduced_nv);
  S* const x = take<S>(w, system.states());
  const System<S> inner = {system.model, system.actuation, w, system.loop_q};
  for (;;) {
    S next = all<S>(__builtin_inf());
    for (int k = 0; k < S::width; ++k) {
      const auto index = static_cast<std::ptrdiff_t>(simd::lane(record->reached, k));
      if (lane(good, k) && index < count) simd::set_lane(next, k, times[index]);
    }
    const auto due = next <= stop;
    if (none(due)) return;
    const S theta = select(due, (next - state.time) / state.h, all<S>(0));
    state_within(inner, state.time, state.h, theta, state.q, state.v, stages, q, v);
    states_within(system, state.h, theta, stages, x);
    for (int k = 0; k < S::width; ++k) {
      if (lane(due, k)) sink(k, static_cast<std::ptrdiff_t>(simd::lane(record->reached, k)), q, v, x);
    }
    record->reached += number(due);
    const auto last = record->reached == all<S>(static_cast<double>(count));
    record->status = select(last, all<S>(static_cast<int>(AdaptiveStatus::reached)), record->status);
  }
}

/// Searches the step just accepted by the `good` worlds for its first event; returns the event's time, or the
/// step's end. Times within rounding of an event are not before it.
template <class S>
S look_for_events(const System<S>& system,
                  const Events& events,
                  const AdaptiveState<S>& state,
                  const Stages<S>& stages,
                  simd::Mask<S> good,
                  Crossing<S>& first) {
  const S end = state.time + state.h;
  if (events.count == 0) return end;
  const StepInterpolant<S> step = {system, events, state.time, state.h, state.q, state.v, stages};
  find_crossing(step, state.watch, good, first);
  S when = fma(first.theta, state.h, state.time);
  const auto short_of = (when - state.time) / state.h < first.theta;
  when = select(short_of, fma(all<S>(__DBL_EPSILON__), abs(when), when), when);
  return select(first.index < all<S>(0), end, max(state.watch.seen, when));
}

/// End of the outputs to be written: those within rounding of an event's time come after it.
template <class S>
S outputs_until(const Crossing<S>& first, S stop, S h) {
  const S rounding = all<S>(0x1p-45) * max(abs(stop), h);
  return select(first.index < all<S>(0), stop, stop - rounding);
}

/// Ends the call of running worlds at their event, and stores the observed signs for them and for those
/// that keep the step.
template <class S, class Sink>
void hand_out_event(const System<S>& system,
                    const Stages<S>& stages,
                    int count,
                    simd::Mask<S> good,
                    S stop,
                    const Crossing<S>& first,
                    AdaptiveState<S>& state,
                    Record<S>* record,
                    const Sink& sink) {
  if (count == 0) return;
  const S o = all<S>(0);
  const auto running = good & is_running(*record), met = running & !(first.index < o);
  for (int k = 0; k < count; ++k) {
    state.watch.sign[k] = select(running, first.sign[k], state.watch.sign[k]);
  }
  state.watch.seen = select(running, max(stop, state.watch.seen), state.watch.seen);
  record->event = select(met, first.index, record->event);
  record->status = select(met, all<S>(static_cast<int>(AdaptiveStatus::event)), record->status);
  Workspace<S> w = system.workspace;
  S* const x = take<S>(w, system.states());
  states_within(system, state.h, first.theta, stages, x);
  for (int k = 0; k < S::width; ++k) {
    if (lane(met, k)) sink.event(k, first.q, first.v, x);
  }
}

/// Ends the call of worlds whose tolerances are finer than the rounding of their state: no step would ever
/// be accepted.
template <class S>
void refuse_blurred(const ModelOf<S>& model,
                    const Allowance<S>& allowed,
                    const AdaptiveState<S>& state,
                    simd::Mask<S> lost,
                    Record<S>* record,
                    Workspace<S> w) {
  if (none(lost)) return;
  const auto* const q = static_cast<const S*>(state.q);
  const auto* const v = static_cast<const S*>(state.v);
  S worst = all<S>(0);
  const S rounding = rounding_norm(model, allowed, q, v, &worst, w);
  const auto blurred = lost & (rounding > all<S>(1));
  record->worst = select(blurred, worst, record->worst);
  record->status = select(blurred, all<S>(static_cast<int>(AdaptiveStatus::blurred)), record->status);
}

/// Advances every world through `times` (ascending, `count` of them), with at most `attempts` steps tried. No
/// step passes `limit`, the last of them or infinite.
/// `sink(k, index, q, v)` receives world k's state at times[index], `sink.event(k, q, v)` that at an event.
template <class S, class Sink>
Record<S> advance_adaptive(const System<S>& system,
                           const Tolerances& tolerances,
                           const Events& events,
                           const double* times,
                           std::ptrdiff_t count,
                           double longest,
                           double limit,
                           std::ptrdiff_t attempts,
                           AdaptiveState<S>& state,
                           const Sink& sink) {
  using Tableau = DormandPrince<typename S::Isa>;
  System<S> inner = system;
  const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
  const Stages<S> stages = take_stages<Tableau>(system, inner.workspace);
  S *const xi = take<S>(inner.workspace, nv), *const q1 = take<S>(inner.workspace, nq),
           *const v1 = take<S>(inner.workspace, nv), *const e_v = take<S>(inner.workspace, nv);
  inner.loop_q = system.copy_loop_q(inner.workspace);
  inner.signals = system.with_own_signals(inner.workspace).signals;
  const int states = system.states();
  simd::copy_each<S>(system.signals.numbers, states, stages.x0);
  S* const x1 = take<S>(inner.workspace, states);
  Crossing<S> first = take_crossing(inner, events, inner.workspace);
  auto dependence = constraints::take_dependence<S>(system.model.rows, inner.workspace);
  auto before = constraints::take_dependence<S>(system.model.rows, inner.workspace);
  inner.dependence = &dependence;
  const S one = all<S>(1), o = all<S>(0), end = all<S>(count > 0 ? times[count - 1] : 0);

  inner.acceleration(state.time, state.q, state.v, stages.a);
  for (int i = 0; i < nv; ++i) stages.k[i] = state.v[i];
  simd::copy_each<S>(inner.signals.rate, states, stages.x);
  state.h = select(state.h > o, state.h, first_step(inner, tolerances, state, stages.a));
  state.h = min(state.h, all<S>(longest));
  begin_watch(inner, events, static_cast<const S*>(state.q), static_cast<const S*>(state.v), state.watch);

  const S before_limit = all<S>(limit - 1e-14 * (limit < 0 ? -limit : limit));
  const AdaptiveStatus begun = count > 0 ? AdaptiveStatus::running : AdaptiveStatus::reached;
  Record<S> record = {o, o, o, o, all<S>(static_cast<int>(begun)), all<S>(-1)};
  for (std::ptrdiff_t n = 0; n < attempts; ++n) {
    auto alive = is_running(record);
    state.h = min(state.h, max(all<S>(limit) - state.time, o));
    const S shortest = all<S>(1e-15) * max(abs(state.time), abs(end));
    const auto stuck = alive & !(state.h > shortest);
    record.status = select(stuck, all<S>(static_cast<int>(AdaptiveStatus::underflow)), record.status);
    alive &= !stuck;
    if (none(alive)) break;

    for (int i = 0; i < system.model.loop_nq(); ++i) inner.loop_q[i] = system.loop_q[i];
    evaluate_stages<Tableau>(inner, state.time, state.h, state.q, state.v, 1, stages, xi, q1, v1);
    combine<S>(Tableau::e, Tableau::stages, state.h, stages.k, nv, nullptr, xi);
    combine<S>(Tableau::e, Tableau::stages, state.h, stages.a, nv, nullptr, e_v);
    Workspace<S> w = inner.workspace;
    const auto allowed = allowance(inner, tolerances, state.q, state.v, q1, v1, w);
    S error = error_norm(nv, allowed, xi, e_v, &record.worst);
    if (states > 0) {
      simd::copy_each<S>(inner.signals.numbers, states, x1);
      error = with_states<S>(inner, tolerances, state.h, stages, x1, error, w);
    }
    if (system.model.rows > 0) {  // what rounding leaves of accelerations is no error of the step
      const S finest = all<S>(tolerances.relative[0] > 1e-14 ? tolerances.relative[0] : 1e-14);
      error *= finest / (finest + rounding_of_accelerations(dependence.least));
    }
    refuse_blurred(system.model, allowed, state, alive & (error > one), &record, w);
    error = select(inner.project(state.time + state.h, q1, v1), error, all<S>(1e10));
    error = select(error * o == o, min(error, all<S>(1e10)), all<S>(1e10));  // NaN or infinite: far too long
    if (system.model.rows > 0) keep_energy<S>(inner, state.time, state.h, state.q, state.v, q1, v1);
    before.keep(simd::everywhere<S>(), dependence);
    inner.begin_step();
    simd::copy_each<S>(x1, states, inner.signals.numbers);
    if (system.model.rows > 0) inner.acceleration(state.time + state.h, q1, v1, stages.a + 6 * nv);
    const auto good = alive & (error <= one), lost = alive & !good;
    record.accepted += number(good);
    record.rejected += number(lost);

    const S stop = look_for_events(inner, events, state, stages, good, first);
    S until = outputs_until(first, stop, state.h);
    until = select((first.index < o) & (until >= before_limit), all<S>(limit), until);
    hand_out(inner, state, stages, times, count, good, until, &record, sink);
    hand_out_event(inner, stages, events.count, good, stop, first, state, &record, sink);
    const auto kept = good & is_running(record);
    const S floor = max(error, all<S>(1e-10));
    const S wish = all<S>(0.9) * power(floor, 0.75 * 0.04 - 0.2);
    const S longer = min(clamp(wish * power(state.last_error, 0.04), 0.2, 10), state.growth);
    const S factor = select(kept, longer, select(lost, clamp(wish, 0.1, 1), one));
    for (int i = 0; i < nv; ++i) {
      state.v[i] = select(kept, v1[i], state.v[i]);
      stages.k[i] = state.v[i];
      stages.a[i] = select(kept, stages.a[6 * nv + i], stages.a[i]);
    }
    for (int i = 0; i < nq; ++i) state.q[i] = select(kept, q1[i], state.q[i]);
    for (int i = 0; i < states; ++i) {
      stages.x0[i] = select(kept, x1[i], stages.x0[i]);
      stages.x[i] = select(kept, stages.x[6 * states + i], stages.x[i]);
      system.signals.numbers[i] = stages.x0[i];
    }
    system.keep_loop_q(kept, inner.loop_q);
    dependence.keep(!kept, before);
    state.time = select(kept, state.time + state.h, state.time);
    state.last_error = select(kept, max(error, all<S>(1e-4)), state.last_error);
    state.growth = select(kept, all<S>(10), select(lost, one, state.growth));
    state.h = min(state.h * factor, all<S>(longest));
  }
  return record;
}

}  // namespace pysim::stepping
