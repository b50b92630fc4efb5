// Back onto the constraints after a step, by the smallest motion in the norm of M.
//
//     q ← q ⊕ −M⁻¹Jᵀ Λ⁺ g    until g = 0            v ← v − M⁻¹Jᵀ Λ⁺ J v            Λ = J M⁻¹ Jᵀ
//
// The velocity's part that leaves the constraints is M-orthogonal to the rest, so what is taken from the
// kinetic energy is of second order in the drift of one step: the motion is not damped [Eich 1993; Blajer
// 2011].
#pragma once

#include "constraints/constrained.hpp"

namespace pysim::constraints {

/// Residual [m, rad] at which projection stops, the one below which it stops where nothing is gained any
/// more, the one it must reach, and how many steps it may take.
template <class Real>
struct ProjectionTolerance {
  static constexpr Real residual = sizeof(Real) == 8 ? Real(1e-15) : Real(2e-7);
  static constexpr Real enough = sizeof(Real) == 8 ? Real(1e-13) : Real(1e-6);
  static constexpr Real required = sizeof(Real) == 8 ? Real(1e-10) : Real(1e-4);
  static constexpr int tries = 12;
  /// product of the residual that was found and the rate that is left, beyond which v is corrected once more
  static constexpr Real aside = sizeof(Real) == 8 ? Real(1e-14) : Real(1e-7);
};

/// What projection leaves behind.
template <class S>
struct Projected {
  S residual;  ///< largest |g| [m, rad]
  S rank;      ///< independent rows of J
};

/// Moves q and v of the user's coordinates onto the constraints; φ follows. A world that is there already
/// keeps its q to the last bit.
///
/// M and Λ are factored once, where the state is found: after one step of a scheme that is near enough.
template <class S>
Projected<S> project(const ModelOf<S>& model,
                     S* own_q,
                     S* own_v,
                     S* phi,
                     Workspace<S> w,
                     Dependence<S>* dependence = nullptr) {
  using Tolerance = ProjectionTolerance<typename S::Real>;
  const int nv = model.own_nv;
  S *const step = w.template take<S>(nv), *const lambda = w.template take<S>(model.rows);
  S* const moved = w.template take<S>(model.own_nq);
  FactoredMechanism<S> factor(model, w);
  const Rows<S> rows = take_rows(model, false, w);
  ConstraintInertia<S> inertia(model, w);

  const auto evaluate = [&](bool first) {
    Workspace<S> inner = w;
    const S* q = tree::tree_q(model, static_cast<const S*>(own_q), inner);
    const S* v = tree::tree_v(model, static_cast<const S*>(own_v), inner);
    if (first) {
      factor.factorise(q, v, inner);
    } else {
      factor.place(q, v, inner);
    }
    evaluate_rows(model, factor, phi, rows, first, inner);
    evaluate_relations<S>(model, own_q, own_v, nullptr, rows, inner);
  };
  const auto correction = [&](const S* off) {  // −M⁻¹Jᵀ Λ⁺ off
    for (int i = 0; i < model.rows; ++i) lambda[i] = -off[i];
    inertia.Lambda.solve(lambda);
    inertia.push(factor, lambda, step);
  };

  evaluate(true);
  inertia.factorise(factor, rows, dependence);
  const S one = all<S>(1), none = all<S>(0);
  const S found = largest(static_cast<const S*>(rows.g), model.rows);
  S last = all<S>(__builtin_inf()), active = one;
  for (int n = 0; n < Tolerance::tries; ++n) {
    const S size = largest(rows.g, model.rows);
    const S gains = select(size > all<S>(Tolerance::enough), one, select(size + size < last, one, none));
    active = select(size > all<S>(Tolerance::residual), active * gains, none);
    last = size;
    const auto off = active == one;
    if (!simd::any<S>(off)) break;
    correction(rows.g);
    dynamics::retract(model, static_cast<const S*>(own_q), static_cast<const S*>(step), moved);
    for (int i = 0; i < model.own_nq; ++i) own_q[i] = select(off, moved[i], own_q[i]);
    evaluate(false);
  }
  // Λ was taken where the state was found: what is left of ġ is about as large as both residuals' product
  const auto leaves = [&] {
    return found * largest(static_cast<const S*>(rows.gd), model.rows) > all<S>(Tolerance::aside);
  };
  auto aside = leaves();
  correction(rows.gd);
  for (int i = 0; i < nv; ++i) own_v[i] += step[i];
  for (int n = 0; n < Tolerance::tries && simd::any<S>(aside); ++n) {
    evaluate(false);
    const auto still = aside & leaves();
    correction(rows.gd);
    for (int i = 0; i < nv; ++i) own_v[i] += select(aside, step[i], none);
    aside = still;
  }
  follow_hinges(model, factor, phi);
  return {largest(rows.g, model.rows), inertia.Lambda.rank};
}

}  // namespace pysim::constraints
