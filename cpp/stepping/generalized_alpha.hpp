// The generalised-α method on the configuration's Lie group, of order 2 [Brüls and Cardona 2010; Arnold and
// Brüls 2007].
//
//     (1 − α_m) a₁ + α_m a₀ = (1 − α_f) w + α_f w₀            w = v̇(t + h, q₁, v₁)
//     q₁ = q₀ ⊕ (h v₀ + h² ((½ − β) a₀ + β a₁))     v₁ = v₀ + h ((1 − γ) a₀ + γ a₁)
//
//     α_m = (2ρ − 1)/(ρ + 1)    α_f = ρ/(ρ + 1)    γ = ½ + α_f − α_m    β = (γ + ½)²/4
//
// ρ is the spectral radius for infinitely fast motion: the factor of its amplitude per step. a is carried
// from step to step; it belongs to t + (α_m − α_f) h, so a step of another length rescales a − w
// [Jay and Negrut 2008]:  a₀ ← w₀ + (h / h₀) (a₀ − w₀).
#pragma once

#include "stepping/newton.hpp"
#include "stepping/prediction.hpp"

namespace pysim::stepping {

struct GeneralizedAlpha {
  template <class S>
  struct Weights {
    S alpha_m, alpha_f, gamma, beta;

    explicit Weights(double radius) {
      const double m = (2 * radius - 1) / (radius + 1), f = radius / (radius + 1), g = 0.5 + f - m;
      const auto number = [](double x) { return all<S>(static_cast<typename S::Real>(x)); };
      alpha_m = number(m), alpha_f = number(f), gamma = number(g), beta = number((g + 0.5) * (g + 0.5) / 4);
    }
  };

  /// A step of the `wanted` worlds; returns those in which it succeeds.
  template <class S>
  static simd::Mask<S> attempt(
      const System<S>& system, simd::Mask<S> wanted, S time, S h, S* q, S* v, const SolverState<S>& memory) {
    System<S> inner = system;
    Workspace<S>& room = inner.workspace;
    const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
    const Weights<S> weights(system.spectral_radius);
    const S one = all<S>(1), half = all<S>(typename S::Real(0.5));
    S *const xi = take<S>(room, nv), *const v0 = take<S>(room, nv);
    S *const still = take<S>(room, nv), *const q1 = take<S>(room, nq);
    predict(inner, wanted, time, h, q, v, memory);
    find_dependence(inner, wanted, time, static_cast<const S*>(q), static_cast<const S*>(v), memory);
    S *const w = memory.last(), *const a = memory.algorithmic();
    const S* const w0 = memory.before();

    const S share = (one - weights.alpha_f) / (one - weights.alpha_m), ratio = h / memory.step();
    const S B = h * h * weights.beta, G = h * weights.gamma;
    for (int i = 0; i < nv; ++i) {
      const S a0 = fma(ratio, a[i] - w0[i], w0[i]);
      still[i] = (weights.alpha_f * w0[i] - weights.alpha_m * a0) / (one - weights.alpha_m);  // a₁ for w = 0
      xi[i] = fma(B, still[i], fma(h * h * (half - weights.beta), a0, h * v[i]));
      v0[i] = fma(G, still[i], fma(h * (one - weights.gamma), a0, v[i]));
    }
    const double tolerance = NewtonTolerance<typename S::Real>::usual;
    const Stage<S> stage = {time + h, q, xi, v0, share * B, share * G, false, tolerance};
    const auto solved = solve(inner, stage, wanted, memory, w);
    keep_apart(inner, wanted, memory);

    for (int i = 0; i < nv; ++i) {
      a[i] = fma(share, w[i], still[i]);
      xi[i] = fma(stage.B, w[i], xi[i]);
      v[i] = fma(stage.G, w[i], v0[i]);
    }
    retract(system.model, static_cast<const S*>(q), xi, q1);
    for (int i = 0; i < nq; ++i) q[i] = q1[i];
    memory.step() = h;
    return solved;
  }
};

}  // namespace pysim::stepping
