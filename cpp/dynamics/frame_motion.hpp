// Twist and acceleration of a frame fixed to a body.
//
//     V_F = Σ J_k v_k        A_F = Σ J_k v̇_k + J̇_k v_k,  J̇ as in jacobian.hpp
//
// A_F is the spatial acceleration, the rate of V_F's components in F's axes, without gravity. The classical
// acceleration's linear part is that of a point:  v̇ + ω × v.
#pragma once

#include "dynamics/jacobian.hpp"

namespace pysim::dynamics {

template <class S>
Motion<S> frame_velocity(const ModelOf<S>& model,
                         const S* q,
                         const S* v,
                         const BodyFrame<S>& frame,
                         Expressed where,
                         Workspace<S> w) {
  Pose<S>* const X_BF = take<Pose<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  const Pose<S> X_WF = climb(model, q, frame, X_BF, columns);
  return express(where, X_WF, frame_twist(model, v, frame.body, X_BF, columns));
}

template <class S>
Motion<S> frame_acceleration(const ModelOf<S>& model,
                             const S* q,
                             const S* v,
                             const S* a,
                             const BodyFrame<S>& frame,
                             Expressed where,
                             bool classical,
                             Workspace<S> w) {
  Pose<S>* const X_BF = take<Pose<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  const Pose<S> X_WF = climb(model, q, frame, X_BF, columns);
  Motion<S> U = spatial::zero_motion<S>(), A = spatial::zero_motion<S>();
  for (int b = frame.body; b >= 0; b = model.joint[b].parent) {
    const Joint& joint = model.joint[b];
    const Motion<S> vJ = to_child(X_BF[b], tree::joint_twist(joint, columns, v));
    Motion<S> aJ = tree::joint_twist(joint, columns, a);
    if (joint.biased) aJ += tree::bias(model, b, columns, v);
    A += to_child(X_BF[b], aJ) - cross(U, vJ);
    U += vJ;
  }
  A = express(where, X_WF, A);
  const Motion<S> V = express(where, X_WF, U);
  if (classical) A.v += cross(V.w, V.v);
  return A;
}

}  // namespace pysim::dynamics
