// Small dense symmetric positive definite systems, row-major n × n.
#pragma once

#include "simd/pack.hpp"

namespace pysim::spatial {

using simd::all;
using simd::fnma;

/// Solves A x = b in place by A = L D Lᵀ; A (n × n, row-major) is overwritten.
template <class S>
void solve_symmetric(int n, S* A, S* x) {
  for (int j = 0; j < n; ++j) {
    const S inv_D = all<S>(1) / A[j * n + j];
    for (int i = j + 1; i < n; ++i) {
      const S L = A[i * n + j] * inv_D;
      for (int k = j + 1; k <= i; ++k) A[i * n + k] = fnma(L, A[k * n + j], A[i * n + k]);
      x[i] = fnma(L, x[j], x[i]);
    }
    x[j] *= inv_D;
  }
  for (int j = n - 1; j >= 0; --j) {
    const S inv_D = all<S>(1) / A[j * n + j];
    for (int i = j + 1; i < n; ++i) x[j] = fnma(A[i * n + j] * inv_D, x[i], x[j]);
  }
}

/// A ← A⁻¹ by Gauss and Jordan without pivoting, which a positive definite matrix does not need; the result
/// is made symmetric to the bit.
template <class S>
void invert_symmetric(int n, S* A) {
  for (int k = 0; k < n; ++k) {
    S* const pivot_row = A + k * n;
    const S inv = all<S>(1) / pivot_row[k];
    pivot_row[k] = all<S>(1);
    for (int j = 0; j < n; ++j) pivot_row[j] *= inv;
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      S* const row = A + i * n;
      const S factor = row[k];
      row[k] = all<S>(0);
      for (int j = 0; j < n; ++j) row[j] = fnma(factor, pivot_row[j], row[j]);
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) A[i * n + j] = A[j * n + i];
  }
}

}  // namespace pysim::spatial
