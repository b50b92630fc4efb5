// The projector onto the motions that the constraints allow, orthogonal in the inertia.
//
//     P = 1 − M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ J
#pragma once

#include "constraints/constrained.hpp"

namespace pysim::constraints {

/// P (own_nv × own_nv) of the user's coordinates; φ of the loops follows q.
template <class S>
void tangent_projector(
    const ModelOf<S>& model, const S* own_q, const S* own_v, S* phi, S* P, Workspace<S> w) {
  const int n = model.own_nv;
  FactoredMechanism<S> factor(model, w);
  const Rows<S> rows = take_rows(model, false, w);
  ConstraintInertia<S> inertia(model, w);
  S *const lambda = w.template take<S>(model.rows), *const push = w.template take<S>(n);
  S* const J = w.template take<S>(std::ptrdiff_t{1} * model.rows * n);
  Workspace<S> inner = w;
  const S* q = tree::tree_q(model, own_q, inner);
  const S* v = tree::tree_v(model, own_v, inner);
  factor.factorise(q, v, inner);
  evaluate_rows(model, factor, phi, rows, true, inner);
  evaluate_relations<S>(model, own_q, own_v, nullptr, rows, inner);
  inertia.factorise(factor, rows);
  spread_jacobian(model, rows, J);
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < model.rows; ++i) lambda[i] = J[i * n + k];
    inertia.Lambda.solve(lambda);
    inertia.push(factor, lambda, push);
    for (int i = 0; i < n; ++i) P[i * n + k] = all<S>(i == k ? 1 : 0) - push[i];
  }
}

}  // namespace pysim::constraints
