// Wrenches that the joints transmit, and their working parts.
//
//     F_B = M a + V ×* M V − F_ext + Σ X_BC* F_C      on body B by its joint, about the body's origin
//     working:  S (SᵀS)⁻¹ Sᵀ F                        non-working:  the rest, reciprocal to S
//
// For a hinge or a slide the working part is h* (hᵀ F), the moment about or the force along its axis. If
// the columns are not unit vectors (a screw, a plugin), it is the smallest wrench that does the same work, in
// metres. A column that vanishes, as at the top of a cam, does no work and does not contribute.
#pragma once

#include "dynamics/user_frame_motion.hpp"
#include "spatial/semidefinite_solve.hpp"

namespace pysim::dynamics {

/// S (SᵀS)⁻¹ Sᵀ F.
template <class S>
Force<S> working_part(const Joint& joint, const Motion<S>* columns, const Force<S>& F) {
  Motion<S> column[tree::max_joint_nv];
  S gram[tree::max_joint_nv * tree::max_joint_nv], x[tree::max_joint_nv];
  for (int i = 0; i < joint.nv; ++i) {
    column[i] = tree::column(tree::axis(joint, columns, i));
    x[i] = dot(column[i], F);
  }
  if (joint.first_stored >= 0) {
    for (int i = 0; i < joint.nv; ++i) {
      for (int j = 0; j < joint.nv; ++j) {
        gram[i * joint.nv + j] = dot(column[i], Force<S>{column[j].v, column[j].w});
      }
    }
    spatial::solve_semidefinite(joint.nv, gram, x);
  }
  Force<S> W = spatial::zero_force<S>();
  for (int i = 0; i < joint.nv; ++i) W = fma(x[i], Force<S>{column[i].v, column[i].w}, W);
  return W;
}

/// Wrench F and its working part W, null for none, of every joint, in the user's body frames.
template <class S>
void joint_reactions(const ModelOf<S>& model,
                     const S* q,
                     const S* v,
                     const S* a,
                     const Force<S>* f_ext,
                     Force<S>* F,
                     Force<S>* W,
                     Workspace<S> w) {
  MovingBody<S>* const body = take<MovingBody<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  spread_motion(model, q, v, a, minus_gravity<S>(model), body, columns);
  for (int b = 0; b < model.bodies; ++b) {
    const auto M = spatial::all_inertia<S>(model.constants[b].inertia);
    F[b] = newton_euler(M, body[b].V, body[b].a);
    if (f_ext != nullptr) F[b] = F[b] - f_ext[b];
  }
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    if (joint.parent >= 0) F[joint.parent] += to_parent(body[b].X_PB, F[b]);
    if (W != nullptr) W[b] = working_part(joint, columns, F[b]);
    if (!model.aligned) continue;
    const auto T = turn<S>(model, b);
    F[b] = {T * F[b].f, T * F[b].t};
    if (W != nullptr) W[b] = {T * W[b].f, T * W[b].t};
  }
}

}  // namespace pysim::dynamics
