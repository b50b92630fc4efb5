// Dense symmetric positive definite matrices, row-major n × n, factored as L D Lᵀ without pivoting.
#pragma once

#include "simd/pack.hpp"

namespace pysim::spatial {

using simd::all;
using simd::fnma;

/// A is overwritten: L below the diagonal and D on it.
template <class S>
struct SymmetricFactor {
  int n;
  S* A;
  S* inv_D;  ///< [n]

  void factor() const {
    for (int j = 0; j < n; ++j) {
      inv_D[j] = all<S>(1) / A[j * n + j];
      for (int i = n - 1; i > j; --i) {  // upwards: the rows above still hold L D in column j
        S* const row = A + i * n;
        const S L = row[j] * inv_D[j];
        for (int k = j + 1; k <= i; ++k) row[k] = fnma(L, A[k * n + j], row[k]);
        row[j] = L;
      }
    }
  }

  /// y ← L⁻¹ y, of a y that is zero before `first`.
  void forward(S* y, int first = 0) const {
    for (int i = first + 1; i < n; ++i) {
      S rest = y[i];
      for (int j = first; j < i; ++j) rest = fnma(A[i * n + j], y[j], rest);
      y[i] = rest;
    }
  }

  /// y ← L⁻ᵀ D⁻¹ y.
  void backward(S* y) const {
    for (int i = n - 1; i >= 0; --i) {
      S rest = y[i] * inv_D[i];
      for (int j = i + 1; j < n; ++j) rest = fnma(A[j * n + i], y[j], rest);
      y[i] = rest;
    }
  }

  /// x ← A⁻¹ x.
  void apply(S* x) const {
    forward(x);
    backward(x);
  }

  /// A⁻¹, symmetric to the bit.
  void invert(S* inverse) const {
    for (int j = 0; j < n; ++j) {
      S* const row = inverse + j * n;
      for (int i = 0; i < n; ++i) row[i] = all<S>(i == j ? 1 : 0);
      forward(row, j);
      backward(row);
    }
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < i; ++j) inverse[i * n + j] = inverse[j * n + i];
    }
  }
};

}  // namespace pysim::spatial
