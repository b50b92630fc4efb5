// Regressors of a body's wrench and of the joint torques, linear in the parameters
// θ = [m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] of each body [Atkeson, An, Hollerbach 1986; Traversaro et al.
// 2016].
//
//     F = Y_B θ:       f = m α + K mc        K = α_B× + ω×ω×        α = a.v + ω × v,  acceleration of the
//                                                                   origin
//                      τ = mc × α + I ω̇ + ω × I ω
//     τ_k = Σ_B J_Bkᵀ Y_B θ_B       J_Bk = X_BP J_Pk + S_k,  the twist of body B for a unit of coordinate k
//
// A row of Y runs over the bodies that coordinate k moves. With J = [u; w] and z = w × ω its entries are
//
//     m:  α·u        mc:  Kᵀ u + α × w        Iij:  w_i ω̇_j + w_j ω̇_i + z_i ω_j + z_j ω_i
//                                             (halved for i = j)
#pragma once

#include "dynamics/user_frame_motion.hpp"

namespace pysim::dynamics {

/// Factors of the parameters of a body, in the user's frame.
template <class S>
struct RegressorBody {
  Pose<S> X_PB;
  Vec3<S> acc;         ///< α, proper acceleration of the origin
  Vec3<S> w, w_dot;    ///< ω, ω̇
  spatial::Mat3<S> K;  ///< ω̇× + ω×ω×
};

/// From twist V and proper spatial acceleration a.
template <class S>
PYSIM_INLINE RegressorBody<S> regressor_body(const Pose<S>& X_PB, const Motion<S>& V, const Motion<S>& a) {
  const Vec3<S>&w = V.w, &e = a.w;
  const S xx = w.x * w.x, yy = w.y * w.y, zz = w.z * w.z;
  return {X_PB,
          cross_add(w, V.v, a.v),
          w,
          e,
          {{-(yy + zz), fma(w.x, w.y, e.z), fms(w.x, w.z, e.y)},
           {fms(w.x, w.y, e.z), -(xx + zz), fma(w.y, w.z, e.x)},
           {fma(w.x, w.z, e.y), fms(w.y, w.z, e.x), -(xx + yy)}}};
}

/// Jᵀ Y_B: ten entries of a row.
template <class S>
PYSIM_INLINE void regressor_entries(const RegressorBody<S>& B, const Motion<S>& J, S* row) {
  const Vec3<S>&w = J.w, &e = B.w_dot, &o = B.w;
  const Vec3<S> z = cross(w, o);
  const Vec3<S> mc = cross_add(B.acc, w, transpose_times(B.K, J.v));
  row[0] = dot(B.acc, J.v);
  row[1] = mc.x;
  row[2] = mc.y;
  row[3] = mc.z;
  row[4] = fma(z.x, o.x, w.x * e.x);
  row[5] = fma(z.y, o.x, fma(z.x, o.y, fma(w.y, e.x, w.x * e.y)));
  row[6] = fma(z.y, o.y, w.y * e.y);
  row[7] = fma(z.z, o.x, fma(z.x, o.z, fma(w.z, e.x, w.x * e.z)));
  row[8] = fma(z.z, o.y, fma(z.y, o.z, fma(w.z, e.y, w.y * e.z)));
  row[9] = fma(z.z, o.z, w.z * e.z);
}

/// All bodies for a state; `a` may be null. Stores the joints' columns in S_B (tree nv).
template <class S>
void regressor_bodies(const ModelOf<S>& model,
                      const S* q,
                      const S* v,
                      const S* a,
                      RegressorBody<S>* body,
                      Motion<S>* S_B,
                      Workspace<S> w) {
  MovingBody<S>* const moving = take<MovingBody<S>>(w, model.bodies);
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  spread_motion(model, q, v, a, minus_gravity<S>(model), moving, columns);
  name_frames(model, columns, moving, S_B);
  for (int b = 0; b < model.bodies; ++b) {
    body[b] = regressor_body(moving[b].X_PB, moving[b].V, moving[b].a);
  }
}

/// Bodies that one of the user's coordinates may move: first ≤ b < end.
struct BodyRange {
  int first, end;
};

/// Those below every joint that is, or follows, coordinate k.
template <class S>
BodyRange moved_by(const ModelOf<S>& model, int k) {
  BodyRange range = {model.bodies, 0};
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    if (k < model.mimic_v[joint.v].reduced || k > model.mimic_v[joint.v + joint.nv - 1].reduced) continue;
    if (b < range.first) range.first = b;
    if (joint.end > range.end) range.end = joint.end;
  }
  return range;
}

/// Row k of Y for the bodies of `range`, ten entries each; `J` has room for a twist a body.
template <class S>
void regressor_row(const ModelOf<S>& model,
                   const RegressorBody<S>* body,
                   const Motion<S>* S_B,
                   int k,
                   BodyRange range,
                   Motion<S>* J,
                   S* row) {
  for (int b = range.first; b < range.end; ++b) {
    const Joint& joint = model.joint[b];
    J[b] = joint.parent < range.first ? spatial::zero_motion<S>() : to_child(body[b].X_PB, J[joint.parent]);
    for (int i = joint.v; i < joint.v + joint.nv; ++i) {
      const auto& coupling = model.mimic_v[i];
      if (coupling.reduced == k) J[b] = fma(all<S>(coupling.ratio), S_B[i], J[b]);
    }
    regressor_entries(body[b], J[b], row + 10 * (b - range.first));
  }
}

}  // namespace pysim::dynamics
