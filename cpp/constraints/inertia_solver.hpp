// M⁻¹ on the user's coordinates: by elimination along the tree, or, where joints follow others, by the
// inertia of the independent coordinates  Eᵀ M E.
#pragma once

#include "constraints/acceleration.hpp"
#include "dynamics/inertia_factor.hpp"

namespace pysim::constraints {

template <class S>
struct InertiaSolver {
  dynamics::InertiaFactor<S> factor;
  S* M;  ///< (reduced_nv × reduced_nv) of a mimic model
};

/// Factors M(q) on the user's coordinates; `extra` (reduced_nv), if it is not null, is added to the diagonal.
template <class S>
InertiaSolver<S> inertia_solver(const ModelOf<S>& model,
                                const S* reduced_q,
                                const S* extra,
                                Workspace<S>& w) {
  if (!model.mimic) return {dynamics::factor_inertia(model, reduced_q, extra, w), nullptr};
  const int n = model.reduced_nv;
  S* const kept = take<S>(w, std::ptrdiff_t{1} * n * n);
  Workspace<S> scratch = w;
  const S* q = tree::full_q(model, reduced_q, scratch);
  S* const M = take<S>(scratch, std::ptrdiff_t{1} * model.nv * model.nv);
  dynamics::crba(model, q, M, scratch);
  const S* own = tree::reduced_inertia(model, M, scratch);
  for (int i = 0; i < n * n; ++i) kept[i] = own[i];
  for (int i = 0; extra != nullptr && i < n; ++i) kept[i * n + i] += extra[i];
  return {{}, kept};
}

/// x = M⁻¹ τ; x may be τ.
template <class S>
void solve(const ModelOf<S>& model, const InertiaSolver<S>& solver, const S* tau, S* x, Workspace<S> w) {
  if (!model.mimic) {
    dynamics::solve_inertia(model, solver.factor, tau, x, w);
    return;
  }
  const int n = model.reduced_nv;
  S* const A = take<S>(w, std::ptrdiff_t{1} * n * n);
  for (int i = 0; i < n * n; ++i) A[i] = solver.M[i];
  for (int i = 0; i < n; ++i) x[i] = tau[i];
  solve_symmetric(n, A, x);
}

}  // namespace pysim::constraints
