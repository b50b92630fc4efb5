// Derivatives of springs and dampers between points of two bodies, see springs.hpp.
//
//     d = p_B − p_A,  D = ∂d/∂q,  ḋ = D v,  f = k (|d| − length) + c n·ḋ,  τ = −Dᵀ (f n)
//
//     ∂τ_i/∂q_k = −D_i·∂(f n)/∂q_k − f n·H_ik      ∂n/∂q_k = (D_k − n (n·D_k))/|d|
//     ∂τ_i/∂v_k = −c (n·D_i) (n·D_k)               ∂f/∂q_k = k n·D_k + c (∂n/∂q_k·ḋ + n·Σ_i H_ik v_i)
//
// with D and H_ik = ∂D_i/∂q_k of elements/segment_derivatives.hpp.
#pragma once

#include "dynamics/springs.hpp"
#include "elements/contact_derivatives.hpp"

namespace pysim::dynamics {

using elements::add_entry;
using elements::SegmentDerivatives;

/// One spring.
template <class S>
void add_spring(const ModelOf<S>& model,
                const SegmentDerivatives<S>& d,
                const tree::Spring<typename S::Parameter>& spring,
                const S* v) {
  const S one = all<S>(1), o = all<S>(0), K = all<S>(spring.stiffness), c = all<S>(spring.damping);
  const Vec3<S> at_a = spatial::all3<S>(spring.at_a), at_b = spatial::all3<S>(spring.at_b);
  const PointMotion<S> A = point_motion(d.body, spring.a, at_a), B = point_motion(d.body, spring.b, at_b);
  const Vec3<S> reach = B.p - A.p, d_dot = B.v - A.v;
  const S length = sqrt(dot(reach, reach)), shrink = select(length > o, one / length, o);
  const Vec3<S> n = shrink * reach;
  const S pull = fma(K, length - all<S>(spring.length), c * dot(n, d_dot));

  for (int k = 0; k < model.nv; ++k) d.D[k] = d.rate[k] = zero3<S>();
  spread_levers(model, d, spring.a, at_a, -one);
  spread_curvature(model, d, v, spring.a, at_a, -one, pull * n);
  spread_levers(model, d, spring.b, at_b, one);
  spread_curvature(model, d, v, spring.b, at_b, one, pull * n);

  for (int k = 0; k < model.nv; ++k) {
    const S stretch = dot(n, d.D[k]);
    const Vec3<S> dn = shrink * (d.D[k] - stretch * n);
    const S d_pull = fma(K, stretch, c * (dot(dn, d_dot) + dot(n, d.rate[k])));
    const Vec3<S> df = fma(pull, dn, d_pull * n);
    for (int i = 0; i < model.nv; ++i) {
      add_entry(model, i, k, -d.sign * dot(d.D[i], df), d.by_q);
      add_entry(model, i, k, -d.sign * c * dot(n, d.D[i]) * stretch, d.by_v);
    }
  }
}

/// Adds `sign` ∂τ/∂q and ∂τ/∂v of all springs to matrices of the user's coordinates (reduced_nv, reduced_nv).
template <class S>
void add_spring_derivatives(
    const ModelOf<S>& model, const S* q, const S* v, S sign, S* by_q, S* by_v, Workspace<S> w) {
  if (model.springs == 0) return;
  const SegmentDerivatives<S> d = elements::take_segment_derivatives(model, q, v, sign, by_q, by_v, w);
  for (int k = 0; k < model.springs; ++k) add_spring(model, d, model.spring[k], v);
}

/// The same of springs, elements and contacts between bodies.
template <class S>
void add_derivatives_between_bodies(
    const ModelOf<S>& model, const S* q, const S* v, S sign, S* by_q, S* by_v, Workspace<S> w) {
  add_spring_derivatives(model, q, v, sign, by_q, by_v, w);
  if (model.elements > 0) elements::add_element_derivatives(model, q, v, sign, by_q, by_v, w);
  if (model.contacts != nullptr) elements::add_contact_derivatives(model, q, v, sign, by_q, by_v, w);
}

}  // namespace pysim::dynamics
