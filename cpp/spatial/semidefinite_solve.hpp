// Solution of small dense symmetric positive semidefinite systems, row-major n × n.
#pragma once

#include "simd/math.hpp"

namespace pysim::spatial {

using simd::all;
using simd::fnma;
using simd::select;

/// Solves A x = b in place for a semidefinite A = CᵀC and b in its range: columns of C that are zero or
/// depend on those before them, to rounding, get x = 0. A is overwritten.
template <class S>
void solve_semidefinite(int n, S* A, S* x) {
  using Real = typename S::Real;
  const S o = all<S>(0);
  const S relative = all<S>(Real(n) * (sizeof(Real) == 8 ? Real(4.4e-16) : Real(2.4e-7)));
  for (int j = 0; j < n; ++j) {
    S D = A[j * n + j];
    for (int k = 0; k < j; ++k) D = fnma(A[j * n + k] * A[k * n + k], A[j * n + k], D);  // A_kk holds 1/D_k
    const S inv_D = select(D > relative * A[j * n + j], all<S>(1) / D, o);
    for (int i = j + 1; i < n; ++i) {
      S sum = A[i * n + j];
      for (int k = 0; k < j; ++k) sum = fnma(A[i * n + k] * A[k * n + k], A[j * n + k], sum);
      A[i * n + j] = sum;  // L_ij D_j
      x[i] = fnma(sum * inv_D, x[j], x[i]);
    }
    A[j * n + j] = inv_D;
  }
  for (int j = n - 1; j >= 0; --j) {
    const S inv_D = A[j * n + j];
    S sum = x[j];
    for (int i = j + 1; i < n; ++i) sum = fnma(A[i * n + j], x[i], sum);
    x[j] = inv_D * sum;
  }
}

}  // namespace pysim::spatial
