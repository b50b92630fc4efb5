// Momentum of the whole mechanism about its centre of mass G, in world axes [Orin, Goswami & Lee 2013].
//
//     h = Σ X_GB* M V = A v            ḣ = Σ X_GB* (M a + V ×* M V)          X_GB = (R_WB, p_WB − c)
//     A_k = X_GB* M S_k                Ȧ_k = X_GB* (M S̊_k + (B + Bᵀ) S_k) − [0; ċ × f_k]
//
// M and B are those of composite bodies; a excludes gravity, and rotors (armature) do not contribute to h.
#pragma once

#include "dynamics/composite.hpp"
#include "dynamics/energy.hpp"
#include "dynamics/jacobian.hpp"
#include "dynamics/user_frame_motion.hpp"

namespace pysim::dynamics {

/// The centre of mass c, given the bodies' poses.
template <class S>
Vec3<S> center_of_mass(const ModelOf<S>& model, const Pose<S>* X_WB) {
  S m = all<S>(0);
  Vec3<S> mc = zero3<S>();
  for (int b = 0; b < model.bodies; ++b) {
    const auto M = spatial::all_inertia<S>(model.constants[b].inertia);
    m += M.m;
    mc += fma(M.m, X_WB[b].p, X_WB[b].R * M.mc);
  }
  return {mc.x / m, mc.y / m, mc.z / m};
}

/// X_GB, given c.
template <class S>
PYSIM_INLINE Pose<S> from_center(const Pose<S>& X_WB, const Vec3<S>& c) {
  return {X_WB.R, X_WB.p - c};
}

/// Momentum and its rate; if `a` is null, the rate is that of zero v̇.
template <class S>
struct Momentum {
  Force<S> h, h_dot;
};

template <class S>
Momentum<S> centroidal_momentum(const ModelOf<S>& model, const S* q, const S* v, const S* a, Workspace<S> w) {
  MovingBody<S>* const body = take<MovingBody<S>>(w, model.bodies);
  Pose<S>* const X_WB = take<Pose<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  spread_motion(model, q, v, a, spatial::zero_motion<S>(), body, columns);
  for (int b = 0; b < model.bodies; ++b) {
    const int parent = model.joint[b].parent;
    X_WB[b] = parent < 0 ? body[b].X_PB : X_WB[parent] * body[b].X_PB;
  }
  const Vec3<S> c = center_of_mass(model, X_WB);
  Momentum<S> sum = {spatial::zero_force<S>(), spatial::zero_force<S>()};
  for (int b = 0; b < model.bodies; ++b) {
    const auto M = spatial::all_inertia<S>(model.constants[b].inertia);
    const Pose<S> X_GB = from_center(X_WB[b], c);
    const Force<S> h = M * body[b].V;
    sum.h += to_parent(X_GB, h);
    sum.h_dot += to_parent(X_GB, M * body[b].a + cross(body[b].V, h));
  }
  return sum;
}

/// A (6 × reduced_nv), row-major.
template <class S>
void centroidal_map(const ModelOf<S>& model, const S* q, S* A, Workspace<S> w) {
  Pose<S>* const X_PB = take<Pose<S>>(w, model.bodies);
  Pose<S>* const X_WB = take<Pose<S>>(w, model.bodies);
  Inertia<S>* const composite = take<Inertia<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  for (int i = 0; i < 6 * model.reduced_nv; ++i) A[i] = all<S>(0);
  for (int b = 0; b < model.bodies; ++b) {
    const int parent = model.joint[b].parent;
    X_PB[b] = tree::evaluate(model, b, q, columns);
    X_WB[b] = parent < 0 ? X_PB[b] : X_WB[parent] * X_PB[b];
    composite[b] = spatial::all_inertia<S>(model.constants[b].inertia);
  }
  const Vec3<S> c = center_of_mass(model, X_WB);
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    const Pose<S> X_GB = from_center(X_WB[b], c);
    for (int k = joint.v; k < joint.v + joint.nv; ++k) {
      const Force<S> h = to_parent(X_GB, composite[b] * tree::axis(joint, columns, k - joint.v));
      add_column(model, k, Motion<S>{h.f, h.t}, A);
    }
    if (joint.parent >= 0)
      composite[joint.parent] = composite[joint.parent] + to_parent(X_PB[b], composite[b]);
  }
}

/// Ȧ (6 × reduced_nv), row-major.
template <class S>
void centroidal_map_rate(const ModelOf<S>& model, const S* q, const S* v, S* A_dot, Workspace<S> w) {
  auto* const body = take<CompositeBody<S>>(w, model.bodies);
  Pose<S>* const X_WB = take<Pose<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  Motion<S>* const rate = take<Motion<S>>(w, model.nv);
  moving_bodies(model, q, v, body, columns, rate);
  for (int i = 0; i < 6 * model.reduced_nv; ++i) A_dot[i] = all<S>(0);

  S m = all<S>(0);
  Vec3<S> p = zero3<S>();  // Σ f of the trees, the linear momentum
  for (int b = 0; b < model.bodies; ++b) {
    const int parent = model.joint[b].parent;
    X_WB[b] = parent < 0 ? body[b].X_PB : X_WB[parent] * body[b].X_PB;
    m += body[b].M.m;
    p += X_WB[b].R * body[b].B.f;
  }
  const Vec3<S> c = center_of_mass(model, X_WB), c_dot = (all<S>(1) / m) * p;
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    const CompositeBody<S>& C = body[b];
    const Pose<S> X_GB = from_center(X_WB[b], c);
    for (int k = joint.v; k < joint.v + joint.nv; ++k) {
      const Motion<S> Sj = column(tree::axis(joint, columns, k - joint.v));
      const Vec3<S> f = X_GB.R * (C.M * Sj).f;
      Force<S> h_dot = C.M * rate[k] + C.B * Sj;
      h_dot.t += transpose_times(C.B, Sj);
      h_dot = to_parent(X_GB, h_dot);
      h_dot.t -= cross(c_dot, f);
      add_column(model, k, Motion<S>{h_dot.f, h_dot.t}, A_dot);
    }
    add_to_parent(joint, C, body);
  }
}

}  // namespace pysim::dynamics
