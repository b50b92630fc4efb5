// Equation of an implicit step: its acceleration is that of the state it leads to.
//
//     q(w) = q₀ ⊕ (ξ₀ + B w)     v(w) = v₀ + G w          w = v̇(t, q(w), v(w))
//
// Constraints are included in v̇, so w satisfies them for any rank.
#pragma once

#include "dynamics/cayley_step.hpp"
#include "stepping/solver_state.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

template <class S>
struct Stage {
  S time;
  const S* q0;
  S *xi0, *v0;       ///< state at w = 0, in the tangent space at q₀
  S B, G;            ///< [s²], [s]
  bool cayley;       ///< ξ is half a step of Cayley's map
  double tolerance;  ///< permitted error of v, for velocities of order one
};

/// The state that w leads to, and the residual of its equation.
template <class S>
struct NewtonIterate {
  S *q, *v, *residual;
};

template <class S>
NewtonIterate<S> take_iterate(const ModelOf<S>& model, Workspace<S>& w) {
  return {take<S>(w, model.reduced_nq + model.callback_numbers),
          take<S>(w, model.reduced_nv),
          take<S>(w, model.reduced_nv)};
}

/// q(w), v(w).
template <class S>
void place(const System<S>& system, const Stage<S>& stage, const S* w, const NewtonIterate<S>& trial) {
  const auto& model = system.model;
  for (int i = 0; i < model.reduced_nv; ++i) {
    trial.residual[i] = fma(stage.B, w[i], stage.xi0[i]);
    trial.v[i] = fma(stage.G, w[i], stage.v0[i]);
  }
  if (stage.cayley) dynamics::half_cayley(model, static_cast<const S*>(trial.residual), trial.residual);
  retract(model, stage.q0, static_cast<const S*>(trial.residual), trial.q);
}

/// The states of elements, and their rates, at q(w), v(w). Where a step holds its forces, they do the work of
/// the mean velocity.
template <class S>
void evaluate_states(const System<S>& system,
                     const Stage<S>& stage,
                     const S* w,
                     const simd::Mask<S>* holds = nullptr) {
  System<S> inner = system;
  Workspace<S>& scratch = inner.workspace;
  const NewtonIterate<S> at = take_iterate(system.model, scratch);
  place(system, stage, w, at);
  if (holds != nullptr) {
    S* const mean = take<S>(scratch, system.model.reduced_nv);
    for (int i = 0; i < system.model.reduced_nv; ++i) {
      mean[i] = select(*holds, all<S>(typename S::Real(0.5)) * (stage.v0[i] + at.v[i]), at.v[i]);
    }
    inner.signals.mean_v = mean;
  }
  if (system.model.timed) {  // work of prescribed motions
    inner.acceleration(stage.time, at.q, at.v, at.residual);
  } else {
    inner.actuate(stage.time, at.q, at.v, at.residual, scratch);
  }
}

/// residual = w − v̇(t, q(w), v(w)).
template <class S>
void evaluate(const System<S>& system, const Stage<S>& stage, const S* w, const NewtonIterate<S>& trial) {
  place(system, stage, w, trial);
  system.acceleration(stage.time, trial.q, trial.v, trial.residual);
  for (int i = 0; i < system.model.reduced_nv; ++i) trial.residual[i] = w[i] - trial.residual[i];
}

}  // namespace pysim::stepping
