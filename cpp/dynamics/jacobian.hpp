// Jacobian of a frame and its rate [Featherstone 2008, ch. 4.6; Siciliano et al. 2009, ch. 3].
//
//     V_F = J v        J_k = X_FB S_k for every joint B between F and the world, else 0
//     J̇_k = X_FB Ṡ_k − U_B × J_k       U_B = V_F − X_FB V_B, the twist of F relative to B, in F
//
// The rates are of the numbers in F's own axes. An absolute rate is D_k = J̇_k + V_F × J_k; seen from the
// world it is X_WF D_k, and with the point of reference moving with F, R D_k − [ṗ × w_k; 0].
#pragma once

#include "dynamics/frame.hpp"
#include "tree/subspace_rate.hpp"

namespace pysim::dynamics {

/// Adds a tree coordinate's column to the user's 6 × reduced_nv matrix, row-major: J_reduced = J E.
template <class S>
PYSIM_INLINE void add_column(const ModelOf<S>& model, int k, const Motion<S>& column, S* J) {
  const auto& coupling = model.mimic_v[k];
  const S ratio = all<S>(coupling.ratio);
  const S entry[6] = {column.v.x, column.v.y, column.v.z, column.w.x, column.w.y, column.w.z};
  for (int r = 0; r < 6; ++r) {
    S& number = J[r * model.reduced_nv + coupling.reduced];
    number = fma(ratio, entry[r], number);
  }
}

/// J (6 × reduced_nv), row-major.
template <class S>
void jacobian(
    const ModelOf<S>& model, const S* q, const BodyFrame<S>& frame, Expressed where, S* J, Workspace<S> w) {
  Pose<S>* const X_BF = take<Pose<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  for (int i = 0; i < 6 * model.reduced_nv; ++i) J[i] = all<S>(0);
  const Pose<S> X_WF = climb(model, q, frame, X_BF, columns);
  for (int b = frame.body; b >= 0; b = model.joint[b].parent) {
    const Joint& joint = model.joint[b];
    for (int i = 0; i < joint.nv; ++i) {
      const Motion<S> Sj = column(tree::axis(joint, columns, i));
      add_column(model, joint.v + i, express(where, X_WF, to_child(X_BF[b], Sj)), J);
    }
  }
}

/// Twist of F in its own axes.
template <class S>
Motion<S> frame_twist(
    const ModelOf<S>& model, const S* v, int body, const Pose<S>* X_BF, const Motion<S>* columns) {
  Motion<S> V_F = spatial::zero_motion<S>();
  for (int b = body; b >= 0; b = model.joint[b].parent) {
    V_F += to_child(X_BF[b], tree::joint_twist(model.joint[b], columns, v));
  }
  return V_F;
}

/// dJ/dt (6 × reduced_nv), row-major, of the numbers that `jacobian` returns.
template <class S>
void jacobian_rate(const ModelOf<S>& model,
                   const S* q,
                   const S* v,
                   const BodyFrame<S>& frame,
                   Expressed where,
                   S* J_dot,
                   Workspace<S> w) {
  Pose<S>* const X_BF = take<Pose<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  for (int i = 0; i < 6 * model.reduced_nv; ++i) J_dot[i] = all<S>(0);
  const Pose<S> X_WF = climb(model, q, frame, X_BF, columns);
  const Motion<S> V_F = frame_twist(model, v, frame.body, X_BF, columns);
  const Vec3<S> p_dot = X_WF.R * V_F.v;

  Motion<S> U = spatial::zero_motion<S>();
  for (int b = frame.body; b >= 0; b = model.joint[b].parent) {
    const Joint& joint = model.joint[b];
    const Motion<S> vJ = to_child(X_BF[b], tree::joint_twist(joint, columns, v));
    Motion<S> S_dot[tree::max_joint_nv];
    tree::subspace_rate(model, b, columns, v, S_dot);
    for (int i = 0; i < joint.nv; ++i) {
      const Motion<S> J = to_child(X_BF[b], column(tree::axis(joint, columns, i)));
      Motion<S> rate = to_child(X_BF[b], S_dot[i]) - cross(U, J);
      if (where != Expressed::local) rate = express(where, X_WF, rate + cross(V_F, J));
      if (where == Expressed::aligned) rate.v -= cross(p_dot, X_WF.R * J.w);
      add_column(model, joint.v + i, rate, J_dot);
    }
    U += vJ;
  }
}

}  // namespace pysim::dynamics
