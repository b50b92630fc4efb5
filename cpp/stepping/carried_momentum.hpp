// Momenta of trees with a free or spherical root, carried from step to step on non-rotating axes: components
// without a force are not rounded again in every step, and no errors accumulate.
//
//     P ← P + R f       L ← L + R n − (c − o) × R f       Rᵀ (P, L + (c − o) × P)  =  p of the root's
//     coordinates
//
// P, L  linear momentum of a tree with a free joint at its root, and angular about its centre of mass c
// f, n  impulses on the root's coordinates in half a step; R, o  axes and origin of the root there
//
// During a step c moves with P, so L is constant. A spherical root has L only, about o.
//
// Without it test_rounding_of_steps_does_not_add_up_in_the_momenta of
// tests/integrators/test_carried_momentum.py fails.
#pragma once

#include "dynamics/body_displacements.hpp"
#include "dynamics/retract.hpp"

namespace pysim::stepping {

using dynamics::load3;
using dynamics::store;
using simd::all;
using simd::select;
using spatial::Mat3;
using spatial::Vec3;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

template <class S>
class CarriedMomenta {
 public:
  using Posture = dynamics::Posture<S>;

  /// `kept` (reduced_nv) is the result of the previous step, and receives that of this one; null to carry
  /// nothing.
  CarriedMomenta(const ModelOf<S>& model, S* kept, Workspace<S>& w)
      : model_(model),
        carried_(carries_any(model) ? kept : nullptr),
        mass_(take<S>(w, model.bodies)),
        moment_(take<Vec3<S>>(w, model.bodies)) {}

  /// Replaces the momenta p of q and v by the carried ones. If they differ by more than rounding, the run
  /// starts or its state was changed, and p is carried from here on.
  void begin(const Posture& start, S* p) {
    if (!any()) return;
    sum_moments(start);
    each_root(start, [&](const Root& root) {
      S now[tree::max_joint_nv], gap = all<S>(0), size = all<S>(0);
      const int nv = root.joint.nv;
      for (const Joint* joint = &root.joint; joint < model_.joint + root.joint.end; ++joint) {
        for (int i = 0; joint->reduced_v >= 0 && i < joint->nv; ++i) {
          size = fma(p[joint->reduced_v + i], p[joint->reduced_v + i], size);
        }
      }
      for (int i = 0; i < nv; ++i) now[i] = all<S>(0);
      add(root, p + root.joint.reduced_v, now);
      for (int i = 0; i < nv; ++i) {
        const S off = root.carried[i] - now[i];
        gap = fma(off, off, gap);
      }
      const auto anew = gap > all<S>(rounding * rounding) * size;
      for (int i = 0; i < nv; ++i) root.carried[i] = select(anew, now[i], root.carried[i]);
    });
    give(start, p);
  }

  bool any() const { return carried_ != nullptr; }

  /// Adds impulses on the coordinates, (reduced_nv), at the start of the step.
  void push(const Posture& at, const S* impulse) const {
    each_root(at, [&](const Root& root) { add(root, impulse + root.joint.reduced_v, root.carried); });
  }

  /// Ends the step, with impulses; the carried momenta replace the momenta p there.
  void end(const Posture& end, const S* impulse, S* p) {
    if (!any()) return;
    sum_moments(end);
    push(end, impulse);
    give(end, p);
  }

 private:
  using Real = typename S::Real;
  using Joint = tree::Joint;
  /// Relative to the momenta of the tree's coordinates, because the whole may be at rest: far above the error
  /// of solving with M, far below any change of the state.
  static constexpr Real rounding = sizeof(Real) == 8 ? Real(1e-9) : Real(1e-3);

  struct Root {
    const Joint& joint;
    const Mat3<S>& R;
    Vec3<S> c;   ///< from o to the centre of mass, on the world's axes
    S* carried;  ///< P and L, or L alone
  };

  static bool carries(const Joint& joint) {
    return joint.parent < 0 && (joint.shape == tree::Shape::free || joint.shape == tree::Shape::ball);
  }
  static bool carries_any(const ModelOf<S>& model) {
    for (int b = 0; b < model.bodies; b = model.joint[b].end) {
      if (carries(model.joint[b])) return true;
    }
    return false;
  }

  /// Adds a momentum p of the root's coordinates to P and L.
  static void add(const Root& root, const S* p, S* sum) {
    if (root.joint.shape == tree::Shape::ball) return store(load3(sum) + root.R * load3(p), sum);
    const Vec3<S> f = root.R * load3(p);
    store(load3(sum) + f, sum);
    store(load3(sum + 3) + (root.R * load3(p + 3) - cross(root.c, f)), sum + 3);
  }

  void give(const Posture& at, S* p) const {
    each_root(at, [&](const Root& root) {
      S own[tree::max_joint_nv];
      const Vec3<S> first = load3(root.carried);
      store(transpose_times(root.R, first), own);
      if (root.joint.shape == tree::Shape::free) {
        store(transpose_times(root.R, load3(root.carried + 3) + cross(root.c, first)), own + 3);
      }
      const auto carries = armature(root.joint) == all<S>(0);
      S* const at_root = p + root.joint.reduced_v;
      for (int i = 0; i < root.joint.nv; ++i) at_root[i] = select(carries, own[i], at_root[i]);
    });
  }

  /// Armature is not a body's momentum and is fixed to the joint's axes: trees with armature carry nothing.
  S armature(const Joint& joint) const {
    S most = all<S>(0);
    for (int i = joint.v; i < joint.v + joint.nv; ++i) most = max(most, all<S>(model_.armature[i]));
    return most;
  }

  /// m and m c of every composite body.
  void sum_moments(const Posture& at) {
    for (int b = 0; b < model_.bodies; ++b) {
      const auto M = dynamics::body_inertia<S>(model_, b);
      mass_[b] = M.m;
      moment_[b] = M.mc;
    }
    for (int b = model_.bodies - 1; b >= 0; --b) {
      const int parent = model_.joint[b].parent;
      if (parent < 0) continue;
      mass_[parent] += mass_[b];
      moment_[parent] += fma(mass_[b], at.X_PB[b].p, at.X_PB[b].R * moment_[b]);
    }
  }

  template <class Visit>
  void each_root(const Posture& at, const Visit& visit) const {
    for (int b = 0; b < model_.bodies; b = model_.joint[b].end) {
      const Joint& joint = model_.joint[b];
      if (!carries(joint)) continue;
      const Mat3<S>& R = at.X_PB[b].R;
      visit(Root{joint, R, (all<S>(1) / mass_[b]) * (R * moment_[b]), carried_ + joint.reduced_v});
    }
  }

  const ModelOf<S>& model_;
  S* carried_;
  S* mass_;
  Vec3<S>* moment_;
};

}  // namespace pysim::stepping
