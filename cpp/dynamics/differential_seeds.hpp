// Seeds of differential dynamics: the terms that one column adds at its joint, see differential.hpp.
#pragma once

#include "dynamics/differential.hpp"

namespace pysim::dynamics {

/// V and a of a body's parent, in the parent's frame.
template <class S>
void parent_motion(
    const ModelOf<S>& model, const DifferentialDynamics<S>& d, int b, Motion<S>& V_P, Motion<S>& a_P) {
  const int parent = model.joint[b].parent;
  V_P = parent < 0 ? spatial::zero_motion<S>() : d.body[parent].V;
  a_P = parent < 0 ? minus_gravity<S>(model) : d.body[parent].a;
}

/// Adds the seed of a motion of the axes of joint b along the twist e of the joint's frame.
template <class S>
void seed_twist(const ModelOf<S>& model, const DifferentialDynamics<S>& d, int b, const Motion<S>& e) {
  const Joint& joint = model.joint[b];
  const DifferentialBody<S>& B = d.body[b];
  Motion<S> V_P, a_P;
  parent_motion(model, d, b, V_P, a_P);
  const Motion<S> e_P = to_parent(tree::placement<S>(model.constants[b]), e);
  Seed<S>& seed = d.seed[b];
  seed.P = to_child(B.X_PB, cross(V_P, e_P)) - cross(B.V, e);
  seed.Q = to_child(B.X_PB, cross(a_P, e_P)) - cross(B.a, e) - cross(B.vJ, cross(B.V, e));
  seed.R = cross(e_P, to_parent(B.X_PB, B.F)) - to_parent(B.X_PB, cross(e, B.F));
  for (int i = 0; i < joint.nv; ++i) {
    seed.tau[i] = dot(cross(e, column(tree::axis(joint, d.columns, i))), B.F);
  }
}

/// Adds the seed of coordinate k of joint b, times `ratio`: of its position …
template <class S>
void seed_position(const ModelOf<S>& model,
                   const DifferentialDynamics<S>& d,
                   int b,
                   int k,
                   const S* v,
                   const S* a,
                   S ratio) {
  const Joint& joint = model.joint[b];
  const DifferentialBody<S>& B = d.body[b];
  Motion<S> V_P, a_P;
  parent_motion(model, d, b, V_P, a_P);
  const Motion<S> Sk = column(tree::axis(joint, d.columns, k));
  Seed<S>& seed = d.seed[b];
  seed.P = fma(ratio, cross(B.V - B.vJ, Sk), seed.P);
  seed.Q = fma(ratio, cross(to_child(B.X_PB, a_P), Sk), seed.Q);
  seed.R = fma(ratio, to_parent(B.X_PB, cross(Sk, B.F)), seed.R);
  if (joint.first_slope < 0) return;
  const SubspaceDerivative<S> D = {joint.nv, d.slope + joint.first_slope};
  Motion<S> u = spatial::zero_motion<S>(), wk = D.bias(k);
  for (int i = 0; i < joint.nv; ++i) {
    u = fma(v[joint.v + i], D.column(i, k), u);
    if (a != nullptr) wk = fma(a[joint.v + i], D.column(i, k), wk);
    seed.tau[i] = fma(ratio, dot(D.column(i, k), B.F), seed.tau[i]);
  }
  seed.P = fma(ratio, u, seed.P);
  seed.Q = fma(ratio, cross(B.V, u) + wk, seed.Q);
}

/// … of its velocity; ∂c/∂v_k = u + Ṡ_k …
template <class S>
void seed_velocity(
    const ModelOf<S>& model, const DifferentialDynamics<S>& d, int b, int k, const S* v, S ratio) {
  const Joint& joint = model.joint[b];
  const Motion<S> Sk = column(tree::axis(joint, d.columns, k));
  Motion<S> rate = cross(d.body[b].V, Sk);
  if (joint.first_slope >= 0) {
    const SubspaceDerivative<S> D = {joint.nv, d.slope + joint.first_slope};
    for (int i = 0; i < joint.nv; ++i) rate = fma(v[joint.v + i], D.column(i, k) + D.column(k, i), rate);
  }
  d.seed[b].P = fma(ratio, Sk, d.seed[b].P);
  d.seed[b].Q = fma(ratio, rate, d.seed[b].Q);
}

/// … of its acceleration.
template <class S>
void seed_acceleration(const ModelOf<S>& model, const DifferentialDynamics<S>& d, int b, int k, S ratio) {
  const Joint& joint = model.joint[b];
  Seed<S>& seed = d.seed[b];
  seed.Q = fma(ratio, column(tree::axis(joint, d.columns, k)), seed.Q);
  seed.tau[k] += ratio * all<S>(model.armature[joint.v + k]);
}

}  // namespace pysim::dynamics
