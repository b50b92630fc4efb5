// Rows of all constraints at one state: residual g, Jacobian J, and g̈ under given accelerations.
//
//     ġ = J v        g̈ = J v̇ + bias(q, v)
#pragma once

#include "constraints/loop_closure.hpp"
#include "constraints/planar_rows.hpp"

namespace pysim::constraints {

template <class S>
PYSIM_INLINE Pose<S> stored_pose(const typename S::Parameter* numbers) {
  return {spatial::all33<S>(numbers), spatial::all3<S>(numbers + 9)};
}

/// Pose and twist of frame B relative to frame A of a loop, from those of the bodies, null for the world;
/// leaves the pose of frame B in the world.
template <class S>
PYSIM_INLINE RelativeMotion<S> relative_motion(const Pose<S>& at_a,
                                               const Pose<S>& at_b,
                                               const Pose<S>* X_WA,
                                               const Pose<S>* X_WB,
                                               const Motion<S>* V_a,
                                               const Motion<S>* V_b,
                                               Pose<S>& X_WF) {
  const Motion<S> still = spatial::zero_motion<S>();
  const Motion<S> V_B = V_b != nullptr ? to_child(at_b, *V_b) : still;
  X_WF = X_WB != nullptr ? *X_WB * at_b : at_b;
  RelativeMotion<S> motion;
  motion.X_AB = inverse(X_WA != nullptr ? *X_WA * at_a : at_a) * X_WF;
  motion.V = V_a != nullptr ? V_B - to_child(motion.X_AB, to_child(at_a, *V_a)) : V_B;
  motion.A = still;
  return motion;
}

/// Sets the acceleration of frame B relative to frame A from those of the bodies, which are −g at rest:
///
///     A_AB = A_B − X_BA A_A − V_B × V_AB        V_b is null for the world
template <class S>
PYSIM_INLINE void set_acceleration(const Pose<S>& at_a,
                                   const Pose<S>& at_b,
                                   const Motion<S>* V_b,
                                   const Motion<S>& A_a,
                                   const Motion<S>& A_b,
                                   RelativeMotion<S>& motion) {
  const Motion<S> V_B = V_b != nullptr ? to_child(at_b, *V_b) : spatial::zero_motion<S>();
  const Motion<S> A_A = to_child(at_a, A_a), A_B = to_child(at_b, A_b);
  motion.A = A_B - to_child(motion.X_AB, A_A) - cross(V_B, motion.V);
}

/// Frame B of loop k in the world, and its pose, twist and (on demand) acceleration relative to frame A.
template <class S>
RelativeMotion<S> relative_motion(
    const ModelOf<S>& model, int k, const TreeFactor<S>& factor, bool with_acceleration, Pose<S>& X_WF) {
  const Loop& loop = model.loop[k];
  const auto at_a = stored_pose<S>(model.loop_constants[k].at_a);
  const auto at_b = stored_pose<S>(model.loop_constants[k].at_b);
  const bool a_moves = loop.a >= 0, b_moves = loop.b >= 0;
  const dynamics::AbaBody<S>* const body = factor.body;
  RelativeMotion<S> motion = relative_motion(at_a,
                                             at_b,
                                             a_moves ? &factor.X_WB[loop.a] : nullptr,
                                             b_moves ? &factor.X_WB[loop.b] : nullptr,
                                             a_moves ? &body[loop.a].V : nullptr,
                                             b_moves ? &body[loop.b].V : nullptr,
                                             X_WF);
  if (!with_acceleration) return motion;
  const Motion<S> rest = dynamics::minus_gravity<S>(model);
  set_acceleration(at_a,
                   at_b,
                   b_moves ? &body[loop.b].V : nullptr,
                   a_moves ? body[loop.a].c : rest,
                   b_moves ? body[loop.b].c : rest,
                   motion);
  return motion;
}

/// Contribution of the joint of body b to a loop's rows:  ± W_Wᵀ X_WB S, about the loop frame's origin p.
/// `at` is the place of its first coordinate on the path.
template <class S>
void add_joint(const TreeFactor<S>& factor,
               const Loop& loop,
               int b,
               bool along_b,
               const Vec3<S>& p,
               const Force<S>* W_W,
               S* J,
               S* reach,
               int at) {
  const auto& model = factor.model;
  const Joint& joint = model.joint[b];
  const Pose<S> from_p = {factor.X_WB[b].R, factor.X_WB[b].p - p};
  for (int i = joint.nv - 1; i >= 0; --i, ++at) {
    const Motion<S> V = to_parent(from_p, tree::axis(joint, factor.columns, i));
    const auto& mimic = model.mimic_v[joint.v + i];
    const S ratio = along_b ? all<S>(mimic.ratio) : -all<S>(mimic.ratio);
    const S moved = ratio * ratio * dot(V.v, V.v), turned = ratio * ratio * dot(V.w, V.w);
    for (int n = 0; n < loop.rows; ++n) {
      const int entry = n * model.reduced_nv + (model.mimic ? mimic.reduced : at);
      J[entry] = fma(ratio, dot(V, W_W[n]), J[entry]);
      reach[entry] += select(holds_position(W_W[n]), moved, turned);
    }
  }
}

/// J of one loop's rows: the joints from body a and body b up to their common ancestor.
template <class S>
void loop_jacobian(const TreeFactor<S>& factor, const Loop& loop, const Pose<S>& X_WF, const Rows<S>& r) {
  const auto& model = factor.model;
  S *const J = r.J + loop.row * model.reduced_nv, *const reach = r.reach + loop.row * model.reduced_nv;
  Force<S> W_W[6];
  for (int n = 0; n < loop.rows; ++n) {
    const Force<S>& W = r.W[loop.row + n];
    W_W[n] = {X_WF.R * W.f, X_WF.R * W.t};
    for (int m = 0; m < r.path[loop.row].nv; ++m) {
      J[n * model.reduced_nv + m] = reach[n * model.reduced_nv + m] = all<S>(0);
    }
  }
  int at = 0;
  for (int a = loop.a, b = loop.b; a != b;) {
    const bool along_b = b > a;
    int& body = along_b ? b : a;
    add_joint<S>(factor, loop, body, along_b, X_WF.p, W_W, J, reach, at);
    at += model.joint[body].nv;
    body = model.joint[body].parent;
  }
}

/// J with all its zeros, (count, nv).
template <class S>
void spread_jacobian(const Rows<S>& r, S* J) {
  for (int i = 0; i < r.count * r.nv; ++i) J[i] = all<S>(0);
  for (int i = 0; i < r.count; ++i) {
    const int* const k = r.coordinates(i);
    for (int m = 0; m < r.path[i].nv; ++m) J[i * r.nv + k[m]] = r.J[i * r.nv + m];
  }
}

/// Rows of loop k: those that are independent.
template <class S>
void put_loop_rows(const ModelOf<S>& model,
                   int k,
                   const TreeFactor<S>& factor,
                   const Clock<S>& clock,
                   S* phi,
                   const Rows<S>& r,
                   bool with_jacobian,
                   Workspace<S> w) {
  const Loop& loop = model.loop[k];
  Pose<S> X_WF;
  RelativeMotion<S> motion = relative_motion(model, k, factor, r.gdd != nullptr, X_WF);
  follow_drive(model, loop, clock, motion, w);
  LoopRows<S> rows;
  loop_rows(model, k, motion, phi, rows, w);
  for (int i = 0; i < loop.rows; ++i) {
    const int at = loop.row + i, closure_row = loop.independent[i];
    r.W[at] = rows.W[closure_row];
    r.g[at] = rows.g[closure_row];
    r.gd[at] = dot(motion.V, rows.W[closure_row]);
    if (r.gdd != nullptr) r.gdd[at] = dot(motion.A, rows.W[closure_row]) + rows.bias[closure_row];
  }
  if (with_jacobian) loop_jacobian(factor, loop, X_WF, r);
}

template <class S>
void put_loop_rows(const ModelOf<S>& model,
                   int k,
                   const PlanarFactor<S>& factor,
                   const Clock<S>&,
                   S*,
                   const Rows<S>& r,
                   bool with_jacobian,
                   Workspace<S>) {
  if (model.loop[k].rows > 0) planar_rows(model, k, factor, r, with_jacobian);
}

/// The rows of every loop, from the bodies' motion in `factor`; J on demand. φ follows, except that of
/// hinges, whose rows do not need it.
template <class S>
void evaluate_rows(const ModelOf<S>& model,
                   const MechanismFactor<S>& factor,
                   const Clock<S>& clock,
                   S* phi,
                   const Rows<S>& r,
                   bool with_jacobian,
                   Workspace<S> w) {
  factor.visit_bodies([&](const auto& bodies) {
    for (int k = 0; k < model.loops; ++k) put_loop_rows(model, k, bodies, clock, phi, r, with_jacobian, w);
  });
}

template <class S>
HingeFit<S> hinge_fit(const ModelOf<S>& model, int k, const TreeFactor<S>& factor) {
  Pose<S> X_WF;
  return HingeFit<S>(relative_motion(model, k, factor, false, X_WF).X_AB.R);
}

/// φ of the hinges that close loops, where `factor` has placed the bodies.
template <class S>
void follow_hinges(const ModelOf<S>& model, const MechanismFactor<S>& factor, S* phi) {
  factor.visit_bodies([&](const auto& bodies) {
    for (int k = 0; k < model.loops; ++k) {
      const bool hinge =
          model.loop[k].kind == LoopKind::joint && model.closure->joint[k].shape == tree::Shape::revolute;
      if (hinge) follow_hinge(*model.closure, k, hinge_fit(model, k, bodies), phi);
    }
  });
}

/// Rotates the wrenches of the loops' rows to the user's axes of frame B.
template <class S>
void name_wrenches(const ModelOf<S>& model, const Rows<S>& r) {
  for (int k = 0; k < model.loops; ++k) {
    const auto turn = spatial::all33<S>(model.closure->constants[k].alignment);
    for (int i = model.loop[k].row; i < model.loop[k].row + model.loop[k].rows; ++i) {
      r.W[i] = {turn * r.W[i].f, turn * r.W[i].t};
    }
  }
}

/// Scales of the rows of loops in G = J M⁻¹ Jᵀ: 1/√ of the largest diagonal among the related rows, those of
/// the same loop that constrain positions, or that constrain rotations; a row of rounding alone stays small.
/// `diagonal(i)` is that of row i, `possible(i)` one that a row without relatives could have.
template <class S, class Diagonal, class Possible>
void scale_loop_rows(const ModelOf<S>& model,
                     const Rows<S>& rows,
                     const Diagonal& diagonal,
                     const Possible& possible,
                     S* scale) {
  const S o = all<S>(0), one = all<S>(1);
  for (int k = 0; k < model.loops; ++k) {
    const Loop& loop = model.loop[k];
    S of_positions = o, of_turns = o, positions = o;
    for (int i = loop.row; i < loop.row + loop.rows; ++i) {
      const S size = diagonal(i);
      const auto position = holds_position(rows.W[i]);
      of_positions = max(of_positions, select(position, size, o));
      of_turns = max(of_turns, select(position, o, size));
      positions += number(position);
    }
    const S turns = all<S>(static_cast<typename S::Real>(loop.rows)) - positions;
    for (int i = loop.row; i < loop.row + loop.rows; ++i) {
      const auto position = holds_position(rows.W[i]);
      const S relatives = select(position, positions, turns);
      if (none(relatives == one)) continue;
      const S could = select(relatives == one, possible(i), o);
      of_positions = max(of_positions, select(position, could, o));
      of_turns = max(of_turns, select(position, o, could));
    }
    const S position = one / sqrt(of_positions);
    const S turn = any(of_turns > o) ? one / sqrt(of_turns) : o;
    for (int i = loop.row; i < loop.row + loop.rows; ++i) {
      scale[i] = select(holds_position(rows.W[i]), position, turn);
    }
  }
}

}  // namespace pysim::constraints
