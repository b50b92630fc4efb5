// One loop: frame A on a body and frame B on another, whose relative motion a joint constrains.
//
//     e = log(X_J(φ)⁻¹ X_AB)              at the joint's best-fitting coordinates φ, see loop_fit.hpp
//     g = Wᵀ e = 0                        W spans the constrained directions, Wᵀ S(φ) = 0
//     ġ = Wᵀ V_AB,   g̈ = Wᵀ (A_AB − Ṡ φ̇)  on the constraint, where V_AB = S φ̇
//
// V_AB is the twist of B relative to A in B; A_AB the rate of its components. Any joint can close a loop this
// way, including a traced plugin. Points held in a plane, on a line or at a distance have no joint: their
// rows are written out, and so are those of a wheel, in rolling.hpp.
#pragma once

#include "constraints/driven_frame.hpp"
#include "constraints/loop_fit.hpp"
#include "constraints/rolling.hpp"
#include "constraints/row_list.hpp"

namespace pysim::constraints {

using tree::Loop;
using tree::LoopKind;
using tree::take;
using tree::Workspace;

/// Motion of frame B relative to frame A, in B.
template <class S>
struct RelativeMotion {
  Pose<S> X_AB;
  Motion<S> V, A;
};

/// Motion relative to frame M in place of A, if the loop is driven, see driven_frame.hpp.
template <class S>
void follow_drive(const ModelOf<S>& model,
                  const Loop& loop,
                  const Clock<S>& clock,
                  RelativeMotion<S>& motion,
                  Workspace<S> w) {
  if (loop.program < 0) return;
  const DrivenFrame<S> M(model, loop, clock, w);
  motion.X_AB = inverse(M.X_AM) * motion.X_AB;
  const Motion<S> U = to_child(motion.X_AB, M.V);
  motion.A = motion.A - to_child(motion.X_AB, M.A) + cross(motion.V, U);
  motion.V = motion.V - U;
}

/// The rows of one loop: residual g, wrenches W in frame B, and the velocity-dependent part of g̈.
template <class S>
struct LoopRows {
  S g[6], bias[6];
  Force<S> W[6];
};

/// Whether a hinge keeps its axis parallel in every configuration, as in a plane: its rows are a point's.
PYSIM_INLINE bool pins_a_point(const Loop& loop, const Joint& joint) {
  constexpr int positions = 3;  // its first rows
  bool pins = joint.shape == tree::Shape::revolute;
  for (int n = 0; n < loop.rows; ++n) pins = pins && loop.independent[n] < positions;
  return pins;
}

/// Rows of such a hinge: frames A and B differ by a rotation about z, so e is the distance vector of their
/// origins.
template <class S>
void pin_rows(const RelativeMotion<S>& motion, const Loop& loop, LoopRows<S>& out) {
  const Vec3<S> p = transpose_times(motion.X_AB.R, motion.X_AB.p);
  const S along[3] = {p.x, p.y, p.z};
  for (int n = 0; n < loop.rows; ++n) {
    const int i = loop.independent[n];
    out.W[i] = unit_force<S>(i);
    out.g[i] = along[i];
    out.bias[i] = all<S>(0);
  }
}

/// Rows of loop k closed by a joint: those that are independent.
template <class S>
void joint_rows(const ModelOf<S>& model,
                int k,
                const RelativeMotion<S>& motion,
                S* phi,
                LoopRows<S>& out,
                Workspace<S> w) {
  const ModelOf<S>& closure = *model.closure;
  const Joint& joint = closure.joint[k];
  if (pins_a_point(model.loop[k], joint)) return pin_rows(motion, model.loop[k], out);
  Motion<S>* const columns = take<Motion<S>>(w, closure.stored_columns);
  LoopFit<S> f;
  fit_coordinates(closure, k, motion.X_AB, phi, columns, f);
  const Loop& loop = model.loop[k];
  for (int n = 0; n < loop.rows; ++n) {
    const int i = loop.independent[n];
    out.W[i] = f.split.held(i);
    out.g[i] = f.parts[joint.nv + i];
    out.bias[i] = all<S>(0);
  }
  if (!joint.biased) return;
  S parts[6];
  f.split.split(motion.V, parts);
  f.split.coordinates(parts);
  S* const rate = take<S>(w, closure.nv);
  for (int i = 0; i < joint.nv; ++i) rate[joint.v + i] = parts[i];
  f.split.split(tree::bias(closure, k, columns, static_cast<const S*>(rate)), parts);
  for (int n = 0; n < loop.rows; ++n) out.bias[loop.independent[n]] = -parts[joint.nv + loop.independent[n]];
}

/// Rows of a point of B that is fixed in A along n. p, ṗ and the bias of p̈ in A:
///
///     ġ = n·R v,   g̈ = n·R (v̇ + ω×v)
template <class S>
void point_row(const RelativeMotion<S>& motion, const Vec3<S>& n, S g, int i, LoopRows<S>& out) {
  const Vec3<S> n_B = transpose_times(motion.X_AB.R, n);
  out.g[i] = g;
  out.W[i] = {n_B, spatial::zero3<S>()};
  out.bias[i] = dot(n_B, cross(motion.V.w, motion.V.v));
}

/// |p| = length:  n = p/|p|,  g̈ = n·p̈ + (|ṗ|² − (n·ṗ)²)/|p|.
template <class S>
void distance_row(const RelativeMotion<S>& motion, S length, LoopRows<S>& out) {
  const Vec3<S>& p = motion.X_AB.p;
  const S reach = sqrt(dot(p, p)), o = all<S>(0);
  const S inverse = select(reach > o, all<S>(1) / reach, o);
  const Vec3<S> n = inverse * p;
  point_row(motion, n, reach - length, 0, out);
  const S along = dot(out.W[0].f, motion.V.v);
  out.bias[0] = fma(inverse, fnma(along, along, dot(motion.V.v, motion.V.v)), out.bias[0]);
}

/// A wheel of `radius` on the plane of A; rows that constrain velocities only have no residual.
template <class S>
void wheel_rows(const RelativeMotion<S>& motion, S radius, LoopRows<S>& out) {
  const S o = all<S>(0);
  const Vec3<S> n = transpose_times(motion.X_AB.R, Vec3<S>{o, o, all<S>(1)});
  const Wheel<S> wheel(n, motion.V.w, radius);
  out.g[0] = fnma(radius, wheel.rise, motion.X_AB.p.z);
  out.g[1] = out.g[2] = o;
  out.bias[0] = wheel.row(wheel.n, wheel.n_rate, motion.V, out.W[0]);
  out.bias[1] = wheel.row(wheel.t, wheel.t_rate, motion.V, out.W[1]);
  out.bias[2] = wheel.row(wheel.s, wheel.s_rate, motion.V, out.W[2]);
}

/// The rows of loop k; φ of its joint is updated to the best fit, except a hinge's.
template <class S>
void loop_rows(const ModelOf<S>& model,
               int k,
               const RelativeMotion<S>& motion,
               S* phi,
               LoopRows<S>& out,
               Workspace<S> w) {
  const Loop& loop = model.loop[k];
  const S o = all<S>(0), e = all<S>(1);
  const Vec3<S>& p = motion.X_AB.p;
  switch (loop.kind) {
    case LoopKind::joint:
      return joint_rows(model, k, motion, phi, out, w);
    case LoopKind::plane:
      return point_row(motion, Vec3<S>{o, o, e}, p.z, 0, out);
    case LoopKind::line:
      point_row(motion, Vec3<S>{e, o, o}, p.x, 0, out);
      return point_row(motion, Vec3<S>{o, e, o}, p.y, 1, out);
    case LoopKind::distance:
      return distance_row(motion, all<S>(model.loop_constants[k].length), out);
    case LoopKind::wheel:
      return wheel_rows(motion, all<S>(model.loop_constants[k].length), out);
  }
}

}  // namespace pysim::constraints
