// Inverse of the joint-space inertia, without the inertia [Carpentier & Mansard 2018, section IV].
//
// The articulated-body algorithm on nv unit forces at once, on the axes of turned.hpp. Column j of M⁻¹ is the
// acceleration under the unit force j; F_j is the wrench that force leaves on the body reached so far, A_j
// the acceleration there.
//
//   1. leaves to root    IA, U = IA S, D = SᵀU as in aba.hpp      M⁻¹_kk = D⁻¹       F_k = D⁻¹ U
//                        each j below k:    M⁻¹_kj = −D⁻¹ Sᵀ F_j      F_j += U M⁻¹_kj, then moved by p
//   2. root to leaves    each j below k:    A_j moved by p    M⁻¹_kj −= D⁻¹ Uᵀ A_j    A_j += S M⁻¹_kj
//                        k, j on different branches of body B:    M⁻¹_kj = −F_kᵀ A_j with both at B
//
// The last line holds since what carries A_B down to coordinate k is the transpose of what brought F_k up to
// B.
#pragma once

#include "dynamics/turned.hpp"

namespace pysim::dynamics {

template <class S>
struct UnitForces {
  TurnedBody<S>* body;        ///< [bodies]
  Motion<S>* Sj;              ///< [nv]
  ArticulatedInertia<S>* IA;  ///< [bodies] of forks
  Force<S>* DU;               ///< [nv] D⁻¹ U
  Force<S>* F;                ///< [nv]
  Force<S>* F_fork;           ///< [fork_columns] F of all columns below a fork, at the fork
  Motion<S>* A;               ///< [nv]
};

/// Eliminates the accelerations of joint b from IA: D⁻¹ U of its coordinates, D⁻¹ on the diagonal of M⁻¹.
/// Leaves what the parent then carries in IA, as reduce_to_root of aba.hpp does.
template <class S>
PYSIM_INLINE void eliminate(
    const ModelOf<S>& model, int b, ArticulatedInertia<S>& IA, UnitForces<S>& at, S* Minv) {
  const Joint& joint = model.joint[b];
  if (joint.leaf) IA = articulated(at.body[b].M);
  for (int k = joint.v + joint.nv - 1; k >= joint.v; --k) {
    const Force<S> U = IA * at.Sj[k];
    const S inv_D = all<S>(1) / (dot(at.Sj[k], U) + all<S>(model.armature[k]));
    Minv[k * model.nv + k] = inv_D;
    at.DU[k] = inv_D * U;
    if (joint.parent < 0 && k == joint.v) return;  // the world does not move
    IA = plus_outer(IA, U, -inv_D);
  }
  ArticulatedInertia<S>& P = at.IA[joint.parent];
  const auto own = joint.last_child ? articulated(at.body[joint.parent].M) : P;
  IA = own + translate(at.body[b].p, IA);
  if (joint.parent < b - 1) P = IA;
}

/// Pass 1: M⁻¹_kj, j below k, as if body k hung on the world.
template <class S>
void reduce_unit_forces(const ModelOf<S>& model, UnitForces<S>& at, S* Minv) {
  const int nv = model.nv;
  ArticulatedInertia<S> IA;
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    eliminate(model, b, IA, at, Minv);
    const int below = joint.v + joint.nv, end = velocities_end(model, b);
    for (int j = below; joint.fork >= 0 && j < end; ++j) at.F_fork[joint.fork + j - below] = at.F[j];
    for (int j = joint.v; j < end; ++j) {
      Force<S> F = j < below ? at.DU[j] : at.F[j];
      for (int k = (j < below ? j : below) - 1; k >= joint.v; --k) {
        const S u = dot_turned(joint.column[k - joint.v], at.Sj[k], F);
        Minv[k * nv + j] = -(Minv[k * nv + k] * u);
        F = fma(-u, at.DU[k], F);
      }
      if (joint.parent >= 0) at.F[j] = {F.f, cross_add(at.body[b].p, F.f, F.t)};
    }
  }
}

/// M⁻¹ between the branches that meet at body b.
template <class S>
PYSIM_INLINE void join_branches(const ModelOf<S>& model, int b, UnitForces<S>& at, S* Minv) {
  const Joint& joint = model.joint[b];
  const int nv = model.nv, below = joint.v + joint.nv;
  for (int child = b + 1; child < joint.end; child = model.joint[child].end) {
    const int first = model.joint[child].v, end = velocities_end(model, child);
    for (int k = below; k < first; ++k) {  // on earlier branches
      const Force<S> F = at.F_fork[joint.fork + k - below];
      for (int j = first; j < end; ++j) Minv[k * nv + j] = -dot(at.A[j], F);
    }
  }
}

/// Pass 2: completes M⁻¹ on and above its diagonal.
template <class S>
void spread_unit_accelerations(const ModelOf<S>& model, UnitForces<S>& at, S* Minv) {
  const int nv = model.nv;
  int tree_end = 0;
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const bool root = joint.parent < 0;
    const int below = joint.v + joint.nv, end = velocities_end(model, b);
    if (root) tree_end = end;
    for (int j = joint.v; j < end; ++j) {
      Motion<S> A = spatial::zero_motion<S>();
      if (!root) A = {cross_add(at.A[j].w, at.body[b].p, at.A[j].v), at.A[j].w};
      for (int k = joint.v; k < below && k <= j; ++k) {
        S& m = Minv[k * nv + j];
        if (!root || k > joint.v) m -= dot(A, at.DU[k]);
        A = plus_turned(joint.column[k - joint.v], at.Sj[k], m, A);
      }
      at.A[j] = A;
    }
    if (joint.fork >= 0) join_branches(model, b, at, Minv);
    for (int k = joint.v; k < below; ++k) {  // trees that share no joint do not feel each other
      for (int j = tree_end; j < nv; ++j) Minv[k * nv + j] = all<S>(0);
    }
  }
}

/// M⁻¹(q) of the tree, full and symmetric, row-major (nv × nv), armature included.
template <class S>
void minverse(const ModelOf<S>& model, const S* q, S* Minv, Workspace<S> w) {
  UnitForces<S> at = {w.template take<TurnedBody<S>>(model.bodies),
                      w.template take<Motion<S>>(model.nv),
                      w.template take<ArticulatedInertia<S>>(model.bodies),
                      w.template take<Force<S>>(model.nv),
                      w.template take<Force<S>>(model.nv),
                      w.template take<Force<S>>(model.fork_columns),
                      w.template take<Motion<S>>(model.nv)};
  turn_bodies(model, q, at.body, at.Sj, w);
  reduce_unit_forces(model, at, Minv);
  spread_unit_accelerations(model, at, Minv);
  for (int k = 1; k < model.nv; ++k) {
    for (int j = 0; j < k; ++j) Minv[k * model.nv + j] = Minv[j * model.nv + k];
  }
}

}  // namespace pysim::dynamics
