// Articulated-body algorithm of a tree whose bodies stay in planes.
//
// Every joint rotates about the normal n of its tree's plane or slides in it: the joints carry the load
// across the plane, and twist, wrench and inertia have 3, 3 and 6 numbers instead of 6, 6 and 21. They
// are on fixed axes, about the bodies' origins; a is the acceleration of that point and the angular
// acceleration.
//
//   1. root to leaves    ω = ω_P + q̇        d = R_P (at + Σ e s)     c = −ω_P² d + 2 ω_P n × Σ R_P e ṡ
//                        f = −ω² R mc − f_ext
//   2. leaves to root    pA += IA c, then the columns as in aba.hpp:  S = [0; 1] a hinge, [R_P e; 0] a slide
//                        then IA_P += IA, pA_P += pA, both moved by d
//   3. root to leaves    a = [a_P + α_P n × d; α_P], then for each column, forwards:
//                        q̈ = D⁻¹ u − Kᵀ a     a += S q̈;     at last a += [c; 0]
//
// A joint that rotates about −n has sense −1, a factor of q̇ and τ [as table 7.1 of Featherstone 2008 in the
// subalgebra se(2)].
#pragma once

#include "dynamics/kinematics.hpp"
#include "dynamics/pivot.hpp"
#include "tree/planar.hpp"

namespace pysim::dynamics {

using simd::fms;
using simd::fnma;
using spatial::all2;
using spatial::PlanarForce;
using spatial::PlanarInertia;
using spatial::quarter_turn;
using spatial::Vec2;

template <class S>
struct PlanarBody {
  Vec2<S> d;          ///< from the parent's origin
  Vec2<S> c;          ///< acceleration of the origin that no q̈ gives
  Vec2<S> moment;     ///< R mc
  PlanarForce<S> pA;  ///< of forks with the children that have arrived
  S w;                ///< ω
  Vec2<S> a;          ///< of forks after pass 3
  S alpha;
};

/// One coordinate, between passes 2 and 3.
template <class S>
struct PlanarElimination : Pivot<S, PlanarForce<S>> {
  S a;            ///< D⁻¹ u
  Vec2<S> slide;  ///< R_P e
};

/// A column of a planar joint: a translation along a direction, or a rotation.
template <class S>
struct PlanarColumn {
  bool turns;
  Vec2<S> slide;

  PYSIM_INLINE friend PlanarForce<S> operator*(const PlanarInertia<S>& IA, const PlanarColumn& Sj) {
    return Sj.turns ? PlanarForce<S>{IA.h, IA.I} : IA * Sj.slide;
  }
  PYSIM_INLINE friend S dot(const PlanarColumn& Sj, const PlanarForce<S>& F) {
    return Sj.turns ? F.t : dot(Sj.slide, F.f);
  }
};

template <class S>
PYSIM_INLINE PlanarInertia<S> planar_body_inertia(const ModelOf<S>& model, int b, const PlanarBody<S>& B) {
  const auto& body = model.plane[b];
  return spatial::planar_inertia(all<S>(body.mass), B.moment, all<S>(body.I));
}

/// An external wrench on body b, on the plane's axes.
template <class S>
PYSIM_INLINE PlanarForce<S> in_plane(const ModelOf<S>& model, int b, S sin, S cos, const Force<S>& F) {
  const auto* axes = model.plane[b].axes;
  const Vec2<S> own = {dot(spatial::all3<S>(axes), F.f), dot(spatial::all3<S>(axes + 3), F.f)};
  return {spatial::turn(sin, cos, own), dot(spatial::all3<S>(axes + 6), F.t)};
}

/// Pass 1 of 3.
template <class S>
void spread_planar_velocity(const ModelOf<S>& model,
                            const S* q,
                            const S* v,
                            const Force<S>* f_ext,
                            const tree::SincosTable<S>& sincos,
                            PlanarBody<S>* body,
                            PlanarElimination<S>* elimination) {
  S w = all<S>(0);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const auto& plane = model.plane[b];
    PlanarBody<S>& B = body[b];
    const int slides = tree::slides(joint), parent = joint.parent;
    Vec2<S> d = all2<S>(plane.at), rate = spatial::zero2<S>();
    for (int i = 0; i < slides; ++i) {
      const Vec2<S> e = all2<S>(plane.slide + 2 * i);
      d = fma(q[joint.q + i], e, d);
      Vec2<S>& slide = elimination[joint.v + i].slide;
      slide = parent < 0 ? e : spatial::turn(sincos.sin[parent], sincos.cos[parent], e);
      rate = fma(v[joint.v + i], slide, rate);
    }
    if (parent < 0) {
      w = all<S>(0);
      B.c = spatial::zero2<S>();
    } else {
      if (parent < b - 1) w = body[parent].w;
      d = spatial::turn(sincos.sin[parent], sincos.cos[parent], d);
      B.c = -(w * w) * d;
      if (slides > 0) B.c = fma(w + w, quarter_turn(rate), B.c);
    }
    B.d = d;
    if (tree::turns_in_plane(joint)) w = fma(all<S>(plane.sense), v[joint.v + slides], w);
    B.w = w;
    B.moment = spatial::turn(sincos.sin[b], sincos.cos[b], all2<S>(plane.moment));
    B.pA = {-(w * w) * B.moment, all<S>(0)};
    if (f_ext != nullptr)
      B.pA = fma(all<S>(-1), in_plane(model, b, sincos.sin[b], sincos.cos[b], f_ext[b]), B.pA);
  }
}

/// Elimination of a hinge and the move to the parent in one: a hinge transmits no moment about its axis, so
/// only M of the rest is moved. IA and pA include the parent's `sum` and P, so that a single product
/// depends on D⁻¹.
///
///     s = U·(n × d)     M ← M − K Uᵀ     h = M n × d − s K     I = (n × d)·M n × d − s² D⁻¹
template <class S>
PYSIM_INLINE void eliminate_hinge(const PlanarBody<S>& B,
                                  S torque,
                                  const PlanarInertia<S>& sum,
                                  const PlanarForce<S>& P,
                                  PlanarElimination<S>& E,
                                  PlanarInertia<S>& IA,
                                  PlanarForce<S>& pA) {
  const Vec2<S> across = quarter_turn(B.d), U = IA.h;
  const PlanarForce<S> moved = IA * across;
  const S s = moved.t, inv_D = all<S>(1) / IA.I;
  E.inv_D = inv_D;
  const S u = dot_subtract(U, B.c, torque) - pA.t;
  const Vec2<S> f = multiply_add(IA, B.c, pA.f);
  E.K = {inv_D * U, all<S>(1)};
  E.a = inv_D * u;
  IA = {fnma(E.K.f.x, U.x, sum.xx + IA.xx),
        fnma(E.K.f.y, U.y, sum.yy + IA.yy),
        fnma(E.K.f.x, U.y, sum.xy + IA.xy),
        fnma(s, E.K.f, sum.h + moved.f),
        fnma(s * s, inv_D, dot_add(across, moved.f, sum.I))};
  pA = {fma(u, E.K.f, P.f + f), fma(s, E.a, dot_add(across, f, P.t + torque))};
}

/// Eliminates the accelerations of a joint's columns, the last one first.
template <class S>
PYSIM_INLINE void eliminate_planar_columns(const ModelOf<S>& model,
                                           const Joint& joint,
                                           const PlanarBody<S>& B,
                                           S sense,
                                           const S* tau,
                                           const S* diagonal,
                                           PlanarElimination<S>* elimination,
                                           PlanarInertia<S>& IA,
                                           PlanarForce<S>& pA) {
  const int slides = tree::slides(joint);
  pA = {multiply_add(IA, B.c, pA.f), dot_add(IA.h, B.c, pA.t)};
  for (int i = joint.nv - 1; i >= 0; --i) {
    const int k = joint.v + i;
    PlanarElimination<S>& E = elimination[k];
    const PlanarColumn<S> Sj = {i == slides, E.slide};
    S I_r = all<S>(model.armature[k]);
    if (diagonal != nullptr) I_r += diagonal[k];
    const PlanarForce<S> U = E.factor(IA, Sj, I_r);
    const S u = fms(Sj.turns ? sense : all<S>(1), tau[k], dot(Sj, pA));
    E.a = E.inv_D * u;
    IA = minus_outer(IA, E.K, U);
    pA = fma(u, E.K, pA);
  }
}

/// Pass 2 of 3. `fork` [bodies] holds the articulated inertia of forks with the children processed so far.
/// `diagonal` (nv) is added to the inertias of the coordinates; it may be null.
template <class S>
void reduce_planar(const ModelOf<S>& model,
                   const S* tau,
                   PlanarBody<S>* body,
                   PlanarInertia<S>* fork,
                   PlanarElimination<S>* elimination,
                   const S* diagonal = nullptr) {
  PlanarInertia<S> IA;
  PlanarForce<S> pA;
  for (int b = model.bodies - 1; b >= 0; --b) {
    const Joint& joint = model.joint[b];
    const PlanarBody<S>& B = body[b];
    const S sense = all<S>(model.plane[b].sense);
    if (joint.leaf) {
      IA = planar_body_inertia(model, b, B);
      pA = B.pA;
    }
    if (joint.parent < 0) {
      eliminate_planar_columns(model, joint, B, sense, tau, diagonal, elimination, IA, pA);
      continue;
    }
    PlanarBody<S>& P = body[joint.parent];
    PlanarInertia<S>& arrived = fork[joint.parent];
    const PlanarInertia<S> sum = joint.last_child ? planar_body_inertia(model, joint.parent, P) : arrived;
    if (joint.hinge && diagonal == nullptr) {
      eliminate_hinge(B, sense * tau[joint.v], sum, P.pA, elimination[joint.v], IA, pA);
    } else {
      eliminate_planar_columns(model, joint, B, sense, tau, diagonal, elimination, IA, pA);
      IA = sum + translate(B.d, IA);
      pA = P.pA + translate(B.d, pA);
    }
    if (joint.parent < b - 1) {
      arrived = IA;
      P.pA = pA;
    }
  }
}

/// Pass 3 of 3. Stores the accelerations of forks, or of `every` body, gravity included.
template <class S>
void spread_planar_acceleration(const ModelOf<S>& model,
                                const PlanarElimination<S>* elimination,
                                PlanarBody<S>* body,
                                S* a,
                                bool every = false) {
  Vec2<S> acc;
  S turning;
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    PlanarBody<S>& B = body[b];
    const S sense = all<S>(model.plane[b].sense);
    if (joint.parent < 0) {
      acc = -all2<S>(model.plane[b].gravity);
      turning = all<S>(0);
    } else if (joint.parent < b - 1) {
      acc = body[joint.parent].a;
      turning = body[joint.parent].alpha;
    }
    acc = fma(turning, quarter_turn(B.d), acc);
    const int slides = tree::slides(joint);
    for (int i = 0; i < slides; ++i) {
      const PlanarElimination<S>& E = elimination[joint.v + i];
      a[joint.v + i] = fnma(E.K.t, turning, dot_subtract(E.K.f, acc, E.a));
      acc = fma(a[joint.v + i], E.slide, acc);
    }
    if (tree::turns_in_plane(joint)) {
      const PlanarElimination<S>& E = elimination[joint.v + slides];
      const S free = dot_subtract(E.K.f, acc, E.a);  // rotated as if its parent had not accelerated
      const S turned = joint.hinge ? free : fma(all<S>(1) - E.K.t, turning, free);
      a[joint.v + slides] = sense * (turned - turning);
      turning = turned;
    }
    acc = acc + B.c;
    if (joint.fork >= 0 || every) {
      B.a = acc;
      B.alpha = turning;
    }
  }
}

/// v̇ under the generalised forces τ, of a model whose bodies stay in planes. `f_ext` may be null.
template <class S>
void planar_aba(const ModelOf<S>& model,
                const S* q,
                const S* v,
                const S* tau,
                const Force<S>* f_ext,
                S* a,
                Workspace<S> w) {
  auto* const body = take<PlanarBody<S>>(w, model.bodies);
  auto* const fork = take<PlanarInertia<S>>(w, model.bodies);
  auto* const elimination = take<PlanarElimination<S>>(w, model.nv);
  S *const sin = take<S>(w, model.bodies), *const cos = take<S>(w, model.bodies);
  tree::planar_sincos(model, q, sin, cos, w);
  const tree::SincosTable<S> sincos = {sin, cos};
  spread_planar_velocity(model, q, v, f_ext, sincos, body, elimination);
  reduce_planar(model, tau, body, fork, elimination);
  spread_planar_acceleration(model, elimination, body, a);
}

}  // namespace pysim::dynamics
