// Derivatives of springs and dampers between points of two bodies, see springs.hpp.
//
//     d = p_B − p_A,  D = ∂d/∂q,  ḋ = D v,  f = k (|d| − length) + c n·ḋ,  τ = −Dᵀ (f n)
//
//     ∂τ_i/∂q_k = −D_i·∂(f n)/∂q_k − f n·H_ik      ∂n/∂q_k = (D_k − n (n·D_k))/|d|
//     ∂τ_i/∂v_k = −c (n·D_i) (n·D_k)               ∂f/∂q_k = k n·D_k + c (∂n/∂q_k·ḋ + n·Σ_i H_ik v_i)
//
// H_ik = ∂D_i/∂q_k, of an end at p:  ω_k × D_i if joint k is that of i or above it, else ω_i × D_k; within a
// joint whose S depends on q, also the velocity of p due to ∂S_i/∂q_k. All in world axes.
#pragma once

#include "dynamics/springs.hpp"
#include "tree/subspace_derivative.hpp"

namespace pysim::dynamics {

/// Effect of a unit velocity of a coordinate on an end of a spring: its velocity, and the angular velocity of
/// the bodies that the joint carries.
template <class S>
struct Lever {
  Vec3<S> D, w;
};

/// Bodies with their springs' ends, and the columns of the current spring.
template <class S>
struct SpringDerivatives {
  const Carrier<S>* body;
  const Motion<S>* columns;
  Motion<S>* slope;  ///< ∂S_i/∂q_k of joints whose S depends on q
  Lever<S>* lever;   ///< of one end
  Vec3<S>*D, *rate;  ///< of both: D, and ∂ḋ/∂q
  S *by_q, *by_v;    ///< (reduced_nv, reduced_nv), row-major
  S sign;            ///< sums of the added terms
};

/// Adds `x` to entry (i, k), in tree coordinates.
template <class S>
PYSIM_INLINE void add_entry(const ModelOf<S>& model, int i, int k, S x, S* matrix) {
  const auto &row = model.mimic_v[i], &column = model.mimic_v[k];
  S& entry = matrix[row.own * model.reduced_nv + column.own];
  entry = fma(all<S>(row.ratio * column.ratio), x, entry);
}

/// Levers of a point of body b, on every joint from b to the world; added to D with the end's sign.
template <class S>
void spread_levers(const ModelOf<S>& model, const SpringDerivatives<S>& d, int b, Vec3<S> at, S end) {
  for (; b >= 0; b = model.joint[b].parent) {
    const Joint& joint = model.joint[b];
    for (int i = 0; i < joint.nv; ++i) {
      const Motion<S> Sj = column(tree::axis(joint, d.columns, i));
      const auto& R = d.body[b].X_WB.R;
      d.lever[joint.v + i] = {R * cross_add(Sj.w, at, Sj.v), R * Sj.w};
      d.D[joint.v + i] = fma(end, d.lever[joint.v + i].D, d.D[joint.v + i]);
    }
    at = d.body[b].X_PB * at;
  }
}

/// H of one end, times v to `rate` and times −f to ∂τ/∂q.
template <class S>
void spread_curvature(const ModelOf<S>& model,
                      const SpringDerivatives<S>& d,
                      const S* v,
                      int b,
                      Vec3<S> at,
                      S end,
                      const Vec3<S>& f) {
  const auto add = [&](int i, int k, const Vec3<S>& H) {
    d.rate[k] = fma(end * v[i], H, d.rate[k]);
    add_entry(model, i, k, -(d.sign * end) * dot(f, H), d.by_q);
  };
  for (int down = b; down >= 0; down = model.joint[down].parent) {
    const Joint& own = model.joint[down];
    for (int up = down; up >= 0; up = model.joint[up].parent) {
      const Joint& other = model.joint[up];
      for (int i = own.v; i < own.v + own.nv; ++i) {
        for (int k = other.v; k < other.v + other.nv; ++k) {
          const Vec3<S> H = cross(d.lever[k].w, d.lever[i].D);
          add(i, k, H);
          if (up != down) add(k, i, H);
        }
      }
    }
    if (own.first_slope >= 0) {
      const tree::SubspaceDerivative<S> slopes = {own.nv, d.slope + own.first_slope};
      for (int i = 0; i < own.nv; ++i) {
        for (int k = 0; k < own.nv; ++k) {
          const Motion<S>& dS = slopes.column(i, k);
          add(own.v + i, own.v + k, d.body[down].X_WB.R * cross_add(dS.w, at, dS.v));
        }
      }
    }
    at = d.body[down].X_PB * at;
  }
}

/// One spring.
template <class S>
void add_spring(const ModelOf<S>& model,
                const SpringDerivatives<S>& d,
                const tree::Spring<typename S::Parameter>& spring,
                const S* v) {
  const S one = all<S>(1), o = all<S>(0), K = all<S>(spring.stiffness), c = all<S>(spring.damping);
  const Vec3<S> at_a = spatial::all3<S>(spring.at_a), at_b = spatial::all3<S>(spring.at_b);
  const SpringEnd<S> A = spring_end(d.body, spring.a, at_a), B = spring_end(d.body, spring.b, at_b);
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
  Carrier<S>* const body = take<Carrier<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  Motion<S>* const slope = take<Motion<S>>(w, model.slopes);
  spread_carriers(model, q, v, body, columns);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    if (joint.first_slope < 0) continue;
    tree::subspace_derivative(
        model, b, q, v, columns, tree::SubspaceDerivative<S>{joint.nv, slope + joint.first_slope});
  }
  const SpringDerivatives<S> d = {body,
                                  columns,
                                  slope,
                                  take<Lever<S>>(w, model.nv),
                                  take<Vec3<S>>(w, model.nv),
                                  take<Vec3<S>>(w, model.nv),
                                  by_q,
                                  by_v,
                                  sign};
  for (int k = 0; k < model.springs; ++k) add_spring(model, d, model.spring[k], v);
}

}  // namespace pysim::dynamics
