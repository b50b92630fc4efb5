// Bound of the stiffness of springs on rotations and positions, for steps that are implicit in it.
//
//     B = J_r⁻ᵀ K J_r⁻¹   of ½ φᵀ K φ, φ = log(R_restᵀ R)        B = Rᵀ K R   of a position in the parent
//     Σ_j |B_ij| on the diagonal is not less than B (Gershgorin), and B itself where the spring is relaxed or
//     turned about an axis of K
//
// A step with A = M + h² B̄ is stable for every B̄ ≥ B/2; a diagonal matrix needs no coupling of the
// coordinates of a joint in the factor of the tree.
#pragma once

#include "dynamics/passive.hpp"

namespace pysim::dynamics {

/// Adds Σ_j |d_iᵀ K d_j| to `bound` (3) for the columns d of a matrix.
template <class S>
PYSIM_INLINE void add_row_sums(const Passive<typename S::Parameter>* p, const Vec3<S> (&d)[3], S* bound) {
  for (const Vec3<S>& column : d) {
    const Vec3<S> pulled = stiffness3<S>(p, column);
    for (int i = 0; i < 3; ++i) bound[i] += simd::abs(dot(d[i], pulled));
  }
}

/// Adds to `bound` (nv) a diagonal matrix that is not less than the stiffness of the springs on rotations,
/// B = J_r⁻ᵀ K J_r⁻¹, and on positions, B = Rᵀ K R: the sums Σ_j |B_ij| of its rows. It is B where a spring
/// is relaxed and where a rotation is about an axis of K.
template <class S>
void add_turning_stiffness(const ModelOf<S>& model, const S* q, S* bound) {
  const S o = all<S>(0), e = all<S>(1);
  const Vec3<S> unit[3] = {{e, o, o}, {o, e, o}, {o, o, e}};
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    for (int k = 0; k < joint.blocks; ++k) {
      const Block& block = joint.block[k];
      const Passive<typename S::Parameter>* const p = model.passive + joint.v + block.v;
      bool sprung = false;
      for (int i = 0; i < block.nv; ++i) sprung = sprung || simd::is_there(p[i].stiffness);
      if (block.group == Group::real || !sprung) continue;
      const int turn = block.group == Group::pose ? 3 : 0;
      const S* const from = q + joint.q + block.q;
      S* const to = bound + joint.v + block.v;
      const Vec3<S> phi = turn_from_rest(model.constants[b], block.q + turn, from + turn);
      const Vec3<S> d[3] = {spatial::right_jacobian_inverse_times(phi, unit[0]),
                            spatial::right_jacobian_inverse_times(phi, unit[1]),
                            spatial::right_jacobian_inverse_times(phi, unit[2])};
      add_row_sums<S>(p + turn, d, to + turn);
      if (turn == 0) continue;
      const spatial::Mat3<S> R = spatial::rotation(load_quaternion(from + turn));
      const Vec3<S> axes[3] = {R * unit[0], R * unit[1], R * unit[2]};
      add_row_sums<S>(p, axes, to);
    }
  }
}

}  // namespace pysim::dynamics
