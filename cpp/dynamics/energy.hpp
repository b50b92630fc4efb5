// Kinetic and potential energy, and the centre of mass.
//
//     K = ½ Σ Vᵀ M V + ½ Σ armature v²        U = −Σ g·(m p_WB + R_WB mc)
//     com = Σ (m p_WB + R_WB mc) / Σ m
#pragma once

#include "dynamics/kinematics.hpp"

namespace pysim::dynamics {

/// Kinetic energy [J], rotors included.
template <class S>
S kinetic_energy(const ModelOf<S>& model, const S* q, const S* v, Workspace<S> w) {
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  Motion<S>* const velocity = take<Motion<S>>(w, model.bodies);
  const tree::SincosTable<S> sincos = tree::sincos_table(model, q, w);
  S twice = all<S>(0);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const Pose<S> X_PB = tree::evaluate(model, b, q, sincos, columns);
    Motion<S> V = joint.parent < 0 ? spatial::zero_motion<S>() : to_child(X_PB, velocity[joint.parent]);
    for (int i = 0; i < joint.nv; ++i) {
      const int k = joint.v + i;
      V = plus(V, tree::axis(joint, columns, i), v[k]);
      twice = fma(all<S>(model.armature[k]) * v[k], v[k], twice);
    }
    velocity[b] = V;
    twice += dot(V, spatial::all_inertia<S>(model.constants[b].inertia) * V);
  }
  return all<S>(typename S::Real(0.5)) * twice;
}

/// Mass [kg] and first moment [kg·m] of all moving bodies about the world's origin, in world axes.
template <class S>
struct FirstMoment {
  S m;
  Vec3<S> mc;
};

template <class S>
FirstMoment<S> first_moment(const ModelOf<S>& model, const S* q, Workspace<S> w) {
  Pose<S>* const X_WB = take<Pose<S>>(w, model.bodies);
  forward_kinematics(model, q, X_WB, w);
  FirstMoment<S> sum = {all<S>(0), zero3<S>()};
  for (int b = 0; b < model.bodies; ++b) {
    const auto M = spatial::all_inertia<S>(model.constants[b].inertia);
    sum.m += M.m;
    sum.mc += fma(M.m, X_WB[b].p, X_WB[b].R * M.mc);
  }
  return sum;
}

/// Potential energy in the uniform field g [J], zero at the world's origin.
template <class S>
S potential_energy(const ModelOf<S>& model, const S* q, Workspace<S> w) {
  return -dot(spatial::all3<S>(model.gravity), first_moment(model, q, w).mc);
}

}  // namespace pysim::dynamics
