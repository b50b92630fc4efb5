// Derivatives of constrained forward dynamics and of the constraint forces.
//
//     [M −Jᵀ] [∂v̇]     [D]        D = ∂(M v̇ + h − Jᵀλ)        [∂v̇]     [ N  Zᵀ] [D]
//     [J   0] [∂λ] = − [G]        G = ∂g̈                       [∂λ] = − [−Z G⁺] [G]
//
//     Z = G⁺ J M⁻¹        N = M⁻¹ − M⁻¹ Jᵀ Z = ∂v̇/∂τ        ∂λ/∂τ = −Z
//
// D and G contain v̇ and λ; the loops' wrenches in D follow their frames, see loop_derivatives.hpp. Dependent
// rows are left out of G⁺, as in v̇ itself: this is exact if their dependence persists, see singular.
#pragma once

#include "constraints/constrained_dynamics.hpp"
#include "constraints/coupling_derivatives.hpp"
#include "constraints/dense_product.hpp"
#include "constraints/inverse_inertia.hpp"
#include "constraints/loop_derivatives.hpp"
#include "constraints/torque_derivatives.hpp"

namespace pysim::constraints {

/// [N −Zᵀ; Z G⁺], row-major: the transpose of what the right-hand side is multiplied by.
template <class S>
struct KktInverse {
  int n, rows;
  S* A;

  int size() const { return n + rows; }
  S& at(int i, int j) const { return A[i * size() + j]; }
  Dense<S> block(int i, int count) const { return {A + i * size(), count, n, size()}; }
};

/// Without `forces` its last columns, which ∂λ needs, are left out.
template <class S>
KktInverse<S> kkt_inverse(ConstrainedMechanism<S>& mechanism,
                          const S* reduced_q,
                          bool forces,
                          Workspace<S>& w) {
  const auto& model = mechanism.factor.model;
  const int n = model.reduced_nv, rows = mechanism.rows.count;
  const KktInverse<S> X = {n, rows, take<S>(w, std::ptrdiff_t{1} * (n + rows) * (n + rows))};
  Workspace<S> scratch = w;
  const S* Minv = inverse_inertia(model, tree::full_q(model, reduced_q, scratch), scratch);
  S* const K = take<S>(scratch, std::ptrdiff_t{1} * rows * n);  // J M⁻¹
  for (int i = 0; i < rows * n; ++i) K[i] = all<S>(0);
  for (int i = 0; i < rows; ++i) {
    const int* const k = mechanism.rows.coordinates(i);
    for (int m = 0; m < mechanism.rows.path[i].nv; ++m) {
      K[i * n + k[m]] = mechanism.delassus.Y[i * n + m];
    }
    mechanism.factor.backward(K + i * n);
    for (int k = 0; k < n; ++k) X.at(n + i, k) = K[i * n + k];
    for (int k = 0; forces && k < rows; ++k) X.at(n + i, n + k) = all<S>(i == k ? 1 : 0);
  }
  const int columns = forces ? X.size() : n;
  mechanism.delassus.G.solve_columns(&X.at(n, 0), columns, X.size());  // G⁺ [K 1]

  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) X.at(i, j) = Minv[i * n + j];
    for (int k = n; forces && k < X.size(); ++k) X.at(i, k) = -X.at(k, i);
  }
  subtract_product({K, rows, n, n}, X.block(n, rows), X.block(0, n));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) X.at(j, i) = X.at(i, j);
  }
  return X;
}

/// D above G by q and by v ((n + rows) × n each), row-major, and M.
template <class S>
struct KktSlopes {
  S *q, *v, *M;
};

/// Solves for v̇ and λ; φ of the loops follows q. `dependence` may be null, see Delassus::factorise.
template <class S>
KktSlopes<S> kkt_slopes(ConstrainedMechanism<S>& mechanism,
                        const S* reduced_q,
                        const S* reduced_v,
                        const S* tau,
                        const Force<S>* f_ext,
                        bool passive,
                        S* phi,
                        Workspace<S>& w,
                        Dependence<S>* dependence = nullptr) {
  const auto& model = mechanism.factor.model;
  const int n = model.reduced_nv, rows = mechanism.rows.count;
  const std::ptrdiff_t size = std::ptrdiff_t{1} * (n + rows) * n;
  const KktSlopes<S> D = {take<S>(w, size), take<S>(w, size), take<S>(w, std::ptrdiff_t{1} * n * n)};
  Workspace<S> scratch = w;
  S *const a = take<S>(scratch, n), *const lambda = take<S>(scratch, rows);
  mechanism.accelerate(reduced_q, reduced_v, tau, f_ext, passive, phi, a, lambda, scratch, dependence);

  const S* q = tree::full_q(model, reduced_q, scratch);
  const S* v = tree::full_v(model, reduced_v, scratch);
  const S* full_a = tree::full_v(model, static_cast<const S*>(a), scratch);
  Force<S>* const wrench = take<Force<S>>(scratch, model.bodies);
  for (int b = 0; b < model.bodies; ++b) wrench[b] = f_ext == nullptr ? spatial::zero_force<S>() : f_ext[b];
  const Pose<S>* const X_WB = mechanism.factor.poses(q, scratch);
  add_loop_wrenches<S>(model, X_WB, mechanism.rows.W, lambda, wrench);
  const auto d = dynamics::prepare_rnea_derivatives<S>(model, q, v, full_a, wrench, scratch);
  reduced_torque_derivatives(model, d, q, v, passive, DerivativeMatrices<S>{n, D.q, D.v, D.M}, scratch);

  const RowSlopes<S> G = {D.q + n * n, D.v + n * n};
  for (int i = 0; i < rows * n; ++i) G.q[i] = G.v[i] = all<S>(0);
  add_loop_slopes<S>(model, mechanism.clock, X_WB, mechanism.rows.W, lambda, phi, d, G, D.q, scratch);
  add_coupling_slopes<S>(model, reduced_q, reduced_v, a, lambda, G, D.q, scratch);
  return D;
}

/// `count` rows of (∂v̇, ∂λ) from row `first` on, by q, v and τ.
template <class S>
void solve_slopes(
    const KktInverse<S>& X, const KktSlopes<S>& D, int first, int count, const DerivativeMatrices<S>& out) {
  const int n = X.n, size = X.size();
  for (int i = 0; i < count; ++i) {
    const S sign = all<S>(first + i < n ? 1 : -1);
    for (int j = 0; j < n; ++j) {
      out.q[i * n + j] = out.v[i * n + j] = all<S>(0);
      out.a[i * n + j] = sign * X.at(first + i, j);
    }
  }
  const Dense<S> rows = {X.A + first, size, count, size};
  subtract_product(rows, {D.q, size, n, n}, {out.q, count, n, n});
  subtract_product(rows, {D.v, size, n, n}, {out.v, count, n, n});
}

}  // namespace pysim::constraints
