// Derivatives of the joints' passive forces: one block per joint, because each depends on its joint only.
//
//     real coordinate   see PassiveLaw
//     rotation          τ = −J_l⁻¹(φ) K φ        dφ = J_r⁻¹(φ) δ        φ = log(R_restᵀ R)
//                       dτ = −J_l⁻¹ K dφ + dφ × Kφ / 2 − κ (dφ × (φ × Kφ) + φ × (dφ × Kφ))
//                            − κ' (φ·dφ) φ × (φ × Kφ)
//     position          τ = −Rᵀ K p              dτ = τ × δω − Rᵀ K R δv
//
// with κ(θ²) of so3.hpp and κ' = (dκ/dθ) / θ. A plugin's force has a program for its derivatives.
#pragma once

#include "dynamics/passive.hpp"

namespace pysim::dynamics {

using spatial::Mat3;

/// ∂τ_i/∂q_k and ∂τ_i/∂v_k of one joint at i nv + k.
template <class S>
struct PassiveDerivatives {
  S q[tree::max_joint_nv * tree::max_joint_nv], v[tree::max_joint_nv * tree::max_joint_nv];
};

/// κ' = (c² + c − 2 + θ²/4) / θ⁴, c = 1 − κ θ² = (θ/2) cot(θ/2); its series where that cancels.
template <class S>
PYSIM_INLINE S kappa_slope(S square, S kappa) {
  constexpr double series[] = {3617.0 / 762187345920000,
                               1.0 / 6227020800,
                               691.0 / 130767436800,
                               1.0 / 5987520,
                               1.0 / 201600,
                               1.0 / 7560,
                               1.0 / 360};
  using Real = typename S::Real;
  const S near = simd::polynomial(square, series);
  const S c = fnma(kappa, square, all<S>(1));
  const S far = fma(c, c, c) - all<S>(2) + all<S>(Real(0.25)) * square;
  return select(square < all<S>(Real(0.25)), near, far / (square * square));
}

/// dτ of a rotation's spring for the body rotations e_x, e_y, e_z, to columns k … k + 2 of rows k … k + 2.
template <class S>
void turn_spring_derivatives(const Passive<typename S::Parameter>* p, const Vec3<S>& phi, int nv, S* block) {
  const S half = all<S>(typename S::Real(0.5)), o = all<S>(0), e = all<S>(1);
  const S square = dot(phi, phi);
  const S kappa = spatial::inverse_jacobian_kappa(square), slope = kappa_slope(square, kappa);
  const Vec3<S> u = stiffness3<S>(p, phi), once = cross(phi, u), twice = cross(phi, once);
  const Vec3<S> unit[3] = {{e, o, o}, {o, e, o}, {o, o, e}};
  for (int k = 0; k < 3; ++k) {
    const Vec3<S> d = spatial::right_jacobian_inverse_times(phi, unit[k]);
    const Vec3<S> bent = cross(d, once) + cross(phi, cross(d, u));
    Vec3<S> t = fma(half, cross(d, u), -spatial::left_jacobian_inverse_times(phi, stiffness3<S>(p, d)));
    t = fma(-kappa, bent, t);
    t = fma(-(slope * dot(phi, d)), twice, t);
    block[k] = t.x, block[nv + k] = t.y, block[2 * nv + k] = t.z;
  }
}

/// dτ of a position's spring along the six motions of the body, to the first three rows of a pose.
template <class S>
void position_spring_derivatives(
    const Passive<typename S::Parameter>* p, const Mat3<S>& R, const Vec3<S>& d, int nv, S* block) {
  const S o = all<S>(0), e = all<S>(1);
  const Vec3<S> tau = -transpose_times(R, stiffness3<S>(p, d));
  const Vec3<S> unit[3] = {{e, o, o}, {o, e, o}, {o, o, e}};
  for (int k = 0; k < 3; ++k) {
    const Vec3<S> along = -transpose_times(R, stiffness3<S>(p, R * unit[k]));
    const Vec3<S> turned = cross(tau, unit[k]);
    block[k] = along.x, block[nv + k] = along.y, block[2 * nv + k] = along.z;
    block[3 + k] = turned.x, block[nv + 3 + k] = turned.y, block[2 * nv + 3 + k] = turned.z;
  }
}

/// Springs, stops, damping and friction of one joint, at the joint's first coordinates.
template <class S>
void law_derivatives(const Joint& joint,
                     const Constants<typename S::Parameter>& c,
                     const Passive<typename S::Parameter>* joint_passive,
                     const S* joint_q,
                     const S* joint_v,
                     PassiveDerivatives<S>& D) {
  for (int k = 0; k < joint.blocks; ++k) {
    const Block& block = joint.block[k];
    const auto* p = joint_passive + block.v;
    const S *q = joint_q + block.q, *v = joint_v + block.v;
    const int diagonal = block.v * (joint.nv + 1);
    const bool is_real = block.group == Group::real;
    for (int i = 0; i < block.nv; ++i) {
      PassiveLaw<S> law = is_real ? spring_and_stop(p[i], all<S>(c.rest[block.q + i]), q[i], v[i])
                                  : PassiveLaw<S>{all<S>(0), all<S>(0), all<S>(0)};
      add_damper_and_friction(p[i], v[i], law);
      D.q[diagonal + i * (joint.nv + 1)] = law.by_q;
      D.v[diagonal + i * (joint.nv + 1)] = law.by_v;
    }
    if (is_real) continue;
    const int turn = block.group == Group::pose ? 3 : 0;
    const Vec3<S> phi = turn_from_rest(c, block.q + turn, q + turn);
    turn_spring_derivatives(p + turn, phi, joint.nv, D.q + diagonal + turn * (joint.nv + 1));
    if (turn == 0) continue;
    const Vec3<S> d = load3(q) - spatial::all3<S>(c.rest + block.q);
    position_spring_derivatives(p, spatial::rotation(load_quaternion(q + turn)), d, joint.nv, D.q + diagonal);
  }
}

/// The derivatives of a plugin's force; r are scratch registers.
template <class S>
void add_force_derivatives(const tree::ProgramView<typename S::Parameter>& program,
                           const Joint& joint,
                           const S* q,
                           const S* v,
                           PassiveDerivatives<S>& D,
                           S* r) {
  const int entries = joint.nv * joint.nv;
  for (int i = 0; i < joint.nq; ++i) r[i] = q[i];
  for (int i = 0; i < joint.nv; ++i) r[joint.nq + i] = v[i];
  tree::load_constants(program, r + joint.nq + joint.nv);
  tree::run(program, 0, program.end, r);
  for (int i = 0; i < entries; ++i) {
    D.q[i] += r[program.outputs[i]];
    D.v[i] += r[program.outputs[entries + i]];
  }
}

/// ∂τ/∂q and ∂τ/∂v of joint b, q and v in tree coordinates; `w` is scratch.
template <class S>
PassiveDerivatives<S> passive_derivatives(
    const ModelOf<S>& model, int b, const S* full_q, const S* full_v, tree::Workspace<S> w) {
  const Joint& joint = model.joint[b];
  const Passive<typename S::Parameter>* p = model.passive + joint.v;
  const S *q = full_q + joint.q, *v = full_v + joint.v;
  PassiveDerivatives<S> D;
  for (int i = 0; i < joint.nv * joint.nv; ++i) D.q[i] = D.v[i] = all<S>(0);
  law_derivatives(joint, model.constants[b], p, q, v, D);
  if (joint.force >= 0) {
    const auto& program = model.program[joint.force_derivative];
    add_force_derivatives(program, joint, q, v, D, take<S>(w, program.registers));
  }
  return D;
}

}  // namespace pysim::dynamics
