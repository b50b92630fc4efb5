// Motion of a loop's frame B and of its two bodies, in the form that differential dynamics of the tree uses.
#pragma once

#include "constraints/constraint_rows.hpp"
#include "dynamics/rnea_derivatives.hpp"

namespace pysim::constraints {

using dynamics::RneaDerivatives;

/// Frame B of a loop, relative to both bodies of the loop; either may be the world.
template <class S>
struct LoopFrame {
  Pose<S> X_aB, X_bB;
};

template <class S>
LoopFrame<S> loop_frame(const ModelOf<S>& model, int k, const Pose<S>* X_WB) {
  const Loop& loop = model.loop[k];
  const auto at_b = stored_pose<S>(model.loop_constants[k].at_b);
  const Pose<S> X_WF = loop.b < 0 ? at_b : X_WB[loop.b] * at_b;
  return {loop.a < 0 ? X_WF : inverse(X_WB[loop.a]) * X_WF, at_b};
}

/// Adds the wrenches Σ λ W of all loops to the bodies' external ones.
template <class S>
void add_loop_wrenches(
    const ModelOf<S>& model, const Pose<S>* X_WB, const Force<S>* W, const S* lambda, Force<S>* f_ext) {
  for (int k = 0; k < model.loops; ++k) {
    const Loop& loop = model.loop[k];
    const LoopFrame<S> at = loop_frame(model, k, X_WB);
    for (int i = loop.row; i < loop.row + loop.rows; ++i) {
      const Force<S> F = lambda[i] * W[i];
      if (loop.a >= 0) f_ext[loop.a] = f_ext[loop.a] - to_parent(at.X_aB, F);
      if (loop.b >= 0) f_ext[loop.b] += to_parent(at.X_bB, F);
    }
  }
}

/// Motion of a loop's bodies in frame B, and the pose of frame B on the axes that rnea_derivatives.hpp
/// uses of each body's tree. In a driven loop frame M of driven_frame.hpp takes the place of A:
///
///     V_M = V_A + U      A_M = A_A + X_BM A_AM + V_A × U      U = X_BM V_AM
template <class S>
struct LoopMotion {
  Pose<S> X_RaB, X_RbB;
  Motion<S> V_A, V_B, A_A;
  RelativeMotion<S> relative;

  LoopMotion(const ModelOf<S>& model,
             int k,
             const Clock<S>& clock,
             const Pose<S>* X_WB,
             const RneaDerivatives<S>& d,
             Workspace<S> w) {
    const Loop& loop = model.loop[k];
    const LoopFrame<S> at = loop_frame(model, k, X_WB);
    Motion<S> A_B;
    carry(model, loop.a, at.X_aB, d, X_RaB, V_A, A_A);
    carry(model, loop.b, at.X_bB, d, X_RbB, V_B, A_B);
    relative.X_AB = inverse(stored_pose<S>(model.loop_constants[k].at_a)) * at.X_aB;
    if (loop.program >= 0) {
      const DrivenFrame<S> M(model, loop, clock, w);
      relative.X_AB = inverse(M.X_AM) * relative.X_AB;
      const Motion<S> U = to_child(relative.X_AB, M.V);
      A_A += to_child(relative.X_AB, M.A) + cross(V_A, U);
      V_A += U;
    }
    relative.V = V_B - V_A;
    relative.A = A_B - A_A - cross(V_B, relative.V);
  }

 private:
  static void carry(const ModelOf<S>& model,
                    int body,
                    const Pose<S>& X_bodyB,
                    const RneaDerivatives<S>& d,
                    Pose<S>& X_RB,
                    Motion<S>& V,
                    Motion<S>& A) {
    X_RB = body < 0 ? X_bodyB : d.body[body].X_RB * X_bodyB;
    V = body < 0 ? spatial::zero_motion<S>() : to_child(X_RB, d.body[body].V);
    A = to_child(X_RB, body < 0 ? dynamics::minus_gravity<S>(model) : d.body[body].a);
  }
};

}  // namespace pysim::constraints
