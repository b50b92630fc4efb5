// Articulated-body algorithm, forward dynamics [Featherstone 2008, table 7.1].
//
//   1. root to leaves    V = X_BP V_P + S v       c += V × S v       IA = M       pA = V ×* M V − F_ext
//   2. leaves to root    for each column of S:    U = IA S   D = SᵀU   K = U D⁻¹   u = τ − Sᵀ pA
//                                                 IA −= K Uᵀ           pA += K u
//                        then                     IA_P += X_PB* IA X_BP    pA_P += X_PB* (pA + IA c)
//   3. root to leaves    a = X_BP a_P + c, then for each column, backwards:
//                                                 v̇ = D⁻¹ u − Kᵀ a     a += S v̇          a₀ = −g
//
// A joint of several coordinates is treated as that many joints in a row without bodies between them: the
// columns are eliminated one by one, which is the factorisation of SᵀIA S and needs no small solver.
//
// A body's first child follows it directly: what passes between them stays in registers. Only forks store
// their velocity, articulated inertia and acceleration; storing all of them takes a fifth of the time on long
// branches, in traffic between the caches. Pass `every` to store those of every body.
#pragma once

#include "dynamics/pivot.hpp"
#include "dynamics/planar_aba.hpp"
#include "spatial/hinge_elimination.hpp"

namespace pysim::dynamics {

using simd::fnma;

/// One coordinate of a joint, between passes 2 and 3.
template <class S>
struct Elimination : Pivot<S, Force<S>> {
  S a;  ///< D⁻¹ u: v̇ if the body were carried along without acceleration

  /// u, the part of τ that remains after the force Sᵀ pA.
  PYSIM_INLINE S push(S tau, S pushed) {
    const S u = tau - pushed;
    a = this->inv_D * u;
    return u;
  }
};

template <class S>
struct AbaBody {
  Pose<S> X_PB;
  Motion<S> c;  ///< after pass 3 the acceleration
  Force<S> pA;
  Motion<S> V;
};

template <class S>
PYSIM_INLINE Inertia<S> body_inertia(const ModelOf<S>& model, int b) {
  return spatial::all_inertia<S>(model.constants[b].inertia);
}

/// Pass 1 of 3: velocities, bias accelerations and bias forces of single bodies. V is stored for forks, or
/// for `every` body.
template <class S>
void spread_velocity(const ModelOf<S>& model,
                     const S* q,
                     const S* v,
                     const Force<S>* f_ext,
                     AbaBody<S>* body,
                     Motion<S>* columns,
                     const tree::SincosTable<S>& sincos,
                     bool every = false) {
  Motion<S> V;
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    AbaBody<S>& B = body[b];
    tree::evaluate(model, b, q, sincos, columns, B.X_PB);

    if (joint.parent < 0) {
      V = spatial::zero_motion<S>();
    } else {
      if (joint.parent < b - 1) V = body[joint.parent].V;
      V = to_child(B.X_PB, V);
    }
    V = plus_joint_twist(V, joint, columns, v);
    if (joint.fork >= 0 || every) B.V = V;
    B.c = tree::cross_joint_twist(V, joint, columns, v);
    if (joint.biased) B.c += tree::bias(model, b, columns, v);

    B.pA = cross(V, body_inertia<S>(model, b) * V);
    if (f_ext != nullptr) B.pA = B.pA - f_ext[b];
  }
}

/// Eliminates the accelerations of a joint's columns, the last one first. The recursion ends at the root's
/// first column: the world does not move.
template <bool with_forces, class S>
PYSIM_INLINE void eliminate_columns(const ModelOf<S>& model,
                                    const Joint& joint,
                                    const S* tau,
                                    const S* diagonal,
                                    const Motion<S>* columns,
                                    ArticulatedInertia<S>& IA,
                                    Force<S>& pA,
                                    Elimination<S>* elimination) {
  for (int k = joint.v + joint.nv - 1; k >= joint.v; --k) {
    const auto Sj = tree::axis(joint, columns, k - joint.v);
    Elimination<S>& E = elimination[k];
    S I_r = all<S>(model.armature[k]), u;
    if (!with_forces && diagonal != nullptr) I_r += diagonal[k];
    const Force<S> U = E.factor(IA, Sj, I_r);
    if constexpr (with_forces) u = E.push(tau[k], dot(Sj, pA));
    if (joint.parent < 0 && k == joint.v) return;
    IA = minus_outer(IA, E.K, U);
    if constexpr (with_forces) pA = fma(u, E.K, pA);
  }
}

/// Pass 2 of 3: eliminates each joint's accelerations and passes the rest to the parent. `fork` [bodies]
/// holds the articulated inertia of forks with the children processed so far, until the first child is.
///
/// Without forces it factors the inertia only: no pA, and `diagonal` (nv), if it is not null, is added to
/// the inertias of the coordinates.
template <bool with_forces = true, class S>
void reduce_to_root(const ModelOf<S>& model,
                    const S* tau,
                    AbaBody<S>* body,
                    ArticulatedInertia<S>* fork,
                    const Motion<S>* columns,
                    Elimination<S>* elimination,
                    const S* diagonal = nullptr) {
  ArticulatedInertia<S> IA;
  Force<S> pA;
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    AbaBody<S>& B = body[b];
    if (joint.leaf) {
      IA = articulated(body_inertia<S>(model, b));
      if constexpr (with_forces) pA = B.pA;
    }
    // the first child to be processed adds the parent's own inertia, which is never stored separately
    ArticulatedInertia<S> arriving;
    if (joint.hinge && (with_forces || diagonal == nullptr)) {  // the inertia about z does not pass
      Elimination<S>& E = elimination[joint.v];
      const Force<S> U = spatial::times_z(IA);
      S u;
      E.set(U, U.t.z);
      if constexpr (with_forces) u = E.push(tau[joint.v], pA.t.z);
      if (joint.parent < 0) continue;
      const spatial::HingedInertia<S> rest = hinged(IA, E.K, U);
      if constexpr (with_forces) pA = multiply_add_across_z(rest, B.c, fma(u, E.K, pA));
      arriving = to_parent(B.X_PB, rest);
    } else {
      eliminate_columns<with_forces>(model, joint, tau, diagonal, columns, IA, pA, elimination);
      if (joint.parent < 0) continue;
      if constexpr (with_forces) pA = multiply_add(IA, B.c, pA);
      arriving = to_parent(B.X_PB, IA);
    }

    AbaBody<S>& P = body[joint.parent];
    ArticulatedInertia<S>& sum = fork[joint.parent];
    if constexpr (with_forces) pA = plus_to_parent(P.pA, B.X_PB, pA);
    IA = joint.last_child ? body_inertia<S>(model, joint.parent) + arriving : sum + arriving;
    if (joint.parent < b - 1) {
      if constexpr (with_forces) P.pA = pA;
      sum = IA;
    }
  }
}

/// Pass 3 of 3: accelerations, root to leaves. Stores those of forks, or of `every` body, in c (gravity
/// included).
template <class S>
void spread_acceleration(const ModelOf<S>& model,
                         const Motion<S>* columns,
                         const Elimination<S>* elimination,
                         AbaBody<S>* body,
                         S* a,
                         bool every = false) {
  Motion<S> acc;
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    AbaBody<S>& B = body[b];
    if (joint.parent < 0) {
      acc = minus_gravity<S>(model);
    } else if (joint.parent < b - 1) {
      acc = body[joint.parent].c;
    }
    acc = plus_to_child(B.c, B.X_PB, acc);
    if (joint.hinge) {  // K of its own axis is 1: the rotation of the parent cancels
      const Elimination<S>& E = elimination[joint.v];
      const S turns = fnma(E.K.t.y, acc.w.y, fnma(E.K.t.x, acc.w.x, E.a));
      const S w_z = fnma(E.K.f.z, acc.v.z, fnma(E.K.f.y, acc.v.y, fnma(E.K.f.x, acc.v.x, turns)));
      a[joint.v] = w_z - acc.w.z;
      acc.w.z = w_z;
    }
    for (int i = 0; i < joint.nv && !joint.hinge; ++i) {
      const int k = joint.v + i;
      const Elimination<S>& E = elimination[k];
      a[k] = E.a - dot_add(acc.v, E.K.f, dot(acc.w, E.K.t));
      acc = plus(acc, tree::axis(joint, columns, i), a[k]);
    }
    if (joint.fork >= 0 || every) B.c = acc;
  }
}

/// v̇ of bodies that move in space.
template <class S>
void spatial_aba(const ModelOf<S>& model,
                 const S* q,
                 const S* v,
                 const S* tau,
                 const Force<S>* f_ext,
                 S* a,
                 Workspace<S> w) {
  AbaBody<S>* const body = take<AbaBody<S>>(w, model.bodies);
  auto* const fork = take<ArticulatedInertia<S>>(w, model.bodies);
  Elimination<S>* const elimination = take<Elimination<S>>(w, model.nv);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  const tree::SincosTable<S> sincos = tree::sincos_table(model, q, w);
  spread_velocity(model, q, v, f_ext, body, columns, sincos);
  reduce_to_root(model, tau, body, fork, columns, elimination);
  spread_acceleration(model, columns, elimination, body, a);
}

/// v̇ under the generalised forces τ. `f_ext` may be null.
template <class S>
void aba(const ModelOf<S>& model,
         const S* q,
         const S* v,
         const S* tau,
         const Force<S>* f_ext,
         S* a,
         Workspace<S> w) {
  if (model.planar_tree) return planar_aba(model, q, v, tau, f_ext, a, w);
  spatial_aba(model, q, v, tau, f_ext, a, w);
}

}  // namespace pysim::dynamics
