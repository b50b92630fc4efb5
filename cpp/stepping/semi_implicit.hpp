// Symplectic Euler, first order: velocity first, then the pose along the new velocity.
//
//     v₁ = v₀ + h v̇(t₀, q₀, v₀)          q₁ = q₀ ⊕ h v₁
//
// The work of a force is that of F(t₀, q₀, v₀) at the mean velocity (v₀ + v₁)/2: in sum the change of the
// kinetic energy.
#pragma once

#include "stepping/system.hpp"

namespace pysim::stepping {

struct SemiImplicit {
  template <class S>
  static void step(const System<S>& system, S time, S h, S* q, S* v) {
    System<S> inner = system;
    const int nv = system.model.reduced_nv;
    S* const a = take<S>(inner.workspace, nv);
    S* const dq = take<S>(inner.workspace, nv);

    inner.acceleration(time, q, v, a);
    if (inner.integrates()) find_powers(inner, time, h, q, v, a);
    for (int i = 0; i < inner.states(); ++i) {
      S& x = inner.signals.numbers[i];
      x = fma(h, inner.signals.rate[i], x);
    }
    for (int i = 0; i < nv; ++i) {
      v[i] = fma(h, a[i], v[i]);
      dq[i] = h * v[i];
    }
    retract(system.model, q, dq, q);
  }

 private:
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
