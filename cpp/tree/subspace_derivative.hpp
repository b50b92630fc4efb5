// Derivatives of a joint's motion subspace and bias with respect to its own coordinates, for derivatives of
// the dynamics of joints whose S depends on q.
//
//     ∂S_i/∂q_k     every column along every coordinate             c = Σ_ik ∂S_i/∂q_k v_i v_k
//     ∂c/∂q_k       the bias along every coordinate, at constant v
//
// ∂/∂q_k is along q ⊕ e_k. For the other shapes both are zero. A traced joint has a separate program for
// them.
#pragma once

#include "tree/joint.hpp"

namespace pysim::tree {

/// Twists of one joint: ∂S_i/∂q_k at k nv + i, then ∂c/∂q_k at nv² + k.
template <class S>
struct SubspaceDerivative {
  int nv;
  Motion<S>* twist;

  PYSIM_INLINE Motion<S>& column(int i, int k) const { return twist[k * nv + i]; }
  PYSIM_INLINE Motion<S>& bias(int k) const { return twist[nv * nv + k]; }
};

/// Runs a traced joint's derivative program; its registers follow the twists that it computes.
template <class S>
void program_derivative(
    const ModelOf<S>& model, const Joint& joint, const S* q, const S* v, const SubspaceDerivative<S>& D) {
  const auto& program = model.program[joint.derivative];
  const int twists = joint.nv * joint.nv + joint.nv;
  S* const r = &D.twist[twists].v.x;
  for (int i = 0; i < joint.nq; ++i) r[i] = q[i];
  for (int i = 0; i < joint.nv; ++i) r[joint.nq + i] = v[i];
  load_constants(program, r + joint.nq + joint.nv);
  run(program, 0, program.end, r);
  for (int i = 0; i < twists; ++i) D.twist[i] = twist_of(r, program.outputs + 6 * i);
}

/// ∂S/∂q and ∂c/∂q of joint b in its body's frame, after `evaluate`; for joints with memory for them
/// (first_slope).
template <class S>
void subspace_derivative(const ModelOf<S>& model,
                         int b,
                         const S* full_q,
                         const S* full_v,
                         const Motion<S>* stored_columns,
                         const SubspaceDerivative<S>& D) {
  const Joint& joint = model.joint[b];
  const S* v = full_v + joint.v;
  const Motion<S>* Sj = stored_columns + joint.first_stored;
  const S o = all<S>(0);
  if (joint.shape == Shape::program) return program_derivative(model, joint, full_q + joint.q, v, D);

  for (int i = 0; i < joint.nv * (joint.nv + 1); ++i) D.twist[i] = spatial::zero_motion<S>();
  if (joint.shape == Shape::universal) {
    // S₀ = (cos q₁, 0, sin q₁), c = ∂S₀/∂q₁ v₀ v₁
    D.column(0, 1).w = {-Sj[0].w.z, o, Sj[0].w.x};
    D.bias(1).w = -(v[0] * v[1]) * Sj[0].w;
  }
  if (joint.shape == Shape::planar) {
    // S₀ and S₁ rotate backwards with q₂, c = (∂S₀/∂q₂ v₀ + ∂S₁/∂q₂ v₁) v₂
    for (int i = 0; i < 2; ++i) D.column(i, 2).v = {Sj[i].v.y, -Sj[i].v.x, o};
    D.bias(2).v = -v[2] * fma(v[1], Sj[1].v, v[0] * Sj[0].v);
  }
}

}  // namespace pysim::tree
