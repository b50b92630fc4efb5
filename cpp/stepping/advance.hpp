// Steps of equal size over whole output intervals, checked for NaN and infinite values.
#pragma once

#include "simd/finite.hpp"
#include "stepping/singular_step.hpp"
#include "stepping/solver_state.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

/// Worlds whose q and v are finite.
template <class S>
simd::Mask<S> finite(const ModelOf<S>& model, const S* q, const S* v) {
  const int nq = model.reduced_nq, nv = model.reduced_nv;
  if constexpr (S::width == 1) {
    using Wide = simd::Wide<S>;
    return {simd::all_finite<Wide>(&q->lanes, nq) && simd::all_finite<Wide>(&v->lanes, nv)};
  } else {
    S zero = all<S>(0);  // stays 0 while every number is finite: inf·0 and nan·0 are nan
    for (int i = 0; i < nq; ++i) zero = fma(q[i], all<S>(0), zero);
    for (int i = 0; i < nv; ++i) zero = fma(v[i], all<S>(0), zero);
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

/// One step of a scheme, brought back onto the constraints, from q, v and φ to next_q, next_v, which hold
/// copies of q and v. Where it nears a singular configuration it is made again in short steps. Holds where
/// the constraints do.
template <class Scheme, class S>
simd::Mask<S> constrained_step(
    const System<S>& inner, const S* q, const S* v, const S* phi, S time, S h, S* next_q, S* next_v) {
  inner.begin_step();
  System<S> outer = inner;
  const System<S> begun = outer.with_own_signals(outer.workspace);
  Scheme::step(outer, time, h, next_q, next_v);
  auto closed = outer.project(next_q, next_v);
  if constexpr (sizeof(typename S::Real) == 8) {
    if (inner.model.rows == 0 || inner.model.callback_numbers > 0) return closed;
    const auto near = nears_singularity(outer, time, h, q, v, phi);
    if (none(near)) return closed;
    const int nq = inner.model.reduced_nq, nv = inner.model.reduced_nv;
    System<S> again = begun;
    again.workspace = outer.workspace;
    const auto found = inner.copy_dependence(again.workspace);
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
    inner.keep_dependence(!passed, found);
    if (inner.memory != nullptr) SolverState<S>{inner.memory, nv}.restart(passed);
    closed |= passed;
  }
  return closed;
}

/// Makes up to `steps` steps of size h from `time`, in place. A world whose state becomes NaN or infinite, or
/// violates its constraints, keeps its last good state; `done` counts the good steps of each world.
template <class Scheme, class S>
void advance(const System<S>& system, double time, double h, std::ptrdiff_t steps, S* q, S* v, S* done) {
  System<S> inner = system;
  const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
  S* const next_q = take<S>(inner.workspace, nq);
  S* const next_v = take<S>(inner.workspace, nv);
  inner.loop_q = system.copy_loop_q(inner.workspace);
  inner.memory = copy_solver_state(system, inner.workspace);
  inner.signals = system.with_own_signals(inner.workspace).signals;
  auto dependence = constraints::take_dependence<S>(system.model.rows, inner.workspace);
  inner.dependence = &dependence;
  auto alive = simd::everywhere<S>();
  *done = all<S>(0);
  for (std::ptrdiff_t n = 0; n < steps; ++n) {
    simd::copy_each<S>(q, nq, next_q);
    simd::copy_each<S>(v, nv, next_v);
    const S now = all<S>(time + static_cast<double>(n) * h);
    const auto tried = alive;
    inner.keep_signals(simd::everywhere<S>(), system);
    alive &= constrained_step<Scheme, S>(inner, q, v, system.loop_q, now, all<S>(h), next_q, next_v);
    alive &= finite(system.model, next_q, next_v) & finite_states(inner);
    keep_solver_state(system, inner, tried, alive);
    if (none(alive)) return;
    simd::copy_where<S>(alive, next_q, nq, q);
    simd::copy_where<S>(alive, next_v, nv, v);
    system.keep_loop_q(alive, inner.loop_q);
    system.keep_signals(alive, inner);
    *done += number(alive);
  }
}

}  // namespace pysim::stepping
