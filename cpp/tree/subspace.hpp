// Motion subspace S of a joint as an operator: S v, Sᵀ F, IA S, V × S v.
//
// A column is usually a unit vector: then S v is one addition, Sᵀ F picks a number and IA S picks six. The
// choice is made here, once per operation, so that every algorithm reads as algebra.
#pragma once

#include "spatial/articulated.hpp"
#include "tree/model_view.hpp"

namespace pysim::tree {

using simd::all;
using spatial::ArticulatedInertia;
using spatial::Force;
using spatial::Inertia;
using spatial::Motion;
using spatial::Pose;
using spatial::Vec3;
using spatial::zero3;

/// Column i of a joint's motion subspace; `twist` points to six stored numbers if it is not a unit vector.
template <class S>
struct Axis {
  Column column;
  const Motion<S>* twist;
};

template <class S>
PYSIM_INLINE Axis<S> axis(const Joint& joint, const Motion<S>* stored_columns, int i) {
  if (joint.first_stored < 0) return {joint.column[i], nullptr};
  return {joint.column[i], stored_columns + joint.first_stored + i};
}

/// V + S_i s.
template <class S>
PYSIM_INLINE Motion<S> plus(Motion<S> V, const Axis<S>& Sj, S s) {
  switch (Sj.column) {
    case wz:
      V.w.z += s;
      return V;
    case vz:
      V.v.z += s;
      return V;
    case vx:
      V.v.x += s;
      return V;
    case vy:
      V.v.y += s;
      return V;
    case wx:
      V.w.x += s;
      return V;
    case wy:
      V.w.y += s;
      return V;
    case stored:
      break;
  }
  return fma(s, *Sj.twist, V);
}

/// S_i, all six numbers.
template <class S>
PYSIM_INLINE Motion<S> column(const Axis<S>& Sj) {
  if (Sj.column == stored) return *Sj.twist;
  return plus(spatial::zero_motion<S>(), Sj, all<S>(1));
}

/// S_iᵀ F.
template <class S>
PYSIM_INLINE S dot(const Axis<S>& Sj, const Force<S>& F) {
  switch (Sj.column) {
    case wz:
      return F.t.z;
    case vz:
      return F.f.z;
    case vx:
      return F.f.x;
    case vy:
      return F.f.y;
    case wx:
      return F.t.x;
    case wy:
      return F.t.y;
    case stored:
      break;
  }
  return dot(*Sj.twist, F);
}

/// IA S_i.
template <class S>
PYSIM_INLINE Force<S> operator*(const ArticulatedInertia<S>& A, const Axis<S>& Sj) {
  switch (Sj.column) {
    case wz:
      return {A.H.z, {A.I.zx, A.I.yz, A.I.zz}};
    case vz:
      return {{A.M.zx, A.M.yz, A.M.zz}, {A.H.x.z, A.H.y.z, A.H.z.z}};
    case vx:
      return {{A.M.xx, A.M.xy, A.M.zx}, {A.H.x.x, A.H.y.x, A.H.z.x}};
    case vy:
      return {{A.M.xy, A.M.yy, A.M.yz}, {A.H.x.y, A.H.y.y, A.H.z.y}};
    case wx:
      return {A.H.x, {A.I.xx, A.I.xy, A.I.zx}};
    case wy:
      return {A.H.y, {A.I.xy, A.I.yy, A.I.yz}};
    case stored:
      break;
  }
  return A * *Sj.twist;
}

/// M S_i for a rigid inertia.
template <class S>
PYSIM_INLINE Force<S> operator*(const Inertia<S>& M, const Axis<S>& Sj) {
  const S o = all<S>(0);
  switch (Sj.column) {
    case wz:
      return {{-M.mc.y, M.mc.x, o}, {M.I.zx, M.I.yz, M.I.zz}};
    case vz:
      return {{o, o, M.m}, {M.mc.y, -M.mc.x, o}};
    case vx:
      return {{M.m, o, o}, {o, M.mc.z, -M.mc.y}};
    case vy:
      return {{o, M.m, o}, {-M.mc.z, o, M.mc.x}};
    case wx:
      return {{o, -M.mc.z, M.mc.y}, {M.I.xx, M.I.xy, M.I.zx}};
    case wy:
      return {{M.mc.z, o, -M.mc.x}, {M.I.xy, M.I.yy, M.I.yz}};
    case stored:
      break;
  }
  return M * *Sj.twist;
}

/// X_AB S_i; of a unit vector only its rotated axis and its moment.
template <class S>
PYSIM_INLINE Motion<S> to_parent(const Pose<S>& X_AB, const Axis<S>& Sj) {
  const auto turning = [&](const Vec3<S>& axis) { return Motion<S>{cross(X_AB.p, axis), axis}; };
  switch (Sj.column) {
    case wz:
      return turning(X_AB.R.z);
    case vz:
      return {X_AB.R.z, zero3<S>()};
    case vx:
      return {X_AB.R.x, zero3<S>()};
    case vy:
      return {X_AB.R.y, zero3<S>()};
    case wx:
      return turning(X_AB.R.x);
    case wy:
      return turning(X_AB.R.y);
    case stored:
      break;
  }
  return to_parent(X_AB, *Sj.twist);
}

/// Whether a joint's only column is a rotation about z: most are, and then an operation is one line.
PYSIM_INLINE bool turns_about_z(const Joint& joint) {
  return joint.nv == 1 && joint.column[0] == wz;
}

/// V + Σ S_i v_i.
template <class S>
PYSIM_INLINE Motion<S> plus_joint_twist(Motion<S> V,
                                        const Joint& joint,
                                        const Motion<S>* stored_columns,
                                        const S* v) {
  if (turns_about_z(joint)) {
    V.w.z += v[joint.v];
    return V;
  }
  for (int i = 0; i < joint.nv; ++i) V = plus(V, axis(joint, stored_columns, i), v[joint.v + i]);
  return V;
}

/// Σ S_i v_i, the joint's own twist.
template <class S>
PYSIM_INLINE Motion<S> joint_twist(const Joint& joint, const Motion<S>* stored_columns, const S* v) {
  return plus_joint_twist(spatial::zero_motion<S>(), joint, stored_columns, v);
}

/// V × S v, by the single product that remains for an aligned revolute or prismatic joint.
template <class S>
PYSIM_INLINE Motion<S> cross_joint_twist(const Motion<S>& V,
                                         const Joint& joint,
                                         const Motion<S>* stored_columns,
                                         const S* v) {
  const S o = all<S>(0);
  if (turns_about_z(joint)) {
    const S s = v[joint.v];
    return {{V.v.y * s, -(V.v.x * s), o}, {V.w.y * s, -(V.w.x * s), o}};
  }
  if (joint.nv == 1 && joint.column[0] == vz) {
    const S s = v[joint.v];
    return {{V.w.y * s, -(V.w.x * s), o}, {o, o, o}};
  }
  return cross(V, joint_twist(joint, stored_columns, v));
}

/// a + V × S v.
template <class S>
PYSIM_INLINE Motion<S> plus_cross_joint_twist(
    const Motion<S>& a, const Motion<S>& V, const Joint& joint, const Motion<S>* stored_columns, const S* v) {
  if (turns_about_z(joint)) {
    const S s = v[joint.v];
    return {{fma(V.v.y, s, a.v.x), fnma(V.v.x, s, a.v.y), a.v.z},
            {fma(V.w.y, s, a.w.x), fnma(V.w.x, s, a.w.y), a.w.z}};
  }
  return a + cross_joint_twist(V, joint, stored_columns, v);
}

}  // namespace pysim::tree
