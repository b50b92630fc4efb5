// Inverse of the joint-space inertia, without the inertia [Carpentier & Mansard 2018, section IV].
//
// The articulated-body algorithm on nv unit forces at once. Column j of M⁻¹ is the acceleration under the
// unit force j; F_j is the wrench that force leaves on the body reached so far, A_j the acceleration there.
//
//   1. leaves to root    IA, U = IA S, D = SᵀU as in aba.hpp      M⁻¹_kk = D⁻¹       F_k = D⁻¹ U
//                        each j below k:    M⁻¹_kj = −D⁻¹ Sᵀ F_j      F_j += U M⁻¹_kj, then X_PB* F_j
//   2. root to leaves    each j below k:    A_j ← X_BP A_j    M⁻¹_kj −= D⁻¹ Uᵀ A_j    A_j += S M⁻¹_kj
//                        k, j on different branches of body B:    M⁻¹_kj = −F_kᵀ A_j with both at B
//
// The last line holds since what carries A_B down to coordinate k is the transpose of what brought F_k up to
// B.
#pragma once

#include "dynamics/aba.hpp"

namespace pysim::dynamics {

template <class S>
struct UnitForces {
  Pose<S>* X_PB;              ///< [bodies]
  ArticulatedInertia<S>* IA;  ///< [bodies]
  Motion<S>* columns;         ///< stored ones
  Force<S>* DU;               ///< [nv] D⁻¹ U
  Force<S>* F;                ///< [nv]
  Force<S>* F_fork;           ///< [fork_columns] F of all columns below a fork, at the fork
  Motion<S>* A;               ///< [nv]
};

/// Eliminates the accelerations of joint b from IA: D⁻¹ U of its coordinates, D⁻¹ on the diagonal of M⁻¹.
template <class S>
PYSIM_INLINE void eliminate(const ModelView<typename S::Real>& model, int b, UnitForces<S>& at, S* Minv) {
  const Joint& joint = model.joint[b];
  ArticulatedInertia<S> IA = joint.leaf ? articulated(body_inertia<S>(model, b)) : at.IA[b];
  for (int k = joint.v + joint.nv - 1; k >= joint.v; --k) {
    const auto Sj = tree::axis(joint, at.columns, k - joint.v);
    const Force<S> U = IA * Sj;
    const S inv_D = all<S>(1) / (dot(Sj, U) + all<S>(model.armature[k]));
    Minv[k * model.nv + k] = inv_D;
    at.DU[k] = inv_D * U;
    if (joint.parent < 0 && k == joint.v) return;  // the world does not move
    IA = plus_outer(IA, U, -inv_D);
  }
  ArticulatedInertia<S>& P = at.IA[joint.parent];
  const auto own = joint.last_child ? articulated(body_inertia<S>(model, joint.parent)) : P;
  P = own + to_parent(at.X_PB[b], IA);
}

/// Pass 1: M⁻¹_kj, j below k, as if body k hung on the world.
template <class S>
void reduce_unit_forces(const ModelView<typename S::Real>& model, const S* q, UnitForces<S>& at, S* Minv) {
  const int nv = model.nv;
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    at.X_PB[b] = tree::evaluate(model, b, q, at.columns);
    eliminate(model, b, at, Minv);
    const int below = joint.v + joint.nv, end = velocities_end(model, b);
    for (int j = below; joint.fork >= 0 && j < end; ++j) at.F_fork[joint.fork + j - below] = at.F[j];
    for (int j = joint.v; j < end; ++j) {
      Force<S> F = j < below ? at.DU[j] : at.F[j];
      for (int k = (j < below ? j : below) - 1; k >= joint.v; --k) {
        const S u = dot(tree::axis(joint, at.columns, k - joint.v), F);
        Minv[k * nv + j] = -(Minv[k * nv + k] * u);
        F = fma(-u, at.DU[k], F);
      }
      if (joint.parent >= 0) at.F[j] = to_parent(at.X_PB[b], F);
    }
  }
}

/// M⁻¹ between the branches that meet at body b.
template <class S>
PYSIM_INLINE void join_branches(const ModelView<typename S::Real>& model, int b, UnitForces<S>& at, S* Minv) {
  const Joint& joint = model.joint[b];
  const int nv = model.nv, below = joint.v + joint.nv;
  for (int child = b + 1; child < joint.end; child = model.joint[child].end) {
    const int first = model.joint[child].v, end = velocities_end(model, child);
    for (int j = first; j < end; ++j) {
      const Motion<S> A = at.A[j];
      for (int k = below; k < first; ++k) {  // on earlier branches
        Minv[k * nv + j] = Minv[j * nv + k] = -dot(A, at.F_fork[joint.fork + k - below]);
      }
    }
  }
}

/// Pass 2: completes M⁻¹, both triangles.
template <class S>
void spread_unit_accelerations(const ModelView<typename S::Real>& model, UnitForces<S>& at, S* Minv) {
  const int nv = model.nv;
  int tree_end = 0;
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const bool root = joint.parent < 0;
    const int below = joint.v + joint.nv, end = velocities_end(model, b);
    if (root) tree_end = end;
    for (int j = joint.v; j < end; ++j) {
      Motion<S> A = root ? spatial::zero_motion<S>() : to_child(at.X_PB[b], at.A[j]);
      for (int k = joint.v; k < below && k <= j; ++k) {
        const S m = root && k == joint.v ? Minv[k * nv + j] : Minv[k * nv + j] - dot(A, at.DU[k]);
        Minv[k * nv + j] = Minv[j * nv + k] = m;
        A = plus(A, tree::axis(joint, at.columns, k - joint.v), m);
      }
      at.A[j] = A;
    }
    if (joint.fork >= 0) join_branches(model, b, at, Minv);
    for (int k = joint.v; k < below; ++k) {  // trees that share no joint do not feel each other
      for (int j = tree_end; j < nv; ++j) Minv[k * nv + j] = Minv[j * nv + k] = all<S>(0);
    }
  }
}

/// M⁻¹(q) of the tree, full and symmetric, row-major (nv × nv), armature included.
template <class S>
void minverse(const ModelView<typename S::Real>& model, const S* q, S* Minv, Workspace<S> w) {
  UnitForces<S> at = {w.template take<Pose<S>>(model.bodies),
                      w.template take<ArticulatedInertia<S>>(model.bodies),
                      w.template take<Motion<S>>(model.stored_columns),
                      w.template take<Force<S>>(model.nv),
                      w.template take<Force<S>>(model.nv),
                      w.template take<Force<S>>(model.fork_columns),
                      w.template take<Motion<S>>(model.nv)};
  reduce_unit_forces(model, q, at, Minv);
  spread_unit_accelerations(model, at, Minv);
}

}  // namespace pysim::dynamics
