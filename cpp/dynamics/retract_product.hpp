// Product of the derivatives of q ⊕ dq with cotangents, joint by joint; those of configurations are along δ
// of q ⊕ δ.
#pragma once

#include "dynamics/retract.hpp"
#include "tree/tape.hpp"

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

/// Adds the cotangents of q₀, along δ of q₀ ⊕ δ, and of dq, for those of q₀ ⊕ dq along its own axes.
template <class S>
void add_retract_product(const Joint& joint,
                         const S* q,
                         const S* dq,
                         const S* bar,
                         S* q_bar,
                         S* dq_bar,
                         simd::Tape<S> tape,
                         tree::Workspace<S> w) {
  using R = simd::Reverse<S>;
  bool is_real = true;
  for (int k = 0; k < joint.blocks; ++k) is_real &= joint.block[k].group == tree::Group::real;
  if (is_real) {
    for (int i = 0; i < joint.nv; ++i) q_bar[i] += bar[i], dq_bar[i] += bar[i];
    return;
  }
  const int begin = tape.edges;
  constexpr int most = 8;  // numbers of two rotations
  S zero[tree::max_joint_nv], at[most] = {}, q1_bar[most] = {};
  R from[most], start[most], end[most];
  for (S& x : zero) x = simd::all<S>(0);
  for (int i = 0; i < joint.nq; ++i) from[i] = R(q[i]);
  const R* const delta = tree::take_inputs<S>(zero, joint.nv, tape, w);
  const R* const step = tree::take_inputs<S>(dq, joint.nv, tape, w);
  retract<R>(joint.block, joint.blocks, from, delta, start);
  retract<R>(joint.block, joint.blocks, start, step, end);
  for (int i = 0; i < joint.nq; ++i) at[i] = end[i].value;
  seed_joint(joint, static_cast<const S*>(at), bar, q1_bar);
  for (int i = 0; i < joint.nq; ++i) tree::seed(end[i], q1_bar[i]);
  tape.pull(begin);
  for (int i = 0; i < joint.nv; ++i) {
    q_bar[i] += tree::take_cotangent(delta[i]);
    dq_bar[i] += tree::take_cotangent(step[i]);
  }
}

}  // namespace pysim::dynamics
