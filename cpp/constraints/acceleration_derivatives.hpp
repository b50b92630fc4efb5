// Derivatives of forward dynamics [Carpentier & Mansard 2018, section III]:
//
//     ∂a/∂τ = M⁻¹        ∂a/∂q = −M⁻¹ ∂τ/∂q        ∂a/∂v = −M⁻¹ ∂τ/∂v
//
// with the derivatives of inverse dynamics at the acceleration a of (q, v, τ). Column k of ∂τ has entries
// only above and below k; coordinates in a row share them, up to four at a time.
#pragma once

#include "constraints/acceleration.hpp"
#include "constraints/inverse_inertia.hpp"
#include "constraints/torque_derivatives.hpp"

namespace pysim::constraints {

/// Columns of a panel: D's and as much of A as four rows stay in the first-level cache.
constexpr int panel = 8;

/// Σ_k A_ki D_kj over one row k, for R rows i and C columns j.
template <int R, int C, class S>
PYSIM_INLINE void add_products(const S* A, const S* D, S (&sum)[R][C]) {
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) sum[r][c] = simd::fnma(A[r], D[c], sum[r][c]);
  }
}

/// Rows i … i + R of −A D in columns j … j + C, to out, whose rows lie `panel` apart; A is symmetric.
template <int R, int C, class S>
void product_tile(const ModelView<typename S::Real>& model, const S* A, const S* D, int i, int j, S* out) {
  const int n = model.own_nv;
  S sum[R][C];
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) sum[r][c] = all<S>(0);
  }
  for (int k = model.above[j]; k >= 0; k = model.above[k]) {
    add_products<R, C>(A + k * n + i, D + k * n + j, sum);
  }
  for (int k = j; k < model.below_end[j]; ++k) add_products<R, C>(A + k * n + i, D + k * n + j, sum);
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) out[r * panel + c] = sum[r][c];
  }
}

/// How many columns follow coordinate j down one branch, panel at most.
template <class Real>
int columns_from(const ModelView<Real>& model, int j) {
  int count = 1;
  while (count < panel && j + count < model.own_nv && model.above[j + count] == j + count - 1) ++count;
  return count;
}

/// Rows i … i + R of −A D in columns j … j + count, to `product` (row after row).
template <int R, class S>
void product_rows(
    const ModelView<typename S::Real>& model, const S* A, const S* D, int i, int j, int count, S* product) {
  int c = 0;
  for (; c + 4 <= count; c += 4) product_tile<R, 4>(model, A, D, i, j + c, product + c);
  for (; c + 2 <= count; c += 2) product_tile<R, 2>(model, A, D, i, j + c, product + c);
  for (; c < count; ++c) product_tile<R, 1>(model, A, D, i, j + c, product + c);
}

/// D ← −A D for a D that is zero between branches.
template <class S>
void multiply_tree(const ModelView<typename S::Real>& model, const S* A, S* D, Workspace<S> w) {
  const int n = model.own_nv;
  S* const product = w.template take<S>(std::ptrdiff_t{panel} * n);
  for (int j = 0, count; j < n; j += count) {
    count = columns_from(model, j);
    int i = 0;
    for (; i + 4 <= n; i += 4) product_rows<4>(model, A, D, i, j, count, product + i * panel);
    for (; i < n; ++i) product_rows<1>(model, A, D, i, j, count, product + i * panel);
    for (i = 0; i < n; ++i) {
      for (int c = 0; c < count; ++c) D[i * n + j + c] = product[i * panel + c];
    }
  }
}

/// ∂a/∂q, ∂a/∂v and, in the place of ∂τ/∂a, M⁻¹. Coordinates are the user's.
template <class S>
DerivativeMatrices<S> acceleration_derivatives(const ModelView<typename S::Real>& model,
                                               const S* own_q,
                                               const S* own_v,
                                               const S* tau,
                                               const Force<S>* f_ext,
                                               bool passive,
                                               Workspace<S>& w) {
  const int n = model.own_nv;
  S* const a = w.template take<S>(n);
  acceleration(model, own_q, own_v, tau, f_ext, passive, a, w);

  const DerivativeMatrices<S> D = take_matrices(n, w);
  Workspace<S> scratch = w;
  const S* q = tree::tree_q(model, own_q, scratch);
  const S* v = tree::tree_v(model, own_v, scratch);
  const S* tree_a = tree::tree_v(model, static_cast<const S*>(a), scratch);
  own_torque_derivatives(model, q, v, tree_a, f_ext, passive, D, scratch);
  if (model.coupled) {  // D.a is M
    spatial::invert_symmetric(n, D.a);
  } else {
    dynamics::minverse(model, q, D.a, scratch);
  }
  multiply_tree(model, D.a, D.q, scratch);
  multiply_tree(model, D.a, D.v, scratch);
  return D;
}

}  // namespace pysim::constraints
