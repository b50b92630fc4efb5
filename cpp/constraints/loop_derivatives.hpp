// Derivatives of loops with respect to q and v: g̈ of their rows, and Jᵀλ of wrenches that follow the loops'
// frames.
//
// Inverse dynamics treats the wrenches F on b and −X_AB* F on a as fixed in these bodies. For X_AB e^[ξ]
// they change there by dF and −X_AB* (dF + ξ ×* F), dF = T ξ of loop_frame_derivatives.hpp.
#pragma once

#include "constraints/row_derivatives.hpp"

namespace pysim::constraints {

/// Subtracts Sᵀ F of every joint from a body to the root from column `column` of a matrix.
template <class S>
void subtract_to_root(const ModelOf<S>& model,
                      int body,
                      const Force<S>& F,
                      const CoordinateDerivatives<S>* coordinate,
                      int column,
                      S* matrix) {
  for (int b = body; b >= 0; b = model.joint[b].parent) {
    const Joint& joint = model.joint[b];
    for (int i = joint.v; i < joint.v + joint.nv; ++i) {
      const auto& row = model.mimic_v[i];
      S& entry = matrix[row.reduced * model.reduced_nv + column];
      entry = fnma(all<S>(row.ratio), dot(coordinate[i].Sj, F), entry);
    }
  }
}

/// Subtracts from D_q the change of a loop's wrenches, in its bodies' frames, as a body's joint moves: dF on
/// b, −(dF + ξ ×* F) on a.
template <class S>
void subtract_wrench_changes(const ModelOf<S>& model,
                             int body,
                             bool along_b,
                             const LoopAtState<S>& at_state,
                             const LoopChange<S>& change,
                             const LoopMotion<S>& m,
                             const RneaDerivatives<S>& d,
                             S* D_q) {
  const Loop& loop = model.loop[at_state.k];
  const Joint& joint = model.joint[body];
  const Pose<S>& X_RB = along_b ? m.X_RbB : m.X_RaB;
  for (int k = joint.v; k < joint.v + joint.nv; ++k) {
    const auto& along = model.mimic_v[k];
    const S ratio = all<S>(along_b ? along.ratio : -along.ratio);
    const Motion<S> xi = ratio * to_child(X_RB, d.coordinate[k].Sj);
    Force<S> on_a = -cross(xi, at_state.F);
    if (change.turns) {
      const Force<S> dF = times(change.T, xi);
      on_a = on_a - dF;
      subtract_to_root(model, loop.b, to_parent(m.X_RbB, dF), d.coordinate, along.reduced, D_q);
    }
    subtract_to_root(model, loop.a, to_parent(m.X_RaB, on_a), d.coordinate, along.reduced, D_q);
  }
}

/// ∂g̈ of the loops' rows to `out`, and the torques of their wrenches' changes subtracted from D_q, the
/// derivatives of M v̇ + h under wrenches fixed in their bodies. λ are the rows' forces, W their wrenches.
template <class S>
void add_loop_slopes(const ModelOf<S>& model,
                     const Clock<S>& clock,
                     const Pose<S>* X_WB,
                     const Force<S>* W,
                     const S* lambda,
                     const S* phi,
                     const RneaDerivatives<S>& d,
                     const RowSlopes<S>& out,
                     S* D_q,
                     Workspace<S> w) {
  for (int k = 0; k < model.loops; ++k) {
    const Loop& loop = model.loop[k];
    const LoopMotion<S> m(model, k, clock, X_WB, d, w);
    const LoopAtState<S> at_state(k, loop, m.relative, W, lambda);
    LoopChange<S> change;
    loop_change(model, at_state, phi, change, w);
    put_row_slopes(model, at_state, change, m, d, out);
    for (int a = loop.a, b = loop.b; a != b;) {
      const bool along_b = b > a;
      int& at = along_b ? b : a;
      subtract_wrench_changes(model, at, along_b, at_state, change, m, d, D_q);
      at = model.joint[at].parent;
    }
  }
}

}  // namespace pysim::constraints
