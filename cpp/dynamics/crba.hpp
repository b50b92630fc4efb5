// Composite-rigid-body algorithm, joint-space inertia [Featherstone 2008, table 6.2].
//
//     M_P += X_PB* M_B X_BP              leaves to root: the inertia of everything the joint carries
//     F = M_B S,  then for every ancestor joint  F ← X_PB* F,  M[ancestor, k] = S_ancestorᵀ F
#pragma once

#include "dynamics/kinematics.hpp"

namespace pysim::dynamics {

/// M(q), full and symmetric, row-major (nv × nv), armature on the diagonal.
template <class S>
void crba(const ModelView<typename S::Real>& model, const S* q, S* M, Workspace<S> w) {
  Pose<S>* const X_PB = w.template take<Pose<S>>(model.bodies);
  Inertia<S>* const composite = w.template take<Inertia<S>>(model.bodies);
  Motion<S>* const columns = w.template take<Motion<S>>(model.stored_columns);
  const tree::Turns<S> turns = tree::turns(q, model.nq, w);
  const int nv = model.nv;

  for (int k = 0; k < nv * nv; ++k) M[k] = all<S>(0);
  for (int b = 0; b < model.bodies; ++b) {
    X_PB[b] = tree::evaluate(model, b, q, turns, columns);
    composite[b] = spatial::all_inertia<S>(model.constants[b].inertia);
  }
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    if (joint.parent >= 0)
      composite[joint.parent] = composite[joint.parent] + to_parent(X_PB[b], composite[b]);

    for (int i = 0; i < joint.nv; ++i) {
      const int k = joint.v + i;
      Force<S> F = composite[b] * tree::axis(joint, columns, i);
      for (int j = 0; j <= i; ++j) {
        const int l = joint.v + j;
        M[k * nv + l] = M[l * nv + k] = dot(tree::axis(joint, columns, j), F);
      }
      M[k * nv + k] += all<S>(model.armature[k]);

      for (int child = b, up = joint.parent; up >= 0; child = up, up = model.joint[up].parent) {
        F = to_parent(X_PB[child], F);
        const Joint& ancestor = model.joint[up];
        for (int j = 0; j < ancestor.nv; ++j) {
          const int l = ancestor.v + j;
          M[k * nv + l] = M[l * nv + k] = dot(tree::axis(ancestor, columns, j), F);
        }
      }
    }
  }
}

}  // namespace pysim::dynamics
