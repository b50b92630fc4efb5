// Factor of M⁻¹ of a tree, without M: the eliminations of the articulated-body algorithm, computed once per
// configuration and applied to any right-hand side in O(n) [Featherstone 2008, section 7.3].
//
//   factor     leaves to root    U = IA S    D = SᵀU + I_r    K = U D⁻¹    IA −= K Uᵀ
//                                IA_P += X_PB* IA X_BP
//   forward    leaves to root    y = τ − Sᵀ F    F += K y    F_P += X_PB* F                y = L⁻¹ τ
//   backward   root to leaves    A = X_BP A_P    x = D⁻¹ y − Kᵀ A    A += S x              x = L⁻ᵀ D⁻¹ y
//
// so that M⁻¹ = L⁻ᵀ D⁻¹ L⁻¹ and J M⁻¹ Jᵀ = Y D⁻¹ Yᵀ with a row of Y = (L⁻¹ Jᵀ)ᵀ for each row of J.
//
// A factor of a mechanism has `move`, `place`, `factor`, `accelerate`, `forward`, `backward` and `apply`;
// planar and reduced ones are in planar_factor.hpp and reduced_factor.hpp.
#pragma once

#include "dynamics/aba.hpp"
#include "dynamics/root_sweep.hpp"
#include "elements/straight_paths.hpp"

namespace pysim::dynamics {

using elements::MovingEnd;
using elements::point_motion;
using elements::PointMotion;

/// Generalised forces τ and the joints' passive forces, which may be null.
template <class S>
const S* with_passive(const ModelOf<S>& model, const S* tau, const S* passive, Workspace<S>& w) {
  if (passive == nullptr) return tau;
  S* const sum = take<S>(w, model.nv);
  for (int i = 0; i < model.nv; ++i) sum[i] = tau[i] + passive[i];
  return sum;
}

template <class S>
struct TreeFactor {
  const ModelOf<S>& model;
  AbaBody<S>* body = nullptr;  ///< X_PB and V of every body; in c its acceleration, minus gravity, once known
  Pose<S>* X_WB = nullptr;     ///< [bodies]
  Motion<S>* columns = nullptr;
  Elimination<S>* elimination = nullptr;  ///< [nv]
  S* inv_D = nullptr;                     ///< [nv]
  ArticulatedInertia<S>* fork = nullptr;  ///< [bodies] of forks, likewise:
  Force<S>* force = nullptr;              ///< of a sweep to the root (bodies, 2 rows)
  Motion<S>* acceleration = nullptr;      ///< of a sweep to the leaves

  /// Reserves memory only if it is `used`.
  TreeFactor(const ModelOf<S>& m, Workspace<S>& w, bool used) : model(m) {
    if (!used) return;
    inv_D = take<S>(w, m.nv);
    X_WB = take<Pose<S>>(w, m.bodies);
    force = take<Force<S>>(w, 2 * m.bodies);
    acceleration = take<Motion<S>>(w, m.bodies);
    body = take<AbaBody<S>>(w, m.bodies);
    fork = take<ArticulatedInertia<S>>(w, m.bodies);
    columns = take<Motion<S>>(w, m.stored_columns);
    elimination = take<Elimination<S>>(w, m.nv);
  }

  /// Places the bodies and computes their velocities, and the forces due to these.
  void move(const S* q, const S* v, Workspace<S> w) {
    const tree::SincosTable<S> sincos = tree::sincos_table(model, q, w);
    spread_velocity<S>(model, q, v, nullptr, body, columns, sincos, true);
    place_in_world();
  }

  /// Places the bodies and computes their velocities only; keeps the factors.
  void place(const S* q, const S* v, Workspace<S> w) {
    place(q, w);
    for (int b = 0; b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      const Motion<S> carried =
          joint.parent < 0 ? spatial::zero_motion<S>() : to_child(body[b].X_PB, body[joint.parent].V);
      body[b].V = plus_joint_twist(carried, joint, columns, v);
    }
    place_in_world();
  }

  /// Poses of the bodies in their parents, the only input of `factor`.
  void place(const S* q, Workspace<S> w) {
    const tree::SincosTable<S> sincos = tree::sincos_table(model, q, w);
    for (int b = 0; b < model.bodies; ++b) {
      tree::evaluate(model, b, q, sincos, columns, body[b].X_PB);
    }
  }

  /// Factors M(q) at the bodies' placement, `diagonal` (nv) added unless it is null.
  void factor(const S*, const S* diagonal, Workspace<S>) {
    const S* const tau = nullptr;
    reduce_to_root<false>(model, tau, body, fork, columns, elimination, diagonal);
    keep_pivots();
  }

  /// After `move`, adds the forces along straight paths; returns the other external wrenches.
  const Force<S>* add_straight_paths(const Force<S>* f_ext, Workspace<S>& w) {
    path_wrenches([this](int b, const Force<S>& F) { body[b].pA = body[b].pA - F; }, w);
    return f_ext;
  }

  /// After `move`, factors M(q); computes a = M⁻¹ (tau + passive − h(q, v)), and the bodies' accelerations.
  /// `passive` and `f_ext` may be null.
  void accelerate(
      const S*, const S*, const S* tau, const S* passive, const Force<S>* f_ext, S* a, Workspace<S> w) {
    tau = with_passive(model, tau, passive, w);
    for (int b = 0; f_ext != nullptr && b < model.bodies; ++b) body[b].pA = body[b].pA - f_ext[b];
    reduce_to_root(model, tau, body, fork, columns, elimination);
    spread_acceleration(model, columns, elimination, body, a, true);
    keep_pivots();
  }

  /// After `move`, the bodies' accelerations at v̇ = a; `a` may be null (zero).
  void accelerate_bodies(const S* a) {
    for (int b = 0; b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      const Motion<S> a_P = joint.parent < 0 ? minus_gravity<S>(model) : body[joint.parent].c;
      Motion<S> acc = to_child(body[b].X_PB, a_P) + body[b].c;
      for (int i = 0; a != nullptr && i < joint.nv; ++i) {
        acc = plus(acc, tree::axis(joint, columns, i), a[joint.v + i]);
      }
      body[b].c = acc;
    }
  }

  /// y = L⁻¹ τ in place, for `rows` of τ that are `stride` apart and zero except in the coordinates of
  /// `path`, in their order.
  void forward(const tree::SupportPath& path, int rows, S* y, int stride) {
    const PathBodies bodies(model, path);
    for (; rows > 1; rows -= 2, y += 2 * stride) sweep<2>(bodies, y, 1, stride);
    if (rows > 0) sweep<1>(bodies, y, 1, stride);
  }

  /// x = L⁻ᵀ D⁻¹ y in place.
  void backward(S* y) {
    Motion<S> acc;
    for (int b = 0; b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      if (joint.parent < 0) {
        acc = spatial::zero_motion<S>();
      } else {
        if (joint.parent < b - 1) acc = acceleration[joint.parent];
        acc = to_child(body[b].X_PB, acc);
      }
      for (int i = 0; i < joint.nv; ++i) {
        const int k = joint.v + i;
        y[k] = inv_D[k] * y[k] - dot(acc, elimination[k].K);
        acc = plus(acc, tree::axis(joint, columns, i), y[k]);
      }
      if (joint.fork >= 0) acceleration[b] = acc;
    }
  }

  /// x ← M⁻¹ x.
  void apply(S* x) {
    sweep<1>(EveryBody{model.bodies}, x + model.nv - 1, -1, 0);
    backward(x);
  }

  /// X_WB of every body at q, where the bodies were placed.
  const Pose<S>* poses(const S*, Workspace<S>) const { return X_WB; }

 protected:
  /// push(b, F) for the points of all straight paths: F acts on body b, where the bodies were placed.
  template <class Push>
  void path_wrenches(const Push& push, Workspace<S> w) const {
    const auto end = [this](const tree::PathPoint<typename S::Parameter>& point, int) {
      const Vec3<S> at = spatial::all3<S>(point.at + 9);
      const int b = point.body;
      return MovingEnd<S>{
          b, at, b < 0 ? PointMotion<S>{at, zero3<S>()} : point_motion(X_WB[b], body[b].V, at)};
    };
    elements::pull_straight_paths(
        model,
        end,
        [&](const MovingEnd<S>& point, const Vec3<S>& f) {
          if (point.body < 0) return;
          const Vec3<S> f_B = transpose_times(X_WB[point.body].R, f);
          push(point.body, Force<S>{f_B, cross(point.at, f_B)});
        },
        w);
  }

 private:
  void keep_pivots() {
    for (int i = 0; i < model.nv; ++i) inv_D[i] = elimination[i].inv_D;
  }

  void place_in_world() {
    for (int b = 0; b < model.bodies; ++b) {
      const int parent = model.joint[b].parent;
      X_WB[b] = parent < 0 ? body[b].X_PB : X_WB[parent] * body[b].X_PB;
    }
  }

  /// `forward` of R rows along `bodies`; consecutive coordinates of y are `step` apart.
  template <int R, class Bodies>
  void sweep(const Bodies& bodies, S* y, int step, int stride) {
    sweep_to_root<R>(model, bodies, spatial::zero_force<S>(), force, [&](int b, Force<S>(&F)[R]) {
      const Joint& joint = model.joint[b];
      for (int i = joint.nv - 1; i >= 0; --i, y += step) {
        const auto axis = tree::axis(joint, columns, i);
        const Force<S> K = elimination[joint.v + i].K;
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) {
          S& own = y[r * stride];
          own -= dot(axis, F[r]);
          F[r] = fma(own, K, F[r]);
        }
      }
      if (joint.parent < 0) return;
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) F[r] = to_parent(body[b].X_PB, F[r]);
    });
  }
};

}  // namespace pysim::dynamics
