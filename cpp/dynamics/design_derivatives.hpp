// Derivatives of inverse dynamics with respect to the placement and the axes of joints [Kwon, eqs. 5-10].
//
//     placement   X_PJ ← X_PJ e^[ε]                 a joint is moved in its parent: one virtual joint before
//     twist       X_J(q) ← e^[η] X_J(q) e^[−η]      A ← Ad(e^η) A: one virtual joint before it (η) and
//                                                   one after it (−η)
//
// A virtual joint with the unit twist s between bodies P and B has the derivatives of a real one:
//
//     Ψ = V_P × s      A = a_P × s + V_P × Ψ      Fs = 2 B Ψ + M A + s ×* F      (rnea_derivatives.hpp)
//
// Everything is in the frame R of the tree's root body. Bodies' parameters and external wrenches are in the
// frames of their bodies.
#pragma once

#include "dynamics/rnea_derivatives.hpp"

namespace pysim::dynamics {

/// One of the six directions of a body's joint; `on_joint` are its effects on the joint's passive forces.
template <class S>
struct DesignColumn {
  Motion<S> Psi, A;
  Force<S> F;
  S on_joint[tree::max_joint_nv];
};

/// A virtual joint s on a body that moves with V and a and carries B.
template <class S>
DesignColumn<S> virtual_column(const DerivativeBody<S>& B,
                               const Motion<S>& V,
                               const Motion<S>& a,
                               const Motion<S>& s) {
  DesignColumn<S> column;
  column.Psi = cross(V, s);
  column.A = cross(a, s) + cross(V, column.Psi);
  column.F = fma(all<S>(2), B.B * column.Psi, B.M * column.A) + cross(s, B.F);
  return column;
}

/// X_RJ of joint b, and velocity and acceleration of its parent in R.
template <class S>
struct JointBase {
  Pose<S> X_RJ;
  Motion<S> V, a;
};

template <class S>
JointBase<S> joint_base(
    const ModelOf<S>& model, int b, const S* q, Motion<S>* columns, const RneaDerivatives<S>& d) {
  const int parent = model.joint[b].parent;
  const Pose<S> X_PJ = tree::placement<S>(model.constants[b]);
  if (parent >= 0) return {d.body[parent].X_RB * X_PJ, d.body[parent].V, d.body[parent].a};
  const Pose<S> X_RW = inverse(tree::evaluate(model, b, q, columns));
  return {X_RW * X_PJ, spatial::zero_motion<S>(), to_parent(X_RW, minus_gravity<S>(model))};
}

/// The unit twist k of the user's axes, in the engine's body frame.
template <class S>
Motion<S> user_unit(const ModelOf<S>& model, int b, int k) {
  const auto* turn = model.constants[b].alignment;  // row k of the columns that hold the engine's axes
  const Vec3<S> e = {all<S>(turn[k % 3]), all<S>(turn[3 + k % 3]), all<S>(turn[6 + k % 3])};
  return k < 3 ? Motion<S>{e, zero3<S>()} : Motion<S>{zero3<S>(), e};
}

/// The six columns of every body; `twists` moves the joints' axes, otherwise the joints are moved in their
/// parents.
template <class S>
void design_columns(const ModelOf<S>& model,
                    const S* q,
                    bool twists,
                    const RneaDerivatives<S>& d,
                    DesignColumn<S>* column,
                    Workspace<S> w) {
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const DerivativeBody<S>& B = d.body[b];
    const JointBase<S> P = joint_base(model, b, q, columns, d);
    for (int k = 0; k < 6; ++k) {
      const Motion<S> e = user_unit<S>(model, b, k);
      DesignColumn<S>& C = column[6 * b + k];
      C = virtual_column(B, P.V, P.a, to_parent(P.X_RJ, e));
      for (int i = 0; i < joint.nv; ++i) {
        const CoordinateDerivatives<S>& I = d.coordinate[joint.v + i];
        C.on_joint[i] = dot(C.Psi.w, I.G) + dot(C.A, I.F_a);
      }
      if (!twists) continue;
      const DesignColumn<S> behind = virtual_column(B, B.V, B.a, -to_parent(B.X_RB, e));
      for (int i = 0; i < joint.nv; ++i) C.on_joint[i] += dot(d.coordinate[joint.v + i].Sj, behind.F);
      C.Psi += behind.Psi;
      C.A += behind.A;
      C.F += behind.F;
    }
  }
}

/// ∂τ_i (6 · bodies) of coordinate i of joint b.
template <class S>
void design_row(const ModelOf<S>& model,
                const RneaDerivatives<S>& d,
                const DesignColumn<S>* column,
                int b,
                int i,
                S* row) {
  const CoordinateDerivatives<S>& I = d.coordinate[i];
  for (int k = 0; k < 6 * model.bodies; ++k) row[k] = all<S>(0);
  for (int k = 6 * b; k < 6 * b + 6; ++k) row[k] = column[k].on_joint[i - model.joint[b].v];
  for (int up = model.joint[b].parent; up >= 0; up = model.joint[up].parent) {
    for (int k = 6 * up; k < 6 * up + 6; ++k) row[k] = dot(column[k].Psi.w, I.G) + dot(column[k].A, I.F_a);
  }
  for (int k = 6 * (b + 1); k < 6 * model.joint[b].end; ++k) row[k] = dot(I.Sj, column[k].F);
}

}  // namespace pysim::dynamics
