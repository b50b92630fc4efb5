// Influence coefficients: the unit twist of every joint coordinate, seen from the world.
//
//     h_k = X_WB S_k, about the world's origin; for a hinge or a slide on z a column of Ad: [p × R z; R z],
//     [R z; 0]
#pragma once

#include "dynamics/kinematics.hpp"

namespace pysim::dynamics {

/// Twists h (6 × nv of the tree), row-major: a joint that follows another has columns of its own.
template <class S>
void influence_coefficients(const ModelView<typename S::Real>& model, const S* q, S* h, Workspace<S> w) {
  Pose<S>* const X_WB = w.template take<Pose<S>>(model.bodies);
  Motion<S>* const columns = w.template take<Motion<S>>(model.stored_columns);
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

}  // namespace pysim::dynamics
