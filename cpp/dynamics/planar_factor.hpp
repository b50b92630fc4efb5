// Factor of M⁻¹ of a mechanism that moves in one plane: inertia_factor.hpp in 3 numbers instead of 6, on
// fixed axes.
#pragma once

#include "dynamics/inertia_factor.hpp"
#include "dynamics/planar_aba.hpp"

namespace pysim::dynamics {

/// A body's origin in the plane.
template <class S>
struct PlanarPlace {
  Vec2<S> r, v;
};

/// Acceleration of a body's origin, and its angular acceleration.
template <class S>
struct PlanarRate {
  Vec2<S> a;
  S alpha;
};

/// A point of a body: position, velocity, acceleration, and the body's angular velocity.
template <class S>
struct PlanarPoint {
  Vec2<S> arm;  ///< from the body's origin
  Vec2<S> r, v, a;
  S w, alpha;
};

/// A point of a path, and where it is on its body.
template <class S>
struct PlanarEnd {
  int body;
  Vec2<S> arm;
  PointMotion<S> motion;
};

/// Entry −1 of places, sines, ω and accelerations is the world's, which does not move: readers need not
/// distinguish the world from a body.
template <class S>
struct PlanarFactor {
  const ModelOf<S>& model;
  PlanarBody<S>* body = nullptr;
  PlanarPlace<S>* place_of = nullptr;
  PlanarInertia<S>* fork = nullptr;
  PlanarElimination<S>* elimination = nullptr;
  S* inv_D = nullptr;
  PlanarForce<S>* force = nullptr;   ///< of a sweep to the root (bodies, 2 rows), at forks
  PlanarRate<S>* rate = nullptr;     ///< of a sweep to the leaves, at forks
  S *sin = nullptr, *cos = nullptr;  ///< of the angles from the plane's axes

  PlanarFactor(const ModelOf<S>& m, Workspace<S>& w, bool used) : model(m) {
    if (!used) return;
    body = take<PlanarBody<S>>(w, m.bodies + 1) + 1;
    place_of = take<PlanarPlace<S>>(w, m.bodies + 1) + 1;
    fork = take<PlanarInertia<S>>(w, m.bodies);
    elimination = take<PlanarElimination<S>>(w, m.nv);
    inv_D = take<S>(w, m.nv);
    force = take<PlanarForce<S>>(w, 2 * m.bodies);
    rate = take<PlanarRate<S>>(w, m.bodies);
    sin = take<S>(w, m.bodies + 1) + 1;
    cos = take<S>(w, m.bodies + 1) + 1;
    const S o = all<S>(0);
    body[-1].w = body[-1].alpha = o;
    body[-1].a = -all2<S>(m.plane[0].gravity);
    place_of[-1] = {{o, o}, {o, o}};
    sin[-1] = o;
    cos[-1] = all<S>(1);
  }

  /// Places the bodies and computes their velocities, and the forces due to these. Factors of another
  /// configuration are kept and used with the new distances between the bodies: they are approximate
  /// then.
  void move(const S* q, const S* v, Workspace<S> w) {
    tree::planar_sincos(model, q, sin, cos, w);
    spread_planar_velocity<S>(model, q, v, nullptr, {sin, cos}, body, elimination);
    for (int b = 0; b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      PlanarPlace<S>& at = place_of[b];
      const PlanarPlace<S>& P = place_of[joint.parent];
      at = {P.r + body[b].d, fma(body[joint.parent].w, quarter_turn(body[b].d), P.v)};
      for (int i = 0; i < tree::slides(joint); ++i) {
        at.v = fma(v[joint.v + i], elimination[joint.v + i].slide, at.v);
      }
    }
  }

  void place(const S* q, const S* v, Workspace<S> w) { move(q, v, w); }

  void place(const S* q, Workspace<S> w) {
    S* const v = take<S>(w, model.nv);
    for (int i = 0; i < model.nv; ++i) v[i] = all<S>(0);
    move(q, v, w);
  }

  void factor(const S*, const S* diagonal, Workspace<S> w) {
    S* const tau = take<S>(w, model.nv);
    for (int i = 0; i < model.nv; ++i) tau[i] = all<S>(0);
    reduce_planar(model, static_cast<const S*>(tau), body, fork, elimination, diagonal);
    keep_pivots();
  }

  void accelerate(
      const S*, const S*, const S* tau, const S* passive, const Force<S>* f_ext, S* a, Workspace<S> w) {
    tau = with_passive(model, tau, passive, w);
    for (int b = 0; f_ext != nullptr && b < model.bodies; ++b) {
      body[b].pA = fma(all<S>(-1), in_plane(model, b, sin[b], cos[b], f_ext[b]), body[b].pA);
    }
    reduce_planar(model, tau, body, fork, elimination);
    spread_planar_acceleration(model, elimination, body, a, true);
    keep_pivots();
  }

  /// The bodies' accelerations at v̇ = 0.
  void accelerate_bodies(const S*) {
    for (int b = 0; b < model.bodies; ++b) {
      const PlanarBody<S>& P = body[model.joint[b].parent];
      PlanarBody<S>& B = body[b];
      B.alpha = P.alpha;
      B.a = fma(P.alpha, quarter_turn(B.d), P.a) + B.c;
    }
  }

  void forward(const tree::SupportPath& path, int rows, S* y, int stride) {
    const PathBodies bodies(model, path);
    for (; rows > 1; rows -= 2, y += 2 * stride) sweep<2>(bodies, y, 1, stride);
    if (rows > 0) sweep<1>(bodies, y, 1, stride);
  }

  void apply(S* x) {
    sweep<1>(EveryBody{model.bodies}, x + model.nv - 1, -1, 0);
    backward(x);
  }

  void backward(S* y) {
    PlanarRate<S> acc;
    for (int b = 0; b < model.bodies; ++b) {
      const Joint& joint = model.joint[b];
      const int slides = tree::slides(joint);
      if (joint.parent < 0) {
        acc = {spatial::zero2<S>(), all<S>(0)};
      } else {
        if (joint.parent < b - 1) acc = rate[joint.parent];
        acc.a = fma(acc.alpha, quarter_turn(body[b].d), acc.a);
      }
      for (int i = 0; i < joint.nv; ++i) {
        const PlanarElimination<S>& E = elimination[joint.v + i];
        S& own = y[joint.v + i];
        const S along = dot_add(E.K.f, acc.a, E.K.t * acc.alpha);
        if (i < slides) {
          own = fms(E.inv_D, own, along);
          acc.a = fma(own, E.slide, acc.a);
        } else {
          const S sense = all<S>(model.plane[b].sense);
          own = fnma(sense, along, E.inv_D * own);
          acc.alpha = fma(sense, own, acc.alpha);
        }
      }
      if (joint.fork >= 0) rate[b] = acc;
    }
  }

  /// A point of a body, or of the world (−1); `at` is given on its axes; accelerations are the last computed.
  PYSIM_INLINE PlanarPoint<S> point(int b, const Vec2<S>& at, bool with_acceleration) const {
    const S o = all<S>(0);
    const PlanarBody<S>& B = body[b];
    const Vec2<S> arm = to_plane(b, at), across = quarter_turn(arm);
    PlanarPoint<S> p = {arm, place_of[b].r + arm, fma(B.w, across, place_of[b].v), {o, o}, B.w, o};
    if (!with_acceleration) return p;
    p.alpha = B.alpha;
    p.a = fnma(B.w * B.w, arm, fma(B.alpha, across, B.a));
    return p;
  }

  /// A vector given on the axes of body b, on the plane's.
  PYSIM_INLINE Vec2<S> to_plane(int b, const Vec2<S>& own) const {
    return spatial::turn(sin[b], cos[b], own);
  }

  /// Applies f, on the plane's axes, to body b at the end of `arm`.
  void pull(int b, const Vec2<S>& arm, const Vec2<S>& f) {
    if (b < 0) return;
    body[b].pA.f = body[b].pA.f - f;
    body[b].pA.t -= dot(quarter_turn(arm), f);
  }

  /// After `move`, adds the forces along straight paths; returns the other external wrenches.
  const Force<S>* add_straight_paths(const Force<S>* f_ext, Workspace<S>& w) {
    const S o = all<S>(0);
    const auto end = [&](const tree::PathPoint<typename S::Parameter>& at, int k) {
      const auto& own = model.plane_point[k];
      const PlanarPoint<S> p = point(at.body, all2<S>(own.at), false);
      return PlanarEnd<S>{at.body, p.arm, {{p.r.x, p.r.y, all<S>(own.height)}, {p.v.x, p.v.y, o}}};
    };
    elements::pull_straight_paths(
        model,
        end,
        [this](const PlanarEnd<S>& own, const Vec3<S>& f) { pull(own.body, own.arm, {f.x, f.y}); },
        w);
    return f_ext;
  }

  const Pose<S>* poses(const S* q, Workspace<S>& w) const {
    Pose<S>* const X_WB = take<Pose<S>>(w, model.bodies);
    forward_kinematics(model, q, X_WB, w);
    return X_WB;
  }

 private:
  void keep_pivots() {
    for (int i = 0; i < model.nv; ++i) inv_D[i] = elimination[i].inv_D;
  }

  template <int R, class Bodies>
  void sweep(const Bodies& bodies, S* y, int step, int stride) {
    const PlanarForce<S> zero = {spatial::zero2<S>(), all<S>(0)};
    sweep_to_root<R>(model, bodies, zero, force, [&](int b, PlanarForce<S>(&F)[R]) {
      const Joint& joint = model.joint[b];
      const S sense = all<S>(model.plane[b].sense);
      const int slides = tree::slides(joint);
      for (int i = joint.nv - 1; i >= 0; --i, y += step) {
        const PlanarElimination<S>& E = elimination[joint.v + i];
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) {
          S& own = y[r * stride];
          if (i < slides) {
            own -= dot(E.slide, F[r].f);
            F[r] = fma(own, E.K, F[r]);
            continue;
          }
          const S carried = F[r].t;
          own = fnma(sense, carried, own);
          F[r].f = fma(sense * own, E.K.f, F[r].f);
          F[r].t = fma(sense * own, E.K.t, carried);
        }
      }
      if (joint.parent < 0) return;
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) F[r] = translate(body[b].d, F[r]);
    });
  }
};

}  // namespace pysim::dynamics
