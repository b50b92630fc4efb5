// Derivatives of forward dynamics [Carpentier & Mansard 2018, section III]:
//
//     ∂a/∂τ = M⁻¹        ∂a/∂q = −M⁻¹ ∂τ/∂q        ∂a/∂v = −M⁻¹ ∂τ/∂v
//
// with the derivatives of inverse dynamics at the acceleration a of (q, v, τ). Column k of ∂τ has entries
// only above and below k; consecutive coordinates share them, up to four at a time.
#pragma once

#include "constraints/acceleration.hpp"
#include "constraints/dense_product.hpp"
#include "constraints/inverse_inertia.hpp"
#include "constraints/torque_derivatives.hpp"

namespace pysim::constraints {

/// Rows i … i + R of −A D in columns j … j + C, to out (row after row); A is symmetric.
template <int R, int C, class S>
void product_tile(const ModelOf<S>& model, const S* A, const S* D, int i, int j, S* out) {
  const int n = model.reduced_nv;
  S sum[R][C];
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) sum[r][c] = all<S>(0);
  }
  for (int k = model.above[j]; k >= 0; k = model.above[k]) {
    add_products<R, C>(A + k * n + i, D + k * n + j, sum);
  }
  for (int k = j; k < model.below_end[j]; ++k) add_products<R, C>(A + k * n + i, D + k * n + j, sum);
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) out[r * C + c] = sum[r][c];
  }
}

/// Columns j … j + C of D ← −A D; `column` has room for C n numbers.
template <int C, class S>
void multiply_columns(const ModelOf<S>& model, const S* A, S* D, int j, S* column) {
  const int n = model.reduced_nv;
  int i = 0;
  for (; i + 4 <= n; i += 4) product_tile<4, C>(model, A, D, i, j, column + i * C);
  for (; i < n; ++i) product_tile<1, C>(model, A, D, i, j, column + i * C);
  for (i = 0; i < n; ++i) {
    for (int c = 0; c < C; ++c) D[i * n + j + c] = column[i * C + c];
  }
}

/// D ← −A D for a D that is zero between branches.
template <class S>
void multiply_tree(const ModelOf<S>& model, const S* A, S* D, Workspace<S> w) {
  S* const column = take<S>(w, std::ptrdiff_t{4} * model.reduced_nv);
  const auto follows = [&model](int k) { return k < model.reduced_nv && model.above[k] == k - 1; };
  for (int j = 0; j < model.reduced_nv;) {
    if (follows(j + 1) && follows(j + 2) && follows(j + 3)) {
      multiply_columns<4>(model, A, D, j, column);
      j += 4;
    } else if (follows(j + 1)) {
      multiply_columns<2>(model, A, D, j, column);
      j += 2;
    } else {
      multiply_columns<1>(model, A, D, j, column);
      j += 1;
    }
  }
}

/// ∂a/∂q, ∂a/∂v and, instead of ∂τ/∂a, M⁻¹. Coordinates are the user's.
template <class S>
DerivativeMatrices<S> acceleration_derivatives(const ModelOf<S>& model,
                                               const S* reduced_q,
                                               const S* reduced_v,
                                               const S* tau,
                                               const Force<S>* f_ext,
                                               bool passive,
                                               Workspace<S>& w) {
  const int n = model.reduced_nv;
  S* const a = take<S>(w, n);
  acceleration(model, reduced_q, reduced_v, tau, f_ext, passive, a, w);

  const DerivativeMatrices<S> D = take_matrices(n, w);
  Workspace<S> scratch = w;
  const S* q = tree::full_q(model, reduced_q, scratch);
  const S* v = tree::full_v(model, reduced_v, scratch);
  const S* full_a = tree::full_v(model, static_cast<const S*>(a), scratch);
  const auto d = dynamics::prepare_rnea_derivatives(model, q, v, full_a, f_ext, scratch);
  reduced_torque_derivatives(model, d, q, v, passive, D, scratch);
  if (model.mimic) {  // D.a is M
    S* const M = take<S>(scratch, std::ptrdiff_t{1} * n * n);
    for (int i = 0; i < n * n; ++i) M[i] = D.a[i];
    const spatial::SymmetricFactor<S> factor = {n, M, take<S>(scratch, n)};
    factor.factor();
    factor.invert(D.a);
  } else {
    dynamics::minverse(model, q, D.a, scratch);
  }
  multiply_tree(model, D.a, D.q, scratch);
  multiply_tree(model, D.a, D.v, scratch);
  return D;
}

}  // namespace pysim::constraints
