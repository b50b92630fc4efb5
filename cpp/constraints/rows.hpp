// All rows of the constraints at one state: residual g, Jacobian J, and g̈ under given accelerations.
//
//     ġ = J v        g̈ = J v̇ + bias(q, v)
#pragma once

#include "constraints/factored_mechanism.hpp"
#include "constraints/loop_closure.hpp"

namespace pysim::constraints {

template <class S>
struct Rows {
  S* g;         ///< [rows] [m, rad]
  S* gd;        ///< [rows] ġ
  S* gdd;       ///< [rows] g̈ under the accelerations of the bodies
  S* J;         ///< (rows, own_nv), row-major
  Force<S>* W;  ///< [rows] the wrench of a loop's row on body b, in frame B as the user named it
};

template <class S>
Rows<S> take_rows(const ModelOf<S>& model, Workspace<S>& w) {
  const std::ptrdiff_t rows = model.rows;
  Rows<S> r;
  r.g = w.template take<S>(rows);
  r.gd = w.template take<S>(rows);
  r.gdd = w.template take<S>(rows);
  r.J = w.template take<S>(rows * model.own_nv);
  r.W = w.template take<Force<S>>(rows);
  return r;
}

template <class S>
PYSIM_INLINE Pose<S> stored_pose(const typename S::Parameter* numbers) {
  return {spatial::all33<S>(numbers), spatial::all3<S>(numbers + 9)};
}

/// Where the bodies are in the world, from their poses in their parents.
template <class S>
const Pose<S>* world_poses(const ModelOf<S>& model, const FactoredMechanism<S>& factor, Workspace<S>& w) {
  Pose<S>* const X_WB = w.template take<Pose<S>>(model.bodies);
  for (int b = 0; b < model.bodies; ++b) {
    const int parent = model.joint[b].parent;
    X_WB[b] = parent < 0 ? factor.body[b].X_PB : X_WB[parent] * factor.body[b].X_PB;
  }
  return X_WB;
}

/// Pose, twist and acceleration of frame B against frame A.
///
///     A_AB = A_B − X_BA A_A − V_B × V_AB
template <class S>
RelativeMotion<S> relative_motion(const ModelOf<S>& model,
                                  int k,
                                  const dynamics::AbaBody<S>* body,
                                  const Pose<S>* X_WB) {
  const Loop& loop = model.loop[k];
  const auto at_a = stored_pose<S>(model.loop_constants[k].at_a);
  const auto at_b = stored_pose<S>(model.loop_constants[k].at_b);
  const bool a_moves = loop.a >= 0, b_moves = loop.b >= 0;
  const Pose<S> X_WA = a_moves ? X_WB[loop.a] * at_a : at_a, X_WF = b_moves ? X_WB[loop.b] * at_b : at_b;
  const Motion<S> still = spatial::zero_motion<S>(), rest = dynamics::minus_gravity<S>(model);
  const Motion<S> V_A = a_moves ? to_child(at_a, body[loop.a].V) : still;
  const Motion<S> V_B = b_moves ? to_child(at_b, body[loop.b].V) : still;
  const Motion<S> A_A = to_child(at_a, a_moves ? body[loop.a].c : rest);
  const Motion<S> A_B = to_child(at_b, b_moves ? body[loop.b].c : rest);
  RelativeMotion<S> motion;
  motion.X_AB = inverse(X_WA) * X_WF;
  motion.V = V_B - to_child(motion.X_AB, V_A);
  motion.A = A_B - to_child(motion.X_AB, A_A) - cross(V_B, motion.V);
  return motion;
}

/// Sᵀ F of every joint from body a and body b up to where their ways to the world meet.
template <class S>
void push_through(const ModelOf<S>& model,
                  const FactoredMechanism<S>& factor,
                  int a,
                  int b,
                  Force<S> F_a,
                  Force<S> F_b,
                  S* row) {
  const auto climb = [&](int& at, Force<S>& F) {
    const Joint& joint = model.joint[at];
    for (int i = 0; i < joint.nv; ++i) row[joint.v + i] = dot(tree::axis(joint, factor.columns, i), F);
    if (joint.parent >= 0) F = to_parent(factor.body[at].X_PB, F);
    at = joint.parent;
  };
  while (a != b) {
    if (a > b) {
      climb(a, F_a);
    } else {
      climb(b, F_b);
    }
  }
}

/// The rows of every loop, given the bodies' motion in `factor`; J on demand. φ follows.
template <class S>
void evaluate_rows(const ModelOf<S>& model,
                   const FactoredMechanism<S>& factor,
                   S* phi,
                   const Rows<S>& r,
                   bool with_jacobian,
                   Workspace<S> w) {
  const Pose<S>* X_WB = world_poses(model, factor, w);
  S* const row = w.template take<S>(model.nv);
  for (int k = 0; k < model.loops; ++k) {
    const Loop& loop = model.loop[k];
    const RelativeMotion<S> motion = relative_motion(model, k, factor.body, X_WB);
    LoopRows<S> rows;
    loop_rows(model, k, motion, phi, rows, w);
    const auto at_a = stored_pose<S>(model.loop_constants[k].at_a);
    const auto at_b = stored_pose<S>(model.loop_constants[k].at_b);
    const auto turn = spatial::all33<S>(model.closure->constants[k].turn);
    for (int i = 0; i < loop.rows; ++i) {
      const int at = loop.row + i, kept = loop.kept[i];
      const Force<S>& F = rows.W[kept];
      r.g[at] = rows.g[kept];
      r.gd[at] = dot(motion.V, F);
      r.gdd[at] = dot(motion.A, F) + rows.bias[kept];
      r.W[at] = {turn * F.f, turn * F.t};
      if (!with_jacobian) continue;
      for (int j = 0; j < model.nv; ++j) row[j] = all<S>(0);
      push_through(model,
                   factor,
                   loop.a,
                   loop.b,
                   -to_parent(at_a, to_parent(motion.X_AB, F)),
                   to_parent(at_b, F),
                   row);
      Workspace<S> inner = w;
      const S* own = tree::own_forces(model, static_cast<const S*>(row), inner);
      for (int j = 0; j < model.own_nv; ++j) r.J[at * model.own_nv + j] = own[j];
    }
  }
}

}  // namespace pysim::constraints
