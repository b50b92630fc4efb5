// Symplectic Euler, first order: velocity first, then the pose along the new velocity.
//
//     v₁ = v₀ + h v̇(t₀, q₀, v₀)          q₁ = q₀ ⊕ h v₁
//
// The velocity of a free joint is on axes that turn with the body. Its linear part is stepped as the velocity
// u of the body's centre of mass c, on the axes of the start, which do not turn; the centre moves along u₁,
// so that a body without forces keeps its momentum to rounding:
//
//     u₁ = u₀ + h (v̇ + ω̇ × c + ω₀ × u₀)       x₁ = x₀ + h R₀ u₁       R₁ = R₀ E,  E = exp(h ω₁)       u₁ ← Eᵀ
//     u₁
//
// The work of a force is that of F(t₀, q₀, v₀) at the mean velocity (v₀ + v₁)/2: in sum the change of the
// kinetic energy.
#pragma once

#include "dynamics/aba.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

using dynamics::load3;
using dynamics::store;
using spatial::Vec3;

struct SemiImplicit {
  template <class S>
  static void step(const System<S>& system, S time, S h, S* q, S* v) {
    System<S> inner = system;
    const int nv = system.model.reduced_nv;
    S* const a = take<S>(inner.workspace, nv);
    S* const dq = take<S>(inner.workspace, nv);

    inner.acceleration(time, q, v, a);
    each_free(system, [&](const tree::Joint& joint, const Vec3<S>& c) {
      const S* const at = v + joint.reduced_v;
      S* const rate = a + joint.reduced_v;
      const Vec3<S> omega = load3(at + 3), u = load3(at) + cross(omega, c);
      store(load3(rate) + cross(omega, u), rate);  // of u − ω × c, on axes that do not turn
    });
    if (inner.integrates()) find_powers(inner, time, h, q, v, a);
    for (int i = 0; i < inner.states(); ++i) {
      S& x = inner.signals.numbers[i];
      x = fma(h, inner.signals.rate[i], x);
    }
    for (int i = 0; i < nv; ++i) {
      v[i] = fma(h, a[i], v[i]);
      dq[i] = h * v[i];
    }
    each_free(system, [&](const tree::Joint& joint, const Vec3<S>& c) {
      S *const at = v + joint.reduced_v, *const place = q + joint.reduced_q;
      const Vec3<S> omega = load3(at + 3), u = load3(at) + cross(omega, c);
      const auto E = spatial::rotation(spatial::exp_quaternion(h * omega));
      const auto R = spatial::rotation(dynamics::load_quaternion(static_cast<const S*>(place + 3)));
      store(load3(place) + R * (fma(h, u, c) - E * c), place);
      store(spatial::zero3<S>(), dq + joint.reduced_v);  // the position is there already
      store(transpose_times(E, u) - cross(omega, c), at);
    });
    retract(system.model, q, dq, q);
  }

 private:
  /// Calls f(joint, centre of mass of its body) for every free joint; the origin stands for that of no mass.
  template <class S, class F>
  static void each_free(const System<S>& system, const F& f) {
    for (int b = 0; b < system.model.bodies; ++b) {
      const tree::Joint& joint = system.model.joint[b];
      if (joint.shape != tree::Shape::free || joint.reduced_v < 0) continue;
      const auto M = system.inertia(b);
      const S massive = select(M.m > all<S>(0), M.m, all<S>(1));
      f(joint, (all<S>(1) / massive) * M.mc);
    }
  }

  /// Rates of the integrals at the mean velocity; those of prescribed motions are there already.
  template <class S>
  static void find_powers(System<S> inner, S time, S h, const S* q, const S* v, const S* a) {
    Workspace<S>& w = inner.workspace;
    const int nv = inner.model.reduced_nv, states = inner.states();
    S *const mean = take<S>(w, nv), *const tau = take<S>(w, nv), *const rate = inner.signals.rate;
    for (int i = 0; i < nv; ++i) mean[i] = fma(all<S>(typename S::Real(0.5)) * h, a[i], v[i]);
    inner.signals.mean_v = mean;
    inner.signals.rate = take<S>(w, states);
    inner.actuate(time, q, v, tau, w);
    constraints::visit_motions<S>(inner.model, [&](int, int, int place) {
      if (place >= 0) inner.signals.rate[place] = rate[place];
    });
    for (int i = inner.model.signals->coupled(); i < states; ++i) rate[i] = inner.signals.rate[i];
  }
};

}  // namespace pysim::stepping
