// Derivatives of the segment between a point of body a and one of body b.
//
//     d = p_B − p_A,  D = ∂d/∂q,  ḋ = D v         H_ik = ∂D_i/∂q_k
//
// H_ik of an end at p:  ω_k × D_i if joint k is that of i or above it, else ω_i × D_k; within a joint whose S
// depends on q, the velocity that ∂S_i/∂q_k gives p as well. A coordinate that moves p within its body adds
// e_i to D_i, ω_k × e_i to H_ik and H_ki of every joint k that moves the body, and ∂e_i/∂q_k. All in world
// axes.
#pragma once

#include "elements/path_points.hpp"
#include "tree/subspace_derivative.hpp"

namespace pysim::elements {

/// Velocity that a unit of a coordinate gives a point, and angular velocity of all that the joint carries.
template <class S>
struct Lever {
  Vec3<S> D, w;
};

/// Bodies, and the derivatives of one segment after the other.
template <class S>
struct SegmentDerivatives {
  const PlacedBody<S>* body;
  const Motion<S>* columns;
  const S* q;        ///< of the tree
  Motion<S>* slope;  ///< ∂S_i/∂q_k of joints whose S depends on q
  Lever<S>* lever;   ///< of one end
  Vec3<S>*D, *rate;  ///< of both ends: D, and ∂ḋ/∂q
  S *by_q, *by_v;    ///< (reduced_nv, reduced_nv), row-major
  S sign;            ///< of what is added to these
};

/// Adds `x` to entry (i, k), in tree coordinates.
template <class S>
PYSIM_INLINE void add_entry(const ModelOf<S>& model, int i, int k, S x, S* matrix) {
  const auto &row = model.mimic_v[i], &column = model.mimic_v[k];
  S& entry = matrix[row.reduced * model.reduced_nv + column.reduced];
  entry = fma(all<S>(row.ratio * column.ratio), x, entry);
}

/// Levers of a point, on what moves it in its body and every joint from there to the world; added to D with
/// the end's sign.
template <class S>
void spread_levers(const ModelOf<S>& model, const SegmentDerivatives<S>& d, const PathEnd<S>& point, S end) {
  visit_point_slopes(d.body, point, [&](int i, const Vec3<S>& e) { d.D[i] = fma(end, e, d.D[i]); });
  Vec3<S> at = point.at;
  for (int b = point.body; b >= 0; b = model.joint[b].parent) {
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
                      const SegmentDerivatives<S>& d,
                      const S* v,
                      const PathEnd<S>& point,
                      S end,
                      const Vec3<S>& f) {
  const auto add = [&](int i, int k, const Vec3<S>& H) {
    d.rate[k] = fma(end * v[i], H, d.rate[k]);
    add_entry(model, i, k, -(d.sign * end) * dot(f, H), d.by_q);
  };
  visit_point_slopes(d.body, point, [&](int i, const Vec3<S>& e) {
    for (int up = point.body; up >= 0; up = model.joint[up].parent) {
      const Joint& other = model.joint[up];
      for (int k = other.v; k < other.v + other.nv; ++k) {
        const Vec3<S> H = cross(d.lever[k].w, e);
        add(i, k, H);
        add(k, i, H);
      }
    }
  });
  const PointSlopes<S>& moves = point.slopes;
  for (int i = 0; i < moves.count; ++i) {
    for (int k = 0; k < moves.count; ++k) {
      const Vec3<S> H = in_world(d.body, point.body, moves.second[i * moves.count + k]);
      add(moves.coordinate[i].v, moves.coordinate[k].v, H);
    }
  }
  Vec3<S> at = point.at;
  for (int down = point.body; down >= 0; down = model.joint[down].parent) {
    const Joint& lower = model.joint[down];
    for (int up = down; up >= 0; up = model.joint[up].parent) {
      const Joint& upper = model.joint[up];
      for (int i = lower.v; i < lower.v + lower.nv; ++i) {
        for (int k = upper.v; k < upper.v + upper.nv; ++k) {
          const Vec3<S> H = cross(d.lever[k].w, d.lever[i].D);
          add(i, k, H);
          if (up != down) add(k, i, H);
        }
      }
    }
    if (lower.first_slope >= 0) {
      const tree::SubspaceDerivative<S> slopes = {lower.nv, d.slope + lower.first_slope};
      for (int i = 0; i < lower.nv; ++i) {
        for (int k = 0; k < lower.nv; ++k) {
          const Motion<S>& dS = slopes.column(i, k);
          add(lower.v + i, lower.v + k, d.body[down].X_WB.R * cross_add(dS.w, at, dS.v));
        }
      }
    }
    at = d.body[down].X_PB * at;
  }
}

/// Bodies at q with the twists that v gives them, and room for the columns of one segment.
template <class S>
SegmentDerivatives<S> take_segment_derivatives(
    const ModelOf<S>& model, const S* q, const S* v, S sign, S* by_q, S* by_v, Workspace<S>& w) {
  PlacedBody<S>* const body = take<PlacedBody<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  Motion<S>* const slope = take<Motion<S>>(w, model.slopes);
  place_bodies(model, q, v, body, columns);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    if (joint.first_slope < 0) continue;
    tree::subspace_derivative(
        model, b, q, v, columns, tree::SubspaceDerivative<S>{joint.nv, slope + joint.first_slope});
  }
  return {body,
          columns,
          q,
          slope,
          take<Lever<S>>(w, model.nv),
          take<Vec3<S>>(w, model.nv),
          take<Vec3<S>>(w, model.nv),
          by_q,
          by_v,
          sign};
}

}  // namespace pysim::elements
