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
  S* gdd;       ///< [rows] g̈ under the accelerations of the bodies; null where nobody asks
  S* J;         ///< (rows, own_nv), row-major
  Force<S>* W;  ///< [rows] the wrench of a loop's row on body b, in the engine's frame B
};

template <class S>
Rows<S> take_rows(const ModelOf<S>& model, bool with_accelerations, Workspace<S>& w) {
  const std::ptrdiff_t rows = model.rows;
  Rows<S> r;
  r.g = w.template take<S>(rows);
  r.gd = w.template take<S>(rows);
  r.gdd = with_accelerations ? w.template take<S>(rows) : nullptr;
  r.J = w.template take<S>(rows * model.own_nv);
  r.W = w.template take<Force<S>>(rows);
  return r;
}

template <class S>
PYSIM_INLINE Pose<S> stored_pose(const typename S::Parameter* numbers) {
  return {spatial::all33<S>(numbers), spatial::all3<S>(numbers + 9)};
}

/// Frame B of loop k in the world, and its pose, twist and (on demand) acceleration against frame A.
///
///     A_AB = A_B − X_BA A_A − V_B × V_AB
template <class S>
RelativeMotion<S> relative_motion(const ModelOf<S>& model,
                                  int k,
                                  const FactoredMechanism<S>& factor,
                                  bool with_acceleration,
                                  Pose<S>& X_WF) {
  const Loop& loop = model.loop[k];
  const auto at_a = stored_pose<S>(model.loop_constants[k].at_a);
  const auto at_b = stored_pose<S>(model.loop_constants[k].at_b);
  const bool a_moves = loop.a >= 0, b_moves = loop.b >= 0;
  const dynamics::AbaBody<S>* const body = factor.body;
  const Motion<S> still = spatial::zero_motion<S>();
  const Motion<S> V_B = b_moves ? to_child(at_b, body[loop.b].V) : still;
  X_WF = b_moves ? factor.X_WB[loop.b] * at_b : at_b;
  RelativeMotion<S> motion;
  motion.X_AB = inverse(a_moves ? factor.X_WB[loop.a] * at_a : at_a) * X_WF;
  motion.V = a_moves ? V_B - to_child(motion.X_AB, to_child(at_a, body[loop.a].V)) : V_B;
  if (!with_acceleration) return motion;
  const Motion<S> rest = dynamics::minus_gravity<S>(model);
  const Motion<S> A_A = to_child(at_a, a_moves ? body[loop.a].c : rest);
  const Motion<S> A_B = to_child(at_b, b_moves ? body[loop.b].c : rest);
  motion.A = A_B - to_child(motion.X_AB, A_A) - cross(V_B, motion.V);
  return motion;
}

/// The rows' part of J that belongs to the joint of body b:  ±Wᵀ X_FW X_WB S,  F frame B of the loop.
template <class S>
void add_joint(const FactoredMechanism<S>& factor,
               const Loop& loop,
               int b,
               const Pose<S>& X_WF,
               bool along_b,
               const LoopRows<S>& rows,
               const Rows<S>& r) {
  const auto& model = factor.model;
  const Joint& joint = model.joint[b];
  const Pose<S> from_F = {factor.X_WB[b].R, factor.X_WB[b].p - X_WF.p};
  for (int i = 0; i < joint.nv; ++i) {
    const Motion<S> turned = to_parent(from_F, tree::axis(joint, factor.columns, i));
    const Motion<S> V = {transpose_times(X_WF.R, turned.v), transpose_times(X_WF.R, turned.w)};
    const auto& own = model.coupling_v[joint.v + i];
    const S ratio = along_b ? all<S>(own.ratio) : -all<S>(own.ratio);
    for (int n = 0; n < loop.rows; ++n) {
      S& entry = r.J[(loop.row + n) * model.own_nv + own.own];
      entry = fma(ratio, dot(V, rows.W[loop.kept[n]]), entry);
    }
  }
}

/// J of one loop's rows: the joints from body a and body b up to where their ways to the world meet.
template <class S>
void loop_jacobian(const FactoredMechanism<S>& factor,
                   const Loop& loop,
                   const Pose<S>& X_WF,
                   const LoopRows<S>& rows,
                   const Rows<S>& r) {
  const auto& model = factor.model;
  S* const J = r.J + loop.row * model.own_nv;
  for (int j = 0; j < loop.rows * model.own_nv; ++j) J[j] = all<S>(0);
  for (int a = loop.a, b = loop.b; a != b;) {
    const bool along_b = b > a;
    int& at = along_b ? b : a;
    add_joint(factor, loop, at, X_WF, along_b, rows, r);
    at = model.joint[at].parent;
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
  for (int k = 0; k < model.loops; ++k) {
    const Loop& loop = model.loop[k];
    Pose<S> X_WF;
    const RelativeMotion<S> motion = relative_motion(model, k, factor, r.gdd != nullptr, X_WF);
    LoopRows<S> rows;
    loop_rows(model, k, motion, phi, rows, w);
    for (int i = 0; i < loop.rows; ++i) {
      const int at = loop.row + i, kept = loop.kept[i];
      r.W[at] = rows.W[kept];
      r.g[at] = rows.g[kept];
      r.gd[at] = dot(motion.V, rows.W[kept]);
      if (r.gdd != nullptr) r.gdd[at] = dot(motion.A, rows.W[kept]) + rows.bias[kept];
    }
    if (with_jacobian) loop_jacobian(factor, loop, X_WF, rows, r);
  }
}

/// Turns the wrenches of the loops' rows into frame B as the user named it.
template <class S>
void name_wrenches(const ModelOf<S>& model, const Rows<S>& r) {
  for (int k = 0; k < model.loops; ++k) {
    const auto turn = spatial::all33<S>(model.closure->constants[k].turn);
    for (int i = model.loop[k].row; i < model.loop[k].row + model.loop[k].rows; ++i) {
      r.W[i] = {turn * r.W[i].f, turn * r.W[i].t};
    }
  }
}

}  // namespace pysim::constraints
