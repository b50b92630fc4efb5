// Inverse of the joint-space inertia, without the inertia [Carpentier & Mansard 2018, section IV].
//
// The articulated-body algorithm on nv unit forces at once. Column j of M⁻¹ is the acceleration under the
// unit force j; F_j is the wrench that force leaves on the body reached so far, A_j the acceleration there.
//
//   1. leaves to root    U = IA S   D = SᵀU        M⁻¹_kk = D⁻¹         F_k = D⁻¹ U
//                        each j below k:           M⁻¹_kj = −D⁻¹ Sᵀ F_j    F_j += U M⁻¹_kj
//                        IA −= U D⁻¹ Uᵀ, then X_PB* for IA and every F_j
//   2. root to leaves    each j ≥ k of the tree:   A_j ← X_BP A_j    M⁻¹_kj −= D⁻¹ Uᵀ A_j    A_j += S M⁻¹_kj
#pragma once

#include "dynamics/aba.hpp"

namespace pysim::dynamics {

/// Where the coordinates below joint b end.
template <class Real>
PYSIM_INLINE int velocities_end(const ModelView<Real>& model, int b) {
  const int end = model.joint[b].end;
  return end == model.bodies ? model.nv : model.joint[end].v;
}

/// Pass 1: leaves X_PB, D⁻¹ U, and in M⁻¹_kj, j below k, the accelerations that body k alone would have.
template <class S>
void reduce_unit_forces(const ModelView<typename S::Real>& model,
                        const S* q,
                        Pose<S>* X_PB,
                        ArticulatedInertia<S>* articulated_inertia,
                        Motion<S>* columns,
                        Force<S>* F,
                        Force<S>* DU,
                        S* Minv) {
  const int nv = model.nv;
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    X_PB[b] = tree::evaluate(model, b, q, columns);
    ArticulatedInertia<S> IA = joint.leaf ? articulated(body_inertia<S>(model, b)) : articulated_inertia[b];
    const int end = velocities_end(model, b);
    for (int k = joint.v + joint.nv - 1; k >= joint.v; --k) {
      const auto Sj = tree::axis(joint, columns, k - joint.v);
      const Force<S> U = IA * Sj;
      const S inv_D = all<S>(1) / (dot(Sj, U) + all<S>(model.armature[k]));
      const bool reaches_world = joint.parent < 0 && k == joint.v;
      Minv[k * nv + k] = inv_D;
      F[k] = DU[k] = inv_D * U;
      for (int j = k + 1; j < end; ++j) {
        const S m = -(inv_D * dot(Sj, F[j]));
        Minv[k * nv + j] = m;
        if (!reaches_world) F[j] = fma(m, U, F[j]);
      }
      if (!reaches_world) IA = plus_outer(IA, U, -inv_D);
    }
    if (joint.parent < 0) continue;

    ArticulatedInertia<S>& IA_P = articulated_inertia[joint.parent];
    const auto own = joint.last_child ? articulated(body_inertia<S>(model, joint.parent)) : IA_P;
    IA_P = own + to_parent(X_PB[b], IA);
    for (int j = joint.v; j < end; ++j) F[j] = to_parent(X_PB[b], F[j]);
  }
}

/// Pass 2. The last child of a body takes over its accelerations; others work on a copy, one a level.
template <class S>
void spread_unit_accelerations(const ModelView<typename S::Real>& model,
                               const Pose<S>* X_PB,
                               const Motion<S>* columns,
                               const Force<S>* DU,
                               Motion<S>* A,
                               S* Minv) {
  const int nv = model.nv;
  int tree_end = 0;
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const bool root = joint.parent < 0;
    if (root) tree_end = velocities_end(model, b);
    const int end = velocities_end(model, b);
    Motion<S>* const A_B = A + joint.level * nv;
    const Motion<S>* const A_P = root ? nullptr : A + model.joint[joint.parent].level * nv;
    for (int j = joint.v; j < tree_end; ++j) {
      Motion<S> acc = root ? spatial::zero_motion<S>() : to_child(X_PB[b], A_P[j]);
      for (int k = joint.v; k < joint.v + joint.nv && k <= j; ++k) {
        const S own = j < end ? Minv[k * nv + j] : all<S>(0);
        const S m = own - dot(acc, DU[k]);
        Minv[k * nv + j] = Minv[j * nv + k] = m;
        acc = plus(acc, tree::axis(joint, columns, k - joint.v), m);
      }
      A_B[j] = acc;
    }
    for (int k = joint.v; k < joint.v + joint.nv; ++k) {  // trees that share no joint do not feel each other
      for (int j = tree_end; j < nv; ++j) Minv[k * nv + j] = Minv[j * nv + k] = all<S>(0);
    }
  }
}

/// M⁻¹(q) of the tree, full and symmetric, row-major (nv × nv), armature included.
template <class S>
void minverse(const ModelView<typename S::Real>& model, const S* q, S* Minv, Workspace<S> w) {
  Pose<S>* const X_PB = w.template take<Pose<S>>(model.bodies);
  auto* const IA = w.template take<ArticulatedInertia<S>>(model.bodies);
  Motion<S>* const columns = w.template take<Motion<S>>(model.stored_columns);
  Force<S>* const F = w.template take<Force<S>>(model.nv);
  Force<S>* const DU = w.template take<Force<S>>(model.nv);
  reduce_unit_forces(model, q, X_PB, IA, columns, F, DU, Minv);
  Motion<S>* const A = w.template take<Motion<S>>(std::ptrdiff_t{1} * model.levels * model.nv);
  spread_unit_accelerations(model, X_PB, columns, DU, A, Minv);
}

}  // namespace pysim::dynamics
