// Tree quantities on the axes of the root body.
//
//     R = R_P R_PB(q)     p = R_P p_PB     M, S turned by R        root to leaves
//
// Every body's quantities are about its own origin, which is at p from its parent's; only their axes are
// the root's. From a body to its parent they are translated but never rotated, and no precision is
// lost to the distance from the root.
#pragma once

#include "dynamics/kinematics.hpp"

namespace pysim::dynamics {

/// A body on the axes of the root body.
template <class S>
struct RootAxesBody {
  spatial::Mat3<S> R;
  Vec3<S> p;
  Inertia<S> M;  ///< of the single body, then of the composite body
};

/// S_iᵀ F of a column on the root's axes, which is still a single axis if it was one in its body.
template <class S>
PYSIM_INLINE S dot_in_root_axes(tree::Column column, const Motion<S>& Sj, const Force<S>& F) {
  if (column == tree::stored) return dot(Sj, F);
  return column >= tree::wx ? dot(Sj.w, F.t) : dot(Sj.v, F.f);
}

/// c + S_i s.
template <class S>
PYSIM_INLINE Motion<S> plus_in_root_axes(tree::Column column, const Motion<S>& Sj, S s, const Motion<S>& c) {
  if (column == tree::stored) return fma(s, Sj, c);
  if (column >= tree::wx) return {c.v, fma(s, Sj.w, c.w)};
  return {fma(s, Sj.v, c.v), c.w};
}

/// Root to leaves: single bodies and the joints' columns `Sj` (tree nv).
template <class S>
void to_root_axes(const ModelOf<S>& model, const S* q, RootAxesBody<S>* body, Motion<S>* Sj, Workspace<S> w) {
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  const tree::SincosTable<S> sincos = tree::sincos_table(model, q, w);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    RootAxesBody<S>& B = body[b];
    const Pose<S> X_PB = tree::evaluate(model, b, q, sincos, columns);
    if (joint.parent < 0) {
      B.R = spatial::identity3<S>();
    } else {
      const spatial::Mat3<S>& R = body[joint.parent].R;
      B.R = R * X_PB.R;
      B.p = R * X_PB.p;
    }
    B.M = rotate(B.R, spatial::all_inertia<S>(model.constants[b].inertia));
    for (int i = 0; i < joint.nv; ++i) {
      Sj[joint.v + i] = to_parent({B.R, zero3<S>()}, tree::axis(joint, columns, i));
    }
  }
}

}  // namespace pysim::dynamics
