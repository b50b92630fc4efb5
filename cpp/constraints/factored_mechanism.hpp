// The inertia of a mechanism at one state, factored, and its motion.
//
//     M = Lᵀ-like factors of the articulated-body sweeps:   y = L⁻¹ τ  (leaves to root)
//                                                        M⁻¹τ = L⁻ᵀ D⁻¹ y  (root to leaves)
//
// so that J M⁻¹ Jᵀ = Y D⁻¹ Yᵀ with a row of Y for each row of J, and no nv × nv matrix is formed. Where
// joints follow others, M on the independent coordinates is dense and L D Lᵀ is taken of that. A mechanism
// that stays in one plane is factored there.
#pragma once

#include "constraints/acceleration.hpp"
#include "constraints/planar_mechanism.hpp"
#include "constraints/root_sweep.hpp"

namespace pysim::constraints {

using dynamics::AbaBody;
using dynamics::Elimination;
using simd::all;
using simd::fma;
using spatial::ArticulatedInertia;
using spatial::Motion;
using spatial::Pose;
using tree::Joint;

template <class S>
struct FactoredMechanism {
  const ModelOf<S>& model;
  AbaBody<S>* body = nullptr;  ///< X_PB and V of every body; in c its acceleration, minus gravity, once known
  ArticulatedInertia<S>* fork = nullptr;  ///< [bodies] of forks
  Pose<S>* X_WB;                          ///< [bodies]
  Motion<S>* columns = nullptr;           ///< of the tree's joints
  Elimination<S>* elimination = nullptr;
  S* dense;               ///< L D below and on the diagonal (reduced_nv × reduced_nv); null without followers
  S* inv_D;               ///< [reduced_nv]
  Force<S>* p = nullptr;  ///< of the sweep to the root (bodies, 2 rows), at forks
  Motion<S>* acceleration = nullptr;  ///< of the sweep to the leaves [bodies], at forks
  PlanarMechanism<S> flat;            ///< of a flat model, in place of what is null then

  FactoredMechanism(const ModelOf<S>& m, Workspace<S>& w) : model(m), flat(m, w) {
    dense = m.mimic ? take<S>(w, std::ptrdiff_t{1} * m.reduced_nv * m.reduced_nv) : nullptr;
    inv_D = take<S>(w, m.reduced_nv);
    X_WB = take<Pose<S>>(w, m.bodies);
    if (m.planar_loops) return;
    p = take<Force<S>>(w, 2 * m.bodies);
    acceleration = take<Motion<S>>(w, m.bodies);
    body = take<AbaBody<S>>(w, m.bodies);
    fork = take<ArticulatedInertia<S>>(w, m.bodies);
    columns = take<Motion<S>>(w, m.stored_columns);
    elimination = take<Elimination<S>>(w, m.nv);
  }

  /// Places the bodies and gives them their velocities, and the forces that these ask.
  void move(const S* q, const S* v, Workspace<S> w) {
    if (model.planar_loops) return flat.move(q, v, w);
    const tree::SincosTable<S> sincos = tree::sincos_table(model, q, w);
    dynamics::spread_velocity<S>(model, q, v, nullptr, body, columns, sincos, true);
    place_in_world();
  }

  /// Places the bodies and gives them their velocities, no more; keeps the factors.
  void place(const S* q, const S* v, Workspace<S> w) {
    if (model.planar_loops) return flat.move(q, v, w);
    const tree::SincosTable<S> sincos = tree::sincos_table(model, q, w);
    for (int b = 0; b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      AbaBody<S>& B = body[b];
      B.X_PB = tree::evaluate(model, b, q, sincos, columns);
      const Motion<S> carried =
          joint.parent < 0 ? spatial::zero_motion<S>() : to_child(B.X_PB, body[joint.parent].V);
      B.V = plus_joint_twist(carried, joint, columns, v);
    }
    place_in_world();
  }

  /// After `move`, factors M(q); leaves a = M⁻¹ (tau − h(q, v)), and the bodies' accelerations with it. `tau`
  /// is on the user's coordinates, `force` (may be null) on the tree's.
  void accelerate(
      const S* q, const S* v, const S* tau, const S* force, const Force<S>* f_ext, S* a, Workspace<S> w) {
    if (!model.mimic) {
      if (force != nullptr) {
        S* const sum = take<S>(w, model.nv);
        for (int i = 0; i < model.nv; ++i) sum[i] = tau[i] + force[i];
        tau = sum;
      }
      if (model.planar_loops) {
        flat.accelerate(tau, f_ext, a);
        return keep_pivots();
      }
      for (int b = 0; f_ext != nullptr && b < model.bodies; ++b) body[b].pA = body[b].pA - f_ext[b];
      dynamics::reduce_to_root(model, tau, body, fork, columns, elimination);
      dynamics::spread_acceleration(model, columns, elimination, body, a, true);
      return keep_pivots();
    }
    S* const h = take<S>(w, model.nv);
    dynamics::rnea(model, q, v, static_cast<const S*>(nullptr), f_ext, h, w);
    for (int i = 0; i < model.nv; ++i) h[i] = force == nullptr ? -h[i] : force[i] - h[i];
    const S* rest = tree::reduced_forces(model, static_cast<const S*>(h), w);
    for (int i = 0; i < model.reduced_nv; ++i) a[i] = tau[i] + rest[i];
    factorise_dense(q, w);
    forward_dense(a);
    backward(a);
    spread_accelerations(tree::full_v(model, static_cast<const S*>(a), w));
  }

  /// Factors M(q), and places the bodies.
  void factorise(const S* q, const S* v, Workspace<S> w) {
    move(q, v, w);
    if (model.mimic) return factorise_dense(q, w);
    S* const none = take<S>(w, model.nv);
    for (int i = 0; i < model.nv; ++i) none[i] = all<S>(0);
    if (model.planar_loops) {
      flat.factorise(none);
    } else {
      dynamics::reduce_to_root(model, static_cast<const S*>(none), body, fork, columns, elimination);
    }
    keep_pivots();
  }

  /// The bodies' motion at v̇ = 0; keeps the factors.
  void kinematics(const S* q, const S* v, Workspace<S> w) {
    move(q, v, w);
    if (model.planar_loops) return flat.drift();
    spread_accelerations(nullptr);
  }

  /// y = L⁻¹ τ in place, for `rows` of τ that lie `stride` apart and are zero but for the coordinates of
  /// `way`, in their order.
  void forward(const tree::SupportPath& path, int rows, S* y, int stride) {
    if (model.planar_loops) return flat.forward(path, rows, y, stride);
    if (model.mimic) {
      for (int r = 0; r < rows; ++r) forward_dense(y + r * stride);
      return;
    }
    for (; rows > 1; rows -= 2, y += 2 * stride) sweep<2>(path, y, stride);
    if (rows > 0) sweep<1>(path, y, stride);
  }

  /// L⁻ᵀ D⁻¹ y in place.
  void backward(S* y) {
    if (model.planar_loops) return flat.backward(y);
    if (model.mimic) {
      const int n = model.reduced_nv;
      for (int i = n - 1; i >= 0; --i) {
        y[i] *= inv_D[i];
        for (int j = i + 1; j < n; ++j) y[i] = fnma(dense[j * n + i] * inv_D[i], y[j], y[i]);
      }
      return;
    }
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

  /// X_WB of every body at q, where they were placed.
  const Pose<S>* poses(const S* q, Workspace<S> w) {
    if (model.planar_loops) dynamics::forward_kinematics(model, q, X_WB, w);
    return X_WB;
  }

 private:
  void forward_dense(S* y) const {
    const int n = model.reduced_nv;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < i; ++j) y[i] = fnma(dense[i * n + j] * inv_D[j], y[j], y[i]);
    }
  }

  /// `forward` of R rows.
  template <int R>
  void sweep(const tree::SupportPath& path, S* y, int stride) {
    sweep_to_root<R>(model, path, spatial::zero_force<S>(), p, [&](int b, Force<S>(&push)[R]) {
      const Joint& joint = model.joint[b];
      for (int i = joint.nv - 1; i >= 0; --i, ++y) {
        const auto axis = tree::axis(joint, columns, i);
        const Force<S> K = elimination[joint.v + i].K;
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) {
          S& own = y[r * stride];
          own -= dot(axis, push[r]);
          push[r] = fma(own, K, push[r]);
        }
      }
      if (joint.parent < 0) return;
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) push[r] = to_parent(body[b].X_PB, push[r]);
    });
  }

  void keep_pivots() {
    for (int i = 0; i < model.nv; ++i)
      inv_D[i] = model.planar_loops ? flat.elimination[i].inv_D : elimination[i].inv_D;
  }

  void place_in_world() {
    for (int b = 0; b < model.bodies; ++b) {
      const int parent = model.joint[b].parent;
      X_WB[b] = parent < 0 ? body[b].X_PB : X_WB[parent] * body[b].X_PB;
    }
  }

  void factorise_dense(const S* q, Workspace<S> w) {
    const int n = model.reduced_nv;
    S* const M = take<S>(w, std::ptrdiff_t{1} * model.nv * model.nv);
    dynamics::crba(model, q, M, w);
    const S* own = tree::reduced_inertia(model, M, w);
    for (int i = 0; i < n * n; ++i) dense[i] = own[i];
    for (int j = 0; j < n; ++j) {
      inv_D[j] = all<S>(1) / dense[j * n + j];
      for (int i = j + 1; i < n; ++i) {
        const S L = dense[i * n + j] * inv_D[j];
        for (int k = j + 1; k <= i; ++k) dense[i * n + k] = fnma(L, dense[k * n + j], dense[i * n + k]);
      }
    }
  }

  /// The bodies' accelerations into c, as spread_acceleration leaves them; `a` may be null (zero).
  void spread_accelerations(const S* a) {
    for (int b = 0; b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      const Motion<S> a_P = joint.parent < 0 ? dynamics::minus_gravity<S>(model) : body[joint.parent].c;
      Motion<S> acc = to_child(body[b].X_PB, a_P) + body[b].c;
      for (int i = 0; a != nullptr && i < joint.nv; ++i) {
        acc = plus(acc, tree::axis(joint, columns, i), a[joint.v + i]);
      }
      body[b].c = acc;
    }
  }
};

}  // namespace pysim::constraints
