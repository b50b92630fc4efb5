// Factor of A + Σ Jᵀ G J by the recursion of the articulated-body algorithm: what is added on a body goes
// into its articulated inertia, what is added on a coordinate into D.
//
//     IA = M + Σ X* G X      D = SᵀU + I_r + diagonal      K = U D⁻¹      IA_P += X_PB* (IA − K Uᵀ) X_BP
//     (A + Σ JᵀGJ + diag) x = τ + Σ Jᵀ F:   u = τ − SᵀpA,  pA_P += X_PB* (pA + K u)  with pA = −F;  x = D⁻¹u
//     − Kᵀ a
//
// The matrix is never formed: a solution costs one articulated-body recursion [Featherstone 2008,
// section 7.3; Sathya, Carpentier 2024].
#pragma once

#include "dynamics/inertia_factor.hpp"

namespace pysim::dynamics {

template <class S>
struct LoadedFactor : TreeFactor<S> {
  ArticulatedInertia<S>* IA;  ///< [bodies]
  Force<S>* pA;               ///< [bodies]

  LoadedFactor(const ModelOf<S>& m, Workspace<S>& w)
      : TreeFactor<S>(m, w, true),
        IA(take<ArticulatedInertia<S>>(w, m.bodies)),
        pA(take<Force<S>>(w, m.bodies)) {}

  /// Puts the bodies' own inertias into IA, to which loads are added.
  void unload() {
    for (int b = 0; b < this->model.bodies; ++b) IA[b] = articulated(body_inertia<S>(this->model, b));
  }

  static constexpr auto every_body = [](int) { return true; };

  /// Factors what IA holds, `diagonal` (nv) added, of the trees whose bodies are `included`.
  template <class Included = decltype(every_body)>
  void factor(const S* diagonal, const Included& included = every_body) {
    const ModelOf<S>& model = this->model;
    for (int b = model.bodies - 1; b >= 0; --b) {
      if (!included(b)) continue;
      const Joint& joint = model.joint[b];
      for (int k = joint.v + joint.nv - 1; k >= joint.v; --k) {
        Elimination<S>& E = this->elimination[k];
        const Force<S> U = E.factor(
            IA[b], tree::axis(joint, this->columns, k - joint.v), all<S>(model.armature[k]) + diagonal[k]);
        if (joint.parent >= 0 || k > joint.v) IA[b] = minus_outer(IA[b], E.K, U);
      }
      if (joint.parent >= 0) IA[joint.parent] = IA[joint.parent] + to_parent(this->body[b].X_PB, IA[b]);
    }
  }

  /// The bodies' accelerations at x (nv), as `solve` leaves them without drift.
  void spread(const S* x) {
    for (int b = 0; b < this->model.bodies; ++b) {
      const Joint& joint = this->model.joint[b];
      const Motion<S> carried = joint.parent < 0
                                    ? spatial::zero_motion<S>()
                                    : to_child(this->body[b].X_PB, this->acceleration[joint.parent]);
      this->acceleration[b] = plus_joint_twist(carried, joint, this->columns, x);
    }
  }

  /// x = H⁻¹ b without forces on bodies.
  void apply_inverse(const S* b, S* x) {
    for (int k = 0; k < this->model.bodies; ++k) pA[k] = spatial::zero_force<S>();
    solve(b, spatial::zero_motion<S>(), nullptr, x);
  }

  /// x (nv) under τ (nv), which may be null, and −pA, whose content is lost. Bodies accelerate by `drift`
  /// [bodies] beside x, unless it is null. Leaves the bodies' accelerations in pA's place as `acceleration`.
  /// Bodies that are not `included` are left as they are.
  template <class Included = decltype(every_body)>
  void solve(const S* tau,
             const Motion<S>& base,
             const Motion<S>* drift,
             S* x,
             const Included& included = every_body) {
    const ModelOf<S>& model = this->model;
    for (int b = model.bodies - 1; b >= 0; --b) {
      if (!included(b)) continue;
      const Joint& joint = model.joint[b];
      for (int k = joint.v + joint.nv - 1; k >= joint.v; --k) {
        Elimination<S>& E = this->elimination[k];
        const S given = tau == nullptr ? all<S>(0) : tau[k];
        const S u = E.push(given, dot(tree::axis(joint, this->columns, k - joint.v), pA[b]));
        pA[b] = fma(u, E.K, pA[b]);
      }
      if (joint.parent < 0) continue;
      if (drift != nullptr) pA[b] = multiply_add(IA[b], drift[b], pA[b]);
      pA[joint.parent] = plus_to_parent(pA[joint.parent], this->body[b].X_PB, pA[b]);
    }
    for (int b = 0; b < model.bodies; ++b) {
      if (!included(b)) continue;
      const Joint& joint = model.joint[b];
      Motion<S> acc =
          to_child(this->body[b].X_PB, joint.parent < 0 ? base : this->acceleration[joint.parent]);
      if (drift != nullptr) acc += drift[b];
      for (int i = 0; i < joint.nv; ++i) {
        const int k = joint.v + i;
        const Elimination<S>& E = this->elimination[k];
        x[k] = E.a - dot_add(acc.v, E.K.f, dot(acc.w, E.K.t));
        acc = plus(acc, tree::axis(joint, this->columns, i), x[k]);
      }
      this->acceleration[b] = acc;
    }
  }
};

}  // namespace pysim::dynamics
