// How g̈ of the loops' rows and the forces Jᵀλ change with q and v, along what differential dynamics says of
// the bodies: of everything that joint k moves, in the root's axes [rnea_derivatives.hpp],
//
//     ∂V = Ψ_k dq_k + S_k dv_k        ∂A = (A_k + Ψ_k × V) dq_k + (A'_k + S_k × V) dv_k
//
// for numbers in the bodies' own frames. In frame B of a loop, + for a joint on the way to B, − on that to A:
//
//     ξ = ± S_k dq_k      dV_AB = ± ((Ψ_k + S_k × V_A) dq_k + S_k dv_k)
//     dA_AB = ± ((A_k − (V_A + V_B) × Ψ_k + S_k × A_A − V_B × (S_k × V_A)) dq_k
//                + (A'_k − (V_A + V_B) × S_k) dv_k)
//
// so that with dg̈ of loop_change.hpp a row reads three wrenches along the ways of its loop,
//
//     ∂g̈/∂q_k = ± (W·A_k + Y·Ψ_k + Z·S_k)    ∂g̈/∂v_k = ± (W·A'_k + Y·S_k)
//     Y = R + (V_A + V_B) ×* W      Z = P + A_A ×* W + V_A ×* (V_B ×* W + R)
#pragma once

#include "constraints/loop_change.hpp"
#include "constraints/rows.hpp"
#include "dynamics/rnea_derivatives.hpp"

namespace pysim::constraints {

using dynamics::CoordinateDerivatives;
using dynamics::RneaDerivatives;

/// ∂g̈/∂q and ∂g̈/∂v (rows × own_nv), row-major.
template <class S>
struct RowSlopes {
  S *q, *v;
};

/// Frame B of a loop, seen from both bodies of the loop; the world is a body too.
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

/// A loop's bodies as they move, in frame B, and the way from frame B to the axes that differential dynamics
/// uses of each.
template <class S>
struct LoopMotion {
  Pose<S> X_RaB, X_RbB;
  Motion<S> V_A, V_B, A_A, A_B;

  LoopMotion(const ModelOf<S>& model, const Loop& loop, const LoopFrame<S>& at, const RneaDerivatives<S>& d) {
    carry(model, loop.a, at.X_aB, d, X_RaB, V_A, A_A);
    carry(model, loop.b, at.X_bB, d, X_RbB, V_B, A_B);
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

/// What a row sees of a coordinate on its way.
template <class S>
struct RowPull {
  Force<S> W, Y, Z;

  RowPull carried(const Pose<S>& X_RB) const {
    return {to_parent(X_RB, W), to_parent(X_RB, Y), to_parent(X_RB, Z)};
  }
};

/// Adds every coordinate of a body's joint to a row of ∂g̈.
template <class S>
void add_to_row(const ModelOf<S>& model,
                int body,
                const RowPull<S>& pull,
                S sign,
                const CoordinateDerivatives<S>* coordinate,
                S* by_q,
                S* by_v) {
  const Joint& joint = model.joint[body];
  for (int k = joint.v; k < joint.v + joint.nv; ++k) {
    const CoordinateDerivatives<S>& C = coordinate[k];
    const auto& along = model.coupling_v[k];
    const S ratio = sign * all<S>(along.ratio);
    by_q[along.own] = fma(ratio, dot(C.A, pull.W) + dot(C.Psi, pull.Y) + dot(C.Sj, pull.Z), by_q[along.own]);
    by_v[along.own] = fma(ratio, dot(C.A_v, pull.W) + dot(C.Sj, pull.Y), by_v[along.own]);
  }
}

/// The rows of a loop, along the ways of both bodies up to where they meet.
template <class S>
void put_row_slopes(const ModelOf<S>& model,
                    const HeldLoop<S>& held,
                    const LoopChange<S>& change,
                    const LoopMotion<S>& m,
                    const RneaDerivatives<S>& d,
                    const RowSlopes<S>& out) {
  const Loop& loop = model.loop[held.k];
  const S one = all<S>(1);
  for (int i = 0; i < held.rows; ++i) {
    const Force<S>& W = held.W[i];
    RowPull<S> pull = {W, cross(m.V_A + m.V_B, W), cross(m.A_A, W)};
    Force<S> rest = cross(m.V_B, W);
    if (change.turns) {
      pull.Y += change.R[i];
      pull.Z += change.P[i];
      rest += change.R[i];
    }
    pull.Z += cross(m.V_A, rest);
    const RowPull<S> on_a = pull.carried(m.X_RaB), on_b = pull.carried(m.X_RbB);
    S *const by_q = out.q + (loop.row + i) * model.own_nv, *const by_v =
                                                               out.v + (loop.row + i) * model.own_nv;
    for (int a = loop.a, b = loop.b; a != b;) {
      if (a > b) {
        add_to_row(model, a, on_a, -one, d.coordinate, by_q, by_v);
        a = model.joint[a].parent;
      } else {
        add_to_row(model, b, on_b, one, d.coordinate, by_q, by_v);
        b = model.joint[b].parent;
      }
    }
  }
}

/// Subtracts Sᵀ F of every joint from a body to the root from column `own` of a matrix.
template <class S>
void subtract_to_root(const ModelOf<S>& model,
                      int body,
                      const Force<S>& F,
                      const CoordinateDerivatives<S>* coordinate,
                      int own,
                      S* matrix) {
  for (int b = body; b >= 0; b = model.joint[b].parent) {
    const Joint& joint = model.joint[b];
    for (int i = joint.v; i < joint.v + joint.nv; ++i) {
      const auto& row = model.coupling_v[i];
      S& entry = matrix[row.own * model.own_nv + own];
      entry = fnma(all<S>(row.ratio), dot(coordinate[i].Sj, F), entry);
    }
  }
}

/// Subtracts from D_q what moving a body's joint adds to a loop's wrenches in the frames of its bodies: dF on
/// b, −(dF + ξ ×* F) on a.
template <class S>
void subtract_wrench_changes(const ModelOf<S>& model,
                             int body,
                             S sign,
                             const Pose<S>& X_RB,
                             const HeldLoop<S>& held,
                             const LoopChange<S>& change,
                             const LoopMotion<S>& m,
                             const RneaDerivatives<S>& d,
                             S* D_q) {
  const Loop& loop = model.loop[held.k];
  const Joint& joint = model.joint[body];
  for (int k = joint.v; k < joint.v + joint.nv; ++k) {
    const auto& along = model.coupling_v[k];
    const Motion<S> xi = (sign * all<S>(along.ratio)) * to_child(X_RB, d.coordinate[k].Sj);
    Force<S> on_a = -cross(xi, held.F);
    if (change.turns) {
      const Force<S> dF = times(change.T, xi);
      on_a = on_a - dF;
      subtract_to_root(model, loop.b, to_parent(m.X_RbB, dF), d.coordinate, along.own, D_q);
    }
    subtract_to_root(model, loop.a, to_parent(m.X_RaB, on_a), d.coordinate, along.own, D_q);
  }
}

/// ∂g̈ of the loops' rows to `out`, and what follows of their wrenches' changes subtracted from D_q, the
/// derivatives of M v̇ + h under wrenches that stay in their bodies. λ are the rows' forces and W their
/// wrenches as `evaluate_rows` leaves them; φ fits.
template <class S>
void add_loop_slopes(const ModelOf<S>& model,
                     const Pose<S>* X_WB,
                     const Force<S>* W,
                     const S* lambda,
                     const S* phi,
                     const RneaDerivatives<S>& d,
                     const RowSlopes<S>& out,
                     S* D_q,
                     Workspace<S> w) {
  const S one = all<S>(1);
  for (int k = 0; k < model.loops; ++k) {
    const Loop& loop = model.loop[k];
    const LoopFrame<S> at = loop_frame(model, k, X_WB);
    const LoopMotion<S> m(model, loop, at, d);
    HeldLoop<S> held = {k, loop.rows, loop.kept, lambda + loop.row, {}, {}, spatial::zero_force<S>()};
    held.motion.X_AB = inverse(stored_pose<S>(model.loop_constants[k].at_a)) * at.X_aB;
    held.motion.V = m.V_B - m.V_A;
    held.motion.A = m.A_B - m.A_A - cross(m.V_B, held.motion.V);
    for (int i = 0; i < loop.rows; ++i) {
      held.W[i] = W[loop.row + i];
      held.F += held.lambda[i] * held.W[i];
    }
    LoopChange<S> change;
    loop_change(model, held, phi, change, w);
    put_row_slopes(model, held, change, m, d, out);
    for (int a = loop.a, b = loop.b; a != b;) {
      if (a > b) {
        subtract_wrench_changes(model, a, -one, m.X_RaB, held, change, m, d, D_q);
        a = model.joint[a].parent;
      } else {
        subtract_wrench_changes(model, b, one, m.X_RbB, held, change, m, d, D_q);
        b = model.joint[b].parent;
      }
    }
  }
}

}  // namespace pysim::constraints
