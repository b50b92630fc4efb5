// Dormand-Prince pair of orders 5 and 4, on the configuration's Lie group.
//
// The seventh stage is at the end of the step, so its acceleration is the first of the next step. The
// difference of the two orders estimates the error in the tangent space; a polynomial of order 4 gives the
// state at any time of the step [Hairer, Norsett, Wanner 1993, II.5 and II.6].
#pragma once

#include "simd/math.hpp"
#include "stepping/runge_kutta.hpp"

namespace pysim::stepping {

template <class S>
PYSIM_INLINE S power(S x, double exponent) {
  return simd::exp(all<S>(exponent) * simd::log(x));
}

template <class Isa>
struct DormandPrince {
  static constexpr int stages = 7;
  static constexpr double A[7][7] = {
      {0, 0, 0, 0, 0, 0, 0},
      {1.0 / 5, 0, 0, 0, 0, 0, 0},
      {3.0 / 40, 9.0 / 40, 0, 0, 0, 0, 0},
      {44.0 / 45, -56.0 / 15, 32.0 / 9, 0, 0, 0, 0},
      {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729, 0, 0, 0},
      {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656, 0, 0},
      {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84, 0}};
  static constexpr double c[7] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
  /// weights of order 5 minus those of order 4
  static constexpr double e[7] = {
      71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
  /// b_s(θ) = Σ_n dense[s][n] θⁿ⁺¹  [Shampine 1986]
  static constexpr double dense[7][4] = {
      {1, -8048581381.0 / 2820520608, 8663915743.0 / 2820520608, -12715105075.0 / 11282082432},
      {0, 0, 0, 0},
      {0, 131558114200.0 / 32700410799, -68118460800.0 / 10900136933, 87487479700.0 / 32700410799},
      {0, -1754552775.0 / 470086768, 14199869525.0 / 1410260304, -10690763975.0 / 1880347072},
      {0, 127303824393.0 / 49829197408, -318862633887.0 / 49829197408, 701980252875.0 / 199316789632},
      {0, -282668133.0 / 205662961, 2019193451.0 / 616988883, -1453857185.0 / 822651844},
      {0, 40617522.0 / 29380423, -110615467.0 / 29380423, 69997945.0 / 29380423}};
};

/// State of one step between its ends: q₀ ⊕ h Σ b_s(θ) k_s, v₀ + h Σ b_s(θ) a_s, 0 ≤ θ ≤ 1.
template <class S>
void interpolate(
    const System<S>& system, S h, S theta, const S* q, const S* v, const Stages<S>& stages, S* q_t, S* v_t) {
  using Tableau = DormandPrince<typename S::Isa>;
  Workspace<S> w = system.workspace;
  const int nv = system.model.reduced_nv;
  S* const xi = take<S>(w, nv);
  for (int i = 0; i < nv; ++i) xi[i] = v_t[i] = all<S>(0);
  for (int s = 0; s < Tableau::stages; ++s) {
    const double* d = Tableau::dense[s];
    if (d[0] == 0 && d[1] == 0) continue;
    const S inner = fma(theta, fma(theta, all<S>(d[3]), all<S>(d[2])), all<S>(d[1]));
    const S weight = h * theta * fma(theta, inner, all<S>(d[0]));
    for (int i = 0; i < nv; ++i) {
      xi[i] = fma(weight, stages.k[s * nv + i], xi[i]);
      v_t[i] = fma(weight, stages.a[s * nv + i], v_t[i]);
    }
  }
  for (int i = 0; i < nv; ++i) v_t[i] += v[i];
  retract(system.model, q, xi, q_t);
}

/// The same in a step from `time`, projected onto the constraints; the coordinates of the loops' joints are
/// not changed.
template <class S>
void state_within(const System<S>& system,
                  S time,
                  S h,
                  S theta,
                  const S* q,
                  const S* v,
                  const Stages<S>& stages,
                  S* q_t,
                  S* v_t) {
  interpolate(system, h, theta, q, v, stages, q_t, v_t);
  Workspace<S> w = system.workspace;
  S* const loop_q = system.copy_loop_q(w);
  const System<S> inner = {system.model, system.actuation, w, loop_q};
  inner.project(fma(theta, h, time), q_t, v_t);
}

}  // namespace pysim::stepping
