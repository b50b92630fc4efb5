// C −= Aᵀ B of dense matrices, row-major, in tiles that stay in registers.
#pragma once

#include "simd/pack.hpp"

namespace pysim::constraints {

/// Subtracts A_ki D_kj of one row k, for R rows i and C columns j.
template <int R, int C, class S>
PYSIM_INLINE void add_products(const S* A, const S* D, S (&sum)[R][C]) {
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) sum[r][c] = simd::fnma(A[r], D[c], sum[r][c]);
  }
}

/// A matrix of `columns` in a row-major array whose rows lie `stride` apart.
template <class S>
struct Dense {
  S* entry;
  int rows, columns, stride;
};

template <int R, int K, class S>
void subtract_tile(const Dense<S>& A, const Dense<S>& B, int i, int j, const Dense<S>& C) {
  S sum[R][K];
  S* const out = C.entry + i * C.stride + j;
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < K; ++c) sum[r][c] = out[r * C.stride + c];
  }
  for (int k = 0; k < A.rows; ++k) {
    add_products<R, K>(static_cast<const S*>(A.entry + k * A.stride + i),
                       static_cast<const S*>(B.entry + k * B.stride + j),
                       sum);
  }
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < K; ++c) out[r * C.stride + c] = sum[r][c];
  }
}

template <int K, class S>
void subtract_columns(const Dense<S>& A, const Dense<S>& B, int j, const Dense<S>& C) {
  int i = 0;
  for (; i + 4 <= C.rows; i += 4) subtract_tile<4, K>(A, B, i, j, C);
  for (; i < C.rows; ++i) subtract_tile<1, K>(A, B, i, j, C);
}

/// C −= Aᵀ B.
template <class S>
void subtract_product(const Dense<S>& A, const Dense<S>& B, const Dense<S>& C) {
  int j = 0;
  for (; j + 4 <= C.columns; j += 4) subtract_columns<4>(A, B, j, C);
  for (; j < C.columns; ++j) subtract_columns<1>(A, B, j, C);
}

}  // namespace pysim::constraints
