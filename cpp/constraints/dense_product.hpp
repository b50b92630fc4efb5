// X ← −Aᵀ X of dense matrices, in tiles that stay in registers.
#pragma once

#include "constraints/acceleration_derivatives.hpp"

namespace pysim::constraints {

/// Rows i … i + R and columns j … j + C of −Aᵀ X, to out (row after row); A is m × m, X m × n.
template <int R, int C, class S>
void dense_tile(int m, int n, const S* A, const S* X, int i, int j, S* out) {
  S sum[R][C];
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) sum[r][c] = all<S>(0);
  }
  for (int k = 0; k < m; ++k) add_products<R, C>(A + k * m + i, X + k * n + j, sum);
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) out[r * C + c] = sum[r][c];
  }
}

/// Columns j … j + C of X ← −Aᵀ X; `column` has room for C m numbers.
template <int C, class S>
void multiply_dense_columns(int m, int n, const S* A, S* X, int j, S* column) {
  int i = 0;
  for (; i + 4 <= m; i += 4) dense_tile<4, C>(m, n, A, X, i, j, column + i * C);
  for (; i < m; ++i) dense_tile<1, C>(m, n, A, X, i, j, column + i * C);
  for (i = 0; i < m; ++i) {
    for (int c = 0; c < C; ++c) X[i * n + j + c] = column[i * C + c];
  }
}

template <class S>
void multiply_dense(int m, int n, const S* A, S* X, Workspace<S> w) {
  S* const column = w.template take<S>(std::ptrdiff_t{4} * m);
  int j = 0;
  for (; j + 4 <= n; j += 4) multiply_dense_columns<4>(m, n, A, X, j, column);
  for (; j < n; ++j) multiply_dense_columns<1>(m, n, A, X, j, column);
}

}  // namespace pysim::constraints
