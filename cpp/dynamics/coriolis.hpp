// Coriolis matrix, C(q, v) v = V ×* terms, with Ṁ − 2 C skew-symmetric [Echeandia & Wensing 2021, algorithm
// 1].
//
//     C = Σ J_Bᵀ (M J̊_B + B J_B)          summed over composite bodies, as in the inertia's recursion:
//
//     F1 = M S̊ + B S      F2 = M S      F3 = Bᵀ S      of every column, then for every joint above it
//     F ← X_PB* F         C[above, k] = S_aboveᵀ F1     C[k, above] = S̊_aboveᵀ F2 + S_aboveᵀ F3
//
// F3 is a pure moment in every frame.
#pragma once

#include "dynamics/composite.hpp"

namespace pysim::dynamics {

/// The wrenches of one column on the bodies above.
template <class S>
struct ColumnWrenches {
  Force<S> F1, F2;
  Vec3<S> t3;
};

/// C of the tree, row-major (nv × nv).
template <class S>
void coriolis_matrix(const ModelOf<S>& model, const S* q, const S* v, S* C, Workspace<S> w) {
  auto* const body = take<CompositeBody<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  Motion<S>* const rate = take<Motion<S>>(w, model.nv);
  const int nv = model.nv;
  for (int i = 0; i < nv * nv; ++i) C[i] = all<S>(0);
  moving_bodies(model, q, v, body, columns, rate);

  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    const CompositeBody<S>& B = body[b];
    for (int k = joint.v; k < joint.v + joint.nv; ++k) {
      const Motion<S> Sj = column(tree::axis(joint, columns, k - joint.v));
      ColumnWrenches<S> W = {B.M * rate[k] + B.B * Sj, B.M * Sj, transpose_times(B.B, Sj)};
      for (int i = 0; i < joint.nv; ++i) {
        C[(joint.v + i) * nv + k] = dot(tree::axis(joint, columns, i), W.F1);
      }
      for (int child = b, up = joint.parent; up >= 0; child = up, up = model.joint[up].parent) {
        const Pose<S>& X_PB = body[child].X_PB;
        W = {to_parent(X_PB, W.F1), to_parent(X_PB, W.F2), X_PB.R * W.t3};
        const Force<S> F3 = {zero3<S>(), W.t3};
        const Joint& above = model.joint[up];
        for (int i = 0; i < above.nv; ++i) {
          const int l = above.v + i;
          const auto S_l = tree::axis(above, columns, i);
          C[l * nv + k] = dot(S_l, W.F1);
          C[k * nv + l] = dot(rate[l], W.F2) + dot(S_l, F3);
        }
      }
    }
    add_to_parent(joint, B, body);
  }
}

}  // namespace pysim::dynamics
