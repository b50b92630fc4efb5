// Detection of a singular position, where a mechanism has infinitesimal motions that no finite motion
// follows.
//
//     J t = 0        J v̇ + J̇ t = 0 for v̇ = −M⁻¹ Jᵀ G⁺ J̇ t ?
//
// If the dependence of rows persists (Bricard's linkage, a redundant loop), some v̇ satisfies them for every
// admissible motion t. At a singular position none exists for almost every t: the quadratic form that a
// self-stress of the rows defines on those motions does not vanish.
#pragma once

#include "constraints/constrained_derivatives.hpp"
#include "constraints/projection.hpp"

namespace pysim::constraints {

/// An admissible motion t = N f, the response to a force on every coordinate, all different.
template <class S>
void allowed_motion(const KktInverse<S>& inverse, S* t) {
  using Real = typename S::Real;
  for (int i = 0; i < inverse.n; ++i) {
    Real share = 0;  // multiples of the golden ratio, modulo 1
    t[i] = all<S>(0);
    for (int j = 0; j < inverse.n; ++j) {
      share += Real(0.6180339887);
      if (share > 1) share -= 1;
      t[i] = fma(all<S>(Real(0.5) + share), inverse.at(i, j), t[i]);
    }
  }
}

/// Residual of J v̇ + J̇ t = 0 relative to J̇ t: 0 if the mechanism can continue along t, about 1 at a
/// singular position.
///
/// Tested only in worlds with dependent rows that still admit some motion; the rounding error of J̇ t is
/// compared with t² of the fastest motion.
template <class S>
S infinitesimal_motion(ConstrainedMechanism<S>& mechanism,
                       const KktInverse<S>& inverse,
                       const S* reduced_q,
                       S* phi,
                       Workspace<S> w) {
  using Real = typename S::Real;
  const auto& model = mechanism.factor.model;
  const int n = model.reduced_nv, rows = mechanism.rows.count;
  constexpr Real rounding = sizeof(Real) == 8 ? Real(1e-6) : Real(1e-2);
  const S o = all<S>(0);
  const S rank = mechanism.delassus.G.rank;
  const auto depends = (rank < all<S>(static_cast<Real>(rows))) & (rank < all<S>(static_cast<Real>(n)));
  if (none(depends)) return o;

  S *const t = take<S>(w, n), *const a = take<S>(w, n);
  allowed_motion(inverse, t);
  const S* q = tree::full_q(model, reduced_q, w);
  const S* v = tree::full_v(model, static_cast<const S*>(t), w);
  mechanism.factor.move_freely(q, v, w);
  const Clock<S> stopped = {mechanism.clock.time, o};
  evaluate_rows(model, mechanism.factor, stopped, phi, mechanism.rows, false, w);
  evaluate_couplings<S>(model, stopped, reduced_q, t, nullptr, mechanism.rows, w);
  const S* const bias = mechanism.rows.gdd;
  for (int k = 0; k < n; ++k) {  // −M⁻¹ Jᵀ G⁺ (J̇ t)
    a[k] = o;
    for (int i = 0; i < rows; ++i) a[k] = fnma(inverse.at(n + i, k), bias[i], a[k]);
  }
  const S fastest = largest(static_cast<const S*>(t), n);
  S left = o, size = all<S>(rounding) * fastest * fastest;
  for (int i = 0; i < rows; ++i) {
    S sum = bias[i], sizes = abs(bias[i]);
    const int* const k = mechanism.rows.coordinates(i);
    for (int m = 0; m < mechanism.rows.path[i].nv; ++m) {
      const S part = mechanism.rows.J[i * n + m] * a[k[m]];
      sum += part;
      sizes += abs(part);
    }
    left = max(left, abs(sum));
    size = max(size, sizes);
  }
  return select(depends & (size > o), left / size, o);
}

}  // namespace pysim::constraints
