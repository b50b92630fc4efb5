// Symplectic Euler, first order: velocity first, then the pose along the new velocity.
//
//     v₁ = v₀ + h v̇(t₀, q₀, v₀)          q₁ = q₀ ⊕ h v₁
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
};

}  // namespace pysim::stepping
