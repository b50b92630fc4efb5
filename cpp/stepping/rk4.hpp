// Runge-Kutta-Munthe-Kaas of order 4 on the configuration's Lie group [Munthe-Kaas 1998].
//
// The motion during a step is written q(t) = q₀ ⊕ ξ(t); ξ lives in a vector space, where the classical scheme
// applies to  ξ̇ = J_r⁻¹(ξ) v,  v̇ = v̇(t, q₀ ⊕ ξ, v):
//
//     ξ₁ = h/6 (k₁ + 2 k₂ + 2 k₃ + k₄)        v₁ = v₀ + h/6 (a₁ + 2 a₂ + 2 a₃ + a₄)        q₁ = q₀ ⊕ ξ₁
#pragma once

#include "stepping/system.hpp"

namespace pysim::stepping {

struct Rk4 {
  template <class S>
  static void step(const System<S>& system, double time, double h, S* q, S* v) {
    using Real = typename S::Real;
    constexpr double node[4] = {0, 0.5, 0.5, 1};
    constexpr double weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    System<S> inner = system;
    const int nq = system.model.own_nq, nv = system.model.own_nv;
    const auto take = [&](int count) { return inner.workspace.template take<S>(count); };
    S *const xi = take(nv), *const rate = take(nv), *const a = take(nv);
    S *const stage_q = take(nq), *const stage_v = take(nv);
    S *const sum_rate = take(nv), *const sum_a = take(nv);

    for (int i = 0; i < nv; ++i) sum_rate[i] = sum_a[i] = rate[i] = a[i] = all<S>(0);
    for (int s = 0; s < 4; ++s) {
      const S along = all<S>(static_cast<Real>(node[s] * h));
      for (int i = 0; i < nv; ++i) {
        xi[i] = along * rate[i];
        stage_v[i] = fma(along, a[i], v[i]);
      }
      retract(system.model, q, xi, stage_q);
      inner.acceleration(time + node[s] * h, stage_q, stage_v, a);
      lift(system.model, xi, stage_v, rate);
      const S share = all<S>(static_cast<Real>(weight[s] * h));
      for (int i = 0; i < nv; ++i) {
        sum_rate[i] = fma(share, rate[i], sum_rate[i]);
        sum_a[i] = fma(share, a[i], sum_a[i]);
      }
    }
    retract(system.model, q, sum_rate, q);
    for (int i = 0; i < nv; ++i) v[i] += sum_a[i];
  }
};

}  // namespace pysim::stepping
