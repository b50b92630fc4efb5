// Differential dynamics: derivatives of every body's motion and wrench with respect to joint twists, q, v, v̇
// [Kwon, algorithm 1, for trees of every joint shape, X_PJ ≠ 1 and external wrenches].
//
// λ = (η, q, v, v̇);  P = ∂V/∂λ, Q = ∂a/∂λ, R = ∂F/∂λ of every body in its own frame, S = ∂τ/∂λ.
// Column by column:
//
//     P = X_BP P_P + P̄        Q = X_BP Q_P + P × S v + Q̄
//     R = M Q + P ×* M V + V ×* M P + Σ (X* R_j + R̄_j)
//
//     η_b along e     P̄ = X_BP (V_P × X_PJ e) − V × e     Q̄ = X_BP (a_P × X_PJ e) − a × e − S v × (V × e)
//                     R̄ = X_PJ e ×* X* F − X* (e ×* F)
//     q_k             P̄ = X_BP V_P × S_k + u     Q̄ = X_BP a_P × S_k + V × u + w     R̄ = X* (S_k ×* F)
//     v_k             P̄ = S_k                    Q̄ = V × S_k + ∂c/∂v_k
//     v̇_k                                        Q̄ = S_k
//
// with u = ∂S/∂q_k v and w = ∂(S v̇ + c)/∂q_k of joints whose S depends on q. a contains −g.
#pragma once

#include "dynamics/kinematics.hpp"
#include "tree/subspace_derivative.hpp"

namespace pysim::dynamics {

using tree::SubspaceDerivative;

/// A body after inverse dynamics, in its own frame; F is the wrench of its joint.
template <class S>
struct DifferentialBody {
  Pose<S> X_PB;
  Motion<S> vJ, V, a;
  Force<S> MV, F;
};

/// Seed of one column at a body's joint: P̄ and Q̄ of the body, R̄ of the wrench on its parent, and change
/// of the joint's passive forces at constant wrench.
template <class S>
struct Seed {
  Motion<S> P, Q;
  Force<S> R;
  S tau[tree::max_joint_nv];
};

/// One column of P, Q and R at a body.
template <class S>
struct Change {
  Motion<S> P, Q;
  Force<S> R;
};

template <class S>
struct DifferentialDynamics {
  DifferentialBody<S>* body;
  Seed<S>* seed;
  Change<S>* change;
  Motion<S>* columns;
  Motion<S>* slope;  ///< ∂S_i/∂q_k and ∂c/∂q_k of joints whose S depends on q
};

/// Computes motions and wrenches. `a` and `f_ext` may be null.
template <class S>
DifferentialDynamics<S> prepare_differential(
    const ModelOf<S>& model, const S* q, const S* v, const S* a, const Force<S>* f_ext, Workspace<S>& w) {
  const DifferentialDynamics<S> d = {take<DifferentialBody<S>>(w, model.bodies),
                                     take<Seed<S>>(w, model.bodies),
                                     take<Change<S>>(w, model.bodies),
                                     take<Motion<S>>(w, model.stored_columns),
                                     take<Motion<S>>(w, model.slopes)};
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    DifferentialBody<S>& B = d.body[b];
    tree::evaluate(model, b, q, d.columns, B.X_PB);
    B.vJ = tree::joint_twist(joint, d.columns, v);
    const bool root = joint.parent < 0;
    B.V = B.vJ;
    if (!root) B.V += to_child(B.X_PB, d.body[joint.parent].V);
    B.a = to_child(B.X_PB, root ? minus_gravity<S>(model) : d.body[joint.parent].a) + cross(B.V, B.vJ);
    if (a != nullptr) B.a += tree::joint_twist(joint, d.columns, a);
    if (joint.biased) B.a += tree::bias(model, b, d.columns, v);
    if (joint.first_slope >= 0) {
      tree::subspace_derivative(
          model, b, q, v, d.columns, SubspaceDerivative<S>{joint.nv, d.slope + joint.first_slope});
    }
    const auto M = spatial::all_inertia<S>(model.constants[b].inertia);
    B.MV = M * B.V;
    B.F = M * B.a + cross(B.V, B.MV);
    if (f_ext != nullptr) B.F = B.F - f_ext[b];
  }
  for (int b = model.bodies - 1; b > 0; --b) {
    const int parent = model.joint[b].parent;
    if (parent >= 0) d.body[parent].F += to_parent(d.body[b].X_PB, d.body[b].F);
  }
  return d;
}

template <class S>
void clear_seed(const DifferentialDynamics<S>& d, int b) {
  d.seed[b] = {spatial::zero_motion<S>(), spatial::zero_motion<S>(), spatial::zero_force<S>(), {}};
  for (S& tau : d.seed[b].tau) tau = all<S>(0);
}

/// Computes one column of P, Q, R, in `change`, and of ∂τ (tree coordinates) from the seeds of all bodies.
template <class S>
void spread_seeds(const ModelOf<S>& model, const DifferentialDynamics<S>& d, S* tau) {
  for (int b = 0; b < model.bodies; ++b) {
    const int parent = model.joint[b].parent;
    const DifferentialBody<S>& B = d.body[b];
    Change<S>& C = d.change[b];
    C.P = d.seed[b].P;
    C.Q = d.seed[b].Q;
    if (parent >= 0) {
      C.P += to_child(B.X_PB, d.change[parent].P);
      C.Q += to_child(B.X_PB, d.change[parent].Q);
    }
    C.Q += cross(C.P, B.vJ);
    const auto M = spatial::all_inertia<S>(model.constants[b].inertia);
    C.R = M * C.Q + cross(C.P, B.MV) + cross(B.V, M * C.P);
  }
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    const Change<S>& C = d.change[b];
    for (int i = 0; i < joint.nv; ++i) {
      tau[joint.v + i] = dot(tree::axis(joint, d.columns, i), C.R) + d.seed[b].tau[i];
    }
    if (joint.parent >= 0) d.change[joint.parent].R += to_parent(d.body[b].X_PB, C.R) + d.seed[b].R;
  }
}

}  // namespace pysim::dynamics
