// Discrete Lagrangian of a step: momenta at its two ends, from the displacements of the bodies between
// them [Lee, Liu, Park, Srinivasa 2016; Bou-Rabee and Marsden 2009].
//
//     L_d = Σ (m |Δc|² + φᵀ I φ) / 2h         Δc  displacement of the body's centre of mass
//                                             φ   log of its rotation,   I  inertia about its centre of mass
//     p₀ = −∂L_d/∂q₀ = Σ J(q₀)ᵀ [m Δc; J_l⁻ᵀ(φ) I φ] / h
//     p₁ =  ∂L_d/∂q₁ = Σ J(q₁)ᵀ [m Δc; J_r⁻ᵀ(φ) I φ] / h
//
// Both are total momenta of the tree, so components without a force are conserved to rounding; and the centre
// of mass of the whole moves as a point under the total force, which the screw motion log ΔX_B would not
// achieve.
#pragma once

#include "dynamics/body_displacements.hpp"

namespace pysim::dynamics {

/// Σ J_Bᵀ F_B on the coordinates of the tree; F is overwritten by the wrench that each joint carries.
template <class S>
void generalized(const ModelOf<S>& model, const Posture<S>& at, Force<S>* F, S* p) {
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    for (int i = 0; i < joint.nv; ++i) p[joint.v + i] = dot(tree::axis(joint, at.columns, i), F[b]);
    if (joint.parent >= 0) F[joint.parent] += to_parent(at.X_PB[b], F[b]);
  }
}

/// Contribution of one body to p₀ or p₁, about its origin in its frame there.
template <class S>
PYSIM_INLINE Force<S> body_momentum(const Inertia<S>& M, const SmallPose<S>& step, bool start, S h) {
  const S rate = all<S>(1) / h, none = all<S>(0);
  const Vec3<S> c = select(M.m > none, all<S>(1) / M.m, none) * M.mc;
  const Vec3<S> phi = spatial::log_quaternion(step.turn);
  const Vec3<S> spin = rate * (M.I * phi + cross(M.mc, cross(c, phi)));  // I = I_B + m c×c×
  const Vec3<S> f = (rate * M.m) * (step.p + turned_by(step.turn, c));
  if (start) return {f, spatial::right_jacobian_inverse_times(phi, spin) + cross(c, f)};
  const Vec3<S> f_end = f + turned_by(conjugate(step.turn), f);
  return {f_end, spatial::left_jacobian_inverse_times(phi, spin) + cross(c, f_end)};
}

/// p₀ (`start`) or p₁ of a step of length h, on the tree's coordinates.
template <class S>
void step_momentum(const ModelOf<S>& model,
                   const Posture<S>& at,
                   bool start,
                   const SmallPose<S>* step,
                   S h,
                   S* p,
                   Workspace<S> w) {
  Force<S>* const F = take<Force<S>>(w, model.bodies);
  for (int b = 0; b < model.bodies; ++b) F[b] = body_momentum(body_inertia<S>(model, b), step[b], start, h);
  generalized(model, at, F, p);
}

/// Momentum M(q) v and the force of gravity, on the tree's coordinates. The caller adds armature.
template <class S>
void momentum_and_weight(
    const ModelOf<S>& model, const Posture<S>& at, const S* v, S* p, S* weight, Workspace<S> w) {
  struct Body {
    Motion<S> V;
    Vec3<S> g;
  };
  Body* const body = take<Body>(w, model.bodies);
  Force<S>* const momentum = take<Force<S>>(w, model.bodies);
  Force<S>* const pull = take<Force<S>>(w, model.bodies);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const bool root = joint.parent < 0;
    Motion<S> V = root ? spatial::zero_motion<S>() : to_child(at.X_PB[b], body[joint.parent].V);
    for (int i = 0; i < joint.nv; ++i) V = plus(V, tree::axis(joint, at.columns, i), v[joint.v + i]);
    const Vec3<S> g = root ? spatial::all3<S>(model.gravity) : body[joint.parent].g;
    body[b] = {V, transpose_times(at.X_PB[b].R, g)};
    const auto M = body_inertia<S>(model, b);
    momentum[b] = M * V;
    pull[b] = {M.m * body[b].g, cross(M.mc, body[b].g)};
  }
  generalized(model, at, momentum, p);
  generalized(model, at, pull, weight);
}

}  // namespace pysim::dynamics
