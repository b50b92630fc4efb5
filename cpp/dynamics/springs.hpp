// Springs and dampers between points of two bodies.
//
//     n = (p_B − p_A)/|p_B − p_A|,  f = −k (|p_B − p_A| − length) − c n·(v_B − v_A)       f n on b, −f n on a
//     τ = Jᵀ f,  E = ½ k (|p_B − p_A| − length)²
#pragma once

#include "dynamics/kinematics.hpp"
#include "elements/placed_bodies.hpp"

namespace pysim::dynamics {

using elements::PlacedBody;
using elements::point_motion;
using elements::PointMotion;
using tree::Spring;

/// The force on a spring's end A, in the world; the force on its end B is opposite.
template <class S>
Vec3<S> spring_pull(const Spring<typename S::Parameter>& spring,
                    const PointMotion<S>& A,
                    const PointMotion<S>& B) {
  const Vec3<S> d = B.p - A.p;
  const S reach = sqrt(dot(d, d)), o = all<S>(0);
  const Vec3<S> n = select(reach > o, all<S>(1) / reach, o) * d;  // coincident ends have no direction
  const S pull = fma(
      all<S>(spring.stiffness), reach - all<S>(spring.length), all<S>(spring.damping) * dot(n, B.v - A.v));
  return pull * n;
}

/// Adds the forces of all springs and dampers to τ, in tree coordinates.
template <class S>
void add_spring_forces(const ModelOf<S>& model, const S* q, const S* v, S* tau, Workspace<S> w) {
  PlacedBody<S>* const body = take<PlacedBody<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  elements::place_bodies(model, q, v, body, columns);
  for (int k = 0; k < model.springs; ++k) {
    const auto& spring = model.spring[k];
    const Vec3<S> at_a = spatial::all3<S>(spring.at_a), at_b = spatial::all3<S>(spring.at_b);
    const Vec3<S> f =
        spring_pull(spring, point_motion(body, spring.a, at_a), point_motion(body, spring.b, at_b));
    elements::push_point(model, body, static_cast<const Motion<S>*>(columns), spring.b, at_b, -f, tau);
    elements::push_point(model, body, static_cast<const Motion<S>*>(columns), spring.a, at_a, f, tau);
  }
}

/// Energy stored in the springs between bodies [J].
template <class S>
S spring_energy(const ModelOf<S>& model, const S* q, Workspace<S> w) {
  S twice = all<S>(0);
  if (model.springs == 0) return twice;
  PlacedBody<S>* const body = take<PlacedBody<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  elements::place_bodies(model, q, static_cast<const S*>(nullptr), body, columns);
  for (int k = 0; k < model.springs; ++k) {
    const auto& spring = model.spring[k];
    const Vec3<S> d = point_motion(body, spring.b, spatial::all3<S>(spring.at_b)).p -
                      point_motion(body, spring.a, spatial::all3<S>(spring.at_a)).p;
    const S stretch = sqrt(dot(d, d)) - all<S>(spring.length);
    twice += all<S>(spring.stiffness) * stretch * stretch;
  }
  return all<S>(typename S::Real(0.5)) * twice;
}

}  // namespace pysim::dynamics
