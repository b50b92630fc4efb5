// Forward dynamics at a singular position, where constraint rows lose rank: the mean of both one-sided
// limits.
//
//     v̇(q) = (v̇(q ⊕ εv) + v̇(q ⊕ −εv)) / 2 + O(ε²)
//
// The remaining rows do not determine the branch on which the mechanism continues; its motion v does. On
// both sides of q along v the rows are independent, with a pivot of about ε². Rows that are redundant
// everywhere remain dependent there.
#pragma once

#include "constraints/constrained_dynamics.hpp"

namespace pysim::constraints {

/// Distance from a singular position at which forward dynamics is evaluated, and thresholds.
template <class Real>
struct OneSidedLimits {
  static constexpr Real away = sizeof(Real) == 8 ? Real(1e-4) : Real(1e-2);  ///< ε |v| [rad, m]
  static constexpr Real slow = sizeof(Real) == 8 ? Real(1e-9) : Real(1e-4);  ///< |v| without direction
  /// Pivot, over the residual squared, of an independent row; constraint errors cause smaller pivots.
  static constexpr Real opened = Real(1e6);
};

/// Greatest rate of a coordinate on the path of some row.
template <class S>
S speed_of_rows(const Rows<S>& rows, const S* v) {
  S speed = all<S>(0);
  for (int i = 0; i < rows.count; ++i) {
    const int* const k = rows.coordinates(i);
    for (int m = 0; m < rows.path[i].nv; ++m) speed = max(speed, abs(v[k[m]]));
  }
  return speed;
}

/// After `mechanism.accelerate` in the worlds where a step begins: the accelerations `a` and the dependence
/// of rows, if rows have become dependent, or if nothing is known of it.
template <class S>
void accelerate_by_one_sided_limits(ConstrainedMechanism<S>& mechanism,
                                    const S* reduced_q,
                                    const S* reduced_v,
                                    const S* tau,
                                    const S* phi,
                                    simd::Mask<S> begins,
                                    S* a,
                                    Dependence<S>& dependence,
                                    Workspace<S> w) {
  using Sides = OneSidedLimits<typename S::Real>;
  const ModelOf<S>& model = mechanism.factor.model;
  const S o = all<S>(0), rank = mechanism.delassus.G.rank;
  const S speed = speed_of_rows(mechanism.rows, reduced_v);
  const S known = select(dependence.most > o, dependence.most, mechanism.delassus.G.full_rank());
  const auto fallen = begins & (rank < known) & (speed > all<S>(Sides::slow));
  dependence.most = select(begins, max(dependence.most, rank), dependence.most);
  if (none(fallen) || model.callback_numbers > 0) return;

  const int nv = model.reduced_nv, phis = model.loop_nq();
  S *const step = take<S>(w, nv), *const q = take<S>(w, model.reduced_nq), *const side = take<S>(w, nv),
           *const mean = take<S>(w, nv);
  S *const phi_there = take<S>(w, phis), *const lambda = take<S>(w, model.rows);
  Dependence<S> there = take_dependence<S>(model.rows, w);
  const S now = mechanism.clock.time;
  auto holds = fallen;
  for (int i = 0; i < nv; ++i) mean[i] = o;
  for (int sign = -1; sign <= 1; sign += 2) {
    for (int i = 0; i < nv; ++i) step[i] = all<S>(sign * Sides::away) / speed * reduced_v[i];
    mechanism.clock.time = now + all<S>(sign * Sides::away) / speed;
    for (int i = 0; i < phis; ++i) phi_there[i] = phi[i];
    dynamics::retract(model, reduced_q, static_cast<const S*>(step), q);
    there.forget(simd::everywhere<S>());
    mechanism.accelerate(q, reduced_v, tau, nullptr, true, phi_there, side, lambda, w, &there);
    const auto& G = mechanism.delassus.G;
    const S g = largest(static_cast<const S*>(mechanism.rows.g), model.rows);
    holds &= (G.rank > rank) & (G.smallest > all<S>(Sides::opened) * g * g);
    for (int i = 0; i < nv; ++i) mean[i] = fma(all<S>(0.5), side[i], mean[i]);
  }
  mechanism.clock.time = now;
  dependence.most = select(holds, max(dependence.most, mechanism.delassus.G.rank), dependence.most);
  for (int i = 0; i < nv; ++i) a[i] = select(holds, mean[i], a[i]);
  for (int i = 0; i < model.rows; ++i) dependence.row[i] = select(holds, there.row[i], dependence.row[i]);
}

}  // namespace pysim::constraints
