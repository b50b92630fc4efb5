// Steps as operations on states: worlds under a scheme, adaptive runs.
#pragma once

#include "engine/world_operations.hpp"
#include "stepping/adaptive.hpp"
#include "stepping/advance.hpp"
#include "stepping/composition.hpp"
#include "stepping/generalized_alpha.hpp"
#include "stepping/implicit_midpoint.hpp"
#include "stepping/rattle.hpp"
#include "stepping/runge_kutta.hpp"
#include "stepping/sampled_signals.hpp"
#include "stepping/semi_implicit.hpp"
#include "stepping/step_halving.hpp"
#include "stepping/variational.hpp"

namespace pysim::engine {

/// Calls f(scheme) with the requested scheme of fixed step.
template <class F>
PYSIM_INLINE void with_scheme(Integrator integrator, F f) {
  switch (integrator) {
    case Integrator::semi_implicit:
      return f(stepping::SemiImplicit{});
    case Integrator::rk2:
      return f(stepping::Rk2{});
    case Integrator::rk4:
      return f(stepping::Rk4{});
    case Integrator::variational:
      return f(stepping::Rattle<stepping::Variational>{});
    case Integrator::variational4:
      return f(stepping::Fourth<stepping::Rattle<stepping::Variational>>{});
    case Integrator::implicit_midpoint:
      return f(stepping::Halving<stepping::Rattle<stepping::ImplicitMidpoint>>{});
    case Integrator::generalized_alpha:
      return f(stepping::Halving<stepping::GeneralizedAlpha>{});
  }
}

/// Advance of worlds under a scheme of fixed step.
struct AdvanceWorlds {
  template <class S>
  static void advance(States<S> states, const stepping::Contacts<typename S::Parameter>&) {
    at(states);
  }

  template <class S>
  static void at(States<S> at) {
    const auto& batch = static_cast<const WorldBatch<typename S::Real>&>(at.batch);
    const auto& call = batch.call;
    const PackOfWorlds<S> pack(call, at.first);
    const WorldLanes<S> lanes = pack.load_all(at.model, call.worlds, at.w);
    const int carried = call.worlds.sizes.scheme;
    S* const memory = carried == 0 ? nullptr : pack.load(call.worlds.scheme, carried, at.w);
    const int rows = call.worlds.sizes.pivots;
    S* const pivots = rows == 0 ? nullptr : pack.load(call.worlds.pivots, rows, at.w);
    const int nv = call.controls == nullptr ? 0 : at.model.reduced_nv;
    S *const control = nv == 0 ? nullptr : take<S>(at.w, nv), *const before = take<S>(at.w, nv);
    const stepping::System<S> system = {at.model,
                                        *batch.actuation,
                                        at.w,
                                        lanes.loop_q,
                                        control,
                                        memory,
                                        batch.spectral_radius,
                                        nullptr,
                                        lanes.signals};
    const auto advance_by = [&](auto scheme) {
      using Steps = stepping::SchemeSteps<decltype(scheme), S>;
      Steps steps(system, lanes.q, lanes.v);
      bool jumped[S::width];
      for (int k = 0; k < S::width; ++k) jumped[k] = call.worlds.jumped[pack.world(k)] != 0;
      steps.mark_jumps(stepping::lanes_of<S>(jumped));
      if (pivots != nullptr) steps.dependence().load(pivots);
      stepping::PackAdvance<S, Steps> advance(call, at.first, steps);
      advance.run(DueBlocks<S>{system, lanes, steps.workspace()},
                  WorldInputs<S>{call, at.first, lanes, control, Steps::can_jump ? before : nullptr},
                  StateRows<S>{call, at.first, lanes});
      if (pivots != nullptr) {
        steps.dependence().store(pivots);
        pack.save(pivots, rows, call.worlds.pivots);
      }
      const auto left = steps.jumps();
      for (int k = 0; k < S::width; ++k) call.worlds.jumped[pack.world(k)] = simd::lane(left, k) ? 1 : 0;
    };
    with_scheme(batch.integrator, advance_by);
    pack.save_all(lanes, call.worlds);
    if (memory != nullptr) pack.save(memory, carried, call.worlds.scheme);
  }
};

/// Stores a world's states at the call's times in its rows of `out` (count, nq) and `out_v`.
template <class S>
struct RowsOfTime {
  const States<S>& at;

  void operator()(int k, std::ptrdiff_t index, const S* q, const S* v, const S* x) const {
    const std::ptrdiff_t row = (at.first + k) * at.batch.adaptive->count + index;
    const int nq = at.model.reduced_nq, nv = at.model.reduced_nv;
    for (int i = 0; i < nq; ++i) at.batch.out[row * nq + i] = simd::lane(q[i], k);
    for (int i = 0; i < nv; ++i) at.batch.out_v[row * nv + i] = simd::lane(v[i], k);
    if (at.batch.adaptive->signals_at == nullptr) return;
    const int states = at.model.signals->states;
    for (int i = 0; i < states; ++i) {
      at.batch.adaptive->signals_at[row * states + i] = simd::lane(x[i], k);
    }
  }

  void event(int k, const S* q, const S* v, const S* x) const {
    const auto& call = *at.batch.adaptive;
    const int nq = at.model.reduced_nq, nv = at.model.reduced_nv;
    for (int i = 0; i < nq; ++i) call.event_q[(at.first + k) * nq + i] = simd::lane(q[i], k);
    for (int i = 0; i < nv; ++i) call.event_v[(at.first + k) * nv + i] = simd::lane(v[i], k);
    if (call.event_signals == nullptr) return;
    const int states = at.model.signals->states;
    for (int i = 0; i < states; ++i) call.event_signals[(at.first + k) * states + i] = simd::lane(x[i], k);
  }
};

struct AdvanceAdaptive {
  template <class S>
  static void at(States<S> at) {
    const auto& call = *at.batch.adaptive;
    const int numbers = call.state_numbers();
    S* const carried = at.load(call.state, numbers);
    S *const q = at.copy_q(), *const v = at.copy_v(), *const loop_q = at.loop_q();
    const stepping::EventWatch<S> watch = {call.events.count > 0 ? carried[call.seen] : all<S>(0),
                                           carried + call.signs};
    stepping::AdaptiveState<S> flight = {q,
                                         v,
                                         carried[call.time],
                                         carried[call.step_size],
                                         carried[call.last_error],
                                         carried[call.growth],
                                         watch};
    const auto signals = at.signals();
    stepping::System<S> system = {at.model, *at.batch.actuation, at.w, loop_q};
    system.signals = signals;
    const auto record = stepping::advance_adaptive(system,
                                                   call.tolerances,
                                                   call.events,
                                                   call.times,
                                                   call.count,
                                                   call.longest,
                                                   call.limit,
                                                   call.attempts,
                                                   flight,
                                                   RowsOfTime<S>{at});
    at.save(flight.q, call.q, at.model.reduced_nq);
    at.save(flight.v, call.v, at.model.reduced_nv);
    at.save(loop_q, at.batch.out_loop_q, at.model.loop_nq());
    at.save_signals(signals.numbers);
    carried[call.time] = flight.time;
    carried[call.step_size] = flight.h;
    carried[call.last_error] = flight.last_error;
    carried[call.growth] = flight.growth;
    if (call.events.count > 0) carried[call.seen] = flight.watch.seen;
    at.save(carried, call.state, numbers);
    for (int k = 0; k < S::width; ++k) {
      const auto count = [k](S x) { return static_cast<std::ptrdiff_t>(simd::lane(x, k)); };
      call.record[at.first + k] = {count(record.reached),
                                   count(record.accepted),
                                   count(record.rejected),
                                   count(record.worst),
                                   static_cast<stepping::AdaptiveStatus>(count(record.status)),
                                   count(record.event)};
    }
  }
};

/// States of the signals after the sampled blocks that are due at a time: the new numbers.
struct UpdateSignals {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    const auto signals = at.signals();
    S* const loop_q = at.loop_q();
    const S *const q = at.reduced_q(), *const v = at.reduced_v();
    const stepping::Measured<S> measured = {batch.x == nullptr ? nullptr : at.reduced_x(), at.f_ext()};
    stepping::System<S> system = {at.model, *batch.actuation, at.w, loop_q};
    system.signals = signals;
    const auto everywhere = [](int) { return simd::everywhere<S>(); };
    stepping::update_signals(system, all<S>(batch.time), q, v, batch.due, everywhere, batch.first, measured);
    at.save_signals(signals.numbers);
  }
};

/// Every signal at states with times of their own.
struct ReadSignals {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    const int count = at.model.signals->reading_count;
    const S time = simd::gather<S>(batch.times + at.first, 1);
    const S *const q = at.reduced_q(), *const v = at.reduced_v(), *const a = at.reduced_x();
    const auto signals = at.signals();
    const auto* const f_ext = at.f_ext();
    S* const readings = take<S>(at.w, count);
    stepping::read_signals<S>(at.model, time, q, v, a, f_ext, signals.numbers, readings, at.w);
    at.save(readings, batch.out, count);
  }
};

/// Forces of the signals' actuators at states with times of their own, and the rates of the elements' states.
struct SignalForces {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = at.batch;
    const int nv = at.model.reduced_nv;
    const S time = simd::gather<S>(batch.times + at.first, 1);
    const S *const q = at.reduced_q(), *const v = at.reduced_v();
    const auto signals = at.signals();
    S* const tau = take<S>(at.w, nv);
    for (int i = 0; i < nv; ++i) tau[i] = all<S>(0);
    stepping::add_signal_forces<S>(at.model, time, q, v, signals, tau, at.w);
    at.save(tau, batch.out, nv);
    at.save(signals.rate, batch.out_v, at.model.signals->states);
  }
};

}  // namespace pysim::engine
