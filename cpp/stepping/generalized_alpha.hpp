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
//
// A start takes v̇(t₀, q₀, v₀) for both. Where a damper stops a velocity within less than a step, this would
// carry the mechanism far beyond: there the first steps are those of the implicit Euler method,
//
//     q₁ = q₀ ⊕ h v₁     v₁ = v₀ + h w        until |v̇(t₀, q₀, v₀)| ≤ 3 |w| in every coordinate,
//
// whose forces do the work of the mean velocity.
#pragma once

#include "stepping/acceleration_prediction.hpp"
#include "stepping/newton.hpp"

namespace pysim::stepping {

/// States x of elements in a step, ẋ = f, with y in the place of a [Jansen, Whiting, Hulbert 2000]:
///
///     (1 − α_m) y₁ + α_m y₀ = (1 − α_f) f₁ + α_f f₀        x₁ = x₀ + h ((1 − γ) y₀ + γ y₁)
///
///     α_m = (3ρ − 1)/(2ρ + 2)    α_f = ρ/(ρ + 1)    γ = ½ + α_f − α_m
template <class S>
struct AlphaStates {
  const S* x0;       ///< null for none
  S *base, *y_base;  ///< x₁ and y₁ without f₁
  S factor, weight;  ///< of f₁ in these
};

/// y and f are carried behind the held numbers of the signals; a world that `begins` takes f for both. Steps
/// in the worlds `by_euler` are those of the implicit Euler method.
template <class S>
AlphaStates<S> begin_states(System<S>& inner,
                            simd::Mask<S> begins,
                            simd::Mask<S> by_euler,
                            S time,
                            S h,
                            const S* q,
                            const S* v,
                            S ratio) {
  Workspace<S>& room = inner.workspace;
  const int n = inner.states();
  if (n == 0) return {nullptr, nullptr, nullptr, h, h};
  const double radius = inner.spectral_radius;
  const double m = (3 * radius - 1) / (2 * radius + 2), f = radius / (radius + 1), g = 0.5 + f - m;
  const auto number = [](double x) { return all<S>(static_cast<typename S::Real>(x)); };
  S* const y = inner.signals.numbers + inner.model.signals->carried();
  S* const last = y + n;
  if (any(begins)) {
    Workspace<S> scratch = room;
    S* const a = take<S>(scratch, inner.model.reduced_nv);
    if (inner.model.timed) {  // work of prescribed motions
      System<S> at_start = inner;
      at_start.workspace = scratch;
      at_start.acceleration(time, q, v, a);
    } else {
      inner.actuate(time, q, v, a, scratch);
    }
    simd::copy_where<S>(begins, inner.signals.rate, n, y);
    simd::copy_where<S>(begins, inner.signals.rate, n, last);
  }
  const AlphaStates<S> states = {inner.copy_states(room),
                                 take<S>(room, n),
                                 take<S>(room, n),
                                 select(by_euler, h, h * number(g * (1 - f) / (1 - m))),
                                 select(by_euler, all<S>(1), number((1 - f) / (1 - m)))};
  for (int i = 0; i < n; ++i) {
    const S y0 = fma(ratio, y[i] - last[i], last[i]);
    states.y_base[i] = (number(f) * last[i] - number(m) * y0) / number(1 - m);
    states.base[i] = fma(h, fma(number(g), states.y_base[i], number(1 - g) * y0), states.x0[i]);
    states.y_base[i] = select(by_euler, all<S>(0), states.y_base[i]);
    states.base[i] = select(by_euler, states.x0[i], states.base[i]);
  }
  return states;
}

/// Carries y₁ and f₁ on; x₁ is the state already.
template <class S>
void end_states(const System<S>& inner, const AlphaStates<S>& states) {
  const int n = inner.states();
  S* const y = inner.signals.numbers + inner.model.signals->carried();
  for (int i = 0; i < n; ++i) {
    y[n + i] = inner.signals.rate[i];
    y[i] = fma(states.weight, inner.signals.rate[i], states.y_base[i]);
  }
}

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
    const auto begins = memory.step() == all<S>(0);
    predict(inner, wanted, time, h, q, v, memory);
    find_dependence(inner, wanted, time, static_cast<const S*>(q), static_cast<const S*>(v), memory);
    S *const w = memory.last(), *const a = memory.algorithmic();
    const auto by_euler = begins_stiffly(inner, wanted & begins, time, h, q, v, memory);
    const S* const w0 = memory.before();

    const S share = (one - weights.alpha_f) / (one - weights.alpha_m), ratio = h / memory.step();
    const S B = h * h * weights.beta, G = h * weights.gamma;
    for (int i = 0; i < nv; ++i) {
      const S a0 = fma(ratio, a[i] - w0[i], w0[i]);
      still[i] = (weights.alpha_f * w0[i] - weights.alpha_m * a0) / (one - weights.alpha_m);  // a₁ for w = 0
      xi[i] = fma(B, still[i], fma(h * h * (half - weights.beta), a0, h * v[i]));
      v0[i] = fma(G, still[i], fma(h * (one - weights.gamma), a0, v[i]));
      xi[i] = select(by_euler, h * v[i], xi[i]);
      v0[i] = select(by_euler, v[i], v0[i]);
    }
    const AlphaStates<S> states = begin_states<S>(inner, wanted & begins, by_euler, time, h, q, v, ratio);
    if (states.x0 != nullptr) {
      inner.signals.base = states.base;
      inner.signals.start = states.x0;
      inner.signals.factor = states.factor;
    }
    const double tolerance = NewtonTolerance<typename S::Real>::usual;
    const S by_w = select(by_euler, h * h, share * B), of_v = select(by_euler, h, share * G);
    const Stage<S> stage = {time + h, q, xi, v0, by_w, of_v, false, tolerance};
    const auto solved = solve(inner, stage, wanted, memory, w);
    if (states.x0 != nullptr) {
      evaluate_states(inner, stage, static_cast<const S*>(w), any(by_euler) ? &by_euler : nullptr);
      end_states(inner, states);
    }
    keep_apart(inner, wanted, memory);

    for (int i = 0; i < nv; ++i) {
      a[i] = select(by_euler, w[i], fma(share, w[i], still[i]));
      xi[i] = fma(stage.B, w[i], xi[i]);
      v[i] = fma(stage.G, w[i], v0[i]);
    }
    retract(system.model, static_cast<const S*>(q), xi, q1);
    for (int i = 0; i < nq; ++i) q[i] = q1[i];
    memory.step() = select(by_euler, all<S>(0), h);  // the next step begins again
    return solved;
  }

  /// Worlds in which v̇ = `a` would turn a velocity around within h, and at the velocity to which it leads
  /// reverses and grows.
  template <class S>
  static simd::Mask<S> reverses(
      const System<S>& system, simd::Mask<S> worlds, S time, S h, const S* q, const S* v, const S* a) {
    if constexpr (simd::is_on_tape<S>) return worlds & system.taped->choices().reverses;
    System<S> inner = system;
    Workspace<S>& room = inner.workspace;
    const int nv = system.model.reduced_nv;
    inner.signals = system.with_own_signals(room).signals;
    inner.loop_q = system.copy_loop_q(room);
    inner.dependence = nullptr;
    S *const rate = take<S>(room, nv), *const reached = take<S>(room, nv);
    const S least = least_speed(v, nv);
    for (int i = 0; i < nv; ++i) reached[i] = fma(h, a[i], v[i]);
    inner.acceleration(worlds, time, q, static_cast<const S*>(reached), rate);
    auto found = simd::nowhere<S>();
    for (int i = 0; i < nv; ++i) {
      const auto grows = (a[i] * rate[i] < all<S>(0)) & (abs(rate[i]) > all<S>(2) * abs(a[i]));
      const auto turns = (a[i] * v[i] < all<S>(0)) & (h * abs(a[i]) > abs(v[i]) + least);
      found |= grows & turns;
    }
    return found;
  }

 private:
  /// Speed below which velocities v (nv) are rounding.
  template <class S>
  static S least_speed(const S* v, int nv) {
    using Real = typename S::Real;
    return all<S>(Real(1e-6)) * largest(v, nv) + all<S>(Real(1e-9));
  }

  /// Worlds that begin where a damper stops a velocity within less than a step; w of the implicit Euler
  /// method is the first guess in these.
  template <class S>
  static simd::Mask<S> begins_stiffly(const System<S>& system,
                                      simd::Mask<S> begins,
                                      S time,
                                      S h,
                                      const S* q,
                                      const S* v,
                                      const SolverState<S>& memory) {
    if (none(begins)) return begins;
    if constexpr (simd::is_on_tape<S>) return begins & system.taped->choices().by_euler;
    using Real = typename S::Real;
    S* const a = memory.last();
    auto stiff = begins & reverses(system, begins, time, h, q, v, static_cast<const S*>(a));
    if (none(stiff)) return stiff;

    System<S> inner = system;
    Workspace<S>& room = inner.workspace;
    const int nv = system.model.reduced_nv;
    inner.signals = system.with_own_signals(room).signals;
    inner.loop_q = system.copy_loop_q(room);
    inner.dependence = nullptr;
    S *const w = take<S>(room, nv), *const xi = take<S>(room, nv), *const v0 = take<S>(room, nv);
    const S least = least_speed(v, nv);
    for (int i = 0; i < nv; ++i) {
      w[i] = all<S>(0);
      xi[i] = h * v[i];
      v0[i] = v[i];
    }
    if (inner.states() > 0) {
      inner.signals.base = inner.signals.start = inner.copy_states(room);
      inner.signals.factor = h;
    }
    const Stage<S> stage = {time + h, q, xi, v0, h * h, h, false, NewtonTolerance<Real>::usual};
    stiff &= solve(inner, stage, stiff, memory.copy(room), w);
    auto decays = simd::nowhere<S>();
    for (int i = 0; i < nv; ++i) {
      decays |= (h * abs(a[i]) > least) & (abs(a[i]) > all<S>(3) * abs(w[i]));
    }
    stiff &= decays;
    for (int i = 0; i < nv; ++i) a[i] = select(stiff, w[i], a[i]);
    return stiff;
  }
};

}  // namespace pysim::stepping
