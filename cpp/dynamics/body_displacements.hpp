// Displacement of every body in its own frame for a step ξ of the coordinates, to full relative
// precision: the step is small and the poses at its ends are not, so it is not computed as their difference.
//
//     ΔX_B = X_WB(q₀)⁻¹ X_WB(q₀ ⊕ ξ)         ΔX_B = (X_PB⁻¹ ΔX_P X_PB) E_B
//
// E_B is the joint's own step, exp([S ξ]) where S does not depend on q.
#pragma once

#include "dynamics/aba.hpp"
#include "spatial/se3.hpp"

namespace pysim::dynamics {

using spatial::Quaternion;
using tree::Shape;

/// The tree at one configuration: joint poses and motion subspaces.
template <class S>
struct Posture {
  Pose<S>* X_PB;
  Motion<S>* columns;
};

template <class S>
Posture<S> posture(const ModelOf<S>& model, const S* q, Workspace<S>& w) {
  const Posture<S> at = {take<Pose<S>>(w, model.bodies), take<Motion<S>>(w, model.stored_columns)};
  Workspace<S> scratch = w;
  const tree::SincosTable<S> sincos = tree::sincos_table(model, q, scratch);
  for (int b = 0; b < model.bodies; ++b) at.X_PB[b] = tree::evaluate(model, b, q, sincos, at.columns);
  return at;
}

/// Distance of the farthest body from the root, along the tree [m].
template <class S>
S reach(const ModelOf<S>& model, const Posture<S>& at, Workspace<S> w) {
  S* const away = take<S>(w, model.bodies);
  S most = all<S>(0);
  for (int b = 0; b < model.bodies; ++b) {
    const int parent = model.joint[b].parent;
    const Vec3<S>& p = at.X_PB[b].p;
    away[b] = sqrt(dot(p, p)) + (parent < 0 ? all<S>(0) : away[parent]);
    most = max(most, away[b]);
  }
  return most;
}

/// A displacement near the identity: the vector part of the quaternion and the position are small numbers.
template <class S>
struct SmallPose {
  Quaternion<S> turn;
  Vec3<S> p;
};

/// (R − 1) a = 2 (w u + u × u×) a, without the difference of large numbers.
template <class S>
PYSIM_INLINE Vec3<S> turned_by(const Quaternion<S>& turn, const Vec3<S>& a) {
  const Vec3<S> u = {turn.x, turn.y, turn.z};
  const Vec3<S> once = cross(u, a);
  return all<S>(2) * fma(turn.w, once, cross(u, once));
}

template <class S>
PYSIM_INLINE SmallPose<S> operator*(const SmallPose<S>& a, const SmallPose<S>& b) {
  return {a.turn * b.turn, a.p + (b.p + turned_by(a.turn, b.p))};
}

/// X⁻¹ D X.
template <class S>
PYSIM_INLINE SmallPose<S> seen_from(const Pose<S>& X, const SmallPose<S>& D) {
  const Vec3<S> u = transpose_times(X.R, Vec3<S>{D.turn.x, D.turn.y, D.turn.z});
  return {{u.x, u.y, u.z, D.turn.w}, transpose_times(X.R, D.p + turned_by(D.turn, X.p))};
}

template <class S>
PYSIM_INLINE SmallPose<S> small_exp(const Motion<S>& xi) {
  return {spatial::exp_quaternion(xi.w), spatial::exp_position(xi)};
}

/// E_B = X_PB(q₀)⁻¹ X_PB(q₀ ⊕ ξ) of joint b.
template <class S>
SmallPose<S> joint_step(
    const ModelOf<S>& model, int b, const Posture<S>& start, const Posture<S>& end, const S* xi) {
  const Joint& joint = model.joint[b];
  const Vec3<S> none = zero3<S>();
  switch (joint.shape) {
    case Shape::universal: {
      // Ry(−q₁) Rx(ξ₀) Ry(q₁) Ry(ξ₁)
      const Motion<S>& x = start.columns[joint.first_stored];
      const auto turn = spatial::exp_quaternion(xi[joint.v] * x.w);
      return {turn * spatial::exp_quaternion(Vec3<S>{none.x, xi[joint.v + 1], none.z}), none};
    }
    case Shape::planar: {
      const Motion<S>* in_plane = start.columns + joint.first_stored;
      return {spatial::exp_quaternion(Vec3<S>{none.x, none.y, xi[joint.v + 2]}),
              fma(xi[joint.v + 1], in_plane[1].v, xi[joint.v] * in_plane[0].v)};
    }
    case Shape::program:
    case Shape::callback: {  // determined by its poses only
      const Pose<S> E = inverse(start.X_PB[b]) * end.X_PB[b];
      return {spatial::quaternion_of(E.R), E.p};
    }
    default:
      return small_exp(tree::joint_twist(joint, start.columns, xi));
  }
}

/// ΔX_B of every body; `xi` is the step in the tree's coordinates, `end` the tree at q₀ ⊕ ξ.
template <class S>
void body_steps(const ModelOf<S>& model,
                const Posture<S>& start,
                const Posture<S>& end,
                const S* xi,
                SmallPose<S>* step) {
  for (int b = 0; b < model.bodies; ++b) {
    const int parent = model.joint[b].parent;
    const SmallPose<S> E = joint_step(model, b, start, end, xi);
    step[b] = parent < 0 ? E : seen_from(start.X_PB[b], step[parent]) * E;
  }
}

}  // namespace pysim::dynamics
