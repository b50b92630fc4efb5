// Passive forces of the joints: springs, damping, friction, stops.
//
//     τ = −d v − k (q ⊖ q_rest) − f tanh(v / w) − stop(q, v)
//
// A spring on a rotation stores ½ φᵀ k φ, φ = log(R_restᵀ R); its moment is −J_l⁻¹(φ) k φ. A free joint's
// spring acts on the position in the parent and on the rotation. A stop pushes only: beyond the limit, spring
// and damper, never pulling back.
#pragma once

#include "dynamics/retract.hpp"
#include "dynamics/springs.hpp"
#include "simd/math.hpp"
#include "tree/program.hpp"
#include "tree/workspace.hpp"

namespace pysim::dynamics {

using tree::Constants;
using tree::Passive;

template <class S>
PYSIM_INLINE Vec3<S> stiffness3(const Passive<typename S::Parameter>* p, const Vec3<S>& d) {
  return {all<S>(p[0].stiffness) * d.x, all<S>(p[1].stiffness) * d.y, all<S>(p[2].stiffness) * d.z};
}

/// φ = log(R_restᵀ R) of the quaternion q, given where its rest stands among the joint's coordinates.
template <class S>
PYSIM_INLINE Vec3<S> turn_from_rest(const Constants<typename S::Parameter>& c, int at, const S* q) {
  const Quaternion<S> rest = {
      all<S>(c.rest[at]), all<S>(c.rest[at + 1]), all<S>(c.rest[at + 2]), all<S>(c.rest[at + 3])};
  return spatial::log_quaternion(conjugate(rest) * load_quaternion(q));
}

/// How far q is beyond a limit [m or rad], positive above, negative below, zero between.
template <class S>
PYSIM_INLINE S beyond(const Passive<typename S::Parameter>& p, S q) {
  const S o = all<S>(0);
  return max(q - all<S>(p.upper), o) + min(q - all<S>(p.lower), o);
}

/// The pull of one joint's springs and stops, at the joint's first coordinates.
template <class S>
void spring_forces(const Joint& joint,
                   const Constants<typename S::Parameter>& c,
                   const Passive<typename S::Parameter>* joint_passive,
                   const S* joint_q,
                   const S* joint_v,
                   S* joint_tau) {
  const S o = all<S>(0);
  for (int k = 0; k < joint.blocks; ++k) {
    const Block& block = joint.block[k];
    const auto* p = joint_passive + block.v;
    const S *q = joint_q + block.q, *v = joint_v + block.v;
    S* tau = joint_tau + block.v;
    if (block.group == Group::real) {
      for (int i = 0; i < block.nv; ++i) {
        const S depth = beyond(p[i], q[i]);
        const S stop = fma(all<S>(p[i].stop_damping), v[i], all<S>(p[i].stop_stiffness) * depth);
        tau[i] = all<S>(p[i].stiffness) * (all<S>(c.rest[block.q + i]) - q[i]) -
                 select(depth > o, max(stop, o), select(depth < o, min(stop, o), o));
      }
      continue;
    }
    const int turn = block.group == Group::pose ? 3 : 0;
    const Vec3<S> phi = turn_from_rest(c, block.q + turn, q + turn);
    store(-spatial::left_jacobian_inverse_times(phi, stiffness3<S>(p + turn, phi)), tau + turn);
    if (turn == 0) continue;
    const Vec3<S> pull = stiffness3<S>(p, load3(q) - spatial::all3<S>(c.rest + block.q));
    store(-transpose_times(spatial::rotation(load_quaternion(q + turn)), pull), tau);
  }
}

/// What a plugin's own force adds, at the joint's first coordinates; r are scratch registers.
template <class S>
void add_program_force(const tree::ProgramView<typename S::Parameter>& program,
                       const Joint& joint,
                       const S* q,
                       const S* v,
                       S* tau,
                       S* r) {
  for (int i = 0; i < joint.nq; ++i) r[i] = q[i];
  for (int i = 0; i < joint.nv; ++i) r[joint.nq + i] = v[i];
  for (int i = 0; i < program.constant_count; ++i) r[joint.nq + joint.nv + i] = all<S>(program.constants[i]);
  tree::run(program, 0, program.end, r);
  for (int i = 0; i < joint.nv; ++i) tau[i] += r[program.outputs[i]];
}

/// Whether a coordinate of the joint has a spring, damping, friction or a stop in some world.
template <class S>
bool is_passive(const Joint& joint, const Passive<typename S::Parameter>* p) {
  S sum = all<S>(0);
  for (int i = 0; i < joint.nv; ++i) {
    sum += abs(all<S>(p[i].stiffness)) + abs(all<S>(p[i].damping)) + abs(all<S>(p[i].friction)) +
           abs(all<S>(p[i].stop_stiffness)) + abs(all<S>(p[i].stop_damping));
  }
  return simd::any<S>(sum > all<S>(0));
}

/// Damping and dry friction of one coordinate, added to τ.
template <class S>
void add_friction(const Passive<typename S::Parameter>& p, S rate, S& tau) {
  tau = fnma(all<S>(p.damping), rate, tau);
  const S friction = all<S>(p.friction);
  const auto rubs = friction > all<S>(0);
  if (!simd::any<S>(rubs)) return;
  tau = select(rubs, fnma(friction, simd::tanh(rate / all<S>(p.friction_width)), tau), tau);
}

/// The passive forces that joints have of themselves, in tree coordinates.
template <class S>
void passive_joint_forces(const ModelOf<S>& model, const S* q, const S* v, S* tau, tree::Workspace<S> w) {
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const Passive<typename S::Parameter>* p = model.passive + joint.v;
    for (int i = 0; i < joint.nv; ++i) tau[joint.v + i] = all<S>(0);
    if (is_passive<S>(joint, p)) {
      spring_forces(joint, model.constants[b], p, q + joint.q, v + joint.v, tau + joint.v);
      for (int i = 0; i < joint.nv; ++i) add_friction(p[i], v[joint.v + i], tau[joint.v + i]);
    }
    if (joint.force < 0) continue;
    add_program_force(model.program[joint.force], joint, q + joint.q, v + joint.v, tau + joint.v, w.next);
  }
}

/// Passive generalised forces [N or N·m] in tree coordinates.
template <class S>
void passive_forces(const ModelOf<S>& model, const S* q, const S* v, S* tau, tree::Workspace<S> w) {
  passive_joint_forces(model, q, v, tau, w);
  if (model.springs > 0) add_spring_forces(model, q, v, tau, w);
}

/// Energy stored in the joints' springs and stops [J].
template <class S>
S elastic_energy(const ModelOf<S>& model, const S* tree_q) {
  S twice = all<S>(0);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const Constants<typename S::Parameter>& c = model.constants[b];
    for (int k = 0; k < joint.blocks; ++k) {
      const Block& block = joint.block[k];
      const Passive<typename S::Parameter>* p = model.passive + joint.v + block.v;
      const S* q = tree_q + joint.q + block.q;
      if (block.group == Group::real) {
        for (int i = 0; i < block.nv; ++i) {
          const S d = q[i] - all<S>(c.rest[block.q + i]);
          const S depth = beyond(p[i], q[i]);
          twice += all<S>(p[i].stiffness) * d * d + all<S>(p[i].stop_stiffness) * depth * depth;
        }
        continue;
      }
      const int turn = block.group == Group::pose ? 3 : 0;
      const Vec3<S> phi = turn_from_rest(c, block.q + turn, q + turn);
      twice += dot(phi, stiffness3<S>(p + turn, phi));
      if (turn == 0) continue;
      const Vec3<S> d = load3(q) - spatial::all3<S>(c.rest + block.q);
      twice += dot(d, stiffness3<S>(p, d));
    }
  }
  return all<S>(typename S::Real(0.5)) * twice;
}

}  // namespace pysim::dynamics
