// Product of the derivatives of q ⊕ dq with cotangents, joint by joint; those of configurations are along δ
// of q ⊕ δ.
#pragma once

#include "dynamics/retract.hpp"

namespace pysim::dynamics {

/// Cotangents of the quaternions and positions of a joint at q, for those of q ⊕ δ along δ.
template <class S>
void seed_joint(const Joint& joint, const S* q, const S* bar, S* q_bar) {
  for (int k = 0; k < joint.blocks; ++k) {
    const Block& block = joint.block[k];
    const S *const at = q + block.q, *const d = bar + block.v;
    S* const to = q_bar + block.q;
    if (block.group == Group::real) {
      simd::copy_each<S>(d, block.nv, to);
      continue;
    }
    const int turn = block.group == Group::pose ? 3 : 0;
    const auto r = load_quaternion(at + turn);
    const Vec3<S> w = load3(d + turn);
    const S two = simd::all<S>(2);
    const auto moved = r * Quaternion<S>{two * w.x, two * w.y, two * w.z, simd::all<S>(0)};
    store(moved, to + turn);
    if (turn > 0) store(spatial::rotation(r) * load3(d), to);
  }
}

/// Adds the cotangents of q₀, along δ of q₀ ⊕ δ, and of dq, for those `bar` of q₀ ⊕ dq along its own axes:
/// for each group
///
///     δ̄ += Ad(exp dq)⁻ᵀ ε̄      dq̄ += J_r(dq)ᵀ ε̄
///
/// Of poses, ε̄ = {f, τ} is a wrench, for which J_r(ξ)ᵀ {f, τ} = {f', τ'} where [τ'; f'] = J_l(ξ) [τ; f],
/// since ad_ξᵀ is −ad_ξ with linear and angular parts exchanged.
template <class S>
void add_retract_product(const Joint& joint, const S* dq, const S* bar, S* q_bar, S* dq_bar) {
  const auto add = [](const Vec3<S>& x, S* to) { store(load3(to) + x, to); };
  for (int k = 0; k < joint.blocks; ++k) {
    const Block& block = joint.block[k];
    const S *const d = dq + block.v, *const y = bar + block.v;
    S *const of_q = q_bar + block.v, *const of_dq = dq_bar + block.v;
    switch (block.group) {
      case Group::real: {
        for (int i = 0; i < block.nv; ++i) of_q[i] += y[i], of_dq[i] += y[i];
        break;
      }
      case Group::rotation: {
        const Vec3<S> phi = load3(d), turning = load3(y);
        add(spatial::exp(phi) * turning, of_q);
        add(spatial::left_jacobian_times(phi, turning), of_dq);
        break;
      }
      case Group::pose: {
        const Motion<S> xi = {load3(d), load3(d + 3)};
        const spatial::Force<S> wrench = {load3(y), load3(y + 3)};
        const auto at_start = to_parent(spatial::exp(xi), wrench);
        const Motion<S> along = spatial::left_jacobian_times(xi, Motion<S>{wrench.t, wrench.f});
        add(at_start.f, of_q), add(at_start.t, of_q + 3);
        add(along.w, of_dq), add(along.v, of_dq + 3);
        break;
      }
    }
  }
}

}  // namespace pysim::dynamics
