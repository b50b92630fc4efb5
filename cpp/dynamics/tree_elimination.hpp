// Elimination, from the leaves, of an unsymmetric matrix that is zero between the branches of a tree.
//
//     A = (1 + U) D (1 + L)      U above, L below the diagonal, both zero between branches: no fill-in
//
// Without pivoting: for an inertia plus the terms of a small step. `above[k]` is the coordinate above
// k, −1 at a root; null means k − 1, for branches that are coupled.
#pragma once

#include "simd/pack.hpp"
#include "tree/model_view.hpp"

namespace pysim::dynamics {

using simd::all;
using simd::fnma;

PYSIM_INLINE int coordinate_above(const int* above, int k) {
  return above == nullptr ? k - 1 : above[k];
}

/// A (row-major n × n) ← U above the diagonal, D⁻¹ on it, D L below.
template <class S>
void factor_tree_matrix(int n, const int* above, S* A) {
  for (int k = n - 1; k >= 0; --k) {
    const S* const row = A + k * n;
    const S inv_D = all<S>(1) / row[k];
    for (int i = coordinate_above(above, k); i >= 0; i = coordinate_above(above, i)) {
      const S U = A[i * n + k] * inv_D;
      for (int j = coordinate_above(above, k); j >= 0; j = coordinate_above(above, j)) {
        A[i * n + j] = fnma(U, row[j], A[i * n + j]);
      }
      A[i * n + k] = U;
    }
    A[k * n + k] = inv_D;
  }
}

/// x ← A⁻¹ x.
template <class S>
void solve_tree_matrix(int n, const int* above, const S* A, S* x) {
  for (int k = n - 1; k >= 0; --k) {
    for (int i = coordinate_above(above, k); i >= 0; i = coordinate_above(above, i)) {
      x[i] = fnma(A[i * n + k], x[k], x[i]);
    }
  }
  for (int k = 0; k < n; ++k) {
    for (int j = coordinate_above(above, k); j >= 0; j = coordinate_above(above, j)) {
      x[k] = fnma(A[k * n + j], x[j], x[k]);
    }
    x[k] *= A[k * n + k];
  }
}

}  // namespace pysim::dynamics
