// Rate Ṡ of a joint's motion subspace, column by column, in the body frame along q̇.
//
// Only the sum c(q, v) = Σ Ṡ_k v_k is known of a traced joint. Its columns follow from c, which is quadratic
// in v, and from the symmetry of second derivatives of the pose. With T(u, w) = Σ w_k ∂_u S_k:
//
//     T(v, e) + T(e, v) = (c(v + e) − c(v − e)) / 2
//     T(v, e) − T(e, v) = S e × S v + S [v, e]       [v, e]: 0 for numbers, v × e for rotations and poses
#pragma once

#include "tree/joint.hpp"

namespace pysim::tree {

/// [v, e_k] of one joint's velocities; e_k is the k-th unit vector.
template <class S>
PYSIM_INLINE void velocity_bracket(const Joint& joint, const S* v, int k, S* bracket) {
  const S o = all<S>(0);
  for (int i = 0; i < joint.nv; ++i) bracket[i] = o;
  for (int i = 0; i < joint.blocks; ++i) {
    const Block& block = joint.block[i];
    if (block.group == Group::real || k < block.v || k >= block.v + block.nv) continue;
    const bool pose = block.group == Group::pose;
    S e[6] = {o, o, o, o, o, o};
    e[k - block.v] = all<S>(1);
    const S* u = v + block.v;
    const Motion<S> V =
        pose ? Motion<S>{{u[0], u[1], u[2]}, {u[3], u[4], u[5]}} : Motion<S>{zero3<S>(), {u[0], u[1], u[2]}};
    const Motion<S> E =
        pose ? Motion<S>{{e[0], e[1], e[2]}, {e[3], e[4], e[5]}} : Motion<S>{zero3<S>(), {e[0], e[1], e[2]}};
    const Motion<S> B = cross(V, E);
    const S entry[6] = {B.v.x, B.v.y, B.v.z, B.w.x, B.w.y, B.w.z};
    for (int j = 0; j < block.nv; ++j) bracket[block.v + j] = entry[pose ? j : j + 3];
  }
}

/// c at other velocities; runs the whole program, because its second part may reuse registers of the first.
template <class S>
Motion<S> program_bias(const Joint& joint,
                       const ProgramView<typename S::Parameter>& program,
                       const S* v,
                       Motion<S>* stored_columns) {
  S* const r = registers(joint, stored_columns);
  for (int i = 0; i < joint.nv; ++i) r[joint.nq + i] = v[i];
  run(program, 0, program.end, r);
  return twist_of(r, program.outputs + 12 + 6 * joint.stored_count);
}

template <class S>
void program_rate(
    const ModelOf<S>& model, const Joint& joint, Motion<S>* stored_columns, const S* v, Motion<S>* S_dot) {
  const auto& program = model.program[joint.program];
  const Motion<S>* Sj = stored_columns + joint.first_stored;
  const S half = all<S>(typename S::Real(0.5));
  Motion<S> Sv = spatial::zero_motion<S>();
  for (int i = 0; i < joint.nv; ++i) Sv = fma(v[i], Sj[i], Sv);
  for (int k = 0; k < joint.nv; ++k) {
    S shifted[max_joint_nv], bracket[max_joint_nv];
    for (int i = 0; i < joint.nv; ++i) shifted[i] = v[i];
    shifted[k] = v[k] + all<S>(1);
    const Motion<S> forth = program_bias(joint, program, shifted, stored_columns);
    shifted[k] = v[k] - all<S>(1);
    const Motion<S> back = program_bias(joint, program, shifted, stored_columns);
    velocity_bracket(joint, v, k, bracket);
    Motion<S> twice = fma(half, forth - back, cross(Sj[k], Sv));
    for (int i = 0; i < joint.nv; ++i) twice = fma(bracket[i], Sj[i], twice);
    S_dot[k] = half * twice;
  }
}

/// Ṡ (joint.nv columns) of joint b after `evaluate`; a traced joint must be evaluated again before `bias`.
template <class S>
void subspace_rate(
    const ModelOf<S>& model, int b, Motion<S>* stored_columns, const S* full_v, Motion<S>* S_dot) {
  const Joint& joint = model.joint[b];
  for (int i = 0; i < joint.nv; ++i) S_dot[i] = spatial::zero_motion<S>();
  if (!joint.biased) return;
  const Motion<S>* Sj = stored_columns + joint.first_stored;
  const S* v = full_v + joint.v;
  const S o = all<S>(0);
  switch (joint.shape) {
    case Shape::universal:  // d/dq₁ of (cos q₁, 0, sin q₁)
      S_dot[0].w = {-(Sj[0].w.z * v[1]), o, Sj[0].w.x * v[1]};
      return;
    case Shape::planar:  // vectors fixed in the parent rotate backwards in the child
      for (int i = 0; i < 2; ++i) S_dot[i].v = {Sj[i].v.y * v[2], -(Sj[i].v.x * v[2]), o};
      return;
    case Shape::callback:
      for (int i = 0; i < joint.nv; ++i) S_dot[i] = Sj[joint.nv + 1 + i];
      return;
    case Shape::program:
      program_rate(model, joint, stored_columns, v, S_dot);
      return;
    default:
      return;
  }
}

}  // namespace pysim::tree
