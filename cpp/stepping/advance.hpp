// Steps of a scheme of fixed size, checked for NaN and infinite values.
#pragma once

#include "simd/finite.hpp"
#include "stepping/force_jump.hpp"
#include "stepping/singular_step.hpp"
#include "stepping/solver_state.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

/// Worlds whose q is finite, and v with its squares: one whose kinetic energy overflows has diverged.
template <class S>
simd::Mask<S> finite(const ModelOf<S>& model, const S* q, const S* v) {
  const int nq = model.reduced_nq, nv = model.reduced_nv;
  if constexpr (S::width == 1) {
    using Wide = simd::Wide<S>;
    return {simd::all_finite<Wide>(&q->lanes, nq) && simd::all_finite_squares<Wide>(&v->lanes, nv)};
  } else {
    S zero = all<S>(0);  // stays 0 while every number is finite: inf·0 and nan·0 are nan
    for (int i = 0; i < nq; ++i) zero = fma(q[i], all<S>(0), zero);
    for (int i = 0; i < nv; ++i) zero = fma(v[i] * v[i], all<S>(0), zero);
    return zero == all<S>(0);
  }
}

/// Worlds in which the states of elements are finite; integrals may overflow.
template <class S>
simd::Mask<S> finite_states(const System<S>& system) {
  S zero = all<S>(0);
  const int states = system.states() == 0 ? 0 : system.model.signals->coupled();
  for (int i = 0; i < states; ++i) zero = fma(system.signals.numbers[i], all<S>(0), zero);
  return zero == all<S>(0);
}

/// Copy of the state that a scheme may change while it tries a step; null if it has none.
template <class S>
S* copy_solver_state(const System<S>& system, Workspace<S>& w) {
  if (system.memory == nullptr) return nullptr;
  return SolverState<S>{system.memory, system.model.reduced_nv}.copy(w).numbers;
}

/// Copies the counts of `trial` in the worlds that tried a step, and its state in those that succeeded.
template <class S>
void keep_solver_state(const System<S>& system,
                       const System<S>& trial,
                       simd::Mask<S> tried,
                       simd::Mask<S> good) {
  if (system.memory == nullptr) return;
  const int nv = system.model.reduced_nv;
  SolverState<S>{system.memory, nv}.keep({trial.memory, nv}, tried, good);
}

/// Worlds whose constraints hold after a step, and those where it was made in short steps past a singular
/// configuration.
template <class S>
struct ConstrainedStep {
  simd::Mask<S> closed, in_parts;
};

/// One step of a scheme, brought back onto the constraints, from q, v and φ to next_q, next_v, which hold
/// copies of q and v. Where it nears a singular configuration it is made again in short steps.
template <class S>
ConstrainedStep<S> constrained_step(const FixedScheme<S>& scheme,
                                    const System<S>& inner,
                                    const S* q,
                                    const S* v,
                                    const S* phi,
                                    S time,
                                    S h,
                                    S* next_q,
                                    S* next_v) {
  inner.begin_step();
  System<S> outer = inner;
  const System<S> begun = outer.with_own_signals(outer.workspace);
  scheme.step(outer, time, h, next_q, next_v);
  ConstrainedStep<S> made = {outer.project(time + h, next_q, next_v), simd::nowhere<S>()};
  if constexpr (sizeof(typename S::Real) == 8) {
    if (inner.model.rows == 0 || inner.model.callback_numbers > 0) return made;
    const auto near = nears_singularity(outer, time, h, q, v, phi);
    if (none(near)) return made;
    const int nq = inner.model.reduced_nq, nv = inner.model.reduced_nv;
    System<S> again = begun;
    again.workspace = outer.workspace;
    const auto dependence = inner.copy_dependence(again.workspace);
    S *const q1 = take<S>(again.workspace, nq), *const v1 = take<S>(again.workspace, nv);
    simd::copy_each<S>(q, nq, q1);
    simd::copy_each<S>(v, nv, v1);
    again.loop_q = take<S>(again.workspace, inner.model.loop_nq());
    simd::copy_each<S>(phi, inner.model.loop_nq(), again.loop_q);
    const auto passed = step_past_singularity(again, near, time, h, q1, v1);
    simd::copy_where<S>(passed, q1, nq, next_q);
    simd::copy_where<S>(passed, v1, nv, next_v);
    inner.keep_loop_q(passed, again.loop_q);
    inner.keep_signals(passed, again);
    inner.keep_dependence(!passed, dependence);
    if (inner.memory != nullptr) SolverState<S>{inner.memory, nv}.restart(passed);
    made.closed |= passed;
    made.in_parts = passed;
  }
  return made;
}

/// Steps of a scheme in place, tried on copies: a world whose step fails keeps its last good state.
template <class S>
class SchemeSteps {
 public:
  static constexpr bool adapts = false, takes_spans = false;

  /// `system` carries φ, the state of the signals and that of the scheme; q and v are the state.
  SchemeSteps(const FixedScheme<S>& scheme, const System<S>& system, S* q, S* v)
      : scheme_(scheme),
        system_(system),
        inner_(system),
        q_(q),
        v_(v),
        next_q_(take<S>(inner_.workspace, system.model.reduced_nq)),
        next_v_(take<S>(inner_.workspace, system.model.reduced_nv)),
        dependence_(constraints::take_dependence<S>(system.model.rows, inner_.workspace)),
        jumped_(simd::nowhere<S>()) {
    inner_.loop_q = system.copy_loop_q(inner_.workspace);
    inner_.memory = copy_solver_state(system, inner_.workspace);
    inner_.signals = system.with_own_signals(inner_.workspace).signals;
    inner_.dependence = &dependence_;
  }

  SchemeSteps(const SchemeSteps&) = delete;  // inner_ refers to dependence_
  SchemeSteps& operator=(const SchemeSteps&) = delete;

  /// Makes a step of length h in the `wanted` worlds; returns those whose state is finite and satisfies the
  /// constraints.
  simd::Mask<S> make(simd::Mask<S> wanted, S time, S h) {
    const int nq = system_.model.reduced_nq, nv = system_.model.reduced_nv;
    const bool all_wanted = all(wanted);
    bool same = all_wanted;
    if (scheme_.carries_acceleration) {
      const auto jumped = jumped_ & wanted;
      same = same && none(jumped);
      System<S> held = system_;
      held.workspace = inner_.workspace;
      jump(held, jumped, time, static_cast<const S*>(q_), static_cast<const S*>(v_));
      jumped_ = jumped_ & !wanted;
    }
    begin_trial(same);
    auto good = wanted & attempt(all_wanted ? nullptr : &wanted, time, h);
    good &= finite(system_.model, static_cast<const S*>(next_q_), static_cast<const S*>(next_v_));
    if (system_.states() > 0) good &= finite_states(inner_);
    keep_solver_state(system_, inner_, wanted, good);
    simd::copy_where<S>(good, next_q_, nq, q_);
    simd::copy_where<S>(good, next_v_, nv, v_);
    system_.keep_loop_q(good, inner_.loop_q);
    system_.keep_signals(good, inner_);
    return good;
  }

  /// Held numbers of the signals change after the last step in these worlds.
  void mark_jumps(simd::Mask<S> worlds) { jumped_ |= worlds; }
  simd::Mask<S> jumps() const { return jumped_; }

  /// What the steps have found of the rows that depend on others.
  constraints::Dependence<S>& dependence() { return dependence_; }

  /// Memory behind what the steps hold.
  const Workspace<S>& workspace() const { return inner_.workspace; }

  /// Worlds whose failed step has no solution that Newton's method finds.
  simd::Mask<S> unsolved() const {
    if (system_.memory == nullptr) return simd::nowhere<S>();
    return SolverState<S>{system_.memory, system_.model.reduced_nv}.lost() > all<S>(0);
  }

 private:
  /// Tries a step; worlds that are not wanted keep what is known of their rows.
  simd::Mask<S> attempt(const simd::Mask<S>* wanted, S time, S h) {
    if (wanted == nullptr || system_.model.rows == 0) {
      return constrained_step(scheme_, inner_, q_, v_, system_.loop_q, time, h, next_q_, next_v_).closed;
    }
    System<S> trial = inner_;
    const auto before = dependence_.copy(trial.workspace);
    const auto made = constrained_step(scheme_, trial, q_, v_, system_.loop_q, time, h, next_q_, next_v_);
    dependence_.keep(!*wanted, before);
    return made.closed;
  }

  /// Copies of the state; what the last trial left of the rest is `same`, unless a jump changed it or a trial
  /// of other worlds failed.
  void begin_trial(bool same) {
    const int nq = system_.model.reduced_nq, nv = system_.model.reduced_nv;
    simd::copy_each<S>(q_, nq, next_q_);
    simd::copy_each<S>(v_, nv, next_v_);
    inner_.keep_signals(simd::everywhere<S>(), system_);
    if (same) return;
    simd::copy_each<S>(system_.loop_q, system_.model.loop_nq(), inner_.loop_q);
    if (system_.memory != nullptr) simd::copy_each<S>(system_.memory, solver_numbers(nv), inner_.memory);
  }

  const FixedScheme<S> scheme_;
  const System<S>& system_;
  System<S> inner_;
  S *q_, *v_, *next_q_, *next_v_;
  constraints::Dependence<S> dependence_;
  simd::Mask<S> jumped_;
};

}  // namespace pysim::stepping
