// Recursive Newton-Euler algorithm, inverse dynamics [Featherstone 2008, table 5.1].
//
//     V = X_BP V_P + S v                 a = X_BP a_P + S v̇ + c + V × S v        a₀ = −g
//     F = M a + V ×* M V − F_ext         τ = Sᵀ F + armature v̇                   F_P += X_PB* F
#pragma once

#include "dynamics/kinematics.hpp"

namespace pysim::dynamics {

/// τ for the accelerations `a` [N or N·m]. `a` may be null (zero), `f_ext` may be null (none).
template <class S>
void rnea(const ModelOf<S>& model,
          const S* q,
          const S* v,
          const S* a,
          const Force<S>* f_ext,
          S* tau,
          Workspace<S> w) {
  struct Body {
    Pose<S> X_PB;
    Force<S> F;
  };
  struct Moving {
    Motion<S> V, a;
  };
  Body* const body = take<Body>(w, model.bodies);
  Moving* const moving = take<Moving>(w, model.bodies);  // of forks; others are used at once
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  const tree::SincosTable<S> sincos = tree::sincos_table(model, q, w);

  Motion<S> V, acc;
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    Body& B = body[b];
    tree::evaluate(model, b, q, sincos, columns, B.X_PB);

    if (joint.parent < 0) {
      V = spatial::zero_motion<S>();
      acc = to_child(B.X_PB, minus_gravity<S>(model));
    } else {
      if (joint.parent < b - 1) V = moving[joint.parent].V, acc = moving[joint.parent].a;
      V = to_child(B.X_PB, V);
      acc = to_child(B.X_PB, acc);
    }
    V = plus_joint_twist(V, joint, columns, v);
    if (a != nullptr) acc = plus_joint_twist(acc, joint, columns, a);
    acc = tree::plus_cross_joint_twist(acc, V, joint, columns, v);
    if (joint.biased) acc += tree::bias(model, b, columns, v);
    if (joint.fork >= 0) moving[b] = {V, acc};

    const auto M = spatial::all_inertia<S>(model.constants[b].inertia);
    B.F = newton_euler(M, V, acc);
    if (f_ext != nullptr) B.F = B.F - f_ext[b];
  }

  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    const Body& B = body[b];
    for (int i = 0; i < joint.nv; ++i) {
      const int k = joint.v + i;
      tau[k] = dot(tree::axis(joint, columns, i), B.F);
      if (a != nullptr) tau[k] = fma(all<S>(model.armature[k]), a[k], tau[k]);
    }
    if (joint.parent < 0) continue;
    Force<S>& F_P = body[joint.parent].F;
    F_P = plus_to_parent(F_P, B.X_PB, B.F);
  }
}

}  // namespace pysim::dynamics
