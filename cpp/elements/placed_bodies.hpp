// Poses and twists of the bodies that elements act between, and the generalised forces of what pushes them.
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

/// Adds Sᵀ F of every joint from body b to the world to τ; F acts on b, in b's frame.
template <class S>
void push_body(
    const ModelOf<S>& model, const PlacedBody<S>* body, const Motion<S>* columns, int b, Force<S> F, S* tau) {
  for (; b >= 0; b = model.joint[b].parent) {
    const Joint& joint = model.joint[b];
    for (int i = 0; i < joint.nv; ++i) tau[joint.v + i] += dot(tree::axis(joint, columns, i), F);
    F = to_parent(body[b].X_PB, F);
  }
}

/// The same for the force f, in world axes, on the point `at` of body b.
template <class S>
void push_point(const ModelOf<S>& model,
                const PlacedBody<S>* body,
                const Motion<S>* columns,
                int b,
                const Vec3<S>& at,
                const Vec3<S>& f,
                S* tau) {
  if (b < 0) return;
  const Vec3<S> f_B = transpose_times(body[b].X_WB.R, f);
  push_body(model, body, columns, b, Force<S>{f_B, cross(at, f_B)}, tau);
}

}  // namespace pysim::elements
