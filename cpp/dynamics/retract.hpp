// Lie group of the configuration, joint by joint: q ⊕ dq, its inverse, and the Munthe-Kaas rate.
//
//     real coordinates   q + dq
//     rotation           R exp(dq×)                      SO(3), as of a ball
//     pose               X exp([dq])                     SE(3), dq = [v; ω] in the child frame, as of
//                                                        a free joint
//
// Coordinates here are the user's: a mimic joint has none.
#pragma once

#include "simd/full_register.hpp"
#include "spatial/se3.hpp"
#include "tree/model_view.hpp"

namespace pysim::dynamics {

using spatial::Motion;
using spatial::Quaternion;
using spatial::Vec3;
using tree::Block;
using tree::Group;
using tree::Joint;
using tree::ModelOf;

template <class S>
PYSIM_INLINE Vec3<S> load3(const S* p) {
  return {p[0], p[1], p[2]};
}

template <class S>
PYSIM_INLINE Quaternion<S> load_quaternion(const S* p) {
  return {p[0], p[1], p[2], p[3]};
}

template <class S>
PYSIM_INLINE void store(const Vec3<S>& a, S* p) {
  p[0] = a.x, p[1] = a.y, p[2] = a.z;
}

template <class S>
PYSIM_INLINE void store(const Quaternion<S>& a, S* p) {
  p[0] = a.x, p[1] = a.y, p[2] = a.z, p[3] = a.w;
}

/// q1 = q ⊕ dq, group by group. The quaternions of q1 are unit to rounding. q1 may be q.
template <class S>
void retract(const Block* blocks, int count, const S* q, const S* dq, S* q1) {
  for (int k = 0; k < count; ++k) {
    const Block& block = blocks[k];
    const S *p = q + block.q, *d = dq + block.v;
    S* p1 = q1 + block.q;
    switch (block.group) {
      case Group::real: {
        simd::add_each(p, d, block.nv, p1);
        break;
      }
      case Group::rotation: {
        store(normalized(load_quaternion(p) * spatial::exp_quaternion(load3(d))), p1);
        break;
      }
      case Group::pose: {
        const auto step = spatial::exp_position(Motion<S>{load3(d), load3(d + 3)});
        const auto turn = load_quaternion(p + 3);
        store(load3(p) + spatial::rotation(turn) * step, p1);
        store(normalized(turn * spatial::exp_quaternion(load3(d + 3))), p1 + 3);
        break;
      }
    }
  }
}

/// q1 = q ⊕ dq of the user's coordinates. q1 may be q.
template <class S>
void retract(const ModelOf<S>& model, const S* q, const S* dq, S* q1) {
  retract(model.run, model.runs, q, dq, q1);
}

/// dq with q0 ⊕ dq = q1, of the smaller rotation.
template <class S>
void difference(const ModelOf<S>& model, const S* q0, const S* q1, S* dq) {
  for (int k = 0; k < model.runs; ++k) {
    const Block& block = model.run[k];
    const S *p0 = q0 + block.q, *p1 = q1 + block.q;
    S* d = dq + block.v;
    switch (block.group) {
      case Group::real: {
        for (int i = 0; i < block.nv; ++i) d[i] = p1[i] - p0[i];
        break;
      }
      case Group::rotation: {
        store(spatial::log_quaternion(conjugate(load_quaternion(p0)) * load_quaternion(p1)), d);
        break;
      }
      case Group::pose: {
        const auto r0 = load_quaternion(p0 + 3), r1 = load_quaternion(p1 + 3);
        const Vec3<S> w = spatial::log_quaternion(conjugate(r0) * r1);
        const Vec3<S> p = transpose_times(spatial::rotation(r0), load3(p1) - load3(p0));
        store(spatial::left_jacobian_inverse_times(w, p), d);
        store(w, d + 3);
        break;
      }
    }
  }
}

/// ξ̇ for q(t) = q ⊕ ξ(t) moving with velocity v:  ξ̇ = J_r⁻¹(ξ) v  [Munthe-Kaas 1998].
template <class S>
void lift(const ModelOf<S>& model, const S* xi, const S* v, S* rate) {
  for (int k = 0; k < model.runs; ++k) {
    const Block& block = model.run[k];
    const S *x = xi + block.v, *u = v + block.v;
    S* r = rate + block.v;
    switch (block.group) {
      case Group::real: {
        simd::copy_each(u, block.nv, r);
        break;
      }
      case Group::rotation: {
        store(spatial::right_jacobian_inverse_times(load3(x), load3(u)), r);
        break;
      }
      case Group::pose: {
        const Motion<S> moved = spatial::right_jacobian_inverse_times(Motion<S>{load3(x), load3(x + 3)},
                                                                      Motion<S>{load3(u), load3(u + 3)});
        store(moved.v, r);
        store(moved.w, r + 3);
        break;
      }
    }
  }
}

}  // namespace pysim::dynamics
