// Variational integrator of order 2 on the configuration's Lie group, O(n) per iteration [Lee, Liu, Park,
// Srinivasa 2016, arXiv 1609.02898; Marsden and West 2001].
//
//     p₀ = M(q₀) v₀
//     p₀ + h/2 (Q(t₀, q₀, ξ/h) + G(q₀)) = −∂L_d/∂q₀ (q₀, q₁),   q₁ = q₀ ⊕ ξ           for ξ
//     p₁ = ∂L_d/∂q₁ (q₀, q₁) + h/2 (Q(t₁, q₁, ξ/h) + G(q₁)),   v₁ = M(q₁)⁻¹ p₁
//
// Symplectic: energy does not drift, and conserved momenta are constant to rounding. ξ is found by Newton's
// method with M(q₀)/h, and half the damping, in place of the derivative: the error shrinks by a factor of the
// order of h per iteration.
#pragma once

#include "constraints/mechanism_factor.hpp"
#include "dynamics/discrete.hpp"
#include "stepping/carried_momentum.hpp"
#include "stepping/solver_state.hpp"
#include "stepping/stopping_criterion.hpp"

namespace pysim::stepping {

/// Σ ratio x of the tree on the user's coordinates, armature times the rate added.
template <class S>
void to_reduced(const ModelOf<S>& model, const S* tree_rate, S* tree_p, S* reduced, Workspace<S> w) {
  for (int i = 0; i < model.nv; ++i) tree_p[i] = fma(all<S>(model.armature[i]), tree_rate[i], tree_p[i]);
  const S* sum = tree::reduced_forces(model, static_cast<const S*>(tree_p), w);
  for (int i = 0; i < model.reduced_nv; ++i) reduced[i] = sum[i];
}

/// M(q) v and the force of gravity.
template <class S>
void momentum(const System<S>& system, const dynamics::Posture<S>& at, const S* reduced_v, S* p, S* weight) {
  const auto& model = system.model;
  Workspace<S> w = system.workspace;
  const S* v = tree::full_v(model, reduced_v, w);
  S *const tree_p = take<S>(w, model.nv), *const tree_weight = take<S>(w, model.nv);
  dynamics::momentum_and_weight(model, at, v, tree_p, tree_weight, w);
  const S* pull = tree::reduced_forces(model, static_cast<const S*>(tree_weight), w);
  for (int i = 0; i < model.reduced_nv; ++i) weight[i] = pull[i];
  to_reduced(model, v, tree_p, p, w);
}

/// ∓∂L_d/∂q at one end of the step ξ, `at` being the start or the end.
template <class S>
void momentum_between(const System<S>& system,
                      const dynamics::Posture<S>& start,
                      const dynamics::Posture<S>& end,
                      bool at_start,
                      const S* reduced_xi,
                      S h,
                      S* p) {
  const auto& model = system.model;
  Workspace<S> w = system.workspace;
  const S* xi = tree::full_v(model, reduced_xi, w);
  auto* const step = take<dynamics::SmallPose<S>>(w, model.bodies);
  S* const tree_p = take<S>(w, model.nv);
  S* const rate = take<S>(w, model.nv);
  for (int i = 0; i < model.nv; ++i) rate[i] = xi[i] / h;
  dynamics::body_steps(model, start, end, xi, step);
  dynamics::step_momentum(model, at_start ? start : end, at_start, step, h, tree_p, w);
  to_reduced(model, static_cast<const S*>(rate), tree_p, p, w);
}

/// Factors M, `diagonal` added unless it is null, at q of the reduced coordinates.
template <class S>
void factor_at(constraints::MechanismFactor<S>& inertia,
               const S* reduced_q,
               const S* diagonal,
               Workspace<S> w) {
  inertia.factor_at(tree::full_q(inertia.model, reduced_q, w), diagonal, w);
}

struct Variational {
  static constexpr int most_iterations = 100;
  static constexpr bool includes_reactions = false;  ///< of the constraints, in its accelerations

  /// Change of v by constraints at the start: half a step of the acceleration due to the constraints.
  template <class S>
  static void expect(const System<S>& system, S time, S h, const S* q, const S* v, S* push) {
    Workspace<S> w = system.workspace;
    const int nv = system.model.reduced_nv;
    S *const tau = take<S>(w, nv), *const free = take<S>(w, nv);
    const spatial::Force<S>* none = nullptr;
    system.actuate(time, q, v, tau, w);
    constraints::acceleration(system.model, q, v, static_cast<const S*>(tau), none, true, free, w);
    System<S> inner = system;
    inner.workspace = w;
    inner.acceleration(time, q, v, push);
    for (int i = 0; i < nv; ++i) push[i] = all<S>(0.5) * h * (push[i] - free[i]);
  }

  /// A step of the tree alone; returns the worlds in which it succeeds.
  template <class S>
  static simd::Mask<S> attempt(
      const System<S>& system, simd::Mask<S>, S time, S h, S* q, S* v, const SolverState<S>& memory, bool) {
    step(system, time, h, q, v, memory.momenta());
    return q[0] == q[0];  // a step that does not converge has no result
  }

  template <class S>
  static void step(const System<S>& system, S time, S h, S* q, S* v, S* momenta) {
    System<S> inner = system;
    Workspace<S>& w = inner.workspace;
    const auto& model = system.model;
    const int nq = model.reduced_nq, nv = model.reduced_nv;
    S *const p = take<S>(w, nv), *const weight = take<S>(w, nv), *const xi = take<S>(w, nv),
             *const q1 = take<S>(w, nq);
    S *const rate = take<S>(w, nv), *const force = take<S>(w, nv), *const residual = take<S>(w, nv),
             *const brake = take<S>(w, nv);
    const S half = all<S>(0.5) * h;

    const auto start = dynamics::posture(model, tree::full_q(model, static_cast<const S*>(q), w), w);
    momentum(inner, start, static_cast<const S*>(v), p, weight);
    CarriedMomenta<S> carried(model, momenta, w);
    carried.begin(start, p);
    inner.damping(brake);
    for (int i = 0; i < nv; ++i) brake[i] = half * brake[i];
    constraints::MechanismFactor<S> inertia(model, w);
    factor_at<S>(inertia, q, brake, w);
    for (int i = 0; i < nv; ++i) xi[i] = h * v[i];

    Contraction<S> contraction(dynamics::reach(model, start, w));
    for (int n = 0; n < most_iterations; ++n) {
      retract(model, static_cast<const S*>(q), xi, q1);
      Workspace<S> scratch = w;
      const auto end =
          dynamics::posture(model, tree::full_q(model, static_cast<const S*>(q1), scratch), scratch);
      for (int i = 0; i < nv; ++i) rate[i] = xi[i] / h;
      momentum_between<S>({model, system.actuation, scratch, system.loop_q},
                          start,
                          end,
                          true,
                          static_cast<const S*>(xi),
                          h,
                          residual);
      inner.generalized_force(time, q, rate, force);
      for (int i = 0; i < nv; ++i) residual[i] = fma(half, force[i] + weight[i], p[i]) - residual[i];
      inertia.apply(residual);
      for (int i = 0; i < nv; ++i) residual[i] = select(contraction.active, h * residual[i], all<S>(0));
      for (int i = 0; i < nv; ++i) xi[i] += residual[i];
      if (!contraction.go_on(largest(residual, nv), largest(xi, nv) + abs(h))) break;
    }
    const S failed = select(contraction.active, all<S>(simd::not_a_number), all<S>(0));

    retract(model, static_cast<const S*>(q), xi, q1);
    for (int i = 0; i < nv; ++i) rate[i] = xi[i] / h;
    if (carried.any()) {
      inner.generalized_force(time, q, rate, force);
      for (int i = 0; i < nv; ++i) force[i] = half * (force[i] + weight[i]);
      carried.push(start, force);
    }
    if (const S* const x0 = inner.copy_states(w)) {  // x₁ = x₀ + h/2 (f₀ + f₁)
      inner.generalized_force(time, q, rate, force);
      S* const base = take<S>(w, inner.states());
      for (int i = 0; i < inner.states(); ++i) base[i] = fma(half, inner.signals.rate[i], x0[i]);
      inner.signals.base = base;
      inner.signals.start = x0;
      inner.signals.factor = half;
    }
    for (int i = 0; i < nq; ++i) q[i] = q1[i] + failed;
    const auto end = dynamics::posture(model, tree::full_q(model, static_cast<const S*>(q1), w), w);
    momentum_between(inner, start, end, false, static_cast<const S*>(xi), h, p);
    momentum(inner, end, static_cast<const S*>(rate), residual, weight);
    inner.generalized_force(time + h, q1, rate, force);
    for (int i = 0; i < nv; ++i) {
      force[i] = half * (force[i] + weight[i]);
      p[i] += force[i];
    }
    carried.end(end, force, p);
    factor_at<S>(inertia, q1, nullptr, w);
    for (int i = 0; i < nv; ++i) v[i] = p[i];
    inertia.apply(v);
    // one refinement: the factor's rounding is the same in every step, and would accumulate
    momentum(inner, end, static_cast<const S*>(v), residual, weight);
    for (int i = 0; i < nv; ++i) residual[i] = p[i] - residual[i];
    inertia.apply(residual);
    for (int i = 0; i < nv; ++i) v[i] += residual[i];
  }
};

}  // namespace pysim::stepping
