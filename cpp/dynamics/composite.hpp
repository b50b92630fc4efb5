// Composite bodies in motion: the inertia that every joint carries, and the rate of that inertia.
//
//     V = X_BP V_P + S v      S̊ = Ṡ + V × S                                      root to leaves
//     M_P += X_PB* M X_BP     B_P += X_PB* B X_BP,   B(M, V) of gyroscopic.hpp     leaves to root
//
// S̊ is a column's absolute rate, in the body's axes.
#pragma once

#include "dynamics/kinematics.hpp"
#include "spatial/gyroscopic.hpp"
#include "tree/subspace_rate.hpp"

namespace pysim::dynamics {

template <class S>
struct CompositeBody {
  Pose<S> X_PB;
  Motion<S> V;
  Inertia<S> M;
  spatial::Gyroscopic<S> B;
};

/// Single bodies, root to leaves; `rate` (tree nv) are the columns' absolute rates.
template <class S>
void moving_bodies(const ModelOf<S>& model,
                   const S* q,
                   const S* v,
                   CompositeBody<S>* body,
                   Motion<S>* columns,
                   Motion<S>* rate) {
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    CompositeBody<S>& C = body[b];
    tree::evaluate(model, b, q, columns, C.X_PB);
    Motion<S> V = joint.parent < 0 ? spatial::zero_motion<S>() : to_child(C.X_PB, body[joint.parent].V);
    for (int i = 0; i < joint.nv; ++i) V = plus(V, tree::axis(joint, columns, i), v[joint.v + i]);
    C.V = V;
    C.M = spatial::all_inertia<S>(model.constants[b].inertia);
    C.B = spatial::gyroscopic(C.M, V);
    tree::subspace_rate(model, b, columns, v, rate + joint.v);
    for (int i = joint.v; i < joint.v + joint.nv; ++i) {
      rate[i] += cross(V, column(tree::axis(joint, columns, i - joint.v)));
    }
  }
}

/// Adds body b, with all its children, to its parent.
template <class S>
PYSIM_INLINE void add_to_parent(const Joint& joint, const CompositeBody<S>& C, CompositeBody<S>* body) {
  if (joint.parent < 0) return;
  CompositeBody<S>& P = body[joint.parent];
  P.M = P.M + to_parent(C.X_PB, C.M);
  P.B = P.B + to_parent(C.X_PB, C.B);
}

}  // namespace pysim::dynamics
