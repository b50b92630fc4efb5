// Poses and twists of the bodies that elements act between, the wrenches on them, and their generalised
// forces.
//
//     τ = Σ Sᵀ F        F_P += X_PB* F_B        one pass from the leaves to the root for all elements
#pragma once

#include "tree/joint.hpp"
#include "tree/workspace.hpp"

namespace pysim::elements {

using simd::all;
using simd::fma;
using spatial::Force;
using spatial::Motion;
using spatial::Pose;
using spatial::Vec3;
using spatial::zero3;
using tree::Joint;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// Pose and twist of one body.
template <class S>
struct PlacedBody {
  Pose<S> X_PB, X_WB;
  Motion<S> V;
};

/// X_PB, X_WB and V of body b, whose parent is placed, and its joint's columns. v may be null (zero).
template <class S>
PYSIM_INLINE void place_body(
    const ModelOf<S>& model, int b, const S* q, const S* v, PlacedBody<S>* body, Motion<S>* columns) {
  const Joint& joint = model.joint[b];
  PlacedBody<S>& B = body[b];
  const bool root = joint.parent < 0;
  tree::evaluate(model, b, q, columns, B.X_PB);
  B.X_WB = root ? B.X_PB : body[joint.parent].X_WB * B.X_PB;
  B.V = root ? spatial::zero_motion<S>() : to_child(B.X_PB, body[joint.parent].V);
  for (int i = 0; v != nullptr && i < joint.nv; ++i)
    B.V = plus(B.V, tree::axis(joint, columns, i), v[joint.v + i]);
}

/// The same of every body.
template <class S>
void place_bodies(const ModelOf<S>& model, const S* q, const S* v, PlacedBody<S>* body, Motion<S>* columns) {
  for (int b = 0; b < model.bodies; ++b) place_body(model, b, q, v, body, columns);
}

/// Position and velocity of a point, in the world.
template <class S>
struct PointMotion {
  Vec3<S> p, v;
};

template <class S>
PYSIM_INLINE PointMotion<S> point_motion(const Pose<S>& X_WB, const Motion<S>& V, const Vec3<S>& at) {
  return {X_WB * at, X_WB.R * cross_add(V.w, at, V.v)};
}

template <class S>
PointMotion<S> point_motion(const PlacedBody<S>* body, int b, const Vec3<S>& at) {
  if (b < 0) return {at, zero3<S>()};
  return point_motion(body[b].X_WB, body[b].V, at);
}

/// Sum of the wrenches on every body, each in its body's frame about the body's origin, and generalised
/// forces on what moves points within bodies.
template <class S>
struct BodyWrenches {
  const PlacedBody<S>* body;
  Force<S>* sum;
  S* tau = nullptr;  ///< [nv] of the tree; null if only wrenches are requested

  /// F in a frame that is fixed on body b.
  void at_frame(int b, const typename S::Parameter* at, const Force<S>& F) const {
    if (b < 0) return;
    const Pose<S> X = {spatial::all33<S>(at), spatial::all3<S>(at + 9)};
    sum[b] += to_parent(X, F);
  }

  /// f in world axes, on the point `at` of body b.
  void at_point(int b, const Vec3<S>& at, const Vec3<S>& f) const {
    if (b < 0) return;
    const Vec3<S> f_B = transpose_times(body[b].X_WB.R, f);
    sum[b] += Force<S>{f_B, cross(at, f_B)};
  }

  /// x on velocity k of the tree.
  void on_coordinate(int k, S x) const {
    if (tau != nullptr) tau[k] += x;
  }

  /// Adds Sᵀ F of body b to τ, and F to its parent; bodies come from the leaves to the root.
  void project(const ModelOf<S>& model, const Motion<S>* columns, int b, S* tau) const {
    const Joint& joint = model.joint[b];
    for (int i = 0; i < joint.nv; ++i) tau[joint.v + i] += dot(tree::axis(joint, columns, i), sum[b]);
    if (joint.parent >= 0) sum[joint.parent] += to_parent(body[b].X_PB, sum[b]);
  }
};

/// No wrenches on any body.
template <class S>
BodyWrenches<S> take_wrenches(const ModelOf<S>& model,
                              const PlacedBody<S>* body,
                              Workspace<S>& w,
                              S* tau = nullptr) {
  Force<S>* const sum = take<Force<S>>(w, model.bodies);
  for (int b = 0; b < model.bodies; ++b) sum[b] = spatial::zero_force<S>();
  return {body, sum, tau};
}

}  // namespace pysim::elements
