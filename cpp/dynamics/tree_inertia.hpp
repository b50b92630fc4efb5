// An inertia matrix inverted by the structure of its tree [Featherstone 2008, section 6.5].
//
//     M = Lᵀ D L     L_kj is not zero only for j above k: no fill-in, nothing outside the branches is touched
//     W = L⁻¹        of the same structure
//     M⁻¹ = W D⁻¹ Wᵀ
//
// `above[k]` is the coordinate above k, −1 at a root; where couplings tie branches together it is k − 1, and
// the matrix counts as one branch.
#pragma once

#include "tree/model_view.hpp"
#include "tree/workspace.hpp"

namespace pysim::dynamics {

using simd::all;
using simd::fma;
using simd::fnma;

/// M ← L below its diagonal, D⁻¹ on it. Row-major n × n; only the lower triangle is read.
template <class S>
void factor_tree_inertia(int n, const int* above, S* M) {
  for (int k = n - 1; k >= 0; --k) {
    S* const row = M + k * n;
    const S inv_D = all<S>(1) / row[k];
    for (int i = above[k]; i >= 0; i = above[i]) {
      const S L = row[i] * inv_D;
      for (int j = i; j >= 0; j = above[j]) M[i * n + j] = fnma(L, row[j], M[i * n + j]);
      row[i] = L;
    }
    row[k] = inv_D;
  }
}

/// L ← W = L⁻¹ below the diagonal; D⁻¹ stays on it.
template <class S>
void invert_tree_factor(int n, const int* above, S* L) {
  for (int k = n - 1; k >= 0; --k) {  // the rows above are still L
    S* const row = L + k * n;
    for (int m = above[k]; m >= 0; m = above[m]) {
      row[m] = -row[m];
      for (int i = above[k]; i > m; i = above[i]) row[m] = fnma(row[i], L[i * n + m], row[m]);
    }
  }
}

/// The lowest coordinate that is at or above both; −1 if none is.
PYSIM_INLINE int meeting(const int* above, int i, int j) {
  while (i != j) {
    if (i > j) {
      i = above[i];
    } else {
      j = above[j];
    }
  }
  return i;
}

/// M⁻¹ (n × n), full; M is overwritten.
template <class S>
void invert_tree_inertia(int n, const int* above, S* M, S* inverse) {
  factor_tree_inertia(n, above, M);
  invert_tree_factor(n, above, M);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      const int c0 = meeting(above, i, j);
      S sum = all<S>(0);
      for (int c = c0; c >= 0; c = above[c]) {
        // W_ic D_c⁻¹ W_jc, ones on the diagonals of W
        const S inv_D = M[c * n + c];
        const S W_jc = c == j ? inv_D : inv_D * M[j * n + c];
        sum = c == i ? W_jc : fma(M[i * n + c], W_jc, sum);
      }
      inverse[i * n + j] = inverse[j * n + i] = sum;
    }
  }
}

}  // namespace pysim::dynamics
