// Stiffness of springs on rotations and positions, for steps that are implicit in it.
//
//     B = J_r⁻ᵀ K J_r⁻¹   of ½ φᵀ K φ, φ = log(R_restᵀ R)        B = Rᵀ K R   of a position in the parent
//
// without the part of the second derivative that the moment K φ itself contributes, so that B is positive
// semidefinite.
#pragma once

#include "dynamics/passive.hpp"
#include "dynamics/step_blocks.hpp"

namespace pysim::dynamics {

/// Adds d_iᵀ K d_j of the columns d of a matrix to the entries of E from coordinate k on.
template <class S>
PYSIM_INLINE void add_stiffness_block(
    const Passive<typename S::Parameter>* p, const Vec3<S> (&d)[3], int k, int nv, S* E) {
  for (int j = 0; j < 3; ++j) {
    const Vec3<S> pulled = stiffness3<S>(p, d[j]);
    E[k + j] += dot(d[j], pulled);
    for (int i = 0; i < j; ++i) E[nv + beside_diagonal(k, i, j)] += dot(d[i], pulled);
  }
}

/// Adds the stiffness of the springs on rotations and positions to E, as step_blocks.hpp has it.
template <class S>
void add_turning_stiffness(const ModelOf<S>& model, const S* q, S* E) {
  const S o = all<S>(0), e = all<S>(1);
  const Vec3<S> unit[3] = {{e, o, o}, {o, e, o}, {o, o, e}};
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    for (int n = 0; n < joint.blocks; ++n) {
      const Block& block = joint.block[n];
      const Passive<typename S::Parameter>* const p = model.passive + joint.v + block.v;
      bool sprung = false;
      for (int i = 0; i < block.nv; ++i) sprung = sprung || simd::is_there(p[i].stiffness);
      if (block.group == Group::real || !sprung) continue;
      const int turn = block.group == Group::pose ? 3 : 0;
      const S* const from = q + joint.q + block.q;
      const int k = joint.v + block.v;
      const Vec3<S> phi = turn_from_rest(model.constants[b], block.q + turn, from + turn);
      const Vec3<S> d[3] = {spatial::right_jacobian_inverse_times(phi, unit[0]),
                            spatial::right_jacobian_inverse_times(phi, unit[1]),
                            spatial::right_jacobian_inverse_times(phi, unit[2])};
      add_stiffness_block<S>(p + turn, d, k + turn, model.nv, E);
      if (turn == 0) continue;
      const spatial::Mat3<S> R = spatial::rotation(load_quaternion(from + turn));
      const Vec3<S> axes[3] = {R * unit[0], R * unit[1], R * unit[2]};
      add_stiffness_block<S>(p, axes, k, model.nv, E);
    }
  }
}

}  // namespace pysim::dynamics
