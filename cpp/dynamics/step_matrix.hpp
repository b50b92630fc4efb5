// Matrix A = M + E of a step that is implicit in forces on coordinates, and accelerations by it.
//
//     a = A⁻¹ (τ − c(q, v) + weight + straight paths)
//
// in rows of joint space (joint_space.hpp), or by the recursion of the articulated-body algorithm where trees
// are deep (loaded_factor.hpp). The model alone decides between them.
#pragma once

#include "dynamics/joint_space.hpp"
#include "dynamics/loaded_factor.hpp"

namespace pysim::dynamics {

template <class S>
class StepMatrix {
 public:
  /// The matrix is that of the bodies as `recursion` places them.
  StepMatrix(LoadedFactor<S>& by_recursion, bool rows_suit, Workspace<S>& w)
      : recursion(by_recursion),
        rows(by_recursion, rows_suit, w),
        in_rows(rows_suit),
        velocity_(take<S>(w, rows_suit ? by_recursion.model.nv : 0)) {}

  LoadedFactor<S>& recursion;
  JointSpace<S> rows;
  const bool in_rows;

  /// Factors A, whose bodies have moved to q and v, and computes a (nv). Bodies that are `single` have no c.
  /// Leaves minus the forces of straight paths as pA of single bodies.
  void accelerate(const S* diagonal, const bool* single, const S* tau, S* a, Workspace<S> w) {
    const ModelOf<S>& model = recursion.model;
    if (in_rows) return accelerate_in_rows(diagonal, single, tau, a, w);
    Motion<S>* const drift = take<Motion<S>>(w, model.bodies);
    for (int b = 0; b < model.bodies; ++b) {
      if (single[b]) recursion.body[b].pA = spatial::zero_force<S>();
      drift[b] = recursion.body[b].c;
    }
    recursion.add_straight_paths(nullptr, w);
    recursion.unload();
    for (int b = 0; b < model.bodies; ++b) recursion.pA[b] = recursion.body[b].pA;
    recursion.factor(diagonal);
    recursion.solve(tau, minus_gravity<S>(model), drift, a);
  }

  /// −A⁻¹ c(q, v) of the coordinates of bodies that are not `single`, after `accelerate`.
  void velocity_rate(const bool* single, S* rate, Workspace<S> w) {
    const ModelOf<S>& model = recursion.model;
    if (in_rows) return rows.solve(velocity_, rate);
    Motion<S>* const drift = take<Motion<S>>(w, model.bodies);
    for (int b = 0; b < model.bodies; ++b) {
      const auto& B = recursion.body[b];
      drift[b] = B.c;
      if (!single[b]) recursion.pA[b] = cross(B.V, body_inertia<S>(model, b) * B.V);
    }
    recursion.solve(nullptr, spatial::zero_motion<S>(), drift, rate, others(single));
  }

  /// x = A⁻¹ b of the coordinates of bodies that are not `single`, after `accelerate`.
  void solve(const bool* single, const S* b, S* x) {
    if (in_rows) return rows.solve(b, x);
    for (int k = 0; k < recursion.model.bodies; ++k) {
      if (!single[k]) recursion.pA[k] = spatial::zero_force<S>();
    }
    recursion.solve(b, spatial::zero_motion<S>(), nullptr, x, others(single));
  }

  /// x = A⁻¹ b of all coordinates, after `accelerate`.
  void solve(const S* b, S* x) {
    if (in_rows) return rows.solve(b, x);
    recursion.apply_inverse(b, x);
  }

 private:
  static auto others(const bool* single) {
    return [single](int b) { return !single[b]; };
  }

  void accelerate_in_rows(const S* diagonal, const bool* single, const S* tau, S* a, Workspace<S> w) {
    const ModelOf<S>& model = recursion.model;
    S* const total = take<S>(w, model.nv);
    Force<S>* const F = take<Force<S>>(w, model.bodies);
    rows.form(diagonal);
    velocity_forces(single, F, w);
    for (int i = 0; i < model.nv; ++i) velocity_[i] = all<S>(0);
    subtract_from_coordinates(F, velocity_);
    for (int i = 0; i < model.nv; ++i) total[i] = tau[i] + velocity_[i];
    for (int b = 0; b < model.bodies; ++b) recursion.body[b].pA = spatial::zero_force<S>();
    if (model.straight_paths > 0) {
      recursion.add_straight_paths(nullptr, w);
      for (int b = 0; b < model.bodies; ++b) F[b] = recursion.body[b].pA;
      subtract_from_coordinates(F, total);
    }
    rows.add_gravity(total);
    rows.factor_and_solve(total, a);
  }

  /// Forces that bodies need to move without accelerations of the coordinates; none of `single` bodies.
  void velocity_forces(const bool* single, Force<S>* F, Workspace<S> w) const {
    const ModelOf<S>& model = recursion.model;
    Motion<S>* const acc = take<Motion<S>>(w, model.bodies);
    for (int b = 0; b < model.bodies; ++b) {
      const AbaBody<S>& B = recursion.body[b];
      const int parent = model.joint[b].parent;
      acc[b] = parent < 0 ? B.c : plus_to_child(B.c, B.X_PB, acc[parent]);
      F[b] = single[b] ? spatial::zero_force<S>() : body_inertia<S>(model, b) * acc[b] + B.pA;
    }
  }

  /// Subtracts the forces of bodies [bodies], which are lost, from τ (nv).
  void subtract_from_coordinates(Force<S>* F, S* tau) const {
    const ModelOf<S>& model = recursion.model;
    for (int b = model.bodies - 1; b >= 0; --b) {
      const Joint& joint = model.joint[b];
      for (int i = 0; i < joint.nv; ++i) {
        tau[joint.v + i] -= dot(tree::axis(joint, recursion.columns, i), F[b]);
      }
      if (joint.parent < 0) continue;
      F[joint.parent] = plus_to_parent(F[joint.parent], recursion.body[b].X_PB, F[b]);
    }
  }

  S* const velocity_;  ///< (nv) −c(q, v), in rows
};

}  // namespace pysim::dynamics
