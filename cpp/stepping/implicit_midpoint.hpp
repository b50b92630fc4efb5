// The implicit midpoint rule on the configuration's Lie group, of order 2 and symmetric.
//
//     w = v̇(t + h/2, q_m, v_m)      v_m = v₀ + h/2 w      v₁ = v₀ + h w
//     q_m = q₀ ⊕ y,  q₁ = q₀ ⊕ 2 y      exp(2 y) = cay(h v_m) of every rotation and displacement
//
// Stable for stiff motion of any frequency, without damping it. Cayley's map conserves energy and momentum
// of a free body to rounding [Simo and Wong 1991]. Other motion is time-reversible: energy has no
// trend if the motion oscillates; if it rotates steadily, a trend of order 2, as the map is not symplectic.
#pragma once

#include "stepping/acceleration_prediction.hpp"
#include "stepping/newton.hpp"

namespace pysim::stepping {

struct ImplicitMidpoint {
  static constexpr bool includes_reactions = true;  ///< of the constraints, in its accelerations

  /// Change of v by constraints at the start: none, because the accelerations satisfy them.
  template <class S>
  static void expect(const System<S>& system, S, S, const S*, const S*, S* push) {
    for (int i = 0; i < system.model.reduced_nv; ++i) push[i] = all<S>(0);
  }

  /// A step of the `wanted` worlds, `again` from the acceleration found before; returns those that succeed.
  template <class S>
  static simd::Mask<S> attempt(const System<S>& system,
                               simd::Mask<S> wanted,
                               S time,
                               S h,
                               S* q,
                               S* v,
                               const SolverState<S>& memory,
                               bool again) {
    System<S> inner = system;
    Workspace<S>& room = inner.workspace;
    const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
    S *const xi = take<S>(room, nv), *const q1 = take<S>(room, nq);
    const S half = all<S>(typename S::Real(0.5)) * h;
    S* const w = memory.last();
    if (!again) predict(inner, wanted, time, h, q, v, memory);
    find_dependence(inner, wanted, time, static_cast<const S*>(q), static_cast<const S*>(v), memory);

    for (int i = 0; i < nv; ++i) xi[i] = half * v[i];
    const double tolerance = NewtonTolerance<typename S::Real>::fine;
    const Stage<S> stage = {time + half, q, xi, v, half * half, half, true, tolerance};
    const S* const x0 = inner.copy_states(room);
    if (x0 != nullptr) inner.signals.base = inner.signals.start = x0, inner.signals.factor = half;
    const auto solved = solve(inner, stage, wanted, memory, w);
    if (x0 != nullptr) {
      evaluate_states(inner, stage, static_cast<const S*>(w));
      for (int i = 0; i < inner.states(); ++i) {
        S& x = inner.signals.numbers[i];
        x = fma(all<S>(2), x, -x0[i]);
      }
    }
    keep_apart(inner, wanted, memory);

    for (int i = 0; i < nv; ++i) xi[i] = fma(half * half, w[i], xi[i]);
    dynamics::half_cayley(system.model, static_cast<const S*>(xi), xi);
    for (int i = 0; i < nv; ++i) {
      xi[i] += xi[i];
      v[i] = fma(h, w[i], v[i]);
    }
    retract(system.model, static_cast<const S*>(q), xi, q1);
    for (int i = 0; i < nq; ++i) q[i] = q1[i];
    memory.step() = h;
    return solved;
  }
};

}  // namespace pysim::stepping
