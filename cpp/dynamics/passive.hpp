// Passive forces of the joints: springs, damping, friction, stops; and of elements between bodies.
//
// Those of a plain coordinate are in passive_law.hpp. A spring on a rotation stores ½ φᵀ k φ, φ = log(R_restᵀ
// R); its moment is −J_l⁻¹(φ) k φ. A free joint's spring acts on the position in the parent and on the
// rotation.
#pragma once

#include "dynamics/kinematics.hpp"
#include "dynamics/passive_law.hpp"
#include "dynamics/retract.hpp"
#include "elements/contact_forces.hpp"
#include "elements/forces.hpp"
#include "simd/math.hpp"
#include "simd/parameter.hpp"
#include "tree/program.hpp"
#include "tree/workspace.hpp"

namespace pysim::dynamics {

using tree::Constants;

template <class S>
PYSIM_INLINE Vec3<S> stiffness3(const Passive<typename S::Parameter>* p, const Vec3<S>& d) {
  return {all<S>(p[0].stiffness) * d.x, all<S>(p[1].stiffness) * d.y, all<S>(p[2].stiffness) * d.z};
}

/// φ = log(R_restᵀ R) of the quaternion q, given the place of its rest among the joint's coordinates.
template <class S>
PYSIM_INLINE Vec3<S> turn_from_rest(const Constants<typename S::Parameter>& c, int at, const S* q) {
  const Quaternion<S> rest = {
      all<S>(c.rest[at]), all<S>(c.rest[at + 1]), all<S>(c.rest[at + 2]), all<S>(c.rest[at + 3])};
  return spatial::log_quaternion(conjugate(rest) * load_quaternion(q));
}

/// Forces of springs on a block's rotation or pose, at the block's first coordinates.
template <class S>
void turning_spring(const Block& block,
                    const Constants<typename S::Parameter>& c,
                    const Passive<typename S::Parameter>* p,
                    const S* q,
                    S* tau) {
  const int turn = block.group == Group::pose ? 3 : 0;
  const Vec3<S> phi = turn_from_rest(c, block.q + turn, q + turn);
  store(-spatial::left_jacobian_inverse_times(phi, stiffness3<S>(p + turn, phi)), tau + turn);
  if (turn == 0) return;
  const Vec3<S> pull = stiffness3<S>(p, load3(q) - spatial::all3<S>(c.rest + block.q));
  store(-transpose_times(spatial::rotation(load_quaternion(q + turn)), pull), tau);
}

/// The force of a plugin, at the joint's first coordinates; r are scratch registers.
template <class S>
void add_program_force(const tree::ProgramView<typename S::Parameter>& program,
                       const Joint& joint,
                       const S* q,
                       const S* v,
                       S* tau,
                       S* r) {
  for (int i = 0; i < joint.nq; ++i) r[i] = q[i];
  for (int i = 0; i < joint.nv; ++i) r[joint.nq + i] = v[i];
  tree::load_constants(program, r + joint.nq + joint.nv);
  tree::run(program, 0, program.end, r);
  for (int i = 0; i < joint.nv; ++i) tau[i] += r[program.outputs[i]];
}

/// Springs, stops, damping and friction of one block, into τ at its first coordinates.
template <class S>
PYSIM_INLINE void block_forces(const Block& block,
                               const Constants<typename S::Parameter>& c,
                               const Passive<typename S::Parameter>* p,
                               const S* q,
                               const S* v,
                               S* tau) {
  const bool is_real = block.group == Group::real;
  if (!is_real) {
    bool sprung = false;
    for (int i = 0; i < block.nv; ++i) {
      tau[i] = all<S>(0);
      sprung = sprung || simd::is_there(p[i].stiffness);
    }
    if (sprung) turning_spring(block, c, p, q, tau);
  }
  for (int i = 0; i < block.nv; ++i) {
    PassiveLaw<S> law = is_real ? spring_and_stop(p[i], all<S>(c.rest[block.q + i]), q[i], v[i])
                                : PassiveLaw<S>{tau[i], all<S>(0), all<S>(0)};
    add_damper_and_friction(p[i], v[i], law);
    tau[i] = law.force;
  }
}

/// The joints' passive forces, in tree coordinates.
template <class S>
void passive_joint_forces(const ModelOf<S>& model, const S* q, const S* v, S* tau, tree::Workspace<S> w) {
  if (!model.joint_forces) {
    for (int i = 0; i < model.nv; ++i) tau[i] = all<S>(0);
    return;
  }
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const S *joint_q = q + joint.q, *joint_v = v + joint.v;
    S* const joint_tau = tau + joint.v;
    for (int k = 0; k < joint.blocks; ++k) {
      const Block& block = joint.block[k];
      const Passive<typename S::Parameter>* const p = model.passive + joint.v + block.v;
      block_forces(block, model.constants[b], p, joint_q + block.q, joint_v + block.v, joint_tau + block.v);
    }
    if (joint.force < 0) continue;
    const auto& program = model.program[joint.force];
    tree::Workspace<S> inner = w;
    add_program_force(program, joint, joint_q, joint_v, joint_tau, take<S>(inner, program.registers));
  }
}

/// Passive generalised forces [N or N·m] in tree coordinates.
template <class S>
void passive_forces(const ModelOf<S>& model, const S* q, const S* v, S* tau, tree::Workspace<S> w) {
  passive_joint_forces(model, q, v, tau, w);
  if (model.elements > 0) elements::add_element_forces(model, q, v, tau, w);
  if (model.contacts != nullptr) elements::add_contact_forces(model, q, v, tau, w);
}

/// Energy stored in the joints' springs and stops [J].
template <class S>
S elastic_energy(const ModelOf<S>& model, const S* full_q) {
  const S half = all<S>(typename S::Real(0.5));
  S energy = all<S>(0);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const Constants<typename S::Parameter>& c = model.constants[b];
    for (int k = 0; k < joint.blocks; ++k) {
      const Block& block = joint.block[k];
      const Passive<typename S::Parameter>* p = model.passive + joint.v + block.v;
      const S* q = full_q + joint.q + block.q;
      if (block.group == Group::real) {
        for (int i = 0; i < block.nv; ++i) {
          energy += stored_energy(p[i], all<S>(c.rest[block.q + i]), q[i]);
        }
        continue;
      }
      const int turn = block.group == Group::pose ? 3 : 0;
      const Vec3<S> phi = turn_from_rest(c, block.q + turn, q + turn);
      energy += half * dot(phi, stiffness3<S>(p + turn, phi));
      if (turn == 0) continue;
      const Vec3<S> d = load3(q) - spatial::all3<S>(c.rest + block.q);
      energy += half * dot(d, stiffness3<S>(p, d));
    }
  }
  return energy;
}

}  // namespace pysim::dynamics
