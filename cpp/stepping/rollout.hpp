// Rollout: advances many worlds in parallel, each with its controls, recording states at a fixed interval.
//
//     x₀ = start        x_n+1 = step(x_n, u_n)        row k = x_{k · every}
//
// A world whose state becomes NaN or infinite, or violates its constraints, has failed: its rows from there
// on are NaN, and the others are not affected.
#pragma once

#include "stepping/advance.hpp"
#include "stepping/force_jump.hpp"

namespace pysim::stepping {

/// One world per lane. A failed world keeps its last good state, so that kernels receive no NaN.
template <class S>
struct WorldStates {
  S *q, *v;
  simd::Mask<S> alive;
};

/// One step; `next_q` and `next_v` are scratch, `trial` is `system` with a φ to try.
template <class Scheme, class S>
void advance_lanes(const System<S>& system,
                   const System<S>& trial,
                   S time,
                   S h,
                   WorldStates<S>& worlds,
                   S* next_q,
                   S* next_v) {
  const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
  simd::copy_each<S>(worlds.q, nq, next_q);
  simd::copy_each<S>(worlds.v, nv, next_v);
  const auto tried = worlds.alive;
  worlds.alive &=
      constrained_step<Scheme, S>(trial, worlds.q, worlds.v, system.loop_q, time, h, next_q, next_v);
  worlds.alive &= finite(system.model, next_q, next_v);
  keep_solver_state(system, trial, tried, worlds.alive);
  simd::copy_where<S>(worlds.alive, next_q, nq, worlds.q);
  simd::copy_where<S>(worlds.alive, next_v, nv, worlds.v);
  system.keep_loop_q(worlds.alive, trial.loop_q);
}

/// The forces of a step and those of the previous step, alternating.
template <class S>
struct ControlHistory {
  S *now, *before;

  void turn() {
    S* const then = before;
    before = now;
    now = then;
  }
};

/// Makes rows begin + 1 … end of `every` steps each. `controls(n, to)` loads the forces (nv) of step n and
/// returns whether there are any; `row(k, worlds)` receives row k.
template <class Scheme, class S, class Controls, class Row>
void rollout(const System<S>& system,
             double time,
             double h,
             std::ptrdiff_t every,
             std::ptrdiff_t begin,
             std::ptrdiff_t end,
             WorldStates<S> worlds,
             const Controls& controls,
             const Row& row) {
  System<S> inner = system;
  S* const next_q = take<S>(inner.workspace, system.model.reduced_nq);
  S* const next_v = take<S>(inner.workspace, system.model.reduced_nv);
  inner.loop_q = system.copy_loop_q(inner.workspace);
  inner.memory = copy_solver_state(system, inner.workspace);
  auto dependence = constraints::take_dependence<S>(system.model.rows, inner.workspace);
  inner.dependence = &dependence;
  const int nv = system.model.reduced_nv;
  ControlHistory<S> controls_held = {take<S>(inner.workspace, nv), take<S>(inner.workspace, nv)};
  if (carries_acceleration<Scheme> && begin > 0) controls(begin * every - 1, controls_held.now);
  for (std::ptrdiff_t k = begin; k < end; ++k) {
    for (std::ptrdiff_t n = k * every; n < (k + 1) * every; ++n) {
      if (none(worlds.alive)) break;
      controls_held.turn();
      inner.control = controls(n, controls_held.now) ? controls_held.now : nullptr;
      using Real = typename S::Real;
      const S now = all<S>(static_cast<Real>(time + static_cast<double>(n) * h));
      if constexpr (carries_acceleration<Scheme>) {
        if (inner.control != nullptr && n > 0)
          jump(inner, jumps(controls_held.now, controls_held.before, nv), now, worlds.q, worlds.v);
      }
      advance_lanes<Scheme>(system, inner, now, all<S>(static_cast<Real>(h)), worlds, next_q, next_v);
    }
    row(k + 1, worlds);
  }
}

}  // namespace pysim::stepping
