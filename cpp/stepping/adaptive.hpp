// Adaptive steps: each as long as its estimated error allows [Hairer, Norsett, Wanner 1993, II.4].
//
//     accepted if |e| ≤ 1        h ← h · clamp(0.9 |e|^(0.75·0.04 − 0.2) |e_last|^0.04)        PI control
//
// Outputs are interpolated and change no step. A call ends within the step that contains its last output;
// that step is discarded and repeated by the next call, so that any split of the outputs gives the same bits.
// The same holds for an event: the call ends at it, and the next one continues from there. A step ends at an
// instant of sampled blocks, where steps begin anew.
//
// So a world has two states: q, v and t of its record are those of its last output, event or step; the start
// of its next step lies in the part `scheme`, or is the former where steps begin anew.
#pragma once

#include "stepping/adaptive_state.hpp"
#include "stepping/singular_step.hpp"

namespace pysim::stepping {

template <class S>
PYSIM_INLINE S clamp(S x, double low, double high) {
  return min(max(x, all<S>(low)), all<S>(high));
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

/// The error of a step, or that of the states of elements where it is larger, as of those that are NaN or
/// infinite; integrals do not count.
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
    const S share = abs(e[i]) / allowed;
    error = max(error, select(share == share, share, all<S>(simd::infinity)));
  }
  return error;
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

/// Steps of adapted size of the worlds of a pack.
template <class S>
class AdaptiveSteps {
 public:
  static constexpr bool adapts = true, takes_spans = false;

  /// `system` carries φ and the signals; q and v are the states of the record, `carried` its part `scheme`.
  AdaptiveSteps(const System<S>& system, const AdaptiveSettings& settings, S* q, S* v, S* carried)
      : system_(system),
        settings_(settings),
        place_(AdaptivePlaces::of(
            settings.events.count, system.model.reduced_nq, system.model.reduced_nv, system.states())),
        q_(q),
        v_(v),
        carried_(carried),
        inner_(system),
        stages_(take_stages<Tableau>(system, inner_.workspace)),
        xi_(take<S>(inner_.workspace, system.model.reduced_nv)),
        q1_(take<S>(inner_.workspace, system.model.reduced_nq)),
        v1_(take<S>(inner_.workspace, system.model.reduced_nv)),
        e_v_(take<S>(inner_.workspace, system.model.reduced_nv)),
        x1_(take<S>(inner_.workspace, system.states())),
        state_({carried + place_.q,
                carried + place_.v,
                carried[AdaptivePlaces::time],
                carried[AdaptivePlaces::size],
                carried[AdaptivePlaces::last_error],
                carried[AdaptivePlaces::growth],
                {carried[AdaptivePlaces::seen], carried + AdaptivePlaces::signs}}),
        first_(take_crossing(system, settings.events, inner_.workspace)),
        dependence_(constraints::take_dependence<S>(system.model.rows, inner_.workspace)),
        before_(constraints::take_dependence<S>(system.model.rows, inner_.workspace)) {
    inner_.loop_q = system.copy_loop_q(inner_.workspace);
    inner_.signals = system.with_own_signals(inner_.workspace).signals;
    inner_.dependence = &dependence_;
    simd::copy_each<S>(carried + place_.states, system.states(), stages_.x0);
  }

  AdaptiveSteps(const AdaptiveSteps&) = delete;  // inner_ refers to dependence_
  AdaptiveSteps& operator=(const AdaptiveSteps&) = delete;

  /// Steps begin anew at the states of the record.
  void mark_jumps(simd::Mask<S> worlds) {
    const auto jumped = worlds & begun();
    carried_[AdaptivePlaces::begun] = select(jumped, all<S>(0), carried_[AdaptivePlaces::begun]);
    state_.h = select(jumped, all<S>(0), state_.h);
    prepared_ &= !worlds;
  }

  simd::Mask<S> jumps() const { return simd::nowhere<S>(); }

  /// Whether the steps of world k begin at the state of its record.
  bool is_fresh(int k) const { return simd::lane(carried_[AdaptivePlaces::begun], k) == 0; }

  /// Tries a step in the wanted worlds that does not pass `limit`. next(k) is the time of world k's next
  /// output or limit; reach(k, time) is called with the state there, and returns whether it is the last one.
  template <class Next, class Reach>
  void attempt(simd::Mask<S> wanted, S now, S limit, const Next& next, const Reach& reach) {
    prepare(wanted, now);
    const S one = all<S>(1), planned_h = state_.h;
    S ahead = now;
    for (int k = 0; k < S::width; ++k) {
      if (lane(wanted, k)) simd::set_lane(ahead, k, next(k));
    }
    state_.h = min(planned_h, max(limit - state_.time, all<S>(0)));
    const S shortest = all<S>(1e-15) * max(abs(state_.time), abs(ahead));
    const auto stuck = wanted & !(state_.h > shortest);
    outcome_ = select(stuck, number_of(StepOutcome::underflow), number_of(StepOutcome::accepted));
    const auto alive = wanted & !stuck;
    if (any(alive)) {
      const S error = try_step(alive);
      const auto good = alive & (error <= one), lost = alive & !good;
      const S stop = look_for_events(inner_, settings_.events, state_, stages_, good, first_);
      S until = outputs_until(first_, stop, state_.h);
      const S before_limit = limit - all<S>(1e-14) * abs(limit);
      until = select((first_.index < all<S>(0)) & (until >= before_limit), limit, until);
      const auto passed = hand_out(good, until, next, reach);
      const auto going = good & !passed, met = going & !(first_.index < all<S>(0));
      meet(going, met, stop);
      outcome_ = select(
          lost & (outcome_ == number_of(StepOutcome::accepted)),
          number_of(StepOutcome::rejected),
          select(
              passed, number_of(StepOutcome::passed), select(met, number_of(StepOutcome::event), outcome_)));
      keep(going & !met, lost, error, planned_h);
    } else {
      state_.h = planned_h;
    }
    for (int k = 0; k < S::width; ++k) {
      if (outcome(k) >= StepOutcome::underflow && lane(wanted, k)) show_start(k);
    }
  }

  StepOutcome outcome(int k) const {
    return static_cast<StepOutcome>(static_cast<int>(simd::lane(outcome_, k)));
  }

  double start(int k) const { return simd::lane(state_.time, k); }
  double seen(int k) const { return simd::lane(state_.watch.seen, k); }

  /// Lets the state of world k's record be that at the start of its next step.
  void show_start(int k) const { show(k, state_.q, state_.v, stages_.x0); }

  /// Writes what the worlds carry.
  void store() const {
    carried_[AdaptivePlaces::time] = state_.time;
    carried_[AdaptivePlaces::size] = state_.h;
    carried_[AdaptivePlaces::last_error] = state_.last_error;
    carried_[AdaptivePlaces::growth] = state_.growth;
    carried_[AdaptivePlaces::seen] = state_.watch.seen;
    simd::copy_each<S>(stages_.x0, system_.states(), carried_ + place_.states);
  }

  /// Memory behind what the steps hold.
  const Workspace<S>& workspace() const { return inner_.workspace; }

 private:
  using Tableau = DormandPrince<typename S::Isa>;

  static S number_of(StepOutcome outcome) { return all<S>(static_cast<int>(outcome)); }

  simd::Mask<S> begun() const { return carried_[AdaptivePlaces::begun] > all<S>(0); }

  /// Takes over the states of worlds whose steps begin anew, and evaluates the first stage of those that were
  /// not evaluated in this call.
  void prepare(simd::Mask<S> wanted, S now) {
    const auto fresh = wanted & !prepared_;
    if (none(fresh)) return;
    prepared_ |= fresh;
    const auto anew = fresh & !begun();
    const S o = all<S>(0);
    const int nv = system_.model.reduced_nv, states = system_.states();
    carried_[AdaptivePlaces::begun] = select(anew, all<S>(1), carried_[AdaptivePlaces::begun]);
    simd::copy_where<S>(anew, q_, system_.model.reduced_nq, state_.q);
    simd::copy_where<S>(anew, v_, nv, state_.v);
    simd::copy_where<S>(anew, system_.signals.numbers, states, stages_.x0);
    state_.time = select(anew, now, state_.time);
    state_.last_error = select(anew, all<S>(1e-4), state_.last_error);
    state_.growth = select(anew, all<S>(10), state_.growth);
    state_.watch.seen = select(anew, all<S>(-simd::infinity), state_.watch.seen);
    for (int k = 0; k < settings_.events.count; ++k) {
      state_.watch.sign[k] = select(anew, all<S>(simd::not_a_number), state_.watch.sign[k]);
    }

    if (states > 0) {
      const int numbers = system_.model.signals->numbers();
      simd::copy_where<S>(fresh, system_.signals.numbers, numbers, inner_.signals.numbers);
      simd::copy_where<S>(fresh, stages_.x0, states, inner_.signals.numbers);
    }
    simd::copy_where<S>(fresh, system_.loop_q, system_.model.loop_nq(), inner_.loop_q);
    Workspace<S> w = inner_.workspace;
    before_.keep(simd::everywhere<S>(), dependence_);
    dependence_.keep(fresh, constraints::take_dependence<S>(system_.model.rows, w));
    System<S> inner = inner_;
    inner.workspace = w;
    S* const a = take<S>(inner.workspace, nv);
    inner.acceleration(state_.time, state_.q, state_.v, a);
    dependence_.keep(!fresh, before_);
    for (int i = 0; i < nv; ++i) {
      stages_.a[i] = select(fresh, a[i], stages_.a[i]);
      stages_.k[i] = state_.v[i];
    }
    simd::copy_where<S>(fresh, inner.signals.rate, states, stages_.x);
    const auto chosen = fresh & !(state_.h > o);
    if (any(chosen)) {
      state_.h =
          select(chosen, first_step(inner, settings_.tolerances, state_, static_cast<const S*>(a)), state_.h);
    }
    state_.h = select(fresh, min(state_.h, all<S>(settings_.longest)), state_.h);
    if (any(anew)) {
      begin_watch(inner,
                  settings_.events,
                  static_cast<const S*>(state_.q),
                  static_cast<const S*>(state_.v),
                  state_.watch);
    }
  }

  /// Makes the stages of a step to q1, v1 and x1; returns its error.
  S try_step(simd::Mask<S> alive) {
    const int nv = system_.model.reduced_nv, states = system_.states();
    simd::copy_each<S>(system_.loop_q, system_.model.loop_nq(), inner_.loop_q);
    evaluate_stages<Tableau>(inner_, state_.time, state_.h, state_.q, state_.v, 1, stages_, xi_, q1_, v1_);
    combine<S>(Tableau::e, Tableau::stages, state_.h, stages_.k, nv, nullptr, xi_);
    combine<S>(Tableau::e, Tableau::stages, state_.h, stages_.a, nv, nullptr, e_v_);
    Workspace<S> w = inner_.workspace;
    const auto allowed = allowance(inner_, settings_.tolerances, state_.q, state_.v, q1_, v1_, w);
    S worst = carried_[AdaptivePlaces::worst];
    S error = error_norm(nv, allowed, xi_, e_v_, &worst);
    if (states > 0) {
      simd::copy_each<S>(inner_.signals.numbers, states, x1_);
      error = with_states<S>(inner_, settings_.tolerances, state_.h, stages_, x1_, error, w);
    }
    if (system_.model.rows > 0) {  // what rounding leaves of accelerations is no error of the step
      const double relative = settings_.tolerances.relative[0];
      const S finest = all<S>(relative > 1e-14 ? relative : 1e-14);
      error *= finest / (finest + rounding_of_accelerations(dependence_.least));
    }
    refuse_blurred(allowed, alive & (error > all<S>(1)), &worst, w);
    carried_[AdaptivePlaces::worst] = select(alive, worst, carried_[AdaptivePlaces::worst]);
    error = select(inner_.project(state_.time + state_.h, q1_, v1_), error, all<S>(1e10));
    const S longest = all<S>(1e10);  // of NaN or infinite errors, too
    error = select(error * all<S>(0) == all<S>(0), min(error, longest), longest);
    if (system_.model.rows > 0) {
      keep_energy<S>(inner_, state_.time, state_.h, state_.q, state_.v, q1_, v1_);
    }
    before_.keep(simd::everywhere<S>(), dependence_);
    inner_.begin_step();
    if (states > 0) simd::copy_each<S>(x1_, states, inner_.signals.numbers);
    if (system_.model.rows > 0) inner_.acceleration(state_.time + state_.h, q1_, v1_, stages_.a + 6 * nv);
    return error;
  }

  /// Marks worlds whose tolerances are finer than the rounding of their state: no step would ever be
  /// accepted.
  void refuse_blurred(const Allowance<S>& allowed, simd::Mask<S> lost, S* worst, Workspace<S> w) {
    if (none(lost)) return;
    const S *const q = state_.q, *const v = state_.v;
    S coarsest = all<S>(0);
    const S rounding = rounding_norm(system_.model, allowed, q, v, &coarsest, w);
    const auto blurred = lost & (rounding > all<S>(1));
    *worst = select(blurred, coarsest, *worst);
    outcome_ = select(blurred, number_of(StepOutcome::blurred), outcome_);
  }

  /// Calls reach for the outputs up to `until` in the step just accepted by the `good` worlds, and its limit;
  /// returns the worlds in which that was the last.
  template <class Next, class Reach>
  simd::Mask<S> hand_out(simd::Mask<S> good, S until, const Next& next, const Reach& reach) const {
    Workspace<S> w = inner_.workspace;
    S* const q = take<S>(w, system_.model.reduced_nq);
    S* const v = take<S>(w, system_.model.reduced_nv);
    S* const x = take<S>(w, system_.states());
    const System<S> inner = {system_.model, system_.actuation, w, inner_.loop_q};
    S over = all<S>(0);
    for (;;) {
      S when = all<S>(simd::infinity);
      for (int k = 0; k < S::width; ++k) {
        if (lane(good, k) && simd::lane(over, k) == 0) simd::set_lane(when, k, next(k));
      }
      const auto due = when <= until;
      if (none(due)) return over > all<S>(0);
      const S theta = select(due, (when - state_.time) / state_.h, all<S>(0));
      state_within(inner, state_.time, state_.h, theta, state_.q, state_.v, stages_, q, v);
      states_within(system_, state_.h, theta, stages_, x);
      for (int k = 0; k < S::width; ++k) {
        if (!lane(due, k)) continue;
        show(k, q, v, x);
        if (reach(k, simd::lane(when, k))) simd::set_lane(over, k, 1);
      }
    }
  }

  /// Lets the states of the records be those at the events of worlds that `met` one, and takes over the signs
  /// of events in all that go on.
  void meet(simd::Mask<S> going, simd::Mask<S> met, S stop) {
    if (settings_.events.count == 0) return;
    for (int k = 0; k < settings_.events.count; ++k) {
      state_.watch.sign[k] = select(going, first_.sign[k], state_.watch.sign[k]);
    }
    state_.watch.seen = select(going, max(stop, state_.watch.seen), state_.watch.seen);
    carried_[AdaptivePlaces::event] = select(met, first_.index, carried_[AdaptivePlaces::event]);
    if (none(met)) return;
    Workspace<S> w = inner_.workspace;
    S* const x = take<S>(w, system_.states());
    states_within(system_, state_.h, first_.theta, stages_, x);
    for (int k = 0; k < S::width; ++k) {
      if (lane(met, k)) show(k, first_.q, first_.v, x);
    }
  }

  /// Goes over to the ends of the `accepted` steps, and sets the size of the next ones; that of steps that
  /// are to be repeated was `planned_h`.
  void keep(simd::Mask<S> accepted, simd::Mask<S> lost, S error, S planned_h) {
    const int nq = system_.model.reduced_nq, nv = system_.model.reduced_nv, states = system_.states();
    const S one = all<S>(1);
    const S wish = all<S>(0.9) * power(max(error, all<S>(1e-10)), 0.75 * 0.04 - 0.2);
    const S longer = min(clamp(wish * power(state_.last_error, 0.04), 0.2, 10), state_.growth);
    const S factor = select(accepted, longer, clamp(wish, 0.1, 1));
    for (int i = 0; i < nv; ++i) {
      state_.v[i] = select(accepted, v1_[i], state_.v[i]);
      stages_.k[i] = state_.v[i];
      stages_.a[i] = select(accepted, stages_.a[6 * nv + i], stages_.a[i]);
    }
    for (int i = 0; i < nq; ++i) state_.q[i] = select(accepted, q1_[i], state_.q[i]);
    for (int i = 0; i < states; ++i) {
      stages_.x0[i] = select(accepted, x1_[i], stages_.x0[i]);
      stages_.x[i] = select(accepted, stages_.x[6 * states + i], stages_.x[i]);
    }
    system_.keep_loop_q(accepted, inner_.loop_q);
    dependence_.keep(!accepted, before_);
    state_.time = select(accepted, state_.time + state_.h, state_.time);
    state_.last_error = select(accepted, max(error, all<S>(1e-4)), state_.last_error);
    state_.growth = select(accepted, all<S>(10), select(lost, one, state_.growth));
    state_.h = select(accepted | lost, min(state_.h * factor, all<S>(settings_.longest)), planned_h);
    carried_[AdaptivePlaces::rejected] += number(lost);
  }

  /// Lets the state of world k's record be lane k of q, v and x.
  void show(int k, const S* q, const S* v, const S* x) const {
    const auto copy = [k](const S* from, int count, S* to) {
      for (int i = 0; i < count; ++i) simd::set_lane(to[i], k, simd::lane(from[i], k));
    };
    copy(q, system_.model.reduced_nq, q_);
    copy(v, system_.model.reduced_nv, v_);
    copy(x, system_.states(), system_.signals.numbers);
  }

  const System<S>& system_;
  const AdaptiveSettings& settings_;
  const AdaptivePlaces place_;
  S *const q_, *const v_, *const carried_;
  System<S> inner_;
  const Stages<S> stages_;
  S *const xi_, *const q1_, *const v1_, *const e_v_, *const x1_;
  AdaptiveState<S> state_;
  Crossing<S> first_;
  constraints::Dependence<S> dependence_, before_;
  simd::Mask<S> prepared_ = simd::nowhere<S>();
  S outcome_ = all<S>(0);
};

}  // namespace pysim::stepping
