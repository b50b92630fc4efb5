// Springs and dampers between points of two bodies.
//
//     n = (p_B − p_A)/|p_B − p_A|,  f = −k (|p_B − p_A| − length) − c n·(v_B − v_A)       f n on b, −f n on a
//     τ = Jᵀ f,  E = ½ k (|p_B − p_A| − length)²
#pragma once

#include "dynamics/kinematics.hpp"

namespace pysim::dynamics {

using tree::Spring;

/// Placement and motion of one body, for the ends of springs.
template <class S>
struct Carrier {
  Pose<S> X_PB, X_WB;
  Motion<S> V;
};

/// X_PB, X_WB and V of every body, and the joints' columns. v may be null (zero).
template <class S>
void spread_carriers(const ModelOf<S>& model, const S* q, const S* v, Carrier<S>* body, Motion<S>* columns) {
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    Carrier<S>& B = body[b];
    const bool root = joint.parent < 0;
    tree::evaluate(model, b, q, columns, B.X_PB);
    B.X_WB = root ? B.X_PB : body[joint.parent].X_WB * B.X_PB;
    B.V = root ? spatial::zero_motion<S>() : to_child(B.X_PB, body[joint.parent].V);
    for (int i = 0; v != nullptr && i < joint.nv; ++i)
      B.V = plus(B.V, tree::axis(joint, columns, i), v[joint.v + i]);
  }
}

/// The end of a spring: where it is and how fast, in the world.
template <class S>
struct SpringEnd {
  Vec3<S> p, v;
};

template <class S>
PYSIM_INLINE SpringEnd<S> spring_end(const Pose<S>& X_WB, const Motion<S>& V, const Vec3<S>& at) {
  return {X_WB * at, X_WB.R * cross_add(V.w, at, V.v)};
}

template <class S>
SpringEnd<S> spring_end(const Carrier<S>* body, int b, const Vec3<S>& at) {
  if (b < 0) return {at, zero3<S>()};
  return spring_end(body[b].X_WB, body[b].V, at);
}

/// The force on a spring's end A, in the world; the force on its end B is opposite.
template <class S>
Vec3<S> spring_pull(const Spring<typename S::Parameter>& spring,
                    const SpringEnd<S>& A,
                    const SpringEnd<S>& B) {
  const Vec3<S> d = B.p - A.p;
  const S reach = sqrt(dot(d, d)), o = all<S>(0);
  const Vec3<S> n = select(reach > o, all<S>(1) / reach, o) * d;  // coincident ends have no direction
  const S pull = fma(
      all<S>(spring.stiffness), reach - all<S>(spring.length), all<S>(spring.damping) * dot(n, B.v - A.v));
  return pull * n;
}

/// Sᵀ F of every joint from body b to the world, added to τ; f acts in the world at a point of b.
template <class S>
void push_at(const ModelOf<S>& model,
             const Carrier<S>* body,
             const Motion<S>* columns,
             int b,
             const Vec3<S>& at,
             const Vec3<S>& f,
             S* tau) {
  if (b < 0) return;
  const Vec3<S> f_B = transpose_times(body[b].X_WB.R, f);
  Force<S> F = {f_B, cross(at, f_B)};
  for (; b >= 0; b = model.joint[b].parent) {
    const Joint& joint = model.joint[b];
    for (int i = 0; i < joint.nv; ++i) tau[joint.v + i] += dot(tree::axis(joint, columns, i), F);
    F = to_parent(body[b].X_PB, F);
  }
}

/// Adds the forces of all springs and dampers to τ, in tree coordinates.
template <class S>
void add_spring_forces(const ModelOf<S>& model, const S* q, const S* v, S* tau, Workspace<S> w) {
  Carrier<S>* const body = take<Carrier<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  spread_carriers(model, q, v, body, columns);
  for (int k = 0; k < model.springs; ++k) {
    const auto& spring = model.spring[k];
    const Vec3<S> at_a = spatial::all3<S>(spring.at_a), at_b = spatial::all3<S>(spring.at_b);
    const Vec3<S> f = spring_pull(spring, spring_end(body, spring.a, at_a), spring_end(body, spring.b, at_b));
    push_at(model, body, static_cast<const Motion<S>*>(columns), spring.b, at_b, -f, tau);
    push_at(model, body, static_cast<const Motion<S>*>(columns), spring.a, at_a, f, tau);
  }
}

/// Energy stored in the springs between bodies [J].
template <class S>
S spring_energy(const ModelOf<S>& model, const S* q, Workspace<S> w) {
  S twice = all<S>(0);
  if (model.springs == 0) return twice;
  Carrier<S>* const body = take<Carrier<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  spread_carriers(model, q, static_cast<const S*>(nullptr), body, columns);
  for (int k = 0; k < model.springs; ++k) {
    const auto& spring = model.spring[k];
    const Vec3<S> d = spring_end(body, spring.b, spatial::all3<S>(spring.at_b)).p -
                      spring_end(body, spring.a, spatial::all3<S>(spring.at_a)).p;
    const S stretch = sqrt(dot(d, d)) - all<S>(spring.length);
    twice += all<S>(spring.stiffness) * stretch * stretch;
  }
  return all<S>(typename S::Real(0.5)) * twice;
}

}  // namespace pysim::dynamics
