// Inverse of the joint-space inertia, computed without forming the inertia.
//
// Column j of M⁻¹ is the acceleration under the unit force j. By reciprocity it needs no second pass to the
// leaves: the acceleration of coordinate k under a wrench F on body B is −F·A, A being the acceleration of B
// under the unit force k. On the axes of root_axes.hpp:
//
//   1. leaves to root    IA, U = IA S, D = SᵀU as in aba.hpp
//   2. root to leaves    Ω_B = Ω_P moved by p, then for every column
//                            g = Ω D⁻¹U       M⁻¹_kk = D⁻¹ + g·D⁻¹U       A_k = S M⁻¹_kk − g
//                            Ω ← Ω + A_k Sᵀ − S gᵀ
//   3. leaves to root    F_j = D⁻¹U at its own joint, at every joint above
//                            M⁻¹_kj = −A_k·F_j      F_j −= D⁻¹U SᵀF_j, then moved by p
//   4. branches that join at body B                                       M⁻¹_kj = F_kᵀ Ω_B F_j, both at B
//
// The articulated-body algorithm on nv unit forces is that of Carpentier & Mansard 2018, section IV; the
// mobility Ω that of Kreutz-Delgado, Jain & Rodriguez 1992.
#pragma once

#include "dynamics/pivot.hpp"
#include "dynamics/root_axes.hpp"
#include "spatial/mobility.hpp"

namespace pysim::dynamics {

using spatial::Mobility;

template <class S>
struct UnitForces {
  RootAxesBody<S>* body;      ///< [bodies]
  Motion<S>* Sj;              ///< [nv]
  ArticulatedInertia<S>* IA;  ///< [bodies] of forks
  Mobility<S>* Omega;         ///< [bodies] of forks
  Pivot<S, Force<S>>* pivot;  ///< [nv] K = D⁻¹ U
  Motion<S>* A;               ///< [nv] of the body that coordinate k moves, under the unit force k
  Force<S>* F_fork;           ///< [fork_columns] F of all columns below a fork, at the fork
};

/// Eliminates the accelerations of joint b from IA: K and D⁻¹ of its coordinates.
/// Leaves in IA the inertia that the parent carries, as reduce_to_root of aba.hpp does.
template <class S>
PYSIM_INLINE void eliminate(const ModelOf<S>& model, int b, ArticulatedInertia<S>& IA, UnitForces<S>& at) {
  const Joint& joint = model.joint[b];
  if (joint.leaf) IA = articulated(at.body[b].M);
  for (int k = joint.v + joint.nv - 1; k >= joint.v; --k) {
    Pivot<S, Force<S>>& E = at.pivot[k];
    const Force<S> U = E.factor(IA, at.Sj[k], all<S>(model.armature[k]));
    if (joint.parent < 0 && k == joint.v) return;  // the world does not move
    IA = minus_outer(IA, E.K, U);
  }
  ArticulatedInertia<S>& P = at.IA[joint.parent];
  const auto own = joint.last_child ? articulated(at.body[joint.parent].M) : P;
  IA = own + translate(at.body[b].p, IA);
  if (joint.parent < b - 1) P = IA;
}

/// Pass 1.
template <class S>
void eliminate_accelerations(const ModelOf<S>& model, UnitForces<S>& at) {
  ArticulatedInertia<S> IA;
  for (int b = model.bodies - 1; b >= 0; --b) eliminate(model, b, IA, at);
}

/// Pass 2: the diagonal of M⁻¹, and the acceleration of each coordinate's body under its unit force.
template <class S>
void spread_mobility(const ModelOf<S>& model, UnitForces<S>& at, S* Minv) {
  Mobility<S> Omega;
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    if (joint.parent >= 0 && joint.parent < b - 1) Omega = at.Omega[joint.parent];
    Omega = joint.parent < 0 ? spatial::zero_mobility<S>() : moved_to(at.body[b].p, Omega);
    for (int k = joint.v; k < joint.v + joint.nv; ++k) {
      const tree::Column column = joint.column[k - joint.v];
      const auto& [K, inv_D] = at.pivot[k];
      const Motion<S> g = Omega * K;
      const S m = Minv[k * model.nv + k] = inv_D + dot(g, K);
      at.A[k] = plus_in_root_axes(column, at.Sj[k], m, -g);
      if (joint.leaf && k + 1 == joint.v + joint.nv) break;  // not needed
      Omega = freed(Omega, at.Sj[k], column >= tree::wx && column != tree::stored, g, at.A[k]);
    }
    if (joint.fork >= 0) at.Omega[b] = Omega;
  }
}

/// Largest number of columns propagated together: a joint is then read once for all of them.
constexpr int climbing_group = 16;

/// M⁻¹_kj of columns j = first … first + count with all coordinates k above them; count is at most a group.
template <class S>
void climb(const ModelOf<S>& model, int first, int count, UnitForces<S>& at, S* Minv) {
  Force<S> F[climbing_group];
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    const int below = joint.v + joint.nv, moved = velocities_end(model, b);
    const int begin = joint.v < first ? first : joint.v, end = moved < first + count ? moved : first + count;
    for (int j = begin; j < end; ++j) {
      Force<S> f = j < below ? at.pivot[j].K : F[j - first];
      if (joint.fork >= 0 && j >= below) at.F_fork[joint.fork + j - below] = f;
      for (int k = (j < below ? j : below) - 1; k >= joint.v; --k) {
        Minv[k * model.nv + j] = -dot(at.A[k], f);
        const S u = dot_in_root_axes(joint.column[k - joint.v], at.Sj[k], f);
        f = fma(-u, at.pivot[k].K, f);
      }
      if (joint.parent >= 0) F[j - first] = {f.f, cross_add(at.body[b].p, f.f, f.t)};
    }
  }
}

/// M⁻¹ between the branches that join at body b.
template <class S>
void join_branches(const ModelOf<S>& model, int b, UnitForces<S>& at, S* Minv) {
  const Joint& joint = model.joint[b];
  const int nv = model.nv, below = joint.v + joint.nv;
  const Force<S>* const F = at.F_fork + joint.fork - below;
  for (int child = b + 1; child < joint.end; child = model.joint[child].end) {
    const int first = model.joint[child].v, end = velocities_end(model, child);
    for (int j = first; below < first && j < end; ++j) {
      const Motion<S> A = at.Omega[b] * F[j];
      for (int k = below; k < first; ++k) Minv[k * nv + j] = dot(A, F[k]);  // on earlier branches
    }
  }
}

/// M⁻¹(q) of the tree, full and symmetric, row-major (nv × nv), armature included.
template <class S>
void minverse(const ModelOf<S>& model, const S* q, S* Minv, Workspace<S> w) {
  UnitForces<S> at = {take<RootAxesBody<S>>(w, model.bodies),
                      take<Motion<S>>(w, model.nv),
                      take<ArticulatedInertia<S>>(w, model.bodies),
                      take<Mobility<S>>(w, model.bodies),
                      take<Pivot<S, Force<S>>>(w, model.nv),
                      take<Motion<S>>(w, model.nv),
                      take<Force<S>>(w, model.fork_columns)};
  const int n = model.nv, group = climbing_group;
  to_root_axes(model, q, at.body, at.Sj, w);
  eliminate_accelerations(model, at);
  spread_mobility(model, at, Minv);
  for (int j = 0; j < n; j += group) climb(model, j, j + group < n ? group : n - j, at, Minv);
  for (int b = 0; b < model.bodies; ++b) {
    if (model.joint[b].fork >= 0) join_branches(model, b, at, Minv);
  }
  for (int b = 0; b < model.bodies; b = model.joint[b].end) {  // entries between separate trees are zero
    const int end = velocities_end(model, b);
    for (int k = model.joint[b].v; k < end; ++k) {
      for (int j = end; j < n; ++j) Minv[k * n + j] = all<S>(0);
    }
  }
  for (int k = 1; k < n; ++k) {
    for (int j = 0; j < k; ++j) Minv[k * n + j] = Minv[j * n + k];
  }
}

}  // namespace pysim::dynamics
