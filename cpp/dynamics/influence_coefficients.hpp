// Influence coefficients: the unit twist of every joint coordinate, in the world.
//
//     h_k = X_WB S_k, about the world's origin; for a revolute or prismatic joint along z a column of Ad:
//           [p × R z; R z] or [R z; 0]
//
// and of second order, their derivatives [Thomas & Tesar 1982; Benedict & Tesar 1978]:
//
//     H_ik = ∂h_i/∂q_k = h_k × h_i if joint k is that of i or above it, else 0
//
// to which a joint whose S depends on q adds X_WB ∂S_i/∂q_k of its own coordinates.
#pragma once

#include "dynamics/kinematics.hpp"
#include "tree/subspace_derivative.hpp"

namespace pysim::dynamics {

/// Twists h (6 × nv of the tree), row-major: a mimic joint has columns of its own.
template <class S>
void influence_coefficients(const ModelOf<S>& model, const S* q, S* h, Workspace<S> w) {
  Pose<S>* const X_WB = take<Pose<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const Pose<S> X_PB = tree::evaluate(model, b, q, columns);
    X_WB[b] = joint.parent < 0 ? X_PB : X_WB[joint.parent] * X_PB;
    for (int i = 0; i < joint.nv; ++i) {
      const Motion<S> twist = to_parent(X_WB[b], column(tree::axis(joint, columns, i)));
      const S entry[6] = {twist.v.x, twist.v.y, twist.v.z, twist.w.x, twist.w.y, twist.w.z};
      for (int r = 0; r < 6; ++r) h[r * model.nv + joint.v + i] = entry[r];
    }
  }
}

/// ∂h_i/∂q_k within joint b, in the world: the change of its S; zero if S is constant.
template <class S>
void add_reduced_slopes(const ModelOf<S>& model,
                        int b,
                        const Pose<S>& X_WB,
                        const S* q,
                        const Motion<S>* columns,
                        Motion<S>* H,
                        Workspace<S> w) {
  const Joint& joint = model.joint[b];
  if (joint.first_slope < 0) return;
  const tree::SubspaceDerivative<S> D = {joint.nv, take<Motion<S>>(w, model.slopes)};
  S* const still = take<S>(w, model.nv);
  for (int i = 0; i < model.nv; ++i) still[i] = all<S>(0);
  tree::subspace_derivative(model, b, q, still, columns, D);
  for (int i = 0; i < joint.nv; ++i) {
    for (int k = 0; k < joint.nv; ++k) {
      H[(joint.v + i) * model.nv + joint.v + k] += to_parent(X_WB, D.column(i, k));
    }
  }
}

/// H (nv, nv of the tree) of twists.
template <class S>
void second_influence_coefficients(const ModelOf<S>& model, const S* q, Motion<S>* H, Workspace<S> w) {
  Pose<S>* const X_WB = take<Pose<S>>(w, model.bodies);
  Motion<S>* const h = take<Motion<S>>(w, model.nv);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  for (int i = 0; i < model.nv * model.nv; ++i) H[i] = spatial::zero_motion<S>();
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const Pose<S> X_PB = tree::evaluate(model, b, q, columns);
    X_WB[b] = joint.parent < 0 ? X_PB : X_WB[joint.parent] * X_PB;
    for (int i = joint.v; i < joint.v + joint.nv; ++i) {
      h[i] = to_parent(X_WB[b], column(tree::axis(joint, columns, i - joint.v)));
    }
    for (int up = b; up >= 0; up = model.joint[up].parent) {
      const Joint& above = model.joint[up];
      for (int i = joint.v; i < joint.v + joint.nv; ++i) {
        for (int k = above.v; k < above.v + above.nv; ++k) H[i * model.nv + k] = cross(h[k], h[i]);
      }
    }
    add_reduced_slopes(model, b, X_WB[b], q, columns, H, w);
  }
}

}  // namespace pysim::dynamics
