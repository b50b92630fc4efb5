// Derivatives of g̈ of a loop's rows with respect to q and v, by differential dynamics of the bodies. For
// everything that coordinate k moves, in the root's axes [rnea_derivatives.hpp],
//
//     ∂V = Ψ_k dq_k + S_k dv_k        ∂A = (A_k + Ψ_k × V) dq_k + (A'_k + S_k × V) dv_k
//
// in the bodies' own frames. In frame B of a loop, + for a joint on the path to B, − for one on that to A:
//
//     ξ = ± S_k dq_k      dV_AB = ± ((Ψ_k + S_k × V_A) dq_k + S_k dv_k)
//     dA_AB = ± ((A_k − (V_A + V_B) × Ψ_k + S_k × A_A − V_B × (S_k × V_A)) dq_k
//                + (A'_k − (V_A + V_B) × S_k) dv_k)
//
// so that with dg̈ of loop_frame_derivatives.hpp a row reads three wrenches along the support path of its
// loop,
//
//     ∂g̈/∂q_k = ± (W·A_k + Y·Ψ_k + Z·S_k)    ∂g̈/∂v_k = ± (W·A'_k + Y·S_k)
//     Y = R + (V_A + V_B) ×* W      Z = P + A_A ×* W + V_A ×* (V_B ×* W + R)
#pragma once

#include "constraints/loop_frame_derivatives.hpp"
#include "constraints/loop_motion.hpp"

namespace pysim::constraints {

using dynamics::CoordinateDerivatives;

/// ∂g̈/∂q and ∂g̈/∂v (rows × reduced_nv), row-major.
template <class S>
struct RowSlopes {
  S *q, *v;
};

/// Wrenches that a row is multiplied by for a coordinate on its path.
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
                bool along_b,
                const RowPull<S>& pull,
                const CoordinateDerivatives<S>* coordinate,
                S* by_q,
                S* by_v) {
  const Joint& joint = model.joint[body];
  for (int k = joint.v; k < joint.v + joint.nv; ++k) {
    const CoordinateDerivatives<S>& C = coordinate[k];
    const auto& along = model.mimic_v[k];
    const S ratio = all<S>(along_b ? along.ratio : -along.ratio);
    by_q[along.reduced] =
        fma(ratio, dot(C.A, pull.W) + dot(C.Psi, pull.Y) + dot(C.Sj, pull.Z), by_q[along.reduced]);
    by_v[along.reduced] = fma(ratio, dot(C.A_v, pull.W) + dot(C.Sj, pull.Y), by_v[along.reduced]);
  }
}

/// The rows of a loop, along the support paths of both bodies up to their common ancestor.
template <class S>
void put_row_slopes(const ModelOf<S>& model,
                    const LoopAtState<S>& state,
                    const LoopChange<S>& change,
                    const LoopMotion<S>& m,
                    const RneaDerivatives<S>& d,
                    const RowSlopes<S>& out) {
  const Loop& loop = model.loop[state.k];
  for (int i = 0; i < state.rows; ++i) {
    const Force<S>& W = state.W[i];
    RowPull<S> pull = {W, cross(m.V_A + m.V_B, W), cross(m.A_A, W)};
    Force<S> Y_B = cross(m.V_B, W);
    if (change.turns) {
      pull.Y += change.R[i];
      pull.Z += change.P[i];
      Y_B += change.R[i];
    }
    pull.Z += cross(m.V_A, Y_B);
    const RowPull<S> on_a = pull.carried(m.X_RaB), on_b = pull.carried(m.X_RbB);
    const int row = (loop.row + i) * model.reduced_nv;
    for (int a = loop.a, b = loop.b; a != b;) {
      const bool along_b = b > a;
      int& at = along_b ? b : a;
      add_to_row(model, at, along_b, along_b ? on_b : on_a, d.coordinate, out.q + row, out.v + row);
      at = model.joint[at].parent;
    }
  }
}

}  // namespace pysim::constraints
