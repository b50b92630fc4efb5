// Explicit Runge-Kutta-Munthe-Kaas schemes on the configuration's Lie group [Munthe-Kaas 1998].
//
// The motion during a step is written q(t) = q₀ ⊕ ξ(t); ξ lives in a vector space, where a classical scheme
// with nodes c, matrix A and weights b applies to  ξ̇ = J_r⁻¹(ξ) v,  v̇ = v̇(t, q₀ ⊕ ξ, v):
//
//     ξ_s = h Σ A_sj k_j        v_s = v₀ + h Σ A_sj a_j
//     k_s = J_r⁻¹(ξ_s) v_s      a_s = v̇(t + c_s h, q₀ ⊕ ξ_s, v_s)
//     q₁ = q₀ ⊕ h Σ b_s k_s     v₁ = v₀ + h Σ b_s a_s
#pragma once

#include "stepping/system.hpp"

namespace pysim::stepping {

// Tableaus are templates over the instruction set, so that each set has constants of its own.

/// The explicit midpoint rule, of order 2.
template <class Isa>
struct Midpoint {
  static constexpr int stages = 2;
  static constexpr double A[2][2] = {{0, 0}, {0.5, 0}};
  static constexpr double b[2] = {0, 1};
  static constexpr double c[2] = {0, 0.5};
};

/// The classical scheme of order 4 [Kutta 1901].
template <class Isa>
struct Classical {
  static constexpr int stages = 4;
  static constexpr double A[4][4] = {{0, 0, 0, 0}, {0.5, 0, 0, 0}, {0, 0.5, 0, 0}, {0, 0, 1, 0}};
  static constexpr double b[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  static constexpr double c[4] = {0, 0.5, 0.5, 1};
};

/// h Σ w_j row_j of the first `count` rows (each of nv packs), added to `start` if it is not null; rows of
/// weight 0 are not read.
template <class S>
PYSIM_INLINE void combine(const double* w, int count, S h, const S* rows, int nv, const S* start, S* sum) {
  simd::side_by_side<S>(nv, [=](auto kind, int i) {
    using T = decltype(kind);
    T total = all<T>(0);
#pragma GCC unroll 8
    for (int j = 0; j < count; ++j) {
      if (w[j] == 0) continue;
      total = fma(simd::widen<T>(all<S>(w[j]) * h), simd::load_at<T>(rows + j * nv + i), total);
    }
    if (start != nullptr) total += simd::load_at<T>(start + i);
    simd::store_at(total, sum + i);
  });
}

/// Rates of every stage of one step: k (stages × nv) of ξ, a (stages × nv) of v, x (stages × states) of the
/// states of elements, which begin with x0.
template <class S>
struct Stages {
  S *k, *a, *x, *x0;
};

template <class Tableau, class S>
Stages<S> take_stages(const System<S>& system, Workspace<S>& w) {
  const int numbers = Tableau::stages * system.model.reduced_nv;
  return {take<S>(w, numbers),
          take<S>(w, numbers),
          take<S>(w, Tableau::stages * system.states()),
          take<S>(w, system.states())};
}

/// ξ_s and v_s from the stages before s.
template <class Tableau, class S>
PYSIM_INLINE void stage_state(
    const System<S>& system, S h, const S* v, int s, const Stages<S>& stages, S* xi, S* v_s) {
  const int nv = system.model.reduced_nv;
  combine<S>(Tableau::A[s], s, h, stages.k, nv, nullptr, xi);
  combine(Tableau::A[s], s, h, stages.a, nv, v, v_s);
}

/// Fills the rates of stages [first, stages). The state of the last stage is left in `q_s` and `v_s`, its ξ
/// in `xi`.
template <class Tableau, class S>
void evaluate_stages(const System<S>& system,
                     S time,
                     S h,
                     const S* q,
                     const S* v,
                     int first,
                     const Stages<S>& stages,
                     S* xi,
                     S* q_s,
                     S* v_s) {
  const int nv = system.model.reduced_nv, states = system.states();
  if (first == 0) simd::copy_each<S>(system.signals.numbers, states, stages.x0);
#pragma GCC unroll 8
  for (int s = 0; s < Tableau::stages; ++s) {
    if (s < first) continue;
    stage_state<Tableau>(system, h, v, s, stages, xi, v_s);
    retract(system.model, q, xi, q_s);
    if (states > 0) combine<S>(Tableau::A[s], s, h, stages.x, states, stages.x0, system.signals.numbers);
    system.acceleration(fma(all<S>(Tableau::c[s]), h, time), q_s, v_s, stages.a + s * nv);
    simd::copy_each<S>(system.signals.rate, states, stages.x + s * states);
    lift(system.model, xi, v_s, stages.k + s * nv);
  }
}

/// One scheme of fixed step.
template <template <class> class SchemeTableau>
struct RungeKutta {
  template <class S>
  static void step(const System<S>& system, S time, S h, S* q, S* v) {
    using Tableau = SchemeTableau<typename S::Isa>;
    System<S> inner = system;
    const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
    const Stages<S> stages = take_stages<Tableau>(system, inner.workspace);
    S *const xi = take<S>(inner.workspace, nv), *const v_s = take<S>(inner.workspace, nv),
             *const q_s = take<S>(inner.workspace, nq);

    evaluate_stages<Tableau>(inner, time, h, q, v, 0, stages, xi, q_s, v_s);
    combine<S>(Tableau::b, Tableau::stages, h, stages.k, nv, nullptr, xi);
    combine<S>(Tableau::b, Tableau::stages, h, stages.a, nv, v, v);
    if (const int states = system.states()) {
      combine<S>(Tableau::b, Tableau::stages, h, stages.x, states, stages.x0, system.signals.numbers);
    }
    retract(system.model, q, xi, q);
  }
};

using Rk2 = RungeKutta<Midpoint>;
using Rk4 = RungeKutta<Classical>;

}  // namespace pysim::stepping
