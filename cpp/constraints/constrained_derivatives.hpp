// Derivatives of the dynamics that obeys loops and couplings, and of the forces that hold them.
//
//     [M −Jᵀ] [∂v̇]     [D]        D = ∂(M v̇ + h − Jᵀλ)        [∂v̇]     [ N  Zᵀ] [D]
//     [J   0] [∂λ] = − [G]        G = ∂g̈                       [∂λ] = − [−Z Λ⁺] [G]
//
//     Z = Λ⁺ J M⁻¹        N = M⁻¹ − M⁻¹ Jᵀ Z = ∂v̇/∂τ        ∂λ/∂τ = −Z
//
// D and G hold v̇ and λ; the loops' wrenches in D follow their frames, see row_slopes.hpp. Rows that depend on
// others are left out of Λ⁺, as in v̇ itself: right where that dependence lasts, see opening.hpp.
#pragma once

#include "constraints/constrained.hpp"
#include "constraints/dense_product.hpp"
#include "constraints/relation_derivatives.hpp"

namespace pysim::constraints {

/// [N −Zᵀ; Z Λ⁺], row-major: the transpose of what the right-hand side is multiplied by.
template <class S>
struct KktInverse {
  int n, rows;
  S* A;

  int size() const { return n + rows; }
  S& at(int i, int j) const { return A[i * size() + j]; }
  Dense<S> block(int i, int count) const { return {A + i * size(), count, n, size()}; }
};

/// q is the tree's.
template <class S>
KktInverse<S> kkt_inverse(ConstrainedMechanism<S>& mechanism, const S* q, Workspace<S>& w) {
  const auto& model = mechanism.factor.model;
  const int n = model.own_nv, rows = model.rows;
  const KktInverse<S> X = {n, rows, w.template take<S>(std::ptrdiff_t{1} * (n + rows) * (n + rows))};
  Workspace<S> scratch = w;
  const S* Minv = inverse_inertia(model, q, scratch);
  S* const K = scratch.template take<S>(std::ptrdiff_t{1} * rows * n);  // J M⁻¹
  for (int i = 0; i < rows * n; ++i) K[i] = mechanism.inertia.Y[i];
  for (int i = 0; i < rows; ++i) {
    mechanism.factor.backward(K + i * n);
    for (int k = 0; k < n; ++k) X.at(n + i, k) = K[i * n + k];
    for (int k = 0; k < rows; ++k) X.at(n + i, n + k) = all<S>(i == k ? 1 : 0);
  }
  mechanism.inertia.Lambda.solve_columns(X.A + n * X.size(), X.size());  // Λ⁺ [K 1]

  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) X.at(i, j) = Minv[i * n + j];
    for (int k = n; k < X.size(); ++k) X.at(i, k) = -X.at(k, i);
  }
  subtract_product({K, rows, n, n}, X.block(n, rows), X.block(0, n));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) X.at(j, i) = X.at(i, j);
  }
  return X;
}

/// ∂v̇ (n × n) with ∂λ (rows × n) behind it, by q, v and τ.
template <class S>
struct ConstrainedDerivatives {
  S *q, *v, *tau;
};

/// φ of the loops follows q; leaves v̇ and λ, and D and G multiplied by the inverse.
template <class S>
ConstrainedDerivatives<S> constrained_derivatives(ConstrainedMechanism<S>& mechanism,
                                                  const S* own_q,
                                                  const S* own_v,
                                                  const S* tau,
                                                  const Force<S>* f_ext,
                                                  bool passive,
                                                  S* phi,
                                                  KktInverse<S>& inverse,
                                                  Workspace<S>& w) {
  const auto& model = mechanism.factor.model;
  const int n = model.own_nv, rows = model.rows;
  const std::ptrdiff_t size = std::ptrdiff_t{1} * (n + rows) * n;
  const ConstrainedDerivatives<S> out = {
      w.template take<S>(size), w.template take<S>(size), w.template take<S>(size)};
  S *const D_q = w.template take<S>(size), *const D_v = w.template take<S>(size);  // with G behind
  Workspace<S> scratch = w;
  S *const a = scratch.template take<S>(n), *const lambda = scratch.template take<S>(rows);
  mechanism.accelerate(own_q, own_v, tau, f_ext, passive, phi, a, lambda, scratch);

  const S* q = tree::tree_q(model, own_q, scratch);
  const S* v = tree::tree_v(model, own_v, scratch);
  const S* tree_a = tree::tree_v(model, static_cast<const S*>(a), scratch);
  Force<S>* const wrench = scratch.template take<Force<S>>(model.bodies);
  for (int b = 0; b < model.bodies; ++b) wrench[b] = f_ext == nullptr ? spatial::zero_force<S>() : f_ext[b];
  const Pose<S>* X_WB = world_poses(model, mechanism.factor, scratch);
  const Force<S>* W = mechanism.rows.W;
  add_loop_wrenches(model, X_WB, W, static_cast<const S*>(lambda), wrench);
  const auto d = dynamics::prepare_rnea_derivatives(
      model, q, v, tree_a, static_cast<const Force<S>*>(wrench), scratch);
  own_torque_derivatives(model, d, q, v, passive, DerivativeMatrices<S>{n, D_q, D_v, out.tau}, scratch);

  const RowSlopes<S> slopes = {D_q + n * n, D_v + n * n};
  for (int i = 0; i < rows * n; ++i) slopes.q[i] = slopes.v[i] = all<S>(0);
  add_loop_slopes<S>(model, X_WB, W, lambda, phi, d, slopes, D_q, scratch);
  add_relation_slopes<S>(model, own_q, own_v, a, lambda, slopes, D_q, scratch);

  inverse = kkt_inverse(mechanism, q, w);
  for (std::ptrdiff_t i = 0; i < size; ++i) out.q[i] = out.v[i] = all<S>(0);
  const Dense<S> multiply = {inverse.A, n + rows, n + rows, n + rows};
  subtract_product(multiply, {D_q, n + rows, n, n}, {out.q, n + rows, n, n});
  subtract_product(multiply, {D_v, n + rows, n, n}, {out.v, n + rows, n, n});
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) out.tau[i * n + j] = inverse.at(i, j);
    for (int i = n; i < n + rows; ++i) out.tau[i * n + j] = -inverse.at(i, j);
  }
  return out;
}

}  // namespace pysim::constraints
